"""Answers that need no learning: a contest with votes for one side only, an action that was never tried."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from offsettree._features import Features, count_rows

__all__ = ["ConstantClassifier", "ConstantRegressor"]


class ConstantClassifier(BaseEstimator):
    """Answer the same label whatever the row; needs no fitting.

    Parameters
    ----------
    label : int, default=1
        The answer. In a contest, 1 stands for the left side.

    Examples
    --------
    >>> ConstantClassifier(0).predict([[3.0], [5.0]])
    array([0, 0])
    """

    def __init__(self, label: int = 1) -> None:
        self.label = label

    @property
    def classes_(self) -> NDArray[np.int64]:
        """The one label it knows."""
        return np.array([self.label])

    def predict(self, X: Features) -> NDArray[np.int64]:
        """Return the label, once per row."""
        return np.full(count_rows(X), self.label, dtype=np.int64)

    def predict_proba(self, X: Features) -> NDArray[np.float64]:
        """Return certainty in the one label, once per row."""
        return np.ones((count_rows(X), 1))

    def __sklearn_is_fitted__(self) -> bool:
        return True


class ConstantRegressor(BaseEstimator):
    """Predict the same value whatever the row; needs no fitting.

    Parameters
    ----------
    value : float, default=0.0
        The prediction.

    Examples
    --------
    >>> ConstantRegressor(0.5).predict([[3.0], [5.0]])
    array([0.5, 0.5])
    """

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def predict(self, X: Features) -> NDArray[np.float64]:
        """Return the value, once per row."""
        return np.full(count_rows(X), self.value, dtype=np.float64)

    def __sklearn_is_fitted__(self) -> bool:
        return True
