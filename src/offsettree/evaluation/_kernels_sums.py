"""Kernels that sum over the rows of a log in one pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offsettree._jit import kernel, kernel_reordering_sums


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
    """Write the sums of squared residuals, (above - value * below) * factor, of two ratios and of their difference."""
    first = second = difference = 0.0
    for row in range(len(first_above)):
        a = (first_above[row] - values[0] * first_below[row]) * factor[0]
        b = (second_above[row] - values[1] * second_below[row]) * factor[1]
        first += a * a
        second += b * b
        difference += (a - b) * (a - b)
    # Element by element: to assign a tuple to a slice takes seconds to compile.
    squares[0], squares[1], squares[2] = first, second, difference


@kernel
def add_by_action(
    logged: NDArray[np.intp], inverse: NDArray[np.float64], totals: NDArray[np.float64], squares: NDArray[np.float64]
) -> None:
    """Add each row's 1 / propensity, and its square, to the sums of its action."""
    for row in range(len(logged)):
        totals[logged[row]] += inverse[row]
        squares[logged[row]] += inverse[row] * inverse[row]
