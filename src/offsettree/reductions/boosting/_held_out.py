"""Held-out predictions of boosting for its training rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree._available import Available, best_of, pieces
from offsettree.reductions.boosting._final_regression import FinalModel
from offsettree.reductions.boosting._shrunken import sigmoid


class HeldOut(NamedTuple):
    """The scores of all actions in the rows of a log: ``inputs @ slopes[part].T``, where `part` is the row's.

    If all rows have the same slopes, `own` is the leave-one-out score of the logged action.
    """

    inputs: NDArray[np.float64]  # of shape (n_rows, n_columns)
    slopes: NDArray[np.float64]  # of shape (n_parts, n_actions, n_columns)
    part: NDArray[np.intp]
    own: NDArray[np.float64] | None
    action: NDArray[np.int32]
    logistic: bool
    unit: float  # scores times this are rewards in [0, 1]

    @classmethod
    def of(cls, final: FinalModel, action: NDArray[np.int32], logistic: bool, unit: float) -> HeldOut:
        """Return the held-out scores of a fitted model, by fold if it was also fitted without each fold."""
        if final.without is not None:
            return cls(*final.without, None, action, logistic, unit)
        part = np.zeros(len(action), dtype=np.intp)
        return cls(final.inputs, final.slopes[np.newaxis], part, final.left_out, action, logistic, unit)

    def rewards(self, rows: NDArray[np.intp], action: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the predicted reward, in [0, 1], of one action in each of some rows."""
        score = np.einsum("ip,ip->i", self.inputs[rows], self.slopes[self.part[rows], action])
        if self.own is not None:
            score = np.where(action == self.action[rows], self.own[rows], score)
        return sigmoid(score) if self.logistic else np.clip(score * self.unit, 0, 1)

    def choose(self, available: Available | None) -> NDArray[np.intp]:
        """Return the position of the best available action in every row."""
        chosen = np.empty(len(self.part), dtype=np.intp)
        for part, slopes in enumerate(self.slopes):
            members = np.flatnonzero(self.part == part)
            for piece in pieces(len(members), len(slopes)):
                rows = members[piece]
                score = self.inputs[rows] @ slopes.T
                if self.own is not None:
                    score[np.arange(len(score)), self.action[rows]] = self.own[rows]
                mask = None if available is None else Available(available.mask[rows]).dense()
                chosen[rows] = best_of(score, 1, mask)[:, 0]
        return chosen
