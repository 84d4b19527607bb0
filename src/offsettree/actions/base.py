"""What policies over actions with features that learn from logs have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from offsettree._features import Features, is_frame, is_sparse
from offsettree._fingerprint import Fingerprint, remember_rows
from offsettree._sparse import as_csr
from offsettree.actions.policy import ActionLog, ActionPolicy, judge_log
from offsettree.logs import ActionSets

__all__ = ["BaseActionPolicy"]


class BaseActionPolicy(BaseEstimator, ActionPolicy):
    """Base of policies over actions with features that learn from logs; a subclass defines `_fit`."""

    reward_range: tuple[float, float]
    _learned: ClassVar[str]  # the attribute that a policy has once it has learned
    _learns_by: ClassVar[str] = "fit"
    _trained_on: Fingerprint | None = None  # lets `evaluate` notice rows that were trained on

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
        log = judge_log(X, action, reward, propensity, action_sets, self.reward_range)
        self._fit(log)
        self._remember(log, None)
        return self

    @abstractmethod
    def _fit(self, log: ActionLog) -> None:
        """Learn from a log that has been judged."""

    def _remember(self, log: ActionLog, before: Fingerprint | None) -> None:
        X = self._checked(log.X)
        # A policy that does not look at contexts may have been given any.
        is_table = is_frame(X) or is_sparse(X) or (X.ndim == 2 and X.dtype.kind in "biuf")
        self._trained_on = remember_rows(X, log.reward, before) if is_table else None

    def _checked(self, X: Features) -> Features:
        """Return X as its rows are remembered: a frame, a CSR matrix or an array."""
        if is_frame(X):
            return X
        return as_csr(X) if is_sparse(X) else np.asarray(X)

    def _check_fitted(self) -> None:
        if self._learned not in self.__dict__:
            raise NotFittedError(f"{type(self).__name__} has not learned yet: call {self._learns_by} first.")
