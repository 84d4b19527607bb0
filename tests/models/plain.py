"""Compiled policies are held against these: as plain as can be, one classifier and one row at a time."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree import ActionTree
from offsettree.base import BasePolicy
from offsettree.learners import HistogramTree
from offsettree.learners._flat_tree import FlatTree
from offsettree.models import CompiledTree, Tournaments
from offsettree.policy import Prepared
from offsettree.reading import CannotFlatten, ColumnSpace, read_contests

NO_SETS = np.empty((0, 8), dtype=np.uint32)


def asked(policy: Any) -> Any:
    """Return the same policy, deciding by its learners themselves; as it is where it has no other than flat arrays."""
    if hasattr(policy, "best_policy_"):
        search = copy(policy)
        search.best_policy_ = asked(policy.best_policy_)
        return search
    if type(policy)._ask is BasePolicy._ask:
        return policy
    other = copy(policy)
    other._prepared = Prepared()
    other._prepared.finish(policy.actions_)
    assert other.compiled_ is None
    return other


def compile_contests(tree: ActionTree, classifiers: Sequence[Any], n_features: int) -> CompiledTree | None:
    """Flatten the classifiers of one tree as a policy does; None where they cannot be."""
    try:
        contests = read_contests(classifiers, ColumnSpace(n_features, None, []))
    except CannotFlatten:
        return None
    return Tournaments([tree], contests, voting=False).compiled()


def node_by_node(tree: ActionTree, classifiers: Sequence[Any], X: Any) -> NDArray[np.intp]:
    """Every classifier's own `predict` on all rows; each row then follows its answers."""
    sends_left = [np.asarray(classifier.predict(X)) == 1 for classifier in classifiers]
    chosen = np.empty(X.shape[0], dtype=np.intp)
    for row in range(X.shape[0]):
        node = 0
        while node >= 0:
            node = int(tree.left[node] if sends_left[node][row] else tree.right[node])
        chosen[row] = ~node
    return chosen


def label_of(flat: FlatTree, x: NDArray[np.float32]) -> int:
    """Walk one tree as the documentation of `FlatTree` says."""
    entry = 0
    while flat.left[entry] >= 0:
        value = x[flat.feature[entry]]
        which = flat.category_set[entry]
        if np.isnan(value):
            left = flat.missing_left[entry]
        elif which < 0:
            left = value <= flat.threshold[entry]
        elif value in range(256):
            left = bool(flat.sets[which, int(value) // 32] >> np.uint32(int(value) % 32) & np.uint32(1))
        else:
            left = flat.missing_left[entry]
        entry = int(flat.left[entry] if left else flat.right[entry])
    return int(flat.answer[entry])


class FlatClassifier(HistogramTree):
    """Our own learner around a flat tree, which answers by the plain reading of it; its class it has not changed."""

    def __init__(self, flat: FlatTree) -> None:
        super().__init__()
        self.flat_tree_ = flat
        self.classes_, self.n_features_in_, self._score = np.array([0, 1]), 3, None
        self.predict = self._plain_predict  # type: ignore[method-assign]

    def _plain_predict(self, X: NDArray[Any]) -> NDArray[np.int64]:
        return np.array([label_of(self.flat_tree_, row) for row in X.astype(np.float32)], dtype=np.int64)


def random_flat_tree(
    random: np.random.RandomState, n_features: int, thresholds: NDArray[np.float32], n_splits: int, categories: bool
) -> FlatTree:
    """Grow a tree by splitting random leaves; its thresholds are some of the given."""
    entries = [[-1, 0.0, -1, -1, False, -1, random.random_sample()]]
    sets: list[NDArray[np.uint32]] = []
    for _ in range(n_splits):
        leaves = [entry for entry in entries if entry[2] < 0]
        leaf = leaves[random.randint(len(leaves))]
        leaf[0] = random.randint(n_features)
        leaf[1] = random.choice(thresholds)
        leaf[2], leaf[3] = len(entries), len(entries) + 1
        leaf[4] = bool(random.randint(2))
        if categories and random.randint(2):
            leaf[5] = len(sets)
            sets.append(random.randint(2**32, size=8, dtype=np.uint32))
        entries += [[-1, 0.0, -1, -1, False, -1, random.random_sample()] for _ in range(2)]
    feature, threshold, left, right, missing, category, value = zip(*entries, strict=True)
    return FlatTree(
        np.array(feature, dtype=np.int32),
        np.array(threshold, dtype=np.float32),
        np.array(left, dtype=np.int32),
        np.array(right, dtype=np.int32),
        np.array(missing),
        np.array(category, dtype=np.int32),
        np.array(sets, dtype=np.uint32) if sets else NO_SETS,
        np.array(value),
    )
