"""Adaptive learning rates (AdaGrad): each weight's rate falls with the sum of its squared gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import part, part_reordering_sums
from offsettree.online._kernels_rows import add_row
from offsettree.online._layout import MASK, SHIFT, STEP


@part
def adapt(model: Any, node: Any, row: Any, keys: Any, n: Any, power: Any) -> Any:
    """Write the update direction, after adding the row to the sums of squared gradients; return the margin's gain.

    For lists, the sums are updated in the copy `square_sums`.
    """
    layout, weights, values, squares = model.layout, model.weights, row.values, row.squares
    if keys is None:
        return np.float64(_directions(weights, np.uint64(2 * node + 1), values, squares, n, power, row.directions))
    square_sums = row.square_sums
    base, shift, mask = np.uint64(node) * layout[STEP], layout[SHIFT], layout[MASK]
    for i in range(n):
        square_sums[0, i] = weights[0, (((keys[i] + base) >> shift) & mask) + np.uint64(1)]
    return np.float64(_directions(square_sums, np.uint64(0), values, squares, n, power, row.directions))


@part_reordering_sums
def _directions(powers: Any, row: Any, values: Any, squares: Any, n: Any, power: Any, directions: Any) -> Any:
    for i in range(n):
        sum_so_far = powers[row, i] + power * squares[i]
        powers[row, i] = sum_so_far
        directions[i] = _one_over_root(sum_so_far + np.float32(1e-30))
    total = np.float32(0)
    for i in range(n):
        total += squares[i] * directions[i]
    for i in range(n):
        directions[i] *= values[i]
    return total


@part_reordering_sums
def _one_over_root(number: Any) -> Any:
    """Return 1 / sqrt(number) to one part in a million, twice as fast as a square root and a division.

    The fast inverse square root: a first guess by integer arithmetic on the float's bits, then two Newton steps with
    constants that minimise the largest error (Walczyk, Moroz and Cieslinski, 2018).
    """
    half = np.float32(0.5) * number
    guess = np.int32(np.int32(0x5F376908) - (np.float32(number).view(np.int32) >> np.int32(1))).view(np.float32)
    guess *= np.float32(1.50087896) - half * (guess * guess)
    return guess * (np.float32(1.50000057) - half * (guess * guess))


@part
def add_directions(model: Any, node: Any, row: Any, keys: Any, n: Any, stride: Any, power: Any) -> Any:
    """Add `stride` times the direction of `adapt` to the weights, and store its sums of squared gradients."""
    layout, weights, directions = model.layout, model.weights, row.directions
    if keys is None:
        add_row(layout, weights, node, directions, keys, n, stride)
        return
    squares, square_sums = row.squares, row.square_sums
    base, shift, mask = np.uint64(node) * layout[STEP], layout[SHIFT], layout[MASK]
    if shift == 0:
        for i in range(n):
            at = keys[i] + base
            weights[0, at] += stride * directions[i]
            weights[0, at + np.uint64(1)] = square_sums[0, i]
    else:
        for i in range(n):
            at = ((keys[i] + base) >> shift) & mask
            weights[0, at] += stride * directions[i]
            # Added, not copied back: two features of a row may share a hash bucket.
            weights[0, at + np.uint64(1)] += power * squares[i]
