"""Kernels that grow one tree shared by all actions; loaded when the first policy is boosted.

A tree is complete: its 2^depth - 1 tests are stored level by level, as in a heap, and a node that is not split sends
all rows left. A test sends a row left if ``uint8(code - lowest) <= span``, with wrap-around. One form thus covers "at
most t" (lowest 0), "missing, or at most t" (lowest is the code of missing values; other codes wrap around after it),
and "this category" (span 0).

Gradients and curvatures (second derivatives) are rounded to integers and packed into one 64-bit word: the gradient in
the high half, the curvature, which is never negative, in the low half. So one addition adds both, and sums are exact in
any order.

Gains are summed by share: a share is one action or, with many actions, a random group of actions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from offsettree._jit import kernel, kernel_reordering_sums, part
from offsettree.models.boosted import MISSING

N_BINS = MISSING + 1
ALL = np.uint8(255)
LARGEST = float(1 << 30)  # sum of all absolute gradients, and of all curvatures, as integers
LOW = np.int64((1 << 32) - 1)
HALF = np.int64(32)


class Rows(NamedTuple):
    """The training rows of a tree."""

    codes: Any  # of shape (n_columns, n_rows)
    is_category: Any
    action: Any
    share: Any  # of each action
    packed: Any  # gradients and curvatures


class Settings(NamedTuple):
    """How a tree is grown; priors and `min_rows` are in rows, that is, in units of mean curvature."""

    depth: int
    action_prior: float  # pseudo-rows that shrink an action's value towards that of the leaf
    leaf_prior: float  # pseudo-rows that shrink a leaf's value towards 0
    min_rows: float
    rate: float  # learning rate


class Tree(NamedTuple):
    """A complete tree."""

    feature: Any
    lowest: Any
    span: Any
    values: Any  # of shape (n_leaves, n_actions)


class Work(NamedTuple):
    """Buffers, allocated once for all trees of a fold."""

    order: Any
    share: Any  # in that order, as is `packed`
    packed: Any
    other_order: Any  # rows that go right, while a node is split
    other_share: Any
    other_packed: Any
    sums: Any  # of shape (2, n_nodes, n_columns, N_BINS * n_shares): of the level above, and of this one
    left: Any  # of shape (2, n_shares): gradients and curvatures on the left side of a test, as floats
    whole: Any  # the same of the whole node
    by_action: Any


@kernel
def find_gradients(
    score: Any, reward: Any, weight: Any, logistic: Any, bounds: Any, gradient: Any, curvature: Any, sums: Any
) -> None:
    """Write gradients and curvatures of the loss at the current scores; sum absolute gradients and curvatures by block.

    A block is the rows between two of the bounds.
    """
    for block in range(sums.shape[0]):
        size, total = 0.0, 0.0
        for i in range(bounds[block], bounds[block + 1]):
            w = weight[i] if weight.shape[0] > 0 else 1.0
            if logistic:
                p = 1.0 / (1.0 + np.exp(-score[i]))
                gradient[i] = w * (reward[i] - p)
                curvature[i] = w * p * (1.0 - p)
            else:
                gradient[i] = w * (reward[i] - score[i])
                curvature[i] = w
            size += np.abs(gradient[i])
            total += curvature[i]
        sums[block, 0], sums[block, 1] = size, total


@kernel
def pack(gradient: Any, curvature: Any, g_unit: Any, h_unit: Any, packed: Any) -> None:
    """Write gradients and curvatures as packed integers."""
    for i in range(packed.shape[0]):
        packed[i] = (np.int64(np.rint(gradient[i] / g_unit)) << HALF) + np.int64(np.rint(curvature[i] / h_unit))


@part
def _gradient(packed: Any) -> Any:
    return np.float32(np.int32(packed >> HALF))


@part
def _curvature(packed: Any) -> Any:
    return np.float32(np.int32(packed & LOW))


@kernel
def add_rows(codes: Any, work: Any, begin: Any, end: Any, n_shares: Any, sums: Any) -> None:
    """Sum the rows from `begin` to `end` - 1 by bin of a column and by share."""
    order, share, packed = work.order, work.share, work.packed
    sums[:] = 0
    width = np.uint64(n_shares)
    for q in range(np.uint64(begin), np.uint64(end)):
        sums[np.uint64(codes[order[q]]) * width + np.uint64(share[q])] += packed[q]


@kernel_reordering_sums
def _gain(left: Any, whole: Any, prior: Any) -> Any:
    """Return the gain of a split: gradient^2 / curvature of both sides, summed over shares."""
    gain = np.float32(0)
    for s in range(whole.shape[1]):
        a, x = left[0, s], left[1, s] + prior
        b, y = whole[0, s] - a, whole[1, s] - left[1, s] + prior
        gain += (a * a * y + b * b * x) / (x * y)
    return gain


@kernel_reordering_sums
def _unpack(packed: Any, out: Any, add: Any) -> Any:
    """Write packed sums as floats, or add them to `out`; return their total curvature."""
    for s in range(out.shape[1]):
        out[0, s] = _gradient(packed[s]) + (out[0, s] if add else np.float32(0))
        out[1, s] = _curvature(packed[s]) + (out[1, s] if add else np.float32(0))
    total = np.float32(0)
    for s in range(out.shape[1]):
        total += _curvature(packed[s])
    return total


@kernel
def _best_test(sums: Any, work: Any, is_category: Any, weight: Any, least: Any, prior: Any) -> Any:
    """Return the best test of a column: (gain, lowest, span)."""
    best, lowest, span = np.float32(-1.0), np.uint8(0), ALL
    left, whole = work.left, work.whole
    n_shares = whole.shape[1]
    if is_category:
        for b in range(N_BINS):
            here = _unpack(sums[b * n_shares : (b + 1) * n_shares], left, False)
            if least <= here <= weight - least:
                gain = _gain(left, whole, prior)
                if gain > best:
                    best, lowest, span = gain, np.uint8(b), np.uint8(0)
        return best, lowest, span
    left[:] = 0
    missing = _unpack(sums[MISSING * n_shares :], left, False)
    for missing_left in range(2 if missing > 0 else 1):
        n_left = np.float32(0)
        if missing_left:
            n_left = _unpack(sums[MISSING * n_shares :], left, False)
        else:
            left[:] = 0
        # With missing values on the left, b = -1 is the test "is missing".
        for b in range(-missing_left, MISSING):
            if b >= 0:
                here = _unpack(sums[b * n_shares : (b + 1) * n_shares], left, True)
                if here == 0:
                    continue
                n_left += here
            if weight - n_left < least:
                break
            if n_left >= least:
                gain = _gain(left, whole, prior)
                if gain > best:
                    best = gain
                    lowest = np.uint8(MISSING * missing_left)
                    span = np.uint8(b + missing_left * (256 - MISSING))
    return best, lowest, span


@kernel
def divide(codes: Any, work: Any, begin: Any, end: Any, lowest: Any, span: Any) -> Any:
    """Partition the rows stably, left ones first; return where the right ones begin."""
    order, share, packed = work.order, work.share, work.packed
    middle, n_right = np.uint64(begin), np.uint64(0)
    for q in range(np.uint64(begin), np.uint64(end)):
        i = order[q]
        if np.uint8(codes[i] - lowest) <= span:
            order[middle], share[middle], packed[middle] = i, share[q], packed[q]
            middle += np.uint64(1)
        else:
            work.other_order[n_right], work.other_share[n_right] = i, share[q]
            work.other_packed[n_right] = packed[q]
            n_right += np.uint64(1)
    for q in range(n_right):
        order[middle + q], share[middle + q] = work.other_order[q], work.other_share[q]
        packed[middle + q] = work.other_packed[q]
    return np.int64(middle)


@kernel
def _find_sums(rows: Any, work: Any, columns: Any, bounds: Any, level: Any, node: Any) -> None:
    """Compute the sums of two siblings: the smaller one from its rows, the other by subtraction from the parent."""
    now, before, n_shares = level % 2, (level + 1) % 2, work.left.shape[1]
    n_left, n_right = bounds[node + 1] - bounds[node], bounds[node + 2] - bounds[node + 1]
    short = node if n_left <= n_right else node + 1
    long = 2 * node + 1 - short
    for c in range(columns.shape[0]):
        sums, rest, above = work.sums[now, short, c], work.sums[now, long, c], work.sums[before, node // 2, c]
        add_rows(rows.codes[columns[c]], work, bounds[short], bounds[short + 1], n_shares, sums)
        for s in range(sums.shape[0]):
            rest[s] = above[s] - sums[s]


@kernel
def _set_whole(work: Any, sums: Any) -> Any:
    """Write the sums of a node, from the sums of any of its columns; return its curvature."""
    n_shares = work.whole.shape[1]
    weight = np.float32(0)
    for b in range(N_BINS):
        weight += _unpack(sums[b * n_shares : (b + 1) * n_shares], work.whole, b > 0)
    return weight


@kernel
def choose_test(work: Any, columns: Any, is_category: Any, own: Any, settings: Any, units: Any) -> Any:
    """Return the best test of a node from its sums: (column, lowest, span); the column is -1 if none helps."""
    prior, least = np.float32(settings.action_prior * units[2]), np.float32(settings.min_rows * units[2])
    weight = _set_whole(work, own[0])
    best, where, lowest, span = np.float32(0.0), -1, np.uint8(0), ALL
    if weight >= 2 * least:
        for s in range(work.whole.shape[1]):
            best += work.whole[0, s] * work.whole[0, s] / (work.whole[1, s] + prior)
        best *= np.float32(1 + 1e-6)
        for c in range(columns.shape[0]):
            gain, low, wide = _best_test(own[c], work, is_category[columns[c]], weight, least, prior)
            if gain > best:
                best, where, lowest, span = gain, columns[c], low, wide
    return where, lowest, span


@kernel
def begin_tree(rows: Any, work: Any) -> None:
    """Put all rows into the root."""
    for q in range(rows.codes.shape[1]):
        work.order[q] = q
        work.share[q] = rows.share[rows.action[q]]
        work.packed[q] = rows.packed[q]


@kernel
def grow(rows: Any, work: Any, columns: Any, settings: Any, units: Any, tree: Any, score: Any) -> None:
    """Grow a tree into the arrays of `tree`, splitting on `columns`, and add its values to the scores.

    The gain of a split is summed over the actions. An action's value in a leaf is that of its own rows there, shrunk
    towards the mean of the leaf by `action_prior` pseudo-rows. `units` are those of gradients and curvatures, and the
    mean curvature in its unit.
    """
    n_rows, depth, n_shares = rows.codes.shape[1], settings.depth, work.left.shape[1]
    begin_tree(rows, work)
    tree.feature[:] = 0
    tree.lowest[:] = 0
    tree.span[:] = ALL
    bounds = np.array([0, n_rows])
    is_splittable = np.ones(1, np.bool_)
    for level in range(depth):
        n_nodes, first = 1 << level, (1 << level) - 1
        next_bounds = np.empty(2 * n_nodes + 1, np.int64)
        next_splittable = np.zeros(2 * n_nodes, np.bool_)
        next_bounds[0] = 0
        for node in range(n_nodes):
            begin, end = bounds[node], bounds[node + 1]
            if level > 0 and node % 2 == 0 and (is_splittable[node] or is_splittable[node + 1]):
                _find_sums(rows, work, columns, bounds, level, node)
            middle = end
            if is_splittable[node]:
                own = work.sums[level % 2, node]
                if level == 0:
                    for c in range(columns.shape[0]):
                        add_rows(rows.codes[columns[c]], work, begin, end, n_shares, own[c])
                where, lowest, span = choose_test(work, columns, rows.is_category, own, settings, units)
                if where >= 0:
                    tree.feature[first + node] = where
                    tree.lowest[first + node], tree.span[first + node] = lowest, span
                    middle = divide(rows.codes[where], work, begin, end, lowest, span)
                    next_splittable[2 * node], next_splittable[2 * node + 1] = True, True
            next_bounds[2 * node + 1], next_bounds[2 * node + 2] = middle, end
        bounds, is_splittable = next_bounds, next_splittable
    for leaf in range(tree.values.shape[0]):
        begin, end = bounds[leaf], bounds[leaf + 1]
        sum_leaf(rows, work, begin, end, work.by_action)
        set_leaf(work.by_action, settings, units, tree.values[leaf])
        for q in range(begin, end):
            i = work.order[q]
            score[i] += tree.values[leaf, rows.action[i]]


@kernel
def sum_leaf(rows: Any, work: Any, begin: Any, end: Any, by_action: Any) -> None:
    """Sum the rows from `begin` to `end` - 1 by action."""
    by_action[:] = 0
    for q in range(begin, end):
        by_action[rows.action[work.order[q]]] += work.packed[q]


@kernel
def set_leaf(by_action: Any, settings: Any, units: Any, values: Any) -> None:
    """Write the values of a leaf from the sums of its rows by action."""
    worth = settings.rate * units[0] / units[1]
    prior, leaf_prior = settings.action_prior * units[2], settings.leaf_prior * units[2]
    total = np.int64(0)
    for a in range(by_action.shape[0]):
        total += by_action[a]
    if total == 0:  # no row is here: those of a leaf have some curvature
        values[:] = 0
        return
    mean = (total >> HALF) / ((total & LOW) + leaf_prior)
    for a in range(by_action.shape[0]):
        above, below = np.float64(by_action[a] >> HALF), np.float64(by_action[a] & LOW)
        values[a] = worth * (above + prior * mean) / (below + prior)


@kernel
def add_to_own(codes: Any, action: Any, tree: Any, score: Any) -> None:
    """Add a tree's value for each row's own action to the scores."""
    n_tests = tree.feature.shape[0]
    for i in range(codes.shape[1]):
        node = 0
        while node < n_tests:
            right = np.uint8(codes[tree.feature[node], i] - tree.lowest[node]) > tree.span[node]
            node = 2 * node + 1 + right
        score[i] += tree.values[node - n_tests, action[i]]


@kernel
def sum_losses(score: Any, reward: Any, weight: Any, logistic: Any, bounds: Any, sums: Any) -> None:
    """Sum losses, and weights, by block."""
    for block in range(sums.shape[0]):
        loss, total = 0.0, 0.0
        for i in range(bounds[block], bounds[block + 1]):
            w = weight[i] if weight.shape[0] > 0 else 1.0
            if logistic:
                own = max(score[i], 0.0) + np.log1p(np.exp(-np.abs(score[i]))) - reward[i] * score[i]
            else:
                own = (reward[i] - score[i]) ** 2
            loss += w * own
            total += w
        sums[block, 0], sums[block, 1] = loss, total
