"""Contests that are decision trees over columns in float32: those of histogram trees and scikit-learn's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.models._batches import dense_blocks, over_tables
from offsettree.models.contests import Contests
from offsettree.models.graph import KINDS, SplitGraph, graph_from_tables
from offsettree.models.part import Contents, Part
from offsettree.models.tree_table import TreeTable
from offsettree.topology import ActionTree

__all__ = ["SplitContests"]

NO_SCORES = np.empty(0, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class SplitContests(Contests):
    """Contest c is tree c of the table; `answer` tells of every leaf whether the left side wins there.

    With `weights`, a contest has one column more than X: the sum of the columns, each less its `centre`, weighted by
    the contest's row.
    """

    kind = "splits"

    trees: TreeTable
    answer: NDArray[np.bool_]
    centre: NDArray[np.float32] | None = None
    weights: NDArray[np.float32] | None = None

    @property
    def n_contests(self) -> int:  # type: ignore[override]
        """How many there are."""
        return self.trees.n_trees

    def contents(self) -> Contents:
        arrays = {**self.trees.arrays(), "answer": self.answer}
        if self.centre is not None and self.weights is not None:
            arrays |= {"centre": self.centre, "weights": self.weights}
        return Contents({}, arrays)

    @classmethod
    def read(cls, part: Part, n_contests: int, n_columns: int) -> Self:
        scored = part.has_array("weights")
        trees = TreeTable.read(part, n_contests, n_columns + scored, np.float32, categories=True)
        return cls(
            trees,
            part.array("answer", np.bool_, len(trees.feature)),
            part.finite("centre", np.float32, n_columns) if scored else None,
            part.finite("weights", np.float32, n_contests, n_columns) if scored else None,
        )

    def compile(self, tree: ActionTree, first: int) -> SplitGraph:
        trees, answer, scores = self._of(tree, first)
        return graph_from_tables(tree, **trees.arrays(), answer_left=answer, scores=scores)

    def prefers_left(self, contest: int, X: Any) -> NDArray[np.bool_]:
        graph = self.compile(ActionTree([-1], [-2]), contest)
        return np.asarray(graph.choose(X) == 0)

    def choose(self, tree: ActionTree, first: int, X: Any, mask: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
        """See `Contests`; at once, by a kernel."""
        if mask is None:
            return self.compile(tree, first).choose(X)
        from offsettree.models._kernels_within import choose_within

        out = np.empty(X.shape[0], dtype=np.intp)
        shape = (tree.left.astype(np.int32), tree.right.astype(np.int32), tree.leaves.astype(np.int32))
        nodes = (*shape, *tree.leaf_ranges)
        trees, answer, scores = self._of(tree, first)
        contests = (*trees.arrays().values(), answer, NO_SCORES if scores is None else scores.reshape(-1))
        for begin, table in dense_blocks(X):
            here, left = out[begin : begin + len(table)], mask[begin : begin + len(table)]

            def walk(
                values: NDArray[Any], first_row: int, last: int, here: NDArray[Any] = here, left: NDArray[Any] = left
            ) -> int:
                rows = slice(first_row, last)
                choose_within(nodes, contests, values.reshape(last - first_row, -1), left[rows], here[rows])
                return 0

            over_tables(walk, table, KINDS)
        return out

    def _of(self, tree: ActionTree, first: int) -> tuple[TreeTable, NDArray[np.bool_], NDArray[np.float32] | None]:
        """Return the decision trees, answers and scores of the contests of one tree of the actions."""
        last = first + tree.n_nodes
        answer = self.answer[int(self.trees.start[first]) : int(self.trees.start[last])]
        if self.centre is None or self.weights is None:
            return self.trees.only(first, last), answer, None
        scores = np.concatenate([self.centre[np.newaxis], self.weights[first:last]])
        return self.trees.only(first, last), answer, scores
