"""Forests of small trees in the form in which blocks of rows are decided on without walking; see `_kernels_blocks`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from offsettree.models.layout import BY_SCORE, MISSING_LEFT

if TYPE_CHECKING:
    from offsettree.models.graph import SplitGraph

MOST_SPLITS = 400  # of a tree, on average; with more, walks are faster
PRODUCTS = 3  # of a column with a weight, for a score, that take as long as a split
MOST_ACTIONS = 64


def small_trees(graph: SplitGraph, roots: NDArray[np.int32]) -> Any:
    """Return `_kernels_blocks.SmallTrees` of a graph with many roots; None where walks are faster, or needed."""
    from offsettree.models._kernels_blocks import SmallTrees

    nodes, n_actions, n_trees = graph.nodes, graph.n_actions, len(roots)
    n_columns = graph.scores.shape[1]
    if len(graph.sets) or n_actions > MOST_ACTIONS or len(nodes) > MOST_SPLITS * n_trees:
        return None
    first = np.append(roots, len(nodes)).astype(np.int64)
    for tree in range(n_trees - 1, -1, -1):  # one without splits begins where the next does
        first[tree] = first[tree + 1] if roots[tree] < 0 else first[tree]
    of_tree = np.repeat(np.arange(n_trees), np.maximum(np.diff(first), 0))
    place = np.arange(first[0], len(nodes))
    children = nodes[first[0] :, 2:].astype(np.int64)
    inside = (children < 0) | ((children > place[:, np.newaxis]) & (children < first[of_tree + 1][:, np.newaxis]))
    if (np.diff(first) < 0).any() or not inside.all():
        return None
    by_score = (graph.flags[first[0] :] & BY_SCORE) != 0
    column = nodes[first[0] :, 0].astype(np.int64)
    # Each score of a tree once, numbered from 0 in each.
    key = of_tree * max(1, len(graph.scores)) + column
    wanted, number = np.unique(key[by_score], return_inverse=True)
    first_score = np.searchsorted(wanted, np.arange(n_trees + 1) * max(1, len(graph.scores)))
    if len(nodes) + len(wanted) * n_columns / PRODUCTS > MOST_SPLITS * n_trees:
        return None
    column[by_score] = n_columns + number - first_score[of_tree[by_score]]
    places = np.where(children < 0, ~children, children - first[of_tree][:, np.newaxis] + n_actions)
    return SmallTrees(
        first - first[0],
        np.where(roots < 0, ~roots.astype(np.int64), n_actions),
        column,
        nodes[first[0] :, 1].copy().view(np.float32),
        (graph.flags[first[0] :] & MISSING_LEFT) == 0,
        places[:, 0].copy(),
        places[:, 1].copy(),
        first_score.astype(np.int64),
        wanted % max(1, len(graph.scores)),
        graph.scores.reshape(-1),
        graph.scores[0].copy() if len(graph.scores) else np.empty(0, np.float32),
    )
