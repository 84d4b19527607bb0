"""Deciding by the features of pairs of a context and an action: a linear part with products, and boosted trees.

Trees are complete and their tests compare bytes, as those of `RewardBoosting`. The numbers of a pair are added up in
one order however many pairs there are: one decision alone has the same scores as in a table.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from offsettree._jit import kernel, part
from offsettree.models._kernels_boosted import _code, add_leaves

BLOCK = 256  # pairs that go through the trees at once


class Products(NamedTuple):
    """Weights of features and of their products; without products, `met` and `squares` have no rows."""

    level: float
    of_x: Any
    of_a: Any
    met: Any  # of shape (n_x, n_a): products of a feature of the context and one of the action
    squares: Any  # of shape (n_a, n_a), above the diagonal and on it: products of two features of the action
    to_x: Any  # of shape (n_x, n_directions): directions in which context and action meet
    to_a: Any


@part
def _begin_row(x: Any, i: Any, linear: Any, slopes: Any, wanted: Any) -> Any:
    """Write the weights of an action's features in a context, and the context along the directions."""
    total = linear.level
    for p in range(x.shape[1]):
        total += x[i, p] * linear.of_x[p]
    for q in range(slopes.shape[0]):
        slopes[q] = linear.of_a[q]
    for p in range(linear.met.shape[0]):
        for q in range(slopes.shape[0]):
            slopes[q] += x[i, p] * linear.met[p, q]
    for d in range(wanted.shape[0]):
        wanted[d] = 0.0
        for p in range(x.shape[1]):
            wanted[d] += x[i, p] * linear.to_x[p, d]
    return total


@part
def _linear(a: Any, j: Any, common: Any, linear: Any, slopes: Any) -> Any:
    """Return the linear part of a pair's score."""
    total, n_a = common, slopes.shape[0]
    for q in range(n_a):
        own = slopes[q]
        if linear.squares.shape[0] > 0:
            for other in range(q, n_a):
                own += linear.squares[q, other] * a[j, other]
        total += own * a[j, q]
    return total


@part
def _of_action(a: Any, j: Any, total: Any, linear: Any, wanted: Any, made: Any, begin: Any) -> None:
    """Write the columns that trees see of an action, and of how it meets the context, from `begin` on."""
    n_a, n_d = a.shape[1], wanted.shape[0]
    for q in range(n_a):
        made[begin + q] = a[j, q]
    at = begin + n_a
    for d in range(n_d):
        offered = 0.0
        for q in range(n_a):
            offered += a[j, q] * linear.to_a[q, d]
        made[at + d] = offered
        made[at + n_d + d] = offered * wanted[d]
        made[at + 2 * n_d + d] = abs(offered - wanted[d])
    made[at + 3 * n_d] = total


@part
def _of_context(x: Any, i: Any, wanted: Any, made: Any) -> Any:
    """Write the columns that trees see of a context; return how many."""
    n_x = x.shape[1]
    for p in range(n_x):
        made[p] = x[i, p]
    for d in range(wanted.shape[0]):
        made[n_x + d] = wanted[d]
    return n_x + wanted.shape[0]


@kernel
def make_columns(x: Any, a: Any, row: Any, linear: Any, columns: Any, out: Any) -> None:
    """Write the linear scores of pairs, and the columns that trees see; `row` is the context of each pair."""
    slopes, wanted = np.empty(a.shape[1]), np.empty(linear.to_x.shape[1])
    last, common = -1, 0.0
    for j in range(row.shape[0]):
        if row[j] != last:
            last = row[j]
            common = _begin_row(x, last, linear, slopes, wanted)
        out[j] = _linear(a, j, common, linear, slopes)
        _of_action(a, j, out[j], linear, wanted, columns[j], _of_context(x, last, wanted, columns[j]))


@kernel
def score_pairs(x: Any, a: Any, row: Any, linear: Any, trees: Any, out: Any) -> None:
    """Write the score of each pair; `row` is its context."""
    n_pairs, n_columns = row.shape[0], trees.edges.shape[0]
    slopes, wanted, made = np.empty(a.shape[1]), np.empty(linear.to_x.shape[1]), np.empty(n_columns)
    codes, own = np.zeros((n_columns, BLOCK), np.uint8), np.empty(n_columns, np.uint8)
    sums = np.empty((BLOCK, 1), np.float32)
    last, common, begin = -1, 0.0, 0
    for first in range(0, n_pairs, BLOCK):
        n_here = min(BLOCK, n_pairs - first)
        for i in range(n_here):
            j = first + i
            if row[j] != last:
                last = row[j]
                common = _begin_row(x, last, linear, slopes, wanted)
                if n_columns > 0:
                    begin = _of_context(x, last, wanted, made)
                    for c in range(begin):
                        own[c] = _code(made[c], trees, c)
            out[j] = _linear(a, j, common, linear, slopes)
            if n_columns > 0:
                _of_action(a, j, out[j], linear, wanted, made, begin)
                for c in range(begin):
                    codes[c, i] = own[c]
                for c in range(begin, n_columns):
                    codes[c, i] = _code(made[c], trees, c)
        if n_columns > 0:
            sums[:] = 0
            add_leaves(codes, trees, sums[:n_here])
            for i in range(n_here):
                out[first + i] += sums[i, 0]


@kernel
def score_trees(x: Any, row: Any, output: Any, trees: Any, out: Any) -> None:
    """Add to each pair the sum of its context's leaves in one of the outputs; an output below 0 has none."""
    n_columns, n_outputs, n_tests = x.shape[1], trees.values.shape[2], trees.feature.shape[1]
    codes, sums = np.empty(n_columns, np.uint8), np.empty(n_outputs, np.float32)
    last = -1
    for j in range(row.shape[0]):
        if output[j] < 0:
            continue
        if row[j] != last:
            last = row[j]
            for c in range(n_columns):
                codes[c] = _code(x[last, c], trees, c)
            for v in range(n_outputs):
                sums[v] = 0
            for t in range(trees.feature.shape[0]):
                node = 0
                while node < n_tests:
                    right = np.uint8(codes[trees.feature[t, node]] - trees.lowest[t, node]) > trees.span[t, node]
                    node = 2 * node + 1 + right
                for v in range(n_outputs):
                    sums[v] += trees.values[t, node - n_tests, v]
        out[j] += sums[output[j]]
