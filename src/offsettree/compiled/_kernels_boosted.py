"""Deciding by boosted trees that all actions share: numba only, loaded when the first decision is taken.

Trees are complete and their tests compare bytes: see `reductions.boosting._kernels_grow`. Numbers are added up in one
order whatever the number of rows, so that one row alone has the same scores as in a table.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from offsettree._jit import kernel
from offsettree.compiled.layout import HAS_INFINITY, HAS_NAN

__all__ = ["Linear", "Trees", "add_leaves", "choose_one", "choose_rows", "score_rows"]

BLOCK = 64  # rows that go through a tree at once
MISSING = np.uint8(63)
VALUE, FLAG = -2, -1


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


@kernel
def _find_leaves(codes: Any, feature: Any, lowest: Any, span: Any, reached: Any, leaf: Any) -> None:
    """Find the leaf of a tree at which each row of a block ends: byte by byte, so that many rows go at once."""
    n_rows, n_tests = leaf.shape[0], feature.shape[0]
    for i in range(n_rows):
        reached[0, i] = 1
        leaf[i] = 0
    n_nodes, first, step = 1, 0, np.uint8((n_tests + 1) // 2)
    while first < n_tests:
        for node in range(first, first + n_nodes):
            column, low, wide = codes[feature[node]], lowest[node], span[node]
            here, right = reached[node], reached[2 * node + 2]
            left = reached[2 * node + 1]
            for i in range(n_rows):
                goes = np.uint8(np.uint8(column[i] - low) > wide) & here[i]
                right[i] = goes
                left[i] = here[i] - goes
                leaf[i] += goes * step
        first += n_nodes
        n_nodes *= 2
        step = np.uint8(step // 2)


@kernel
def add_leaves(codes: Any, trees: Any, out: Any) -> None:
    """Add the numbers of each row's leaves, tree by tree; codes are of shape (n_columns, n_rows)."""
    n_rows, n_tests, n_directions = codes.shape[1], trees.feature.shape[1], trees.values.shape[2]
    reached = np.empty((2 * n_tests + 1, BLOCK), np.uint8)
    block = np.empty((codes.shape[0], BLOCK), np.uint8)
    leaf = np.empty(BLOCK, np.uint8)
    for first in range(0, n_rows, BLOCK):
        n_here = min(BLOCK, n_rows - first)
        block[:, :n_here] = codes[:, first : first + n_here]
        for t in range(trees.feature.shape[0]):
            _find_leaves(block, trees.feature[t], trees.lowest[t], trees.span[t], reached, leaf)
            values, begin = trees.values[t], trees.output[t]
            for i in range(n_here):
                row, numbers = out[first + i], values[leaf[i]]
                for v in range(n_directions):
                    row[begin + v] += numbers[v]


@kernel
def _code(x: Any, edges: Any, is_category: Any) -> Any:
    """Return the bin of a number: how many edges are below it; a category's is its code."""
    value = np.float32(x)
    if value != value:
        return MISSING
    if is_category:
        return np.uint8(value)
    below = np.int32(0)
    for e in range(edges.shape[0]):
        below += np.int32(edges[e] < value)
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
            codes[c, i] = _code(x, trees.edges[c], trees.is_category[c])
    return found


@kernel
def _make_columns(x: Any, linear: Any, made: Any, out: Any) -> None:
    """Write what scores are linear in, of one row."""
    for e in range(linear.column.shape[0]):
        value = np.float64(x[linear.column[e]])
        what = linear.what[e]
        missing = value != value
        if what == FLAG:
            value = 1.0 if missing else 0.0
        elif what >= 0:
            value = 1.0 if value == what else 0.0
        elif missing:
            value = linear.centre[e]
        made[e] = (value - linear.centre[e]) * linear.scale[e]
    if linear.directions.shape[0] == 0:
        out[:] = made
        return
    out[:] = 0
    for e in range(made.shape[0]):
        if made[e] != 0:
            for v in range(out.shape[0]):
                out[v] += made[e] * linear.directions[e, v]


@kernel
def _score(weights: Any, linear_part: Any, tree_part: Any, score: Any) -> None:
    score[:] = weights[0]
    n_linear = linear_part.shape[0]
    for f in range(n_linear):
        for a in range(score.shape[0]):
            score[a] += linear_part[f] * weights[1 + f, a]
    for f in range(tree_part.shape[0]):
        value = np.float64(tree_part[f])
        for a in range(score.shape[0]):
            score[a] += value * weights[1 + n_linear + f, a]


@kernel
def score_rows(X: Any, trees: Any, linear: Any, out: Any) -> Any:
    """Write the score of every action for every row, and tell what is not finite in X."""
    return _over_blocks(X, trees, linear, out, np.empty(0, np.intp))


@kernel
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
    own = np.empty(linear.weights.shape[1])
    found = 0
    for first in range(0, n_rows, BLOCK):
        n_here = min(BLOCK, n_rows - first)
        found |= _find_codes(X[first : first + n_here], trees, codes)
        sums[:] = 0
        add_leaves(codes[:, :n_here], trees, sums)
        for i in range(n_here):
            _make_columns(X[first + i], linear, made, linear_part)
            if scores.shape[0] > 0:
                _score(linear.weights, linear_part, sums[i], scores[first + i])
            else:
                _score(linear.weights, linear_part, sums[i], own)
                chosen[first + i] = own.argmax()
    return found


@kernel
def choose_one(x: Any, trees: Any, linear: Any, refused: Any) -> Any:
    """Decide on one row; -1 where it holds something that is refused."""
    n_columns, n_tests, n_directions = x.shape[0], trees.feature.shape[1], trees.values.shape[2]
    codes = np.empty(n_columns, np.uint8)
    for c in range(n_columns):
        value = x[c]
        if (refused & HAS_NAN and value != value) or (refused & HAS_INFINITY and np.abs(value) == np.inf):
            return -1
        codes[c] = _code(value, trees.edges[c], trees.is_category[c])
    n_linear = linear.column.shape[0] if linear.directions.shape[0] == 0 else linear.directions.shape[1]
    sums = np.zeros(linear.weights.shape[0] - 1 - n_linear, np.float32)
    for t in range(trees.feature.shape[0]):
        feature, lowest, span = trees.feature[t], trees.lowest[t], trees.span[t]
        node = 0
        while node < n_tests:
            node = 2 * node + 1 + np.int64(np.uint8(codes[feature[node]] - lowest[node]) > span[node])
        numbers, begin = trees.values[t, node - n_tests], trees.output[t]
        for v in range(n_directions):
            sums[begin + v] += numbers[v]
    made, linear_part = np.empty(linear.column.shape[0]), np.empty(n_linear)
    _make_columns(x, linear, made, linear_part)
    score = np.empty(linear.weights.shape[1])
    _score(linear.weights, linear_part, sums, score)
    return score.argmax()
