"""What boosting says of the rows it learned from, each by models without the row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree._available import Available, best_of, pieces
from offsettree.reductions.boosting._shrunken import sigmoid

__all__ = ["HeldOut"]


class HeldOut(NamedTuple):
    """The scores ``seen @ slopes.T`` of all actions in the rows of a log, and `own` for the action that was logged."""

    seen: NDArray[np.float64]  # of shape (n_rows, n_columns)
    slopes: NDArray[np.float64]  # of shape (n_actions, n_columns)
    own: NDArray[np.float64]
    action: NDArray[np.int32]
    logistic: bool
    unit: float  # of rewards from 0 to 1, in which scores are

    def rewards(self, rows: NDArray[np.intp], action: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the predicted reward of one action in each of some rows, from 0 to 1."""
        score = np.einsum("ip,ip->i", self.seen[rows], self.slopes[action])
        score = np.where(action == self.action[rows], self.own[rows], score)
        return sigmoid(score) if self.logistic else np.clip(score * self.unit, 0, 1)

    def choose(self, available: Available | None) -> NDArray[np.intp]:
        """Return the position of the best action in every row, among those that are available."""
        chosen = np.empty(len(self.own), dtype=np.intp)
        for rows in pieces(len(self.own), len(self.slopes)):
            score = self.seen[rows] @ self.slopes.T
            score[np.arange(len(score)), self.action[rows]] = self.own[rows]
            mask = None if available is None else Available(available.mask[rows]).dense()
            chosen[rows] = best_of(score, 1, mask)[:, 0]
        return chosen
