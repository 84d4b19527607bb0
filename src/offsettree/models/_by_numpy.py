"""The first decisions of a process by NumPy alone, to the bit as kernels take them: numba need not be loaded.

A new process that takes one decision, such as a function that a request wakes up, would spend most of its time on
loading compiled code, or on compiling it. After a few decisions it does so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from offsettree.models.boosted import FLAG, MISSING, VALUE
from offsettree.models.layout import BY_CATEGORY, BY_SCORE, HAS_INFINITY, HAS_NAN, MISSING_LEFT, OneRow

if TYPE_CHECKING:
    from offsettree.models.graph import SplitGraph

MOST_DECISIONS = 16
LANES = 8  # of `learners._kernels_scores`, where the order of sums is written down

_decisions = count(1)


def are_loaded(kernels: str) -> bool:
    """Tell whether this process has loaded a module of kernels of this folder."""
    return f"offsettree.models.{kernels}" in sys.modules


def goes_without(kernels: str, X: Any = None) -> bool:
    """Tell whether to decide once more without a module of kernels: among the first, while it is not loaded.

    Of a table X, only where it is an array of one row.
    """
    is_one_row = X is None or (isinstance(X, np.ndarray) and len(X) == 1)
    return is_one_row and not are_loaded(kernels) and next(_decisions) <= MOST_DECISIONS


def _not_finite(x: NDArray[Any]) -> int:
    return HAS_NAN * bool(np.isnan(x).any()) | HAS_INFINITY * bool(np.isinf(x).any())


def by_most_walks(graph: SplitGraph, roots: NDArray[np.int32], refused: int) -> OneRow:
    """Return the function from one row to the action that most walks end at, of equals the first."""
    votes = count_walks(graph, roots)
    return lambda x: -1 if _not_finite(x) & refused else int(votes(x, 0).argmax())


def count_walks(graph: SplitGraph, roots: NDArray[np.int32]) -> Callable[[NDArray[Any], int], NDArray[np.intp]]:
    """Return the function from one row to the number of walks that end at each action, of at least so many actions."""
    nodes, flags, sets, scores = graph.parts
    thresholds = nodes.view(np.float32)

    def votes(x: NDArray[Any], n_actions: int) -> NDArray[np.intp]:
        with np.errstate(over="ignore", invalid="ignore"):  # too large for float32 is infinite to a threshold as well
            row = x.astype(np.float32)
            score = _scores(scores, row) if len(scores) else row
        at = roots.copy()
        while (walking := np.flatnonzero(at >= 0)).size:
            here = at[walking]
            column, kind = nodes[here, 0], flags[here]
            by_score, missing_left = (kind & BY_SCORE) != 0, (kind & MISSING_LEFT) != 0
            value = np.where(by_score, score[np.where(by_score, column, 0)], row[np.where(by_score, 0, column)])
            goes_left = np.where(np.isnan(value), missing_left, value <= thresholds[here, 1])
            if len(sets):
                by_category = (kind & BY_CATEGORY) != 0
                is_code = (value >= 0) & (value <= 255) & (value == np.floor(value))
                code = np.where(is_code, value, 0).astype(np.int64)
                words = sets[np.where(by_category, nodes[here, 1], 0), code >> 5] >> (code & 31).astype(np.uint32)
                in_set = np.where(is_code, (words & np.uint32(1)) == 1, missing_left)
                goes_left = np.where(by_category, in_set, goes_left)
            at[walking] = nodes[here, np.where(goes_left, 2, 3)]
        return np.bincount(~at, minlength=n_actions)

    return votes


def _scores(scores: NDArray[np.float32], row: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the score of each contest, as `centre_row` and `weigh` make it; the first is of none."""
    finite = np.isfinite(row)
    centred = np.where(finite, np.where(finite, row, np.float32(0)) - scores[0], np.float32(0))
    total = dot_in_lanes(scores, centred)
    return np.where(np.isnan(total), np.float32(0), total)


