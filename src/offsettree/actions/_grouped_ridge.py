"""Ridge regression whose penalty is chosen by its predictions for ids that it did not learn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

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
    """Least squares with a penalty on all coefficients but the intercept.

    `scales` are the factors of the columns to choose among: the smaller, the more a coefficient is penalised.
    """

    def fit(
        self, table: Matrix, reward: Column, weight: Column, fold: NDArray[np.intp], scales: Sequence[Column]
    ) -> Self:
        """Choose scales and penalty with the least squared error over all folds, then learn from all rows."""
        total = weight.sum()
        self.center, self.level = weight @ table / total, float(weight @ reward / total)
        moments = _Moments(table - self.center, reward - self.level, weight, fold)
        best = np.inf
        for scale in scales:
            losses = np.zeros(len(PENALTIES))
            for each in range(N_FOLDS):
                rows = fold == each
                if rows.any() and not rows.all():
                    error = moments.target[rows, np.newaxis] - moments.left_out(each, scale, PENALTIES)
                    losses += weight[rows] @ error**2
            if losses.min() < best:
                best, self.scale, self.penalty = losses.min(), scale, float(PENALTIES[int(losses.argmin())])
        self.coef = _solve(moments.gram, moments.product, self.scale, np.array([self.penalty]))[:, 0]
        return self

    def left_out(self, table: Matrix, reward: Column, weight: Column, fold: NDArray[np.intp]) -> Column:
        """Predict the reward of each row of the log by a model that did not learn from its fold."""
        found = np.empty(len(reward))
        for each, coef in enumerate(self.coefs_without(table, reward, weight, fold)):
            rows = fold == each
            found[rows] = (table[rows] - self.center) @ coef
        return self.level + found

    def coefs_without(self, table: Matrix, reward: Column, weight: Column, fold: NDArray[np.intp]) -> list[Column]:
        """Return for each fold the coefficients of a model that did not learn from it."""
        moments = _Moments(table - self.center, reward - self.level, weight, fold)
        return [moments.without(each, self.scale, np.array([self.penalty]))[:, 0] for each in range(N_FOLDS)]


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

    def left_out(self, fold: int, scale: Column, penalties: Column) -> Matrix:
        """Return what models of the other folds, one per penalty, predict for a fold."""
        return np.asarray(self.table[self.fold == fold] @ self.without(fold, scale, penalties))

    def without(self, fold: int, scale: Column, penalties: Column) -> Matrix:
        """Return the coefficients of models of the other folds, in columns."""
        return _solve(self.gram - self.grams[fold], self.product - self.sums[fold], scale, penalties)


def _solve(gram: Matrix, product: Column, scale: Column, penalties: Column) -> Matrix:
    """Return the coefficients for each penalty, in columns."""
    values, vectors = np.linalg.eigh(gram * scale * scale[:, np.newaxis])
    rotated = vectors.T @ (product * scale)
    shrunken = rotated[:, np.newaxis] / (np.maximum(values, 0)[:, np.newaxis] + penalties)
    return np.asarray((vectors @ shrunken) * scale[:, np.newaxis])
