"""The classifiers of contests between two actions with features, one per height, antisymmetric by construction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import has_fit_parameter

from offsettree.actions._encoding import BLOCK_NUMBERS, products
from offsettree.actions._tournament import Contests
from offsettree.exceptions import ParameterError
from offsettree.learners import Costing

__all__ = ["ContestLearner"]

Matrix = NDArray[np.float64]


class ContestLearner:
    """Learns height by height, and decides.

    A classifier learns from each contest twice, with the sides as they are and swapped, and answers by the difference
    of what it says to either: whatever it is, to swap the sides flips the answer. The smaller id wins a tie.
    """

    def __init__(self, estimator: Any, inputs: str, *, cumulative: bool, seed: int) -> None:
        if estimator is not None and not hasattr(estimator, "predict"):
            raise ParameterError(f"estimator must be a classifier of scikit-learn; got {estimator!r:.80}.")
        self.estimator, self.inputs, self.cumulative, self.seed = estimator, inputs, cumulative, seed
        self.estimators: list[Any] = []
        self.n_rows: list[int] = []
        self._seen: list[tuple[Matrix, Matrix, NDArray[np.int64], NDArray[np.float64]]] = []

    def learn(
        self, x: Matrix, a: Matrix, contests: Contests, is_left: NDArray[np.bool_], weight: NDArray[np.float64]
    ) -> None:
        """Train the classifier of the next height; without rows it is that of the height below."""
        self.n_rows.append(len(is_left))
        used = weight > 0
        contests, is_left, weight = contests.take(used), is_left[used], weight[used]
        if not self.cumulative:
            self._seen.clear()
        if len(is_left):
            forth, back = self._both_ways(x, a, contests)
            self._seen.append((forth, back, is_left.astype(np.int64), weight))
        if not self._seen:
            self.estimators.append(self.estimators[-1] if self.estimators else None)
            return
        fores, backs, labels, weights = zip(*self._seen, strict=True)
        label, total = np.concatenate(labels), np.concatenate(weights)
        table = np.vstack([*fores, *backs])
        mirrored = np.concatenate([label, 1 - label])
        scaled = np.concatenate([total, total]) / total.mean()
        self.estimators.append(self._trained(table, mirrored, scaled))

    def decide(self, height: int, x: Matrix, a: Matrix, ids: NDArray[Any], contests: Contests) -> NDArray[np.bool_]:
        """Return whether the left one wins; heights above those learned are decided by the last."""
        tie = ids[contests.left] < ids[contests.right]
        model = self.estimators[min(height, len(self.estimators)) - 1] if self.estimators else None
        if model is None or not len(contests.row):
            return np.asarray(tie)
        margin = np.empty(len(contests.row))
        step = max(1, BLOCK_NUMBERS // (x.shape[1] * a.shape[1] + a.shape[1] ** 2 + 1))
        for first in range(0, len(margin), step):
            part = slice(first, first + step)
            forth, back = self._both_ways(x, a, contests.take(np.arange(len(margin))[part]))
            margin[part] = _support(model, forth) - _support(model, back)
        return np.where(margin == 0, tie, margin > 0)

    def _both_ways(self, x: Matrix, a: Matrix, contests: Contests) -> tuple[Matrix, Matrix]:
        context, left, right = x[contests.row], a[contests.left], a[contests.right]
        difference = products(context, left) - products(context, right)
        if self.inputs == "difference":
            return difference, -difference
        return np.hstack([context, left, right, difference]), np.hstack([context, right, left, -difference])

    def _trained(self, table: Matrix, label: NDArray[np.int64], weight: NDArray[np.float64]) -> Any:
        model = LogisticRegression(C=0.05, fit_intercept=False, max_iter=1000)
        if self.estimator is not None:
            model = clone(self.estimator)
        if not has_fit_parameter(model, "sample_weight"):
            model = Costing(model)
        if "random_state" in model.get_params() and model.get_params()["random_state"] is None:
            model.set_params(random_state=self.seed)
        return model.fit(table, label, sample_weight=weight)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_seen": []}  # the rows are for learning only


def _support(model: Any, table: Matrix) -> NDArray[np.float64]:
    """Return how much the classifier speaks for the left one."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(table), dtype=np.float64)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(table)[:, 1], dtype=np.float64)
    return np.asarray(model.predict(table), dtype=np.float64)
