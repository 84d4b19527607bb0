"""What boosting says of the rows it learned from, each by models without the row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree._available import Available, best_of, pieces
from offsettree.reductions.boosting._finish import Finished
from offsettree.reductions.boosting._shrunken import sigmoid

__all__ = ["HeldOut"]


class HeldOut(NamedTuple):
    """The scores of all actions in the rows of a log: ``seen @ slopes[part].T``, where `part` is the row's.

    Where all rows have the same slopes, `own` is the score of the action that was logged, without the row.
    """

    seen: NDArray[np.float64]  # of shape (n_rows, n_columns)
    slopes: NDArray[np.float64]  # of shape (n_parts, n_actions, n_columns)
    part: NDArray[np.intp]
    own: NDArray[np.float64] | None
    action: NDArray[np.int32]
    logistic: bool
    unit: float  # of rewards from 0 to 1, in which scores are

    @classmethod
    def of(cls, finished: Finished, action: NDArray[np.int32], logistic: bool, unit: float) -> HeldOut:
        """Return the scores of what was learned, by fold where it was learned without each."""
        if finished.without is not None:
            return cls(*finished.without, None, action, logistic, unit)
        part = np.zeros(len(action), dtype=np.intp)
        return cls(finished.seen, finished.slopes[np.newaxis], part, finished.left_out, action, logistic, unit)

    def rewards(self, rows: NDArray[np.intp], action: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the predicted reward of one action in each of some rows, from 0 to 1."""
        score = np.einsum("ip,ip->i", self.seen[rows], self.slopes[self.part[rows], action])
        if self.own is not None:
            score = np.where(action == self.action[rows], self.own[rows], score)
        return sigmoid(score) if self.logistic else np.clip(score * self.unit, 0, 1)

    def choose(self, available: Available | None) -> NDArray[np.intp]:
        """Return the position of the best action in every row, among those that are available."""
        chosen = np.empty(len(self.part), dtype=np.intp)
        for part, slopes in enumerate(self.slopes):
            members = np.flatnonzero(self.part == part)
            for piece in pieces(len(members), len(slopes)):
                rows = members[piece]
                score = self.seen[rows] @ slopes.T
                if self.own is not None:
                    score[np.arange(len(score)), self.action[rows]] = self.own[rows]
                mask = None if available is None else Available(available.mask[rows]).dense()
                chosen[rows] = best_of(score, 1, mask)[:, 0]
        return chosen
