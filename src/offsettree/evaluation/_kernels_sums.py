"""Sums over the rows of a log in one pass, in machine code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offsettree._jit import kernel, kernel_reordering_sums

__all__ = ["add_by_action", "joint_moments"]


@kernel_reordering_sums
def joint_moments(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    third: NDArray[np.float64],
    fourth: NDArray[np.float64],
    around: NDArray[np.float64],
    means: NDArray[np.float64],
    products: NDArray[np.float64],
) -> None:
    """Write the means of four columns less `around`, and the means of their products, of shape (4, 4)."""
    a = b = c = d = 0.0
    aa = ab = ac = ad = bb = bc = bd = cc = cd = dd = 0.0
    n_rows = len(first)
    for row in range(n_rows):
        w, x = first[row] - around[0], second[row] - around[1]
        y, z = third[row] - around[2], fourth[row] - around[3]
        a += w
        b += x
        c += y
        d += z
        aa += w * w
        ab += w * x
        ac += w * y
        ad += w * z
        bb += x * x
        bc += x * y
        bd += x * z
        cc += y * y
        cd += y * z
        dd += z * z
    means[:] = (a / n_rows, b / n_rows, c / n_rows, d / n_rows)
    products[0, :] = (aa / n_rows, ab / n_rows, ac / n_rows, ad / n_rows)
    products[1, :] = (ab / n_rows, bb / n_rows, bc / n_rows, bd / n_rows)
    products[2, :] = (ac / n_rows, bc / n_rows, cc / n_rows, cd / n_rows)
    products[3, :] = (ad / n_rows, bd / n_rows, cd / n_rows, dd / n_rows)


@kernel
def add_by_action(
    logged: NDArray[np.intp], inverse: NDArray[np.float64], totals: NDArray[np.float64], squares: NDArray[np.float64]
) -> None:
    """Add 1 / propensity, and its square, to those of each row's action."""
    for row in range(len(logged)):
        totals[logged[row]] += inverse[row]
        squares[logged[row]] += inverse[row] * inverse[row]
