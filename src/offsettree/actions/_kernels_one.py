"""One decision among actions with features: scaling, scores and the choice, in one call.

What is computed is what the kernels of tables compute, to the bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import kernel, part
from offsettree.actions._kernels_pairs import Products, _begin_row, _linear, _of_action, _of_context
from offsettree.models._kernels_boosted import _code

BLOCK = 64  # actions that go through the trees at once: as bytes, one or two vectors


@part
def _scaled(table: Any, mean: Any, spread: Any, largest: Any, out: Any) -> Any:
    """Write the features in standard deviations from their means; tell whether all are within `largest`."""
    within = True
    for i in range(table.shape[0]):
        for c in range(table.shape[1]):
            out[i, c] = (table[i, c] - mean[c]) / spread[c]
            within &= abs(out[i, c]) <= largest
    return within


@part
def _find_codes(values: Any, edges: Any, below: Any, codes: Any) -> None:
    """Write the bins of finite numbers: how many edges are below each, of all numbers at once."""
    for i in range(BLOCK):
        below[i] = 0
    for e in range(edges.shape[0]):
        edge = edges[e]
        for i in range(BLOCK):
            below[i] += np.int32(edge < values[i])
    for i in range(BLOCK):
        codes[i] = np.uint8(below[i])


@part
def _add_tree(codes: Any, trees: Any, t: Any, leaf: Any, sums: Any) -> None:
    """Add the leaves of one tree: as `_find_leaves` of label actions, with a block that suits one decision."""
    n_tests, nothing = trees.feature.shape[1], np.uint8(0)
    end, half = n_tests, np.uint8(1)
    while end > 0:
        begin = end // 2
        for node in range(begin, end):
            column, low, wide = trees.feature[t, node], trees.lowest[t, node], trees.span[t, node]
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
    for i in range(sums.shape[0]):
        sums[i] += trees.values[t, leaf[0, i], 0]


@kernel
def score_one(x: Any, a: Any, scales: Any, largest: Any, linear: Any, trees: Any, out: Any) -> Any:
    """Write the score of each action in one context; False if a feature is not finite, or too large."""
    n_actions, n_columns = a.shape[0], trees.edges.shape[0]
    context, actions = np.empty(x.shape), np.empty(a.shape)
    x_mean, x_spread, a_mean, a_spread = scales
    if not (_scaled(x, x_mean, x_spread, largest, context) and _scaled(a, a_mean, a_spread, largest, actions)):
        return False
    slopes, wanted, made = np.empty(a.shape[1]), np.empty(linear.to_x.shape[1]), np.empty(n_columns)
    common = _begin_row(context, 0, linear, slopes, wanted)
    if trees.feature.shape[0] == 0:
        for j in range(n_actions):
            out[j] = _linear(actions, j, common, linear, slopes)
        return True
    codes, sums = np.zeros((n_columns, BLOCK), np.uint8), np.empty(BLOCK, np.float32)
    leaf, below = np.empty((trees.feature.shape[1], BLOCK), np.uint8), np.empty(BLOCK, np.int32)
    columns = np.zeros((n_columns, BLOCK), np.float32)
    begin = _of_context(context, 0, wanted, made)
    for c in range(begin):
        code = _code(made[c], trees, c)
        for i in range(BLOCK):
            codes[c, i] = code
    for first in range(0, n_actions, BLOCK):
        n_here = min(BLOCK, n_actions - first)
        for i in range(n_here):
            out[first + i] = _linear(actions, first + i, common, linear, slopes)
            _of_action(actions, first + i, out[first + i], linear, wanted, made, begin)
            for c in range(begin, n_columns):
                columns[c, i] = made[c]
        for c in range(begin, n_columns):
            _find_codes(columns[c], trees.edges[c], below, codes[c])
        sums[:] = 0
        for t in range(trees.feature.shape[0]):
            _add_tree(codes, trees, t, leaf, sums)
        for i in range(n_here):
            out[first + i] += sums[i]
    return True


@kernel
def play_one(x: Any, a: Any, scales: Any, largest: Any, linear: Any, leaves: Any, rank: Any) -> Any:
    """Return the winner of one context's tree over its actions, -1 if a feature is not finite, or too large.

    `linear` has the weights of contests per height above the leaves; at a tie the smaller rank wins.
    """
    context, actions = np.empty(x.shape), np.empty(a.shape)
    x_mean, x_spread, a_mean, a_spread = scales
    if not (_scaled(x, x_mean, x_spread, largest, context) and _scaled(a, a_mean, a_spread, largest, actions)):
        return -1
    slopes, wanted = np.empty(a.shape[1]), np.empty(0)
    pairs, n_left, height = leaves.copy(), leaves.shape[0], 0
    scores = np.zeros(a.shape[0])
    while n_left > 1:
        if height < linear.level.shape[0]:
            now = Products(
                linear.level[height], linear.of_x[height], linear.of_a[height], linear.met[height],
                linear.squares[height], linear.to_x, linear.to_a,
            )  # fmt: skip
            common = _begin_row(context, 0, now, slopes, wanted)
            for place in range(n_left):
                scores[pairs[place]] = _linear(actions, pairs[place], common, now, slopes)
            height += 1
        for place in range(n_left // 2):
            left, right = pairs[2 * place], pairs[2 * place + 1]
            wins = scores[left] > scores[right]
            if scores[left] == scores[right]:
                wins = rank[left] < rank[right]
            pairs[place] = left if wins else right
        if n_left % 2:
            pairs[n_left // 2] = pairs[n_left - 1]
        n_left = (n_left + 1) // 2
    return pairs[0]
