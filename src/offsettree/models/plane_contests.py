"""Contests that are linear, and know what to make of missing values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.models._batches import is_csr
from offsettree.models.contests import ContestsOrConstants, read_constants
from offsettree.models.linear import LinearTree
from offsettree.models.part import Contents, Part
from offsettree.models.planes import Planes
from offsettree.topology import ActionTree

__all__ = ["PlaneContests"]


@dataclass(frozen=True, eq=False)
class PlaneContests(ContestsOrConstants):
    """The left side of contest c wins where plane c is above zero."""

    kind = "planes"

    planes: Planes
    constant: NDArray[np.int8]

    def contents(self) -> Contents:
        return Contents({}, {"constant": self.constant, **self.planes.arrays()})

    @classmethod
    def read(cls, part: Part, n_contests: int, n_columns: int) -> Self:
        return cls(Planes.read(part, n_contests, n_columns), read_constants(part, n_contests))

    def compile(self, tree: ActionTree, first: int) -> LinearTree:
        real, left, right, root = self._past_constants(tree, first)
        rows = first + np.array(real, dtype=np.intp)
        planes = np.column_stack([self.planes.weights[rows], self.planes.bias[rows]])
        return LinearTree(planes, np.stack([left, right], axis=1), root, tree.n_actions)

    @property
    def takes_missing(self) -> bool:
        return self.planes.at_missing is not None or bool((self.constant >= 0).all())

    def takes(self, X: Any) -> bool:
        values = X.data if is_csr(X) else X
        return self.planes.at_missing is None or not np.isnan(values).any()

    def _ask(self, contest: int, X: Any) -> NDArray[np.bool_]:
        return np.asarray(self.planes.only(contest).scores(X)[:, 0] > 0)
