"""One model of rewards for all folds: it values every candidate, and its own decisions, by models without the row."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation._reward_models import Predictions
from offsettree.reductions import RewardBoosting
from offsettree.reductions.boosting import HeldOut

__all__ = ["SharedModel"]


class SharedModel(NamedTuple):
    """A policy learned from all rows of a log, and what it says and chooses in each row without it.

    `place` is its own among the candidates.
    """

    place: int
    policy: RewardBoosting
    held_out: HeldOut
    chosen: NDArray[np.intp]
    reward_range: tuple[float, float]
    warnings: tuple[warnings.WarningMessage, ...] = ()  # of the fit

    def warn(self) -> None:
        """Say what the fit warned of, where the policy is the one to keep."""
        for each in self.warnings:
            warnings.warn(each.message, each.category, stacklevel=5)

    def predict(self, rows: NDArray[np.intp], logged: NDArray[np.intp], chosen: NDArray[np.intp]) -> Predictions:
        """Return what some rows are predicted to earn by the action logged and by that chosen."""
        low, high = self.reward_range
        of_both = (low + (high - low) * self.held_out.rewards(rows, action) for action in (logged, chosen))
        return Predictions(*of_both)
