"""Ridge regression whose penalty is chosen by its predictions for ids that it did not learn from."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["N_FOLDS", "GroupedRidge", "folds_of"]

N_FOLDS = 5
PENALTIES = np.logspace(-1, 5, 13)
Matrix = NDArray[np.float64]
Column = NDArray[np.float64]


def folds_of(ids: NDArray[Any], seed: int) -> NDArray[np.intp]:
    """Return a fold per row: all rows of an id in one; rows at random where there are too few ids."""
    random = np.random.RandomState(seed)
    labels, code = np.unique(ids, return_inverse=True)
    if len(labels) < 2 * N_FOLDS:
        return np.asarray(random.permutation(len(ids)) % N_FOLDS, dtype=np.intp)
    return np.asarray((random.permutation(len(labels)) % N_FOLDS)[code], dtype=np.intp)


class GroupedRidge:
    """Least squares with a penalty on all coefficients but the intercept."""

    def fit(
        self,
        table: Matrix,
        reward: Column,
        weight: Column,
        fold: NDArray[np.intp],
        penalties: Column = PENALTIES,
    ) -> Self:
        """Choose the penalty with the least squared error over all folds, then learn from all rows."""
        total = weight.sum()
        self.center, self.level = weight @ table / total, float(weight @ reward / total)
        moments = _Moments(table - self.center, reward - self.level, weight, fold)
        losses = np.zeros(len(penalties))
        for each in range(N_FOLDS):
            rows = fold == each
            if len(penalties) > 1 and rows.any() and not rows.all():
                losses += weight[rows] @ (moments.target[rows, np.newaxis] - moments.left_out(each, penalties)) ** 2
        self.penalty = float(penalties[int(losses.argmin())])
        self.coef = _solve(moments.gram, moments.product, np.array([self.penalty]))[:, 0]
        return self

    def left_out(self, table: Matrix, reward: Column, weight: Column, fold: NDArray[np.intp]) -> Column:
        """Predict the reward of each row of the log by a model that did not learn from its fold."""
        moments = _Moments(table - self.center, reward - self.level, weight, fold)
        found = np.empty(len(reward))
        for each in range(N_FOLDS):
            found[fold == each] = moments.left_out(each, np.array([self.penalty]))[:, 0]
        return self.level + found

    def predict(self, table: Matrix) -> Column:
        """Predict the reward of each row."""
        return np.asarray(self.level + (table - self.center) @ self.coef)


class _Moments:
    """Sums of products of the columns, of all rows and of each fold."""

    def __init__(self, table: Matrix, target: Column, weight: Column, fold: NDArray[np.intp]) -> None:
        self.table, self.target, self.fold = table, target, fold
        self.grams, self.sums = [], []
        for each in range(N_FOLDS):
            rows = fold == each
            weighted = table[rows] * weight[rows, np.newaxis]
            self.grams.append(weighted.T @ table[rows])
            self.sums.append(weighted.T @ target[rows])
        self.gram, self.product = np.sum(self.grams, axis=0), np.sum(self.sums, axis=0)

    def left_out(self, fold: int, penalties: Column) -> Matrix:
        """Return what models of the other folds, one per penalty, predict for a fold."""
        coef = _solve(self.gram - self.grams[fold], self.product - self.sums[fold], penalties)
        return np.asarray(self.table[self.fold == fold] @ coef)


def _solve(gram: Matrix, product: Column, penalties: Column) -> Matrix:
    """Return the coefficients for each penalty, in columns."""
    values, vectors = np.linalg.eigh(gram)
    rotated = vectors.T @ product
    return np.asarray(vectors @ (rotated[:, np.newaxis] / (np.maximum(values, 0)[:, np.newaxis] + penalties)))
