"""Ridge regression whose penalty is chosen by its predictions for ids that it did not learn from."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["GroupedRidge", "folds_of"]

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

    def fit(self, table: Matrix, reward: Column, weight: Column, fold: NDArray[np.intp]) -> Self:
        """Choose the penalty with the least squared error over all folds, then learn from all rows."""
        total = weight.sum()
        self.center, self.level = weight @ table / total, float(weight @ reward / total)
        table, target = table - self.center, reward - self.level
        grams, sums = [], []
        for each in range(N_FOLDS):
            part = table[fold == each]
            weighted = part * weight[fold == each, np.newaxis]
            grams.append(weighted.T @ part)
            sums.append(weighted.T @ target[fold == each])
        gram, product = np.sum(grams, axis=0), np.sum(sums, axis=0)
        losses = np.zeros(len(PENALTIES))
        for each in range(N_FOLDS):
            rows = fold == each
            if rows.any() and not rows.all():
                found = table[rows] @ _solve(gram - grams[each], product - sums[each], PENALTIES)
                losses += weight[rows] @ (target[rows, np.newaxis] - found) ** 2
        self.penalty = float(PENALTIES[int(losses.argmin())])
        self.coef = _solve(gram, product, np.array([self.penalty]))[:, 0]
        return self

    def predict(self, table: Matrix) -> Column:
        """Predict the reward of each row."""
        return np.asarray(self.level + (table - self.center) @ self.coef)


def _solve(gram: Matrix, product: Column, penalties: Column) -> Matrix:
    """Return the coefficients for each penalty, in columns."""
    values, vectors = np.linalg.eigh(gram)
    rotated = vectors.T @ product
    return np.asarray(vectors @ (rotated[:, np.newaxis] / (np.maximum(values, 0)[:, np.newaxis] + penalties)))
