"""Sums over the rows of a log in one pass, in machine code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offsettree._jit import kernel, kernel_reordering_sums

__all__ = ["add_by_action", "squared_residuals"]


@kernel_reordering_sums
def squared_residuals(
    first_above: NDArray[np.float64],
    first_below: NDArray[np.float64],
    second_above: NDArray[np.float64],
    second_below: NDArray[np.float64],
    values: NDArray[np.float64],
    factor: NDArray[np.float64],
    squares: NDArray[np.float64],
) -> None:
    """Write the sums of squares of what rows of two ratios are off by, (above - value * below) * factor, and apart."""
    first = second = apart = 0.0
    for row in range(len(first_above)):
        a = (first_above[row] - values[0] * first_below[row]) * factor[0]
        b = (second_above[row] - values[1] * second_below[row]) * factor[1]
        first += a * a
        second += b * b
        apart += (a - b) * (a - b)
    # Element by element: to assign a tuple to a slice takes seconds to compile.
    squares[0], squares[1], squares[2] = first, second, apart


@kernel
def add_by_action(
    logged: NDArray[np.intp], inverse: NDArray[np.float64], totals: NDArray[np.float64], squares: NDArray[np.float64]
) -> None:
    """Add 1 / propensity, and its square, to those of each row's action."""
    for row in range(len(logged)):
        totals[logged[row]] += inverse[row]
        squares[logged[row]] += inverse[row] * inverse[row]
