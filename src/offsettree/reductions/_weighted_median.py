"""The median of weighted numbers."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Side = Literal["left", "right"]

# Half of all weight, from either side: what is just that but for rounding is in between.
HALVES: tuple[tuple[float, Side], ...] = ((0.5 * (1 - 1e-9), "left"), (0.5 * (1 + 1e-9), "right"))


def weighted_median(values: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return the value that has half of all weight on either side; the middle of two where the halves meet there."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    ends = [np.searchsorted(below, share * below[-1], side=side) for share, side in HALVES]
    return float(np.mean(values[order[ends]]))