def dot_in_lanes(weights: NDArray[Any], row: NDArray[Any]) -> NDArray[Any]:
    """Return the products of the rows of a matrix with one row, added up as `learners._kernels_scores.dot` does."""
    products = weights * row
    whole = products.shape[1] // LANES * LANES
    sums = np.zeros((len(weights), LANES), products.dtype)
    for first in range(0, whole, LANES):
        sums += products[:, first : first + LANES]
    while sums.shape[1] > 1:
        half = sums.shape[1] // 2
        sums = sums[:, :half] + sums[:, half:]
    total = sums[:, 0]
    for column in range(whole, products.shape[1]):
        total = total + products[:, column]
    return total


def leaves_of(tables: tuple[NDArray[Any], ...], start: NDArray[Any], row: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the entry at which each of several decision trees ends, for one row."""
    feature, threshold, left, right, missing_left = tables
    begin = start[:-1].astype(np.int64)
    at = begin.copy()
    while (walking := np.flatnonzero(feature[at] >= 0)).size:
        here = at[walking]
        value = row[feature[here]]
        goes_left = np.where(np.isnan(value), missing_left[here], value <= threshold[here])
        at[walking] = begin[walking] + np.where(goes_left, left[here], right[here])
    return at


def by_boosted_trees(arrays: Mapping[str, NDArray[Any]], refused: int) -> OneRow | None:
    """Return the function from one row to the action of the largest score of `BoostedScores`; None with categories."""
    scores = boosted_scores_of(arrays, refused)
    if scores is None:
        return None

    def choose_one(x: NDArray[Any]) -> int:
        score = scores(x)
        return -1 if score is None else int(score.argmax())

    return choose_one


def boosted_scores_of(
    arrays: Mapping[str, NDArray[Any]], refused: int
) -> Callable[[NDArray[Any]], NDArray[np.float64] | None] | None:
    """Return the function from one row to the scores of `BoostedScores`, or None where it is refused.

    With categories there is none.
    """
    if arrays["is_category"].any():
        return None
    column, what, centre = arrays["column"], arrays["what"], arrays["centre"]
    feature, values, weights, directions = (arrays[name] for name in ("feature", "values", "weights", "directions"))
    trees, (n_trees, n_tests) = np.arange(len(feature)), feature.shape

    def scores(x: NDArray[Any]) -> NDArray[np.float64] | None:
        if _not_finite(x) & refused:
            return None
        with np.errstate(over="ignore"):
            narrow = x.astype(np.float32)
        below = (arrays["edges"] < narrow[:, np.newaxis]).sum(axis=1)
        codes = np.where(np.isnan(narrow), MISSING, below).astype(np.uint8)
        node = np.zeros(n_trees, dtype=np.int64)
        while n_trees and node[0] < n_tests:  # complete trees: all walks are equally long
            code = codes[feature[trees, node]] - arrays["lowest"][trees, node]  # wraps around, as bytes do
            node = 2 * node + 1 + (code > arrays["span"][trees, node])
        made = x[column].astype(np.float64)
        missing = np.isnan(made)
        made = np.where(what == FLAG, missing, np.where(what == VALUE, np.where(missing, centre, made), made == what))
        made = (made - centre) * arrays["scale"]
        if len(directions):
            found = np.flatnonzero(made != 0)
            made = _in_order(np.zeros(directions.shape[1]), made[found, np.newaxis] * directions[found])
        sums = np.zeros(len(weights) - 1 - len(made), dtype=np.float32)
        for tree, leaf, begin in zip(trees, node - n_tests, arrays["output"], strict=True):
            sums[begin : begin + values.shape[2]] += values[tree, leaf]
        parts = np.concatenate([made, sums.astype(np.float64)])
        return _in_order(weights[0], parts[:, np.newaxis] * weights[1:])

    return scores


def _in_order(start: NDArray[np.float64], terms: NDArray[np.float64]) -> NDArray[np.float64]:
    for term in terms:
        start = start + term
    return start
