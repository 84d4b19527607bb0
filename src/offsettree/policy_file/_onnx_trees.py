"""Tables of decision trees as the attributes of ONNX's ensembles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.models.graph import round_down
from offsettree.models.scores import LeafMeans
from offsettree.models.split_contests import SplitContests
from offsettree.models.tree_sums import TreeSums
from offsettree.models.tree_table import TreeTable
from offsettree.reading.cannot_flatten import CannotFlatten


def ensemble_of_contests(contests: SplitContests) -> dict[str, Any]:
    """Return the trees of all contests: contest c has 1 in output c where the left side wins."""
    trees, tree = contests.trees, _owner(contests.trees.start)
    if contests.centre is not None:  # the score of contest c is column c of those that follow X
        n_columns = len(contests.centre)
        trees = replace(trees, feature=np.where(trees.feature == n_columns, n_columns + tree, trees.feature))
    leaf = np.flatnonzero(trees.is_leaf)
    return ensemble(trees, leaf, tree[leaf], contests.answer[leaf], contests.n_contests)


def ensemble_of_sums(sums: TreeSums) -> dict[str, Any]:
    """Return the trees of sums; each adds the values of its leaf to its outputs."""
    if (sums.output < 0).any():
        raise CannotFlatten("one model of all actions")
    n_values = sums.values.shape[1]
    leaf = np.flatnonzero(sums.trees.is_leaf)
    first = sums.output[_owner(sums.trees.start)[leaf]]
    outputs = (first[:, np.newaxis] + np.arange(n_values)).ravel()
    values = sums.values[sums.value_of[leaf]].ravel()
    return ensemble(sums.trees, np.repeat(leaf, n_values), outputs, values, sums.n_outputs)


def ensemble_of_means(means: LeafMeans, n_actions: int) -> dict[str, Any]:
    """Return the trees whose leaves hold numbers of some actions."""
    matrix, n_trees = means.means, means.trees.n_trees
    entry = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return ensemble(means.trees, entry, matrix.indices, matrix.data / n_trees, n_actions)


def ensemble(
    trees: TreeTable, leaf: NDArray[Any], outputs: NDArray[Any], weights: NDArray[Any], n_outputs: int
) -> dict[str, Any]:
    """Return trees as attributes; `leaf` adds `weights` to `outputs`."""
    tree = _owner(trees.start)
    node = np.arange(len(tree)) - trees.start[:-1][tree]
    return {
        "n_targets": n_outputs,
        "aggregate_function": "SUM",
        "post_transform": "NONE",
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": node.tolist(),
        "nodes_modes": np.where(trees.is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_featureids": np.maximum(trees.feature, 0).tolist(),
        # Rows are float32: the threshold of that type that is not above parts them alike.
        "nodes_values": round_down(trees.threshold).tolist(),
        "nodes_truenodeids": np.maximum(trees.left, 0).tolist(),
        "nodes_falsenodeids": np.maximum(trees.right, 0).tolist(),
        "nodes_missing_value_tracks_true": trees.missing_left.astype(np.int64).tolist(),
        "target_treeids": tree[leaf].tolist(),
        "target_nodeids": node[leaf].tolist(),
        "target_ids": np.asarray(outputs).tolist(),
        "target_weights": np.asarray(weights, dtype=np.float64).tolist(),
    }


def _owner(start: NDArray[np.int64]) -> NDArray[np.intp]:
    return np.repeat(np.arange(len(start) - 1), np.diff(start))
