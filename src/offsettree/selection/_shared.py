"""The shared reward model: trained once on all rows, it values all candidates by held-out predictions."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree._validation import warn_caller
from offsettree.evaluation.parts import Predictions
from offsettree.reductions import RewardBoosting
from offsettree.reductions.boosting import HeldOut


class SharedModel(NamedTuple):
    """A candidate trained on all rows of a log, with its held-out predictions and choices for each row.

    `place` is its index in the list of candidates.
    """

    place: int
    policy: RewardBoosting
    held_out: HeldOut
    chosen: NDArray[np.intp]
    reward_range: tuple[float, float]
    warnings: tuple[warnings.WarningMessage, ...] = ()  # of the fit

    def warn(self) -> None:
        """Issue the warnings of the fit, once the policy is chosen."""
        for each in self.warnings:
            warn_caller(each.message, each.category)

    def predict(self, rows: NDArray[np.intp], logged: NDArray[np.intp], chosen: NDArray[np.intp]) -> Predictions:
        """Return the held-out predicted rewards of the logged and of the chosen actions in some rows."""
        low, high = self.reward_range
        of_both = (low + (high - low) * self.held_out.rewards(rows, action) for action in (logged, chosen))
        return Predictions(*of_both)
