"""Learning who wins contests between two actions with features: a classifier per height above the leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import has_fit_parameter

from offsettree.actions._contest_models import (
    ContestModel,
    LearnedContest,
    ScoredContest,
    TableContest,
    Undecided,
    both_ways,
)
from offsettree.actions._pair_scores import linear_pairs
from offsettree.actions._tournament import Contests
from offsettree.exceptions import ParameterError
from offsettree.learners import Costing
from offsettree.models.scores import LinearScores
from offsettree.reading import CannotFlatten, ColumnSpace, join_pieces, read_classes

# Of the squared weights of the default classifier, chosen on the seeds 77 to 80 of simulated catalogues.
PENALTY, PENALTY_BESIDE_REWARDS, REWARD_SCALE = 100.0, 10_000.0, 10.0
Matrix = NDArray[np.float64]


class ContestLearner:
    """Learns height by height.

    A classifier learns from each contest twice, with the sides as they are and swapped, and answers by the difference
    of what it says to either: whatever it is, to swap the sides flips the answer.
    """

    def __init__(self, estimator: Any, inputs: str, *, cumulative: bool, with_rewards: bool, seed: int) -> None:
        if estimator is not None and not hasattr(estimator, "predict"):
            raise ParameterError(f"estimator must be a classifier of scikit-learn; got {estimator!r:.80}.")
        self.estimator, self.inputs, self.cumulative, self.seed = estimator, inputs, cumulative, seed
        self.with_rewards = with_rewards  # as the last feature of actions
        self.estimators: list[Any] = []
        self.models: list[ContestModel] = []
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
            forth, back = both_ways(x, a, contests, self.inputs)
            self._seen.append((forth, back, is_left.astype(np.int64), weight))
        if not self._seen:
            self.estimators.append(self.estimators[-1] if self.estimators else None)
            self.models.append(self.models[-1] if self.models else Undecided())
            return
        fores, backs, labels, weights = zip(*self._seen, strict=True)
        label, total = np.concatenate(labels), np.concatenate(weights)
        table = np.vstack([*fores, *backs])
        mirrored = np.concatenate([label, 1 - label])
        scaled = np.concatenate([total, total]) / total.mean()
        scales = _scales(table.shape[1], x.shape[1], a.shape[1]) if self.with_rewards else None
        self.estimators.append(self._trained(table, mirrored, scaled, scales))
        self.models.append(_flat(self.estimators[-1], self.inputs, x.shape[1], a.shape[1]))

    def _trained(self, table: Matrix, label: NDArray[np.int64], weight: NDArray[np.float64], scales: Any) -> Any:
        if self.estimator is None:
            penalty = PENALTY if scales is None else PENALTY_BESIDE_REWARDS
            model = LogisticRegression(C=1 / penalty, fit_intercept=False, max_iter=1000)
            if scales is None:
                return model.fit(table, label, sample_weight=weight)
            model.fit(table * scales, label, sample_weight=weight)
            model.coef_ = model.coef_ * scales
            return model
        model = clone(self.estimator)
        if not has_fit_parameter(model, "sample_weight"):
            model = Costing(model)
        if "random_state" in model.get_params() and model.get_params()["random_state"] is None:
            model.set_params(random_state=self.seed)
        return model.fit(table, label, sample_weight=weight)


def _scales(n_columns: int, n_x: int, n_a: int) -> NDArray[np.float64]:
    """Return what the columns of the default classifier are multiplied by: the larger, the less they are penalised.

    Predicted rewards tell nearly all, and without products: the others learn what these leave.
    """
    first, second = np.triu_indices(n_a)
    is_own = np.arange(n_a) < n_a - 1
    difference = np.concatenate([is_own, np.tile(is_own, n_x), is_own[first] & is_own[second]]).astype(np.float64)
    difference[n_a - 1] = REWARD_SCALE
    return np.concatenate([np.ones(n_columns - len(difference)), difference])


def _flat(model: Any, inputs: str, n_x: int, n_a: int) -> ContestModel:
    """Return the classifier in flat arrays, or itself where it has no such form."""
    n_columns = model.n_features_in_ if hasattr(model, "n_features_in_") else 0
    try:
        flat = join_pieces([read_classes(model, ColumnSpace(n_columns, None, []))], ColumnSpace(n_columns, None, []))
    except CannotFlatten:
        return LearnedContest(model, inputs)
    if inputs == "difference" and isinstance(flat, LinearScores):
        # What is added to both sides does not count: the margin is the difference of two scores.
        weights = 2 * np.concatenate([np.zeros(n_x), flat.planes.weights[1] - flat.planes.weights[0]])
        return ScoredContest(linear_pairs(weights, n_x, n_a, 0.0, products=True))
    return TableContest(flat, inputs)
