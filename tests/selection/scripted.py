"""Candidates that do as they are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree import LoggedData, simulate_log
from offsettree.base import BasePolicy


class Scripted(BasePolicy):
    """Chooses right in the given share of rows, whatever it has learned; may fail in learning."""

    estimator = None
    _default_learner = staticmethod(lambda: None)

    def __init__(
        self,
        right: float = 1.0,
        *,
        script: Any = None,
        reward_range: Sequence[float] = (0.0, 1.0),
        actions: ArrayLike | None = None,
        random_state: int | None = None,
    ) -> None:
        self.right = right
        self.script = script
        self.reward_range = reward_range
        self.actions = actions
        self.random_state = random_state

    def _learner(self) -> Any:
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier()

    def _fit(self, X: Any, action: Any, reward: Any, propensity: Any, available: Any = None) -> None:
        if self.script is not None:
            self.script(len(reward))
        self.n_rows_ = len(reward)

    def _choose(self, X: Any) -> NDArray[np.intp]:
        # The second column is uniform: what share of the rows is right is told by it, the same ones each time.
        right = X[:, 0].astype(np.intp)
        return np.asarray(np.where(X[:, 1] < self.right, right, 1 - right))


def make_log(n_rows: int = 300, seed: int = 0) -> LoggedData:
    """A log over two actions; the first column holds the right one, the second is noise."""
    random = np.random.RandomState(seed)
    right = random.randint(2, size=n_rows)
    return simulate_log(np.column_stack([right, random.uniform(size=n_rows)]), right, random_state=seed + 1000)


class Cells(BasePolicy):
    """Takes the action that earned most in rows with the same value, 0, 1 or 2, of one column.

    What there is to check of a log was checked by the search: `fit` learns at once, so that many logs can be tried.
    """

    estimator = None
    _default_learner = staticmethod(lambda: None)

    def __init__(
        self, column: int = 0, *, reward_range: Sequence[float] = (0.0, 1.0), actions: ArrayLike | None = None
    ) -> None:
        self.column = column
        self.reward_range = reward_range
        self.actions = actions

    def _learner(self) -> Any:
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier()

    def fit(
        self, X: Any, action: Any = None, *, reward: Any = None, propensity: Any = None, available: Any = None
    ) -> Self:
        self._fit(X, action, reward, propensity)
        return self

    def _fit(self, X: Any, action: Any, reward: Any, propensity: Any, available: Any = None) -> None:
        cell = 2 * X[:, self.column].astype(np.intp) + action
        count = np.bincount(cell, minlength=6)
        mean = np.where(count > 0, np.bincount(cell, reward, minlength=6) / np.maximum(count, 1), 0.5)
        self.best_ = mean.reshape(3, 2).argmax(axis=1)

    def _positions(self, X: Any) -> NDArray[np.intp]:
        return self._choose(X)

    def _choose(self, X: Any) -> NDArray[np.intp]:
        return np.asarray(self.best_[X[:, self.column].astype(np.intp)])
