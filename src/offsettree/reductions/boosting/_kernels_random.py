"""Kernels that grow one randomised tree; loaded when a policy is learned from a short log.

Trees and tests are as in `_kernels_grow`. At each node, one test is drawn per column among those that split the rows,
and the best of these is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import kernel
from offsettree.models.boosted import MISSING

ALL = np.uint8(255)


@kernel
def _draw_test(codes: Any, is_category: Any, order: Any, begin: Any, end: Any, draw: Any) -> Any:
    """Draw a test that splits the rows from `begin` to `end` - 1, if there is one: (divides, lowest, span)."""
    low, high = np.int64(MISSING), np.int64(-1)
    for q in range(begin, end):
        code = np.int64(codes[order[q]])
        if code != MISSING:
            low, high = min(low, code), max(high, code)
    if high <= low:
        return False, np.uint8(0), ALL
    if is_category:
        return True, codes[order[begin + np.int64(draw * (end - begin))]], np.uint8(0)
    place = draw * (high - low)
    cut = low + np.int64(place)
    if place % 1.0 < 0.5:  # missing values go left
        return True, np.uint8(MISSING), np.uint8(cut + 256 - MISSING)
    return True, np.uint8(0), np.uint8(cut)


@kernel
def _add_left(rows: Any, codes: Any, sums: Any, order: Any, begin: Any, end: Any, lowest: Any, span: Any) -> Any:
    """Sum gradients and curvatures of the rows that go left, by share; return the number of these rows."""
    sums[:] = 0
    n_left = 0
    for q in range(begin, end):
        i = order[q]
        if np.uint8(codes[i] - lowest) <= span:
            share = rows.share[rows.action[i]]
            sums[0, share] += rows.gradient[i]
            sums[1, share] += rows.curvature[i]
            n_left += 1
    return n_left


@kernel
def _divide(codes: Any, order: Any, other: Any, begin: Any, end: Any, lowest: Any, span: Any) -> Any:
    """Partition the rows stably, left ones first; return where the right ones begin."""
    middle, n_right = begin, 0
    for q in range(begin, end):
        i = order[q]
        if np.uint8(codes[i] - lowest) <= span:
            order[middle] = i
            middle += 1
        else:
            other[n_right] = i
            n_right += 1
    for q in range(n_right):
        order[middle + q] = other[q]
    return middle


@kernel
def grow_random(rows: Any, columns: Any, draws: Any, prior: Any, least: Any, leaf_prior: Any, tree: Any) -> None:
    """Grow a tree into the arrays of `tree`; draws are of shape (n_tests, n_columns).

    Gains and values are as in `_kernels_grow.grow`; priors are in units of curvature, `least` in rows.
    """
    n_rows, n_tests, n_shares = rows.codes.shape[1], tree.feature.shape[0], np.int64(rows.share.max()) + 1
    order, other = np.arange(n_rows), np.empty(n_rows, np.int64)
    bounds = np.zeros((2 * n_tests + 1, 2), np.int64)
    bounds[0, 1] = n_rows
    left, whole = np.empty((2, n_shares)), np.empty((2, n_shares))
    tree.feature[:] = 0
    tree.lowest[:] = 0
    tree.span[:] = ALL
    for node in range(n_tests):
        begin, end = bounds[node]
        best, where, middle = 0.0, -1, end
        if end - begin >= 2 * least:
            _add_left(rows, rows.codes[0], whole, order, begin, end, np.uint8(0), ALL)
            best = (1 + 1e-9) * (whole[0] ** 2 / (whole[1] + prior)).sum()
            for c in range(columns.shape[0]):
                codes = rows.codes[columns[c]]
                divides, lowest, span = _draw_test(
                    codes, rows.is_category[columns[c]], order, begin, end, draws[node, c]
                )
                if not divides:
                    continue
                n_left = _add_left(rows, codes, left, order, begin, end, lowest, span)
                if n_left < least or end - begin - n_left < least:
                    continue
                gain = 0.0
                for s in range(n_shares):
                    gain += left[0, s] ** 2 / (left[1, s] + prior)
                    gain += (whole[0, s] - left[0, s]) ** 2 / (whole[1, s] - left[1, s] + prior)
                if gain > best:
                    best, where = gain, columns[c]
                    tree.lowest[node], tree.span[node] = lowest, span
        if where >= 0:
            tree.feature[node] = where
            middle = _divide(rows.codes[where], order, other, begin, end, tree.lowest[node], tree.span[node])
        bounds[2 * node + 1, 0], bounds[2 * node + 1, 1] = begin, middle
        bounds[2 * node + 2, 0], bounds[2 * node + 2, 1] = middle, end
    for leaf in range(n_tests + 1):
        _set_leaf(rows, order[bounds[n_tests + leaf, 0] : bounds[n_tests + leaf, 1]], prior, leaf_prior, tree, leaf)


@kernel
def _set_leaf(rows: Any, own: Any, prior: Any, leaf_prior: Any, tree: Any, leaf: Any) -> None:
    """Write the value of each action: that of its rows, shrunk towards the mean of the leaf."""
    tree.values[leaf] = 0
    if len(own) == 0:
        return
    gradient, curvature = np.zeros(tree.values.shape[1]), np.zeros(tree.values.shape[1])
    for i in own:
        gradient[rows.action[i]] += rows.gradient[i]
        curvature[rows.action[i]] += rows.curvature[i]
    mean = gradient.sum() / (curvature.sum() + leaf_prior)
    for a in range(tree.values.shape[1]):
        tree.values[leaf, a] = (gradient[a] + prior * mean) / (curvature[a] + prior)
