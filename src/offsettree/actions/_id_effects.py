"""What single ids earn beyond their features: ridge regressions of residuals, one per id, shrunken towards nothing."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor

from offsettree.logs import ActionSets

__all__ = ["IdEffects"]

PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, np.inf)  # infinity: no effects
MOST_COLUMNS = 32  # with more, an id has an intercept alone
N_FOLDS = 5
MOST_IDS = 250  # that trees tell apart
FEWEST_ROWS = 100  # of such an id
Matrix = NDArray[np.float64]


class IdEffects:
    """An intercept and slopes in the features of the context for every id; 0 for an id that was never logged.

    Boosted trees over the most frequent ids may follow, for effects that are not linear.

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
        held = fold == 0
        part = _solve(gram - grams[0], total - sums[0], self.penalty)
        left = residual - (part[code] * design).sum(axis=1)
        self._fit_trees(x, code, left, held, random)
        return self

    def _fit_trees(
        self,
        x: Matrix,
        code: NDArray[np.intp],
        left: NDArray[np.float64],
        held: NDArray[np.bool_],
        random: np.random.RandomState,
    ) -> None:
        """Let trees learn what the linear effects leave, of the most frequent ids; kept if held-out rows are better."""
        counts = np.bincount(code)
        frequent = np.argsort(-counts, kind="stable")[:MOST_IDS]
        frequent = frequent[counts[frequent] >= FEWEST_ROWS]
        self.trees: Any = None
        self.category = np.full(len(self.labels), -1, dtype=np.intp)
        self.category[frequent] = np.arange(len(frequent))
        used = self.category[code] >= 0
        learned, tested = used & ~held, used & held
        if len(frequent) < 2 or not tested.any():
            return
        table = np.column_stack([self.category[code], x])
        trees = HistGradientBoostingRegressor(
            max_iter=300, learning_rate=0.06, max_leaf_nodes=15, min_samples_leaf=40, l2_regularization=1.0,
            early_stopping=True, categorical_features=[0], random_state=int(random.randint(np.iinfo(np.int32).max)),
        ).fit(table[learned], left[learned], X_val=table[tested], y_val=left[tested])  # fmt: skip
        before, after = left[tested], left[tested] - trees.predict(table[tested])
        gain = before**2 - after**2
        if gain.mean() > gain.std() / np.sqrt(len(gain)):
            self.trees = trees

    def predict(self, sets: ActionSets, x: Matrix) -> NDArray[np.float64]:
        """Return the effect of each pair's id; `x` has a row per pair."""
        return self.of(sets.ids, x)

    def of(self, ids: NDArray[Any], x: Matrix) -> NDArray[np.float64]:
        """Return the effects of some ids in some contexts."""
        if ids.dtype.kind != self.labels.dtype.kind:
            return np.zeros(len(ids))
        place = np.minimum(np.searchsorted(self.labels, ids), len(self.labels) - 1)
        known = self.labels[place] == ids
        found = np.where(known, (self.effects[place] * self._design(x)).sum(axis=1), 0.0)
        category = np.where(known, self.category[place], -1)
        if self.trees is not None and (category >= 0).any():
            rows = category >= 0
            found[rows] += self.trees.predict(np.column_stack([category[rows], x[rows]]))
        return found

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
