"""Kernel of the moments of a log's rows, up to the third order, in one pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offsettree._jit import kernel_reordering_sums

N_SUMS = 4 + 10 + 20 + 12  # moments of four columns of order 1, 2 and 3; then four sums of each of three weights


@kernel_reordering_sums
def add_moments(
    first_above: NDArray[np.float64],
    first_below: NDArray[np.float64],
    first_weight: NDArray[np.float64],
    second_above: NDArray[np.float64],
    second_below: NDArray[np.float64],
    second_weight: NDArray[np.float64],
    values: NDArray[np.float64],
    factors: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Write the moments of the rows of two ratios of sums; `above` is a numerator, `below` a denominator.

    Per row and ratio, a (or b) is (above - value * below) * factor and x (or y) is below * factor. `sums` gets the
    moments of order 1, 2 and 3 of (a, b, x, y), in the order of combinations with replacement. Then follow, for the
    first weight times factor, the second, and their difference: the sums of squares and cubes of positive ones, then
    of negative ones.
    """
    value_a, value_b, factor_a, factor_b = values[0], values[1], factors[0], factors[1]
    a1 = b1 = x1 = y1 = 0.0
    aa = ab = ax = ay = bb = bx = by = xx = xy = yy = 0.0
    aaa = aab = aax = aay = abb = abx = aby = axx = axy = ayy = 0.0
    bbb = bbx = bby = bxx = bxy = byy = xxx = xxy = xyy = yyy = 0.0
    u2 = u3 = v2 = v3 = above2 = above3 = below2 = below3 = 0.0
    for row in range(len(first_above)):
        a = (first_above[row] - value_a * first_below[row]) * factor_a
        b = (second_above[row] - value_b * second_below[row]) * factor_b
        x, y = first_below[row] * factor_a, second_below[row] * factor_b
        a1 += a
        b1 += b
        x1 += x
        y1 += y
        pa, pb, px, py, qb, qx, qy, sx, sy, ty = a * a, a * b, a * x, a * y, b * b, b * x, b * y, x * x, x * y, y * y
        aa += pa
        ab += pb
        ax += px
        ay += py
        bb += qb
        bx += qx
        by += qy
        xx += sx
        xy += sy
        yy += ty
        aaa += pa * a
        aab += pa * b
        aax += pa * x
        aay += pa * y
        abb += qb * a
        abx += pb * x
        aby += pb * y
        axx += sx * a
        axy += sy * a
        ayy += ty * a
        bbb += qb * b
        bbx += qb * x
        bby += qb * y
        bxx += sx * b
        bxy += sy * b
        byy += ty * b
        xxx += sx * x
        xxy += sx * y
        xyy += ty * x
        yyy += ty * y
        u, v = first_weight[row] * factor_a, second_weight[row] * factor_b
        u2 += u * u
        u3 += u * u * u
        v2 += v * v
        v3 += v * v * v
        above, below = max(u - v, 0.0), max(v - u, 0.0)
        above2 += above * above
        above3 += above * above * above
        below2 += below * below
        below3 += below * below * below
    ones, twos = (a1, b1, x1, y1), (aa, ab, ax, ay, bb, bx, by, xx, xy, yy)
    threes = (aaa, aab, aax, aay, abb, abx, aby, axx, axy, ayy, bbb, bbx, bby, bxx, bxy, byy, xxx, xxy, xyy, yyy)
    weights = (u2, u3, 0.0, 0.0, v2, v3, 0.0, 0.0, above2, above3, below2, below3)
    # Element by element: assigning a tuple to a slice takes seconds to compile.
    for i in range(4):
        sums[i] = ones[i]
    for i in range(10):
        sums[4 + i] = twos[i]
    for i in range(20):
        sums[14 + i] = threes[i]
    for i in range(12):
        sums[34 + i] = weights[i]
