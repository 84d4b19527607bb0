"""What every action would earn, predicted: by models of all actions together, or by any regressor per action."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features, count_rows, is_frame, take_rows
from offsettree._traits import check_learner
from offsettree.exceptions import ParameterError
from offsettree.learners import ConstantRegressor, NominalEncoder, Template
from offsettree.logs import CheckedLog
from offsettree.reductions._nodes import may_assume_finite, node_settings
from offsettree.topology import Design
from offsettree.topology.reward_models import fit_shrunken

ROWS_AT_ONCE = 1 << 14
BY_NAME = ("linear", "boosting")


class RewardModel(ABC):
    """Predicts rewards, scaled to [0, 1] and kept within."""

    @abstractmethod
    def predict(self, X: Features, actions: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the rewards of some actions, of shape (n_rows, len(actions))."""

    @abstractmethod
    def predict_own(self, X: Features, action: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the reward of one action per row."""


class LinearRewards(RewardModel):
    """A linear model per action, each shrunk towards the mean of all by as much as the log suggests.

    See `topology.RewardModels`, which are the same models. Nominal columns become indicators.
    """

    def __init__(self, log: CheckedLog, seed: int, *, weighted: bool = True) -> None:
        X, action, reward, propensity, _ = log.parts()
        random = np.random.RandomState(seed)
        self._encoder = NominalEncoder().fit(X) if is_frame(X) else None
        design = Design(self._numbers(X), random)
        self._mean, self._scale = float(reward.mean()), float(reward.std())
        target = (reward - self._mean) / self._scale if self._scale > 1e-12 else np.zeros_like(reward)
        weight_by = propensity if weighted else None
        coefficients, shrinkage = fit_shrunken(
            design, action, target, len(log.actions), propensity=weight_by, random=random
        )
        self._weights = coefficients @ shrinkage.basis.T
        self._design = design.of(None)

    def predict(self, X: Features, actions: NDArray[np.intp]) -> NDArray[np.float64]:
        weights = self._weights[actions]
        parts = [weights[:, 0] + columns @ weights[:, 1:].T for _, columns in self._pieces(X)]
        return np.clip(self._mean + self._scale * np.concatenate(parts), 0, 1)

    def predict_own(self, X: Features, action: NDArray[np.intp]) -> NDArray[np.float64]:
        parts = []
        for rows, columns in self._pieces(X):
            weights = self._weights[action[rows]]
            parts.append(weights[:, 0] + np.einsum("ij,ij->i", columns, weights[:, 1:]))
        return np.clip(self._mean + self._scale * np.concatenate(parts), 0, 1)

    def _numbers(self, X: Features) -> Any:
        return X if self._encoder is None else self._encoder.transform(X)

    def _pieces(self, X: Features) -> Any:
        design = self._design.of(self._numbers(X))
        for first in range(0, count_rows(X), ROWS_AT_ONCE):
            rows = np.arange(first, min(first + ROWS_AT_ONCE, count_rows(X)))
            yield rows, design.rows(rows)


class RegressedRewards(RewardModel):
    """A regressor per action, trained on its rows alone; an action without rows is predicted to earn the mean."""

    def __init__(self, regressor: Any, log: CheckedLog, seed: int) -> None:
        X, action, reward, n_actions = log.X, log.position, log.scaled, len(log.actions)
        template = Template(regressor)
        seeds = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=n_actions).tolist()
        mean = float(reward.mean())
        self._models: list[Any] = []
        with node_settings(assume_finite=may_assume_finite(regressor, X)):
            for rows, own_seed in zip(rows_by_action(action, n_actions), seeds, strict=True):
                if len(rows) == 0:
                    self._models.append(ConstantRegressor(mean))
                else:
                    self._models.append(template.copy(own_seed).fit(take_rows(X, rows), reward[rows]))

    def predict(self, X: Features, actions: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.stack([self._of(action, X) for action in actions.tolist()], axis=1)

    def predict_own(self, X: Features, action: NDArray[np.intp]) -> NDArray[np.float64]:
        predicted = np.empty(len(action))
        for position, rows in enumerate(rows_by_action(action, len(self._models))):
            if len(rows):
                predicted[rows] = self._of(position, take_rows(X, rows))
        return predicted

    def _of(self, action: int, X: Features) -> NDArray[np.float64]:
        predicted = np.asarray(self._models[action].predict(X), dtype=np.float64)
        if predicted.size != count_rows(X) or not np.isfinite(predicted).all():
            raise ParameterError(
                f"reward_model must predict one finite number per row; {type(self._models[action]).__name__} predicted "
                f"an array of shape {predicted.shape}."
            )
        return np.clip(predicted.ravel(), 0, 1)


def rows_by_action(action: NDArray[np.intp], n_actions: int) -> list[NDArray[np.intp]]:
    """Return the rows of each action, in their order."""
    order = np.argsort(action, kind="stable")
    return np.split(order, np.cumsum(np.bincount(action, minlength=n_actions))[:-1])


def check_reward_model(reward_model: Any) -> None:
    """Refuse what cannot predict rewards."""
    if not isinstance(reward_model, str):
        check_learner(reward_model, "regressor", "reward_model")
    elif reward_model not in BY_NAME:
        raise ParameterError(
            f"reward_model must be a regressor with fit and predict, or one of {', '.join(map(repr, BY_NAME))}; got "
            f"{reward_model!r}."
        )
