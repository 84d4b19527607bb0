"""What single ids earn beyond their features: ridge regressions of residuals, one per id, shrunken towards nothing."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.logs import ActionSets

__all__ = ["IdEffects"]

PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, np.inf)  # infinity: no effects
MOST_COLUMNS = 32  # with more, an id has an intercept alone
N_FOLDS = 5
Matrix = NDArray[np.float64]


class IdEffects:
    """An intercept and slopes in the features of the context for every id; 0 for an id that was never logged.

    The penalty is the one with the least squared error on held-out rows. With no effect at all among the choices, ids
    that tell nothing beyond their features cost nothing.
    """

    penalty = np.inf

    def fit(self, ids: NDArray[Any], x: Matrix, residual: NDArray[np.float64], random: np.random.RandomState) -> Self:
        """Learn from the residuals of predictions by models that did not learn from the same rows."""
        self.labels, code = np.unique(ids, return_inverse=True)
        self.with_slopes = x.shape[1] < MOST_COLUMNS
        design = self._design(x)
        fold = random.permutation(len(ids)) % N_FOLDS
        grams, sums = zip(
            *(self._moments(design, code, residual, fold == each) for each in range(N_FOLDS)), strict=True
        )
        gram, total = np.sum(grams, axis=0), np.sum(sums, axis=0)
        losses = []
        for penalty in PENALTIES:
            loss = 0.0
            for each in range(N_FOLDS):
                rows = fold == each
                effects = _solve(gram - grams[each], total - sums[each], penalty)
                loss += float(((residual[rows] - (effects[code[rows]] * design[rows]).sum(axis=1)) ** 2).sum())
            losses.append(loss)
        self.penalty = PENALTIES[int(np.argmin(losses))]
        self.effects = _solve(gram, total, self.penalty)
        return self

    def predict(self, sets: ActionSets, x: Matrix) -> NDArray[np.float64]:
        """Return the effect of each pair's id; `x` has a row per pair."""
        return self.of(sets.ids, x)

    def of(self, ids: NDArray[Any], x: Matrix) -> NDArray[np.float64]:
        """Return the effects of some ids in some contexts."""
        if not np.isfinite(self.penalty) or ids.dtype.kind != self.labels.dtype.kind:
            return np.zeros(len(ids))
        place = np.minimum(np.searchsorted(self.labels, ids), len(self.labels) - 1)
        known = self.labels[place] == ids
        return np.where(known, (self.effects[place] * self._design(x)).sum(axis=1), 0.0)

    def _design(self, x: Matrix) -> Matrix:
        ones = np.ones((len(x), 1))
        return np.hstack([ones, x]) if self.with_slopes else ones

    def _moments(
        self, design: Matrix, code: NDArray[np.intp], residual: NDArray[np.float64], rows: NDArray[np.bool_]
    ) -> tuple[Matrix, Matrix]:
        """Sum the products of the design, and those with the residuals, by id."""
        n_ids, width = len(self.labels), design.shape[1]
        order = np.flatnonzero(rows)
        order = order[np.argsort(code[order], kind="stable")]
        present, starts = np.unique(code[order], return_index=True)
        gram, total = np.zeros((n_ids, width, width)), np.zeros((n_ids, width))
        if len(order):
            part = design[order]
            for column in range(width):
                gram[present, column] = np.add.reduceat(part * part[:, [column]], starts)
            total[present] = np.add.reduceat(part * residual[order, np.newaxis], starts)
        return gram, total


def _solve(gram: Matrix, total: Matrix, penalty: float) -> Matrix:
    if not np.isfinite(penalty):
        return np.zeros_like(total)
    return np.asarray(np.linalg.solve(gram + penalty * np.eye(gram.shape[1]), total[..., np.newaxis])[..., 0])
