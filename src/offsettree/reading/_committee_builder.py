"""Committees laid out one after the other in flat arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offsettree.models.committee import CommitteeTree
from offsettree.models.graph import as_words
from offsettree.models.layout import BY_LEAF, BY_LOGISTIC, BY_MARGIN, BY_SPLITS
from offsettree.models.tree_table import TreeTable
from offsettree.reading.members import Committee, Constant, Member, Plane, Table


class CommitteeBuilder:
    """Takes one committee after the other, then makes the arrays."""

    def __init__(self, n_features: int) -> None:
        self._n_features = n_features
        self._part_start, self._divisor = [0], list[float]()
        self._member_start, self._part_divisor = [0], list[float]()
        self._weight, self._hard = list[float](), list[bool]()
        self._kind, self._place = list[int](), list[int]()
        self._tables, self._n_entries = list[Table](), 0
        self._weights, self._bias = list[NDArray[np.float64]](), list[float]()

    def add(self, committee: Committee) -> None:
        """Append the committee of the next contest."""
        for part in committee.parts:
            for member in part.members:
                self._add_member(member)
            self._member_start.append(len(self._kind))
            self._part_divisor.append(part.divisor)
            self._weight.append(part.weight)
            self._hard.append(part.hard)
        self._part_start.append(len(self._weight))
        self._divisor.append(committee.divisor)

    def _add_member(self, member: Member) -> None:
        if isinstance(member, Plane):
            self._kind.append(BY_LOGISTIC if member.logistic else BY_MARGIN)
            self._place.append(len(self._bias))
            self._weights.append(member.weights)
            self._bias.append(member.bias)
            return
        table = member.table()
        self._kind.append(BY_LEAF if isinstance(member, Constant) or len(table.shares) == 1 else BY_SPLITS)
        self._place.append(self._n_entries)  # for now among all entries; splits and leaves are told apart at the end
        self._tables.append(table)
        self._n_entries += len(table.shares)

    def build(self, left: NDArray[np.int32], right: NDArray[np.int32], root: int, n_actions: int) -> CommitteeTree:
        """Make the arrays; `left` and `right` tell which contest comes next."""
        nodes, flags, sets, shares, place_of = self._splits()
        kind = np.array(self._kind, dtype=np.int8)
        place = np.array(self._place, dtype=np.int64)
        in_table = kind <= BY_SPLITS
        place[in_table] = place_of[place[in_table]]
        return CommitteeTree(
            left,
            right,
            root,
            n_actions,
            np.array(self._part_start, dtype=np.int64),
            np.array(self._divisor, dtype=np.float64),
            np.array(self._member_start, dtype=np.int64),
            np.array(self._part_divisor, dtype=np.float64),
            np.array(self._weight, dtype=np.float64),
            np.array(self._hard, dtype=np.bool_),
            kind,
            place.astype(np.int32),
            nodes,
            flags,
            sets,
            shares,
            np.array(self._weights, dtype=np.float64).reshape(-1, self._n_features),
            np.array(self._bias, dtype=np.float64),
        )

    def _splits(
        self,
    ) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]]:
        """Lay out all decision trees; also return where each of their entries went, among splits or among leaves."""
        if not self._tables:
            nothing = np.empty((0, 4), np.int32), np.empty(0, np.uint8), np.empty((0, 8), np.uint32)
            return *nothing, np.empty((0, 2)), np.empty(0, np.int64)
        trees = TreeTable.joined([table.tree for table in self._tables], np.float32, categories=True)
        shares = np.concatenate([table.shares for table in self._tables])
        begin = np.repeat(trees.start[:-1], np.diff(trees.start))
        leaf = trees.is_leaf
        place_of = np.where(leaf, np.cumsum(leaf), np.cumsum(~leaf)) - 1
        target = np.where(leaf, ~place_of, place_of)
        words, flags = as_words(trees.threshold, trees.missing_left, trees.category_set)
        split = ~leaf
        nodes = np.empty((int(split.sum()), 4), dtype=np.int32)
        nodes[:, 0] = trees.feature[split]
        nodes[:, 1] = words[split]
        nodes[:, 2] = target[(begin + trees.left)[split]]
        nodes[:, 3] = target[(begin + trees.right)[split]]
        return nodes, flags[split], np.asarray(trees.sets), np.ascontiguousarray(shares[leaf]), place_of
