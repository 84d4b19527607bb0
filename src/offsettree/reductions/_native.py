"""All contests of an offset tree, trained at once by our own tree learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from offsettree.learners import FIELDS, Bins, FlatTree, HistogramTree, sets_of_words
from offsettree.models import SplitContests
from offsettree.models.tree_table import TreeTable
from offsettree.reading import CannotFlatten, ColumnSpace


def is_native(estimator: Any, path_filter: Any) -> bool:
    """Tell whether all contests can be trained at once: with our own learner and the paper's filter, also called 0."""
    in_sample = path_filter == "in_sample" if isinstance(path_filter, str) else path_filter == 0
    return type(estimator) is HistogramTree and in_sample


@dataclass(frozen=True, eq=False)
class NativeContests(Sequence[HistogramTree]):
    """The trees of all contests in flat arrays, read as a sequence of fitted learners, one per node."""

    tables: FlatTree  # child entries count from the contest's first
    start: NDArray[np.int64]  # of the entries of each node, and one more
    bins: Bins
    learner: HistogramTree
    leaf_scale: float
    scores: NDArray[np.float32] | None = None  # weights of the columns per node, after the centre they count from

    def __len__(self) -> int:
        return len(self.start) - 1

    @overload
    def __getitem__(self, node: int) -> HistogramTree: ...
    @overload
    def __getitem__(self, node: slice) -> list[HistogramTree]: ...
    def __getitem__(self, node: int | slice) -> HistogramTree | list[HistogramTree]:
        if isinstance(node, slice):
            return [self[position] for position in range(len(self))[node]]
        node = range(len(self))[node]
        tree = self.tables.part(self.start[node], self.start[node + 1])
        score = None if self.scores is None else (self.scores[node + 1], self.scores[0])
        return self.learner.fitted(tree, self.bins, self.leaf_scale, score)


def flatten_native(trees: Sequence[NativeContests], space: ColumnSpace | None = None) -> SplitContests:
    """Return the contests of one or several trees, one after the other; without `space`, columns are as in training."""
    if space is not None and trees[0].bins.categories:
        columns = space.codes(trees[0].bins.categories)
        if not np.array_equal(columns, np.arange(space.n_features)):
            raise CannotFlatten("nominal columns in an order of their own")
    tables = [TreeTable(each.start, *each.tables.arrays()) for each in trees]
    # The arrays of a single tree are shared, not copied: a pickle then has them once.
    joined = tables[0] if len(tables) == 1 else TreeTable.joined(tables, np.float32, categories=True)
    answer = np.concatenate([each.tables.answer for each in trees])
    scores = [each.scores for each in trees if each.scores is not None]
    if not scores:
        return SplitContests(joined, answer)
    return SplitContests(joined, answer, scores[0][0], np.concatenate([each[1:] for each in scores]))


@dataclass(frozen=True, eq=False)
class Grown:
    """The trees of all contests, still in parts: nodes, the table of their trees, where each begins, what it holds."""

    parts: list[tuple[NDArray[np.int32], tuple[Any, NDArray[np.int64], int, int]]]
    reached: NDArray[np.int32]  # rows per node
    bins: Bins
    learner: HistogramTree
    leaf_scale: float
    scores: NDArray[np.float32] | None

    def joined(self) -> tuple[NativeContests, NDArray[np.int64]]:
        """Put the trees into one table, in the order of the nodes; the parts are used up, so that none is held twice.

        Return also how many rows reached each node.
        """
        start = np.zeros(len(self.reached) + 1, dtype=np.int64)
        for nodes, (_, begin, _, _) in self.parts:
            start[nodes + 1] = np.diff(begin)
        np.cumsum(start, out=start)
        table = self.parts[0][1][0]
        joined = {field: np.empty(start[-1], dtype=getattr(table, field).dtype) for field in (*FIELDS, "value")}
        words = []
        n_sets_before = 0
        self.parts.reverse()
        while self.parts:
            nodes, (table, begin, _, n_sets) = self.parts.pop()
            place = np.repeat(start[nodes] - begin[:-1], np.diff(begin))
            place += np.arange(len(place))
            table.category_set[table.category_set >= 0] += n_sets_before
            for field, values in joined.items():
                values[place] = getattr(table, field)
            words.append(table.sets)
            n_sets_before += n_sets
        # Sets in the order of the entries that have them, so that it does not show how the nodes were shared out.
        has_set = np.flatnonzero(joined["category_set"] >= 0)
        sets = sets_of_words(np.concatenate(words)[joined["category_set"][has_set]])
        joined["category_set"][has_set] = np.arange(len(has_set))
        tables = FlatTree(sets=sets, **joined)
        contests = NativeContests(tables, start, self.bins, self.learner, self.leaf_scale, self.scores)
        return contests, self.reached.astype(np.int64)
