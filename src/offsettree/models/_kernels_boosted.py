"""Deciding by boosted trees that all actions share: numba only, loaded when the first decision is taken.

Trees are complete and their tests compare bytes: see `reductions.boosting._kernels_grow`. Numbers are added up in one
order whatever the number of rows, so that one row alone has the same scores as in a table.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from offsettree._jit import kernel, part
from offsettree.models._kernels_eights import add_to_four
from offsettree.models.boosted import FLAG, MISSING
from offsettree.models.layout import HAS_INFINITY, HAS_NAN

BLOCK = 256  # rows that go through a tree at once
TREES_AT_ONCE = 16
NO_NUMBER = np.uint8(MISSING)


class Trees(NamedTuple):
    """Complete trees, each adding the numbers of one leaf to the outputs from `output` on."""

    edges: Any  # where columns are cut, of shape (n_columns, 63)
    is_category: Any
    feature: Any  # of shape (n_trees, n_tests), and so are the next two
    lowest: Any
    span: Any
    values: Any  # of shape (n_trees, n_leaves, n_directions)
    output: Any


class Linear(NamedTuple):
    """What is made of the columns for scores that are linear in them, and the weights of all."""

    column: Any
    what: Any  # VALUE, FLAG (1 where it is missing), or the code of a category (1 where it is that one)
    centre: Any
    scale: Any
    directions: Any  # of shape (n_made, n_directions); without rows, what is made is used as it is
    weights: Any  # of shape (1 + n_linear + n_outputs, n_actions): of 1, of those, of the trees' outputs


@part
def _find_leaves(codes: Any, trees: Any, t: Any, leaf: Any) -> None:
    """Find the leaf of tree t at which each row of a block ends, in ``leaf[0]``.

    From the bottom up, all rows of the block at each node: bytes without branches, of which many are compared at once.
    """
    feature, lowest, span = trees.feature, trees.lowest, trees.span
    n_tests, nothing = feature.shape[1], np.uint8(0)
    end, half = n_tests, np.uint8(1)
    while end > 0:
        begin = end // 2  # the level of nodes from begin to end - 1, each with `half` leaves below its left side
        for node in range(begin, end):
            column, low, wide = feature[t, node], lowest[t, node], span[t, node]
            if end == n_tests:
                for i in range(BLOCK):
                    leaf[node, i] = np.uint8(np.uint8(codes[column, i] - low) > wide)
            else:
                child = 2 * node + 1
                for i in range(BLOCK):
                    goes_right = np.uint8(np.uint8(codes[column, i] - low) > wide)
                    left, right = leaf[child, i], np.uint8(leaf[child + 1, i] + half)
                    leaf[node, i] = left ^ ((left ^ right) & np.uint8(nothing - goes_right))
        half = np.uint8(half * 2) if end < n_tests else np.uint8(2)
        end = begin


@kernel
def add_leaves(codes: Any, trees: Any, out: Any) -> None:
    """Add the numbers of each row's leaves, tree by tree, to `out`; codes are of shape (n_columns, at least n_rows)."""
    n_rows, n_outputs, n_trees = out.shape[0], out.shape[1], trees.feature.shape[0]
    output = trees.output
    block = np.zeros((codes.shape[0], BLOCK), np.uint8)
    leaf = np.empty((trees.feature.shape[1], BLOCK), np.uint8)
    ends = np.empty((TREES_AT_ONCE, BLOCK), np.uint8)
    sums = np.zeros(BLOCK * n_outputs, np.float32)
    for first in range(0, n_rows, BLOCK):
        n_here = min(BLOCK, n_rows - first)
        for c in range(codes.shape[0]):  # a loop, as slices bring NumPy's errors of shapes, which compile slowly
            for i in range(n_here):
                block[c, i] = codes[c, first + i]
        for i in range(n_here):
            for v in range(n_outputs):
                sums[i * n_outputs + v] = out[first + i, v]
        t = 0
        while t < n_trees:
            end = t
            while end < n_trees and end < t + TREES_AT_ONCE and output[end] == output[t]:
                _find_leaves(block, trees, end, leaf)
                for i in range(BLOCK):
                    ends[end - t, i] = leaf[0, i]
                end += 1
            for i in range(0, n_here, 4):  # up to three rows after the last take part, and are forgotten
                add_to_four(trees.values, t, ends, end - t, i, sums, output[t], n_outputs)
            t = end
        for i in range(n_here):
            for v in range(n_outputs):
                out[first + i, v] = sums[i * n_outputs + v]


