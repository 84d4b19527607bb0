"""Bootstrap kernel: sums of rows drawn with replacement."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offsettree._jit import kernel, part


@part
def _mixed(state: np.uint64) -> np.uint64:
    """Return splitmix64's output for a state."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def add_draws(
    columns: NDArray[np.float64],
    counts: NDArray[np.int64],
    starts: NDArray[np.int64],
    seeds: NDArray[np.uint64],
    first: int,
    last: int,
    sums: NDArray[np.float64],
) -> None:
    """Add the rows that every resample draws from blocks first, ..., last - 1 to its sums.

    A resample draws counts[resample, block] rows of each block. Blocks are small enough for the processor's cache. As
    the counts are multinomial, the draws are distributed as if from all rows at once.
    """
    half = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    step = np.uint64(0x9E3779B97F4A7C15)
    for block in range(first, last):
        start = starts[block]
        size = np.uint64(starts[block + 1] - start)
        state = seeds[block]
        for resample in range(len(sums)):
            a = b = c = d = 0.0
            n_draws = counts[resample, block]
            for _ in range(n_draws // 2):
                state += step
                bits = _mixed(state)
                i = start + np.int64(((bits & half) * size) >> shift)
                j = start + np.int64(((bits >> shift) * size) >> shift)
                a += columns[i, 0] + columns[j, 0]
                b += columns[i, 1] + columns[j, 1]
                c += columns[i, 2] + columns[j, 2]
                d += columns[i, 3] + columns[j, 3]
            if n_draws % 2:
                state += step
                i = start + np.int64(((_mixed(state) & half) * size) >> shift)
                a += columns[i, 0]
                b += columns[i, 1]
                c += columns[i, 2]
                d += columns[i, 3]
            sums[resample, 0] += a
            sums[resample, 1] += b
            sums[resample, 2] += c
            sums[resample, 3] += d
