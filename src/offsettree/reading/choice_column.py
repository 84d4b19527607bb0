"""One boosted model of all actions, whose splits ask for the action as a category: trees of each action by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor

from offsettree.models.tree_table import TreeTable
from offsettree.reading.cannot_flatten import CannotFlatten, name_of
from offsettree.reading.columns import ColumnSpace
from offsettree.reading.pieces import TreesPiece
from offsettree.reading.trees import TreeList

__all__ = ["read_by_action"]


def read_by_action(model: Any, space: ColumnSpace, actions: NDArray[np.intp]) -> list[TreesPiece]:
    """Read a regressor whose last column is the action: for each of some actions, what it says of it.

    Once the action is known, a split on it is no split: the way that it takes is all that is kept.
    """
    if type(model) is not HistGradientBoostingRegressor:
        raise CannotFlatten(name_of(model))
    if type(model._loss.link).__name__ != "IdentityLink":
        raise CannotFlatten(f"{name_of(model)} with loss={model.loss!r}")
    if model.is_categorical_.sum() != 1 or not model.is_categorical_[-1]:
        raise CannotFlatten(f"{name_of(model)} with categories")
    code_of = {
        name: code for code, name in enumerate(model._preprocessor.named_transformers_["encoder"].categories_[0])
    }
    base = np.asarray(model._baseline_prediction, dtype=np.float64).ravel()
    # Categories come first in what the trees see.
    columns = np.append(0, space.numbers)
    pieces = []
    for action in actions.tolist():
        trees = TreeList()
        for (predictor,) in model._predictors:
            _add_resolved(trees, predictor, code_of[str(action)])
        pieces.append(TreesPiece(trees.on_columns(columns), base, 1.0, narrow=False))
    return pieces


def _add_resolved(trees: TreeList, predictor: Any, code: int) -> None:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"] != 0
    children = np.where(leaf[:, np.newaxis], -1, np.stack([nodes["left"], nodes["right"]], axis=1).astype(np.int64))
    follow = np.arange(len(nodes))
    for node in np.flatnonzero((nodes["is_categorical"] != 0) & ~leaf).tolist():
        word = int(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]][code // 32])
        follow[node] = children[node, 0 if word >> (code % 32) & 1 else 1]
    while not np.array_equal(follow, follow[follow]):
        follow = follow[follow]
    kept = [int(follow[0])]
    for node in kept:  # grows on the way: children after their parents
        if not leaf[node]:
            kept += follow[children[node]].tolist()
    place = np.full(len(nodes), -1)
    place[kept] = np.arange(len(kept))
    entries, ends = nodes[kept], leaf[kept]
    left, right = (np.where(ends, -1, place[follow[children[kept, side]]]) for side in (0, 1))
    table = TreeTable(
        np.array([0, len(kept)]),
        entries["feature_idx"],
        entries["num_threshold"],
        left,
        right,
        entries["missing_go_to_left"] != 0,
    )
    trees.add(table, entries["value"][:, np.newaxis].astype(np.float64))
