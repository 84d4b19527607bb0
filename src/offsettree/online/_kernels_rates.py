"""Rates that adapt: each weight has one of its own, which falls with the sum of its squared gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import part, part_reordering_sums
from offsettree.online._kernels_rows import add_row
from offsettree.online._layout import MASK, SHIFT, STEP

__all__ = ["adapt", "add_directions"]


@part
def adapt(
    layout: Any,
    weights: Any,
    node: Any,
    values: Any,
    squares: Any,
    keys: Any,
    directions: Any,
    gathered: Any,
    n: Any,
    power: Any,
) -> Any:
    """Leave the direction to go in scratch, by sums of squared gradients that count the row; return how it adds up.

    Where rows are lists the sums are added to in a copy.
    """
    if keys is None:
        return np.float64(_directions(weights, np.uint64(2 * node + 1), values, squares, n, power, directions))
    base, shift, mask = np.uint64(node) * layout[STEP], layout[SHIFT], layout[MASK]
    for i in range(n):
        gathered[0, i] = weights[0, (((keys[i] + base) >> shift) & mask) + np.uint64(1)]
    return np.float64(_directions(gathered, np.uint64(0), values, squares, n, power, directions))


@part_reordering_sums
def _directions(powers: Any, row: Any, values: Any, squares: Any, n: Any, power: Any, directions: Any) -> Any:
    total = np.float32(0)
    for i in range(n):
        sum_so_far = powers[row, i] + power * squares[i]
        powers[row, i] = sum_so_far
        rate = _one_over_root(sum_so_far + np.float32(1e-30))
        directions[i] = values[i] * rate
        total += squares[i] * rate
    return total


@part_reordering_sums
def _one_over_root(number: Any) -> Any:
    """Return 1 / sqrt(number), to one part in a million: a root and a division would take twice as long.

    Half the bits of a float are nearly half its logarithm, which gives a first guess; two steps of Newton's method mend
    it, with numbers that make the largest error small (Walczyk, Moroz and Cieslinski, 2018).
    """
    half = np.float32(0.5) * number
    guess = np.int32(np.int32(0x5F376908) - (np.float32(number).view(np.int32) >> np.int32(1))).view(np.float32)
    guess *= np.float32(1.50087896) - half * (guess * guess)
    return guess * (np.float32(1.50000057) - half * (guess * guess))


@part
def add_directions(
    layout: Any,
    weights: Any,
    node: Any,
    squares: Any,
    keys: Any,
    directions: Any,
    gathered: Any,
    n: Any,
    stride: Any,
    power: Any,
) -> Any:
    """Go so far in the direction that `adapt` left, and keep its sums of squared gradients."""
    if keys is None:
        add_row(layout, weights, node, directions, keys, n, stride)
        return
    base, shift, mask = np.uint64(node) * layout[STEP], layout[SHIFT], layout[MASK]
    if shift == 0:
        for i in range(n):
            at = keys[i] + base
            weights[0, at] += stride * directions[i]
            weights[0, at + np.uint64(1)] = gathered[0, i]
    else:
        for i in range(n):
            at = ((keys[i] + base) >> shift) & mask
            weights[0, at] += stride * directions[i]
            # Not copied back: two features of a row may share a place.
            weights[0, at + np.uint64(1)] += power * squares[i]
