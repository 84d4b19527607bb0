"""Contests that are linear: one matrix of weights, a row per contest, and a tree that says which comes next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.compiled._batches import is_csr, over_csr, over_tables
from offsettree.compiled.layout import CompiledTree, OneRow

__all__ = ["LinearTree"]

# What kernels are compiled for; other numbers become the last of these.
KINDS = (np.dtype(np.float32), np.dtype(np.float64))


@dataclass(frozen=True, eq=False)
class LinearTree(CompiledTree):
    """The left side wins where ``weights[contest] @ x + bias[contest] > 0``.

    Margins are added up in float64 in an order of their own: a margin that is zero but for rounding may come out with
    the other sign than a classifier's own `predict` has it.
    """

    weights: NDArray[np.float64]  # of shape (n_contests, n_features), contests as near to each other as on the way down
    bias: NDArray[np.float64]
    left: NDArray[np.int32]  # a contest, or ~action
    right: NDArray[np.int32]
    root: int
    n_actions: int

    def choose_unless(self, X: Any, refused: int) -> NDArray[np.intp] | None:
        """See `CompiledTree`."""
        from offsettree.compiled import _kernels_linear as kernels

        out = np.empty(X.shape[0], dtype=np.intp)
        parts = (self.weights, self.bias, self.left, self.right, self.root)
        if is_csr(X):
            over_csr(
                lambda data, indices, indptr, first, last: kernels.choose_csr(
                    *parts, data, indices, indptr, out[first:last]
                ),
                X,
                KINDS,
            )
            return out
        found = over_tables(
            lambda values, first, last: kernels.choose_rows(*parts, values, out[first:last], refused),
            X,
            KINDS,
        )
        return None if found & refused else out

    def one_row(self, refused: int) -> OneRow:
        """See `CompiledTree`."""
        from offsettree.compiled._kernels_linear import choose_rows

        parts = (self.weights, self.bias, self.left, self.right, self.root)
        empty, intp = np.empty, np.intp

        def choose_one(x: NDArray[Any]) -> int:
            # By the kernel of batches: another one might add up a margin in another order.
            out = empty(1, intp)
            return -1 if choose_rows(*parts, x, out, refused) & refused else out.item()

        return choose_one