@part
def _code(x: Any, trees: Any, column: Any) -> Any:
    """Return the bin of a number: how many edges are below it; a category's is its code."""
    value = np.float32(x)
    if value != value:
        return NO_NUMBER
    if trees.is_category[column]:
        return np.uint8(value)
    below = np.int32(0)
    for e in range(trees.edges.shape[1]):
        below += np.int32(trees.edges[column, e] < value)
    return np.uint8(below)


@kernel
def _find_codes(X: Any, trees: Any, codes: Any) -> Any:
    """Write the bins of rows, and tell what is not finite among their numbers."""
    found = 0
    for i in range(X.shape[0]):
        for c in range(X.shape[1]):
            x = X[i, c]
            if x != x:
                found |= HAS_NAN
            elif np.abs(x) == np.inf:
                found |= HAS_INFINITY
            codes[c, i] = _code(x, trees, c)
    return found


@part
def _make_columns(X: Any, i: Any, linear: Any, made: Any, out: Any) -> None:
    """Write what scores are linear in, of row i."""
    for e in range(linear.column.shape[0]):
        value, what, centre = np.float64(X[i, linear.column[e]]), linear.what[e], linear.centre[e]
        missing = value != value
        if what == FLAG:
            value = np.float64(missing)
        elif what >= 0:
            value = np.float64(value == what)
        elif missing:
            value = centre
        made[e] = (value - centre) * linear.scale[e]
    if linear.directions.shape[0] == 0:
        for e in range(made.shape[0]):
            out[e] = made[e]
        return
    for v in range(out.shape[0]):
        out[v] = 0.0
    for e in range(made.shape[0]):
        if made[e] != 0:
            for v in range(out.shape[0]):
                out[v] += made[e] * linear.directions[e, v]


@part
def _add_products(features: Any, weights: Any, first: Any, score: Any) -> None:
    """Add features times weights, which are in the rows from `first` on: four at a time, for fewer writes, in order."""
    n, f = features.shape[0], 0
    while f + 4 <= n:
        p, q = np.float64(features[f]), np.float64(features[f + 1])
        r, s = np.float64(features[f + 2]), np.float64(features[f + 3])
        at = first + f
        for a in range(score.shape[0]):
            total = score[a] + p * weights[at, a] + q * weights[at + 1, a]
            score[a] = total + r * weights[at + 2, a] + s * weights[at + 3, a]
        f += 4
    while f < n:
        p, at = np.float64(features[f]), first + f
        for a in range(score.shape[0]):
            score[a] += p * weights[at, a]
        f += 1


@part
def _score(weights: Any, linear_part: Any, sums: Any, i: Any, score: Any, j: Any) -> None:
    """Write into row j the scores of row i."""
    n_linear, n_actions = linear_part.shape[0], weights.shape[1]
    for a in range(n_actions):
        score[j, a] = weights[0, a]
    _add_products(linear_part, weights, 1, score[j])
    _add_products(sums[i], weights, 1 + n_linear, score[j])


@part
def _largest(score: Any, i: Any) -> Any:
    best = 0
    for a in range(1, score.shape[1]):
        if score[i, a] > score[i, best]:
            best = a
    return best


# Both are Python: as kernels, each would compile all of what it calls once more.
def score_rows(X: Any, trees: Any, linear: Any, out: Any) -> Any:
    """Write the score of every action for every row, and tell what is not finite in X."""
    return _over_blocks(X, trees, linear, out, np.empty(0, np.intp))


