"""Contests that are decided by many: forests, bagging and costing over decision trees or linear classifiers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.models._batches import choose_rows_by
from offsettree.models.layout import CompiledTree, OneRow, renamed

__all__ = ["CommitteeTree"]

# Large whole numbers must not be rounded twice on their way to float32.
KINDS = (np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.float64))


@dataclass(frozen=True, eq=False)
class CommitteeTree(CompiledTree):
    """Every contest adds up the shares of its parts, and every part those of its members.

    A member answers with two shares, one for each side. Those of a part are added and divided; a `hard` part then gives
    all to the larger. The parts of a contest are weighted, added and divided; the left side wins if it has more. The
    order of all this is that of scikit-learn's `predict`, so that sums are rounded alike.
    """

    left: NDArray[np.int32]  # a contest, or ~action
    right: NDArray[np.int32]
    root: int
    n_actions: int
    part_start: NDArray[np.int64]  # contest v has the parts part_start[v] to part_start[v + 1] - 1
    divisor: NDArray[np.float64]
    member_start: NDArray[np.int64]  # and part p the members member_start[p] to member_start[p + 1] - 1
    part_divisor: NDArray[np.float64]
    weight: NDArray[np.float64]
    hard: NDArray[np.bool_]
    kind: NDArray[np.int8]
    place: NDArray[np.int32]  # a leaf, the root of a graph, or a row of weights
    nodes: NDArray[np.int32]  # as in a SplitGraph; below 0, ~leaf
    flags: NDArray[np.uint8]
    sets: NDArray[np.uint32]
    shares: NDArray[np.float64]  # of shape (n_leaves, 2): right, left
    weights: NDArray[np.float64]
    bias: NDArray[np.float64]

    def choose_screening(self, X: Any, refused: int) -> NDArray[np.intp] | None:
        from offsettree.models import _kernels_committee as kernels

        return choose_rows_by(kernels, self._parts(), X, KINDS, refused, for_csr=(X.shape[1],))

    def with_actions(self, positions: NDArray[Any], n_actions: int) -> CommitteeTree:
        root = int(renamed(np.array(self.root, dtype=np.int32), positions))
        left, right = renamed(self.left, positions), renamed(self.right, positions)
        return replace(self, left=left, right=right, root=root, n_actions=n_actions)

    def one_row(self, refused: int) -> OneRow:
        from offsettree.models._kernels_committee import choose_rows

        parts = self._parts()

        def choose_one(x: NDArray[Any]) -> int:
            out = np.empty(1, dtype=np.intp)
            return -1 if choose_rows(*parts, x, out, refused) & refused else out.item()

        return choose_one

    def _parts(self) -> tuple[Any, Any, Any, Any, Any, Any]:
        return (
            (self.left, self.right, self.root),
            (self.part_start, self.divisor),
            (self.member_start, self.part_divisor, self.weight, self.hard),
            (self.kind, self.place),
            (self.nodes, self.flags, self.sets, self.shares),
            (self.weights.reshape(-1), self.bias),
        )
