"""Which leaves are below each node of a tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["LeafRanges"]


class LeafRanges(NamedTuple):
    """Which leaves are below each node, counted from left to right: the left side ends where the right one begins."""

    begin: NDArray[np.int32]
    middle: NDArray[np.int32]
    end: NDArray[np.int32]
