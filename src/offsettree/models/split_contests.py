"""Contests that are decision trees over columns in float32: those of histogram trees and scikit-learn's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.models._batches import is_csr, over_tables
from offsettree.models._tables import check_entries
from offsettree.models.contests import Contests, ranges_of
from offsettree.models.graph import SplitGraph, graph_from_tables
from offsettree.models.part import Part
from offsettree.topology import ActionTree

__all__ = ["FIELDS", "SplitContests"]

KINDS = (np.dtype(np.float64), np.dtype(np.float32))
VALUES_AT_ONCE = 1 << 22
FIELDS: dict[str, Any] = {
    "feature": np.int32,
    "threshold": np.float32,
    "left": np.int32,
    "right": np.int32,
    "missing_left": np.bool_,
    "category_set": np.int32,
    "answer": np.bool_,
}


@dataclass(frozen=True, eq=False)
class SplitContests(Contests):
    """Contest c owns the entries ``start[c]`` to ``start[c + 1] - 1``, laid out as `learners._flat_tree.FlatTree`.

    Every contest has at least a leaf. With `weights`, a contest has one column more than X: the sum of
    the columns, each less its `centre`, weighted by the contest's row.
    """

    kind = "splits"

    start: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    category_set: NDArray[np.int32]
    answer: NDArray[np.bool_]
    sets: NDArray[np.uint32]
    centre: NDArray[np.float32] | None = None
    weights: NDArray[np.float32] | None = None

    @property
    def n_contests(self) -> int:  # type: ignore[override]
        """How many there are."""
        return len(self.start) - 1

    def arrays(self) -> dict[str, NDArray[Any]]:
        """See `Contests`."""
        names = ("start", *FIELDS, "sets", "centre", "weights")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @classmethod
    def read(cls, part: Part, n_contests: int, n_columns: int) -> Self:
        """See `Contests`."""
        start = part.starts("start", n_contests)
        n_entries = int(start[-1])
        fields = {name: part.array(name, dtype, n_entries) for name, dtype in FIELDS.items()}
        sets = part.array("sets", np.uint32, None, 8)
        scored = part.has_array("weights")
        centre = part.finite("centre", np.float32, n_columns) if scored else None
        weights = part.finite("weights", np.float32, n_contests, n_columns) if scored else None
        check_entries(part.where, start, fields, n_columns + scored, len(sets))
        return cls(start, **fields, sets=sets, centre=centre, weights=weights)

    def compile(self, tree: ActionTree, first: int) -> SplitGraph:
        """See `Contests`."""
        begin, end = int(self.start[first]), int(self.start[first + tree.n_nodes])
        here: dict[str, Any] = {name: getattr(self, name)[begin:end] for name in FIELDS}
        return graph_from_tables(
            tree,
            self.start[first : first + tree.n_nodes + 1] - begin,
            answer_left=here.pop("answer"),
            sets=self.sets,
            scores=self._scores(first, tree.n_nodes),
            **here,
        )

    def prefers_left(self, contest: int, X: Any) -> NDArray[np.bool_]:
        """See `Contests`."""
        graph = self.compile(ActionTree([-1], [-2]), contest)
        return np.asarray(graph.choose(X) == 0)

    def choose_within(self, tree: ActionTree, first: int, X: Any, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """See `Contests`; at once, by a kernel."""
        from offsettree.models._kernels_within import choose_within

        out = np.empty(X.shape[0], dtype=np.intp)
        scores = self._scores(first, tree.n_nodes)
        shape = (tree.left.astype(np.int32), tree.right.astype(np.int32), tree.leaves.astype(np.int32))
        nodes = (*shape, *ranges_of(tree))
        begin, end = int(self.start[first]), int(self.start[first + tree.n_nodes])
        fields = [getattr(self, name)[begin:end] for name in FIELDS]
        contests = (
            self.start[first : first + tree.n_nodes + 1] - begin,
            *fields[:-1],
            self.sets,
            fields[-1],
            np.empty(0, dtype=np.float32) if scores is None else scores.reshape(-1),
        )
        n_columns = X.shape[1]

        def walk(values: NDArray[Any], first_row: int, last: int) -> int:
            choose_within(nodes, contests, values.reshape(-1, n_columns), mask[first_row:last], out[first_row:last])
            return 0

        if not is_csr(X):
            over_tables(walk, X, KINDS)
            return out
        step = max(1, VALUES_AT_ONCE // max(1, n_columns))
        for row in range(0, X.shape[0], step):
            table = X[row : row + step].toarray().astype(np.float32)
            walk(table.reshape(-1), row, row + len(table))
        return out

    def _scores(self, first: int, n_nodes: int) -> NDArray[np.float32] | None:
        if self.centre is None or self.weights is None:
            return None
        return np.concatenate([self.centre[np.newaxis], self.weights[first : first + n_nodes]])
