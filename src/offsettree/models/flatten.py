"""From fitted classifiers to flat arrays: the one place that looks into scikit-learn's objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.models._flatten_committee import CommitteeBuilder
from offsettree.models._members import Constant, Plane, Splits
from offsettree.models._read import read_committee, read_member
from offsettree.models._ways import way_past_constants
from offsettree.models.graph import SplitGraph, graph_from_tables
from offsettree.models.layout import CompiledTree
from offsettree.models.linear import LinearTree
from offsettree.topology import ActionTree

__all__ = ["compile_contests"]


def compile_contests(tree: ActionTree, classifiers: Sequence[Any], n_features: int) -> CompiledTree | None:
    """Flatten the fitted classifiers of all contests; None where one of them cannot be.

    A classifier answers 1 where the left side of its contest wins, else 0. Decision trees become a `SplitGraph`, linear
    classifiers a `LinearTree`; ensembles of either, and mixtures, a `CommitteeTree`. Constants go with all of them.
    """
    members = []
    for classifier in classifiers:
        member = read_member(classifier, n_features)
        if member is None:
            return _as_committees(tree, classifiers, n_features)
        members.append(member)
    if all(isinstance(member, Splits | Constant) for member in members):
        return _as_graph(tree, members)
    if all(isinstance(member, Plane | Constant) for member in members):
        return _as_planes(tree, members)
    return _as_committees(tree, classifiers, n_features)


def _as_graph(tree: ActionTree, members: Sequence[Any]) -> SplitGraph:
    tables = [member.table() for member in members]
    start = np.cumsum([0] + [len(table.left) for table in tables])

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(table, name) for table in tables])

    # Sets of categories are numbered anew: each tree brings its own.
    shift = np.cumsum([0] + [len(table.sets) for table in tables])[:-1]
    category = joined("category_set")
    category = np.where(category >= 0, category + np.repeat(shift, np.diff(start)), -1)
    return graph_from_tables(
        tree,
        start,
        joined("feature"),
        joined("threshold"),
        joined("left"),
        joined("right"),
        joined("missing_left"),
        category,
        joined("sets"),
        joined("answer_left"),
    )


def _as_planes(tree: ActionTree, members: Sequence[Any]) -> LinearTree:
    constant = [member.label if isinstance(member, Constant) else None for member in members]
    real, left, right, root = way_past_constants(tree, constant)
    return LinearTree(
        np.array([np.append(members[node].weights, members[node].bias) for node in real], dtype=np.float64),
        np.stack([left, right], axis=1),
        root,
        tree.n_actions,
    )


def _as_committees(tree: ActionTree, classifiers: Sequence[Any], n_features: int) -> CompiledTree | None:
    committees = []
    for classifier in classifiers:
        committee = read_committee(classifier, n_features)
        if committee is None:
            return None
        committees.append(committee)
    constant = [committee.constant for committee in committees]
    real, left, right, root = way_past_constants(tree, constant)
    builder = CommitteeBuilder(n_features)
    for node in real:
        builder.add(committees[node])
    return builder.build(left, right, root, tree.n_actions)
