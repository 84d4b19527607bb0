"""Contests that are linear: one matrix of weights, a row per contest, and a tree that says which comes next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.models._batches import choose_rows_by
from offsettree.models.layout import CompiledTree, OneRow, renamed

__all__ = ["LinearTree"]

# What kernels are compiled for; other numbers become the last of these.
KINDS = (np.dtype(np.float32), np.dtype(np.float64))


@dataclass(frozen=True, eq=False)
class LinearTree(CompiledTree):
    """The left side wins where ``planes[contest, :-1] @ x + planes[contest, -1] > 0``.

    Margins are added up in float64 in an order of their own: a margin that is zero but for rounding may come out with
    the other sign than a classifier's own `predict` has it.
    """

    planes: NDArray[np.float64]  # of shape (n_contests, n_features + 1): weights, then bias
    ways: NDArray[np.int32]  # of shape (n_contests, 2), for the left and the right side: a contest, or ~action
    root: int
    n_actions: int

    takes_missing = False

    def choose_screening(self, X: Any, refused: int) -> NDArray[np.intp] | None:
        from offsettree.models import _kernels_linear as kernels

        return choose_rows_by(kernels, (self.planes.reshape(-1), self.ways, self.root), X, KINDS, refused)

    def with_actions(self, positions: NDArray[Any], n_actions: int) -> LinearTree:
        root = int(renamed(np.array(self.root, dtype=np.int32), positions))
        return replace(self, ways=renamed(self.ways, positions), root=root, n_actions=n_actions)

    def one_row(self, refused: int) -> OneRow:
        from offsettree.models._kernels_linear import choose_one

        planes, ways, root = self.planes.reshape(-1), self.ways, self.root
        return lambda x: choose_one(planes, ways, root, x, refused)
