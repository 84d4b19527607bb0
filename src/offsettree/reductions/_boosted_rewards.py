"""Reward models by name, and reward boosting as one: for all actions together."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._available import pieces
from offsettree._features import Features, count_rows, take_rows
from offsettree.exceptions import OffsetTreeWarning
from offsettree.logs import CheckedLog
from offsettree.reductions._reward_models import LinearRewards, RegressedRewards, RewardModel
from offsettree.reductions.reward_boosting import RewardBoosting

N_FOLDS = 3  # of a model that is itself fitted in several folds, and whose errors are corrected


class BoostedRewards(RewardModel):
    """`RewardBoosting`, fitted to all actions at once; rewards are scaled to [0, 1]."""

    def __init__(self, log: CheckedLog, seed: int) -> None:
        actions = np.arange(len(log.actions))
        # Propensities are not used in learning, and of what is wrong with the log the caller has been told.
        self.policy = RewardBoosting(n_folds=N_FOLDS, actions=actions, random_state=seed)
        self.policy._with_votes = False  # a reward model is asked for all actions in every row, and is corrected anyway
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OffsetTreeWarning)
            certain = np.broadcast_to(1.0, len(log.position))
            self.policy._fit_checked(CheckedLog(log.X, log.position, log.scaled, certain, actions))

    def predict(self, X: Features, actions: NDArray[np.intp]) -> NDArray[np.float64]:
        predicted = np.empty((count_rows(X), len(actions)))
        for rows in pieces(len(predicted), len(self.policy.actions_)):
            predicted[rows] = self._rewards(_part(X, rows))[:, actions]
        return predicted

    def predict_own(self, X: Features, action: NDArray[np.intp]) -> NDArray[np.float64]:
        predicted = np.empty(len(action))
        for rows in pieces(len(predicted), len(self.policy.actions_)):
            every = self._rewards(_part(X, rows))
            predicted[rows] = every[np.arange(len(every)), action[rows]]
        return predicted

    def _rewards(self, X: Features) -> NDArray[np.float64]:
        return self.policy._rewards(self.policy._checked(X, numbers=False))


def _part(X: Features, rows: slice) -> Features:
    return X if rows.stop - rows.start == count_rows(X) else take_rows(X, np.arange(rows.start, rows.stop))


def fit_rewards(reward_model: Any, log: CheckedLog, seed: int, *, weighted: bool = True) -> RewardModel:
    """Fit what a `reward_model` parameter stands for: "linear", "boosting", or a regressor."""
    if isinstance(reward_model, str) and reward_model == "boosting":
        return BoostedRewards(log, seed)
    if isinstance(reward_model, str):
        return LinearRewards(log, seed, weighted=weighted)
    return RegressedRewards(reward_model, log, seed)
