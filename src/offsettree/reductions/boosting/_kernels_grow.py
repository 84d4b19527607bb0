"""Growing one tree that all actions share: numba only, loaded when the first policy is boosted.

A tree is complete: its 2^depth - 1 tests stand level by level, as in a heap, and a node that is not split sends all
rows to its left. A test sends a row to the left where ``uint8(code - lowest) <= span``, in the arithmetic of single
bytes: one form for "at most t" (lowest 0), for "missing, or at most t" (lowest is the code of what is missing, and
other codes come after it), and for "this category" (span 0).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from offsettree._jit import kernel, kernel_reordering_sums
from offsettree.compiled.boosted import MISSING

__all__ = ["Rows", "Settings", "Tree", "Work", "add_to_own", "grow", "set_gradients"]

N_BINS = MISSING + 1
ALL = np.uint8(255)


class Rows(NamedTuple):
    """The rows that a tree is grown on, and what it is to explain of them."""

    codes: Any  # of shape (n_columns, n_rows)
    is_category: Any
    action: Any
    share: Any  # of each action: the one of the sums of gains that it counts in
    gradient: Any
    curvature: Any


class Settings(NamedTuple):
    """How a tree is grown; prices are in units of curvature."""

    depth: int
    action_prior: float  # rows that pull an action's value towards that of the leaf
    leaf_prior: float  # rows that pull a leaf's value towards 0
    min_rows: int


class Tree(NamedTuple):
    """A complete tree."""

    feature: Any
    lowest: Any
    span: Any
    values: Any  # of shape (n_leaves, n_actions)


class Work(NamedTuple):
    """Room to work in, made once for all trees of a fold."""

    order: Any
    other: Any
    gradient: Any  # in that order, and so on
    curvature: Any
    share: Any
    sums: Any  # of shape (2, n_nodes, n_columns, N_BINS, n_shares, 2): of the level above, and of this one
    count: Any  # of shape (2, n_nodes, n_columns, N_BINS)


@kernel
def set_gradients(score: Any, reward: Any, weight: Any, logistic: Any, gradient: Any, curvature: Any) -> Any:
    """Write the gradient and the curvature of the loss at the present scores; return the mean curvature."""
    total = 0.0
    for i in range(score.shape[0]):
        w = weight[i] if weight.shape[0] > 0 else 1.0
        if logistic:
            p = 1.0 / (1.0 + np.exp(-score[i]))
            gradient[i] = w * (reward[i] - p)
            curvature[i] = w * p * (1.0 - p)
        else:
            gradient[i] = w * (reward[i] - score[i])
            curvature[i] = w
        total += curvature[i]
    return total / score.shape[0]


@kernel
def _add_rows(codes: Any, work: Any, sums: Any, count: Any, begin: Any, end: Any) -> None:
    """Add up the rows from `begin` to `end` - 1 by bin of a column and by share."""
    sums[:] = 0
    count[:] = 0
    for q in range(begin, end):
        b = codes[work.order[q]]
        s = work.share[q]
        sums[b, s, 0] += work.gradient[q]
        sums[b, s, 1] += work.curvature[q]
        count[b] += 1


@kernel_reordering_sums
def _gain(left: Any, whole: Any, prior: Any) -> Any:
    """Return what a split explains, summed over shares; of a half, the square of its gradient over its curvature."""
    gain = np.float32(0)
    for s in range(whole.shape[0]):
        a, x = left[s, 0], left[s, 1] + prior
        b, y = whole[s, 0] - a, whole[s, 1] - left[s, 1] + prior
        gain += (a * a * y + b * b * x) / (x * y)
    return gain


@kernel
def _best_test(sums: Any, count: Any, whole: Any, is_category: Any, n_rows: Any, least: Any, prior: Any) -> Any:
    """Return the best gain of a column and the test that has it: (gain, lowest, span)."""
    best, lowest, span = np.float32(-1.0), np.uint8(0), ALL
    left = np.zeros_like(whole)
    if is_category:
        for b in range(N_BINS):
            if least <= count[b] <= n_rows - least:
                gain = _gain(sums[b], whole, prior)
                if gain > best:
                    best, lowest, span = gain, np.uint8(b), np.uint8(0)
        return best, lowest, span
    for missing_left in range(2 if count[MISSING] > 0 else 1):
        left[:] = 0
        n_left = 0
        if missing_left:
            left += sums[MISSING]
            n_left = count[MISSING]
        # With the missing ones on the left, "at most t" for no t is a test as well.
        for b in range(-missing_left, MISSING):
            if b >= 0:
                if count[b] == 0:
                    continue
                for s in range(left.shape[0]):
                    left[s, 0] += sums[b, s, 0]
                    left[s, 1] += sums[b, s, 1]
                n_left += count[b]
            if n_rows - n_left < least:
                break
            if n_left >= least:
                gain = _gain(left, whole, prior)
                if gain > best:
                    best = gain
                    lowest = np.uint8(MISSING * missing_left)
                    span = np.uint8(b + missing_left * (256 - MISSING))
    return best, lowest, span


@kernel
def _divide(rows: Any, work: Any, begin: Any, end: Any, column: Any, lowest: Any, span: Any) -> Any:
    """Move the rows that go left before the others, both in their order; return where the others begin."""
    codes = rows.codes[column]
    middle, n_right = begin, 0
    for q in range(begin, end):
        i = work.order[q]
        if np.uint8(codes[i] - lowest) <= span:
            work.order[middle] = i
            middle += 1
        else:
            work.other[n_right] = i
            n_right += 1
    for q in range(n_right):
        work.order[middle + q] = work.other[q]
    _follow(rows, work, begin, end)
    return middle


@kernel
def _follow(rows: Any, work: Any, begin: Any, end: Any) -> None:
    """Write what rows have to say in the order of the rows."""
    for q in range(begin, end):
        i = work.order[q]
        work.gradient[q] = rows.gradient[i]
        work.curvature[q] = rows.curvature[i]
        work.share[q] = rows.share[rows.action[i]]


@kernel
def _find_sums(rows: Any, work: Any, columns: Any, bounds: Any, level: Any, node: Any) -> None:
    """Add up the rows of a node and of its right neighbour: the shorter one by its rows, the other as what is left."""
    now, before = level % 2, (level + 1) % 2
    n_left, n_right = bounds[node + 1] - bounds[node], bounds[node + 2] - bounds[node + 1]
    short = node if n_left <= n_right else node + 1
    long = 2 * node + 1 - short
    for c in range(columns.shape[0]):
        codes = rows.codes[columns[c]]
        sums, count = work.sums[now, short, c], work.count[now, short, c]
        _add_rows(codes, work, sums, count, bounds[short], bounds[short + 1])
        work.sums[now, long, c] = work.sums[before, node // 2, c] - sums
        work.count[now, long, c] = work.count[before, node // 2, c] - count


@kernel
def _whole_of(work: Any, begin: Any, end: Any, n_shares: Any) -> Any:
    whole = np.zeros((n_shares, 2), np.float32)
    for q in range(begin, end):
        whole[work.share[q], 0] += work.gradient[q]
        whole[work.share[q], 1] += work.curvature[q]
    return whole


@kernel
def grow(rows: Any, work: Any, columns: Any, settings: Any, tree: Any, score: Any, rate: Any) -> None:
    """Grow a tree into the arrays of `tree`, by the columns named, and add its values, times `rate`, to the scores.

    A split must pay for many actions: its gain is summed over them. An action's value is that of its rows in the leaf,
    pulled towards the mean of the leaf as strongly as `action_prior` rows would.
    """
    n_rows, depth = rows.codes.shape[1], settings.depth
    n_shares = work.sums.shape[4]
    prior = np.float32(settings.action_prior)
    for q in range(n_rows):
        work.order[q] = q
    _follow(rows, work, 0, n_rows)
    tree.feature[:] = 0
    tree.lowest[:] = 0
    tree.span[:] = ALL
    bounds = np.array([0, n_rows])
    is_open = np.ones(1, np.bool_)
    for level in range(depth):
        n_nodes, first = 1 << level, (1 << level) - 1
        next_bounds = np.empty(2 * n_nodes + 1, np.int64)
        next_open = np.zeros(2 * n_nodes, np.bool_)
        next_bounds[0] = 0
        for node in range(n_nodes):
            begin, end = bounds[node], bounds[node + 1]
            if level > 0 and node % 2 == 0 and (is_open[node] or is_open[node + 1]):
                _find_sums(rows, work, columns, bounds, level, node)
            middle = end
            if is_open[node] and end - begin >= 2 * settings.min_rows:
                whole = _whole_of(work, begin, end, n_shares)
                best = np.float32(0.0)
                for s in range(n_shares):
                    best += whole[s, 0] * whole[s, 0] / (whole[s, 1] + prior)
                best += np.float32(1e-9)
                where = -1
                for c in range(columns.shape[0]):
                    sums, count = work.sums[level % 2, node, c], work.count[level % 2, node, c]
                    if level == 0:
                        _add_rows(rows.codes[columns[c]], work, sums, count, begin, end)
                    gain, lowest, span = _best_test(
                        sums, count, whole, rows.is_category[columns[c]], end - begin, settings.min_rows, prior
                    )
                    if gain > best:
                        best, where = gain, columns[c]
                        tree.lowest[first + node], tree.span[first + node] = lowest, span
                if where >= 0:
                    tree.feature[first + node] = where
                    middle = _divide(rows, work, begin, end, where, tree.lowest[first + node], tree.span[first + node])
                    next_open[2 * node], next_open[2 * node + 1] = True, True
            next_bounds[2 * node + 1], next_bounds[2 * node + 2] = middle, end
        bounds, is_open = next_bounds, next_open
    _set_values(rows, work, bounds, settings, tree.values, score, rate)


@kernel
def _set_values(rows: Any, work: Any, bounds: Any, settings: Any, values: Any, score: Any, rate: Any) -> None:
    n_actions = values.shape[1]
    above, below = np.empty(n_actions), np.empty(n_actions)
    for leaf in range(values.shape[0]):
        begin, end = bounds[leaf], bounds[leaf + 1]
        if begin == end:
            values[leaf] = 0
            continue
        above[:] = 0
        below[:] = 0
        total, weight = 0.0, 0.0
        for q in range(begin, end):
            a = rows.action[work.order[q]]
            above[a] += work.gradient[q]
            below[a] += work.curvature[q]
            total += work.gradient[q]
            weight += work.curvature[q]
        mean = total / (weight + settings.leaf_prior)
        prior = settings.action_prior
        for a in range(n_actions):
            values[leaf, a] = rate * (above[a] + prior * mean) / (below[a] + prior)
        for q in range(begin, end):
            i = work.order[q]
            score[i] += values[leaf, rows.action[i]]


@kernel
def add_to_own(codes: Any, action: Any, tree: Any, score: Any) -> None:
    """Add the value that a tree has for each row's own action."""
    n_tests = tree.feature.shape[0]
    for i in range(codes.shape[1]):
        node = 0
        while node < n_tests:
            right = np.uint8(codes[tree.feature[node], i] - tree.lowest[node]) > tree.span[node]
            node = 2 * node + 1 + right
        score[i] += tree.values[node - n_tests, action[i]]
