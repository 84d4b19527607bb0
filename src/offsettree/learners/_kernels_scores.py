"""Compiled: one more column for a contest, a weighted sum of the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import kernel

__all__ = ["score", "score_rows"]


@kernel
def score(weights: Any, centre: Any, row: Any) -> Any:
    """Weigh the numbers of one row, each less its centre, as float32 in one order: training and decisions agree."""
    total = np.float32(0)
    for j in range(weights.shape[0]):
        x = np.float32(row[j])
        if np.isfinite(x):
            total += weights[j] * (x - centre[j])
    return total


@kernel
def score_rows(X: Any, out: Any, weights: Any, centre: Any) -> None:
    """Write the score of every row."""
    for i in range(X.shape[0]):
        out[i] = score(weights, centre, X[i])
