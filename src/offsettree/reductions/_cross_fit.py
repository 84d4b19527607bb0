"""Doubly robust estimates of what every action would have earned, from reward models that did not see the row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import delayed

from offsettree._features import Features, take_rows
from offsettree._workers import parallel
from offsettree.exceptions import LogError
from offsettree.logs import CheckedLog
from offsettree.reductions._boosted_rewards import fit_rewards
from offsettree.reductions._nodes import random_folds
from offsettree.reductions._reward_models import RewardModel

FEW_ROWS = 100_000  # up to so many, linear models are fitted sooner than worker processes start


@dataclass(frozen=True)
class CrossFit:
    """A log, and for each of its folds a reward model that was fitted to the others.

    The doubly robust estimate of an action's reward is the model's prediction; for the action logged, (reward -
    prediction) / propensity is added. Its mean is the true mean reward if the propensities are right, whatever the
    model, and varies less the better the model is.
    """

    X: Features
    action: NDArray[np.intp]
    error: NDArray[np.float64]  # (reward - prediction) / propensity, of the action logged
    folds: NDArray[np.uint8]
    models: Sequence[RewardModel]

    @classmethod
    def make(
        cls,
        reward_model: Any,
        log: CheckedLog,
        random: np.random.RandomState,
        n_jobs: int | None = None,
    ) -> Self:
        """Fit the models; no row is ever predicted by one that learned from it."""
        n_rows = len(log.position)
        if n_rows < 2:
            raise LogError("a reward_model needs at least 2 rows to be cross-fitted; got 1.")
        folds = random_folds(n_rows, random)
        parts = [np.flatnonzero(folds == fold) for fold in range(min(int(folds.max()) + 1, n_rows))]
        others = [np.flatnonzero(folds != fold) for fold in range(len(parts))]
        seeds = random.randint(np.iinfo(np.int32).max, size=len(parts)).tolist()
        is_quick = isinstance(reward_model, str) and reward_model == "linear" and n_rows <= FEW_ROWS
        models = parallel(n_jobs=None if is_quick else n_jobs)(
            delayed(fit_rewards)(reward_model, log.take(rows), seed) for rows, seed in zip(others, seeds, strict=True)
        )
        error, reward = np.empty(n_rows), log.scaled
        for rows, model in zip(parts, models, strict=True):
            error[rows] = reward[rows] - model.predict_own(take_rows(log.X, rows), log.position[rows])
        return cls(log.X, log.position, error / log.propensity, folds, models)

    def rewards(self, actions: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the doubly robust estimates of the rewards of some actions, for all rows of the log."""
        estimate = np.empty((len(self.action), len(actions)))
        for fold, model in enumerate(self.models):
            rows = np.flatnonzero(self.folds == fold)
            estimate[rows] = model.predict(take_rows(self.X, rows), actions)
        for place, action in enumerate(actions.tolist()):
            own = self.action == action
            estimate[own, place] += self.error[own]
        return estimate