def choose_rows(X: Any, trees: Any, linear: Any, out: Any) -> Any:
    """Write the position of the largest score of every row, of equals the first; tell what is not finite in X."""
    return _over_blocks(X, trees, linear, np.empty((0, linear.weights.shape[1])), out)


@kernel
def _over_blocks(X: Any, trees: Any, linear: Any, scores: Any, chosen: Any) -> Any:
    n_rows, n_columns = X.shape
    n_outputs = linear.weights.shape[0] - 1
    n_linear = linear.column.shape[0] if linear.directions.shape[0] == 0 else linear.directions.shape[1]
    codes = np.empty((n_columns, BLOCK), np.uint8)
    sums = np.empty((BLOCK, n_outputs - n_linear), np.float32)
    made, linear_part = np.empty(linear.column.shape[0]), np.empty(n_linear)
    own = np.empty((1, linear.weights.shape[1]))
    found = 0
    for first in range(0, n_rows, BLOCK):
        n_here = min(BLOCK, n_rows - first)
        found |= _find_codes(X[first : first + n_here], trees, codes)
        sums[:] = 0
        add_leaves(codes, trees, sums[:n_here])
        for i in range(n_here):
            _make_columns(X, first + i, linear, made, linear_part)
            if scores.shape[0] > 0:
                _score(linear.weights, linear_part, sums, i, scores, first + i)
            else:
                _score(linear.weights, linear_part, sums, i, own, 0)
                chosen[first + i] = _largest(own, 0)
    return found


@part
def _add_one_row(codes: Any, trees: Any, leaf: Any, sums: Any) -> None:
    """Add the numbers of one row's leaves: all trees take a step, then the next, so that none waits for another.

    Indices are without sign: what could be negative would be looked at first.
    """
    feature, lowest, span, values = trees.feature, trees.lowest, trees.span, trees.values
    n_trees, n_tests = np.uint64(feature.shape[0]), np.uint64(feature.shape[1])
    one, level = np.uint64(1), np.uint64(1)
    for t in range(n_trees):
        leaf[t] = np.uint64(0)
    while level <= n_tests:
        for t in range(n_trees):
            node = leaf[t]
            code = np.uint8(codes[np.uint64(feature[t, node])] - lowest[t, node])
            leaf[t] = node + node + one + np.uint64(code > span[t, node])
        level += level
    for t in range(n_trees):
        at, begin = leaf[t] - n_tests, np.uint64(trees.output[t])
        for v in range(np.uint64(values.shape[2])):
            sums[begin + v] += values[t, at, v]


@kernel
def choose_one(x: Any, trees: Any, linear: Any, added: Any, refused: Any) -> Any:
    """Decide on one row; -1 where it holds something that is refused. `added` to the scores, if it has entries."""
    n_columns = x.shape[0]
    codes = np.empty(n_columns, np.uint8)
    for c in range(n_columns):
        value = x[c]
        if (refused & HAS_NAN and value != value) or (refused & HAS_INFINITY and np.abs(value) == np.inf):
            return -1
        codes[c] = _code(value, trees, c)
    n_linear = linear.column.shape[0] if linear.directions.shape[0] == 0 else linear.directions.shape[1]
    sums = np.zeros(linear.weights.shape[0] - 1 - n_linear, np.float32)
    _add_one_row(codes, trees, np.empty(trees.feature.shape[0], np.uint64), sums)
    made, linear_part = np.empty(linear.column.shape[0]), np.empty(n_linear)
    _make_columns(x.reshape(1, -1), 0, linear, made, linear_part)
    score = np.empty((1, linear.weights.shape[1]))
    _score(linear.weights, linear_part, sums.reshape(1, -1), 0, score, 0)
    for a in range(added.shape[0]):
        score[0, a] += added[a]
    return _largest(score, 0)
