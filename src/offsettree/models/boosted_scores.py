"""Boosted trees that all actions share, and what is linear in x, as flat arrays: scores of every action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._available import rank_by_scores
from offsettree.models._batches import dense_blocks, over_rows
from offsettree.models._by_numpy import by_boosted_trees, goes_without
from offsettree.models.boosted import LINEAR_FIELDS, TREE_FIELDS
from offsettree.models.layout import CompiledTree, OneRow

__all__ = ["BoostedScores"]

# What kernels are compiled for; other numbers become the last of these.
KINDS = (np.dtype(np.float32), np.dtype(np.float64))
NOTHING = np.empty(0)


@dataclass(frozen=True, eq=False)
class BoostedScores(CompiledTree):
    """The action of the largest score; of equals the first.

    A score is linear in 1, in what is made of the columns (standardised, flags of missing values, indicators of
    categories), and in the sums of the leaves of all trees. `arrays` has the arrays of `_kernels_boosted.Trees` and
    `Linear` by name.
    """

    arrays: dict[str, NDArray[Any]]

    @property
    def n_actions(self) -> int:  # type: ignore[override]
        """How many there are."""
        return int(self.arrays["weights"].shape[1])

    def choose_screening(self, X: Any, refused: int) -> NDArray[np.intp] | None:
        from offsettree.models._kernels_boosted import choose_rows

        out = np.empty(X.shape[0], dtype=np.intp)
        trees, linear = self.tuples()
        found = self._over(lambda table, here: choose_rows(table, trees, linear, out[here]), X)
        return None if found & refused else out

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every row and action."""
        return self.scores_screening(X)[0]

    def scores_screening(self, X: Any) -> tuple[NDArray[np.float64], int]:
        """Return the scores, and what was found in X (`HAS_NAN`, `HAS_INFINITY`)."""
        from offsettree.models._kernels_boosted import score_rows

        out = np.empty((X.shape[0], self.n_actions))
        trees, linear = self.tuples()
        found = self._over(lambda table, here: score_rows(table, trees, linear, out[here]), X)
        return out, found

    def rank(self, X: Any, n: int, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        """Return the positions of the n largest scores among those that the mask leaves."""
        return rank_by_scores(self.scores, X, self.n_actions, n, mask)

    def one_row_by_numpy(self, refused: int) -> OneRow | None:
        return by_boosted_trees(self.arrays, refused) if goes_without("_kernels_boosted") else None

    def one_row(self, refused: int) -> OneRow:
        from offsettree.models._kernels_boosted import choose_one

        trees, linear = self.tuples()
        return lambda x: choose_one(x, trees, linear, NOTHING, refused)

    def tuples(self) -> tuple[Any, Any]:
        """Return the trees, and what is linear in x, as kernels take them."""
        from offsettree.models._kernels_boosted import Linear, Trees

        return (
            Trees(*(self.arrays[name] for name in TREE_FIELDS)),
            Linear(*(self.arrays[name] for name in LINEAR_FIELDS)),
        )

    def _over(self, walk: Any, X: Any) -> int:
        found = 0
        for first, table in dense_blocks(X):
            found |= over_rows(walk, table, KINDS, first, n_walks=max(1, len(self.arrays["feature"])))
        return found
