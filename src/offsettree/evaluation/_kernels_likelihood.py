"""Kernel of the empirical likelihood."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offsettree._jit import kernel_reordering_sums


@kernel_reordering_sums
def add_logs(
    columns: NDArray[np.float64],
    theta: float,
    multiplier: NDArray[np.float64],
    weight: float,
    answer: NDArray[np.float64],
) -> None:
    """Add the sum over rows of weight * log(1 + multiplier . row), its gradient and its Hessian to the answer.

    `columns` has shape (3, n_rows); theta is subtracted from the last. The answer holds the sum, the gradient (3) and
    the Hessian (00, 01, 02, 11, 12, 22). The sum is minus infinity if an argument of a logarithm is not positive.
    """
    a, b, c = multiplier[0], multiplier[1], multiplier[2]
    total = x = y = z = xx = xy = xz = yy = yz = zz = 0.0
    least = np.inf
    for row in range(columns.shape[1]):
        p, q, r = columns[0, row], columns[1, row], columns[2, row] - theta
        s = 1.0 + a * p + b * q + c * r
        least = min(least, s)
        total += np.log(max(s, 1e-300))
        over = 1.0 / max(s, 1e-300)
        p, q, r = p * over, q * over, r * over
        x += p
        y += q
        z += r
        xx -= p * p
        xy -= p * q
        xz -= p * r
        yy -= q * q
        yz -= q * r
        zz -= r * r
    sums = (total, x, y, z, xx, xy, xz, yy, yz, zz)
    for i in range(10):
        answer[i] += weight * sums[i]
    if not least > 0.0:
        answer[0] = -np.inf
