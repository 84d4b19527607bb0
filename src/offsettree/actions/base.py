"""What policies over actions with features that learn from logs have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from offsettree._features import Features
from offsettree.actions.policy import ActionLog, ActionPolicy, judge_log
from offsettree.logs import ActionSets

__all__ = ["BaseActionPolicy"]


class BaseActionPolicy(BaseEstimator, ActionPolicy):
    """Base of policies over actions with features that learn from logs; a subclass defines `_fit`."""

    reward_range: tuple[float, float]
    _learned: ClassVar[str]  # the attribute that a policy has once it has learned
    _learns_by: ClassVar[str] = "fit"

    def fit(
        self,
        X: Features,
        action: ArrayLike,
        *,
        reward: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        action_sets: ActionSets | None = None,
    ) -> Self:
        """Forget everything, then learn from a log; policies that learn online take its rows in order.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            The contexts.
        action : array of shape (n_rows,)
            The ids of the actions taken.
        reward : array of shape (n_rows,)
            What they earned.
        propensity : array of shape (n_rows,) or float
            The probability with which each was chosen.
        action_sets : ActionSets
            The eligible actions of each row.
        """
        self._fit(judge_log(X, action, reward, propensity, action_sets, self.reward_range))
        return self

    @abstractmethod
    def _fit(self, log: ActionLog) -> None:
        """Learn from a log that has been judged."""

    def _check_fitted(self) -> None:
        if self._learned not in self.__dict__:
            raise NotFittedError(f"{type(self).__name__} has not learned yet: call {self._learns_by} first.")
