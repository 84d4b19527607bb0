"""Contests that are linear, and know what to make of missing values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.models._batches import is_csr
from offsettree.models._past_constants import way_past_constants
from offsettree.models.contests import Contests, read_constants
from offsettree.models.linear import LinearTree
from offsettree.models.part import Part
from offsettree.models.planes import Planes
from offsettree.topology import ActionTree

__all__ = ["PlaneContests"]


@dataclass(frozen=True, eq=False)
class PlaneContests(Contests):
    """The left side of contest c wins where plane c is above zero."""

    kind = "planes"

    planes: Planes
    constant: NDArray[np.int8]

    @property
    def n_contests(self) -> int:  # type: ignore[override]
        """How many there are."""
        return len(self.constant)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"constant": self.constant, **self.planes.arrays()}

    @classmethod
    def read(cls, part: Part, n_contests: int, n_columns: int) -> Self:
        return cls(Planes.read(part, n_contests, n_columns), read_constants(part, n_contests))

    def compile(self, tree: ActionTree, first: int) -> LinearTree:
        here = slice(first, first + tree.n_nodes)
        constant = [None if label < 0 else int(label) for label in self.constant[here].tolist()]
        real, left, right, root = way_past_constants(tree, constant)
        rows = first + np.array(real, dtype=np.intp)
        planes = np.column_stack([self.planes.weights[rows], self.planes.bias[rows]])
        return LinearTree(planes, np.stack([left, right], axis=1), root, tree.n_actions)

    @property
    def takes_missing(self) -> bool:
        return self.planes.at_missing is not None or bool((self.constant >= 0).all())

    def takes(self, X: Any) -> bool:
        values = X.data if is_csr(X) else X
        return self.planes.at_missing is None or not np.isnan(values).any()

    def prefers_left(self, contest: int, X: Any) -> NDArray[np.bool_]:
        if self.constant[contest] >= 0:
            return np.full(X.shape[0], self.constant[contest] == 1)
        return np.asarray(self.planes.only(contest).scores(X)[:, 0] > 0)
