from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from offsettree import Costing
from offsettree.exceptions import ParameterError
from offsettree.learners import ConstantClassifier
from tests.strategies import seeds


class Counting(ClassifierMixin, BaseEstimator):
    """Keeps the rows it was given; answers the majority."""

    def fit(self, X: Any, y: Any) -> Any:
        self.rows_ = np.asarray(X)[:, 0].astype(int)
        self.X_ = X
        self.classes_ = np.unique(y)
        self.majority_ = np.bincount(y).argmax()
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.majority_)


def test_rows_are_kept_in_proportion_to_their_weights() -> None:
    weight = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    X, y = np.arange(5)[:, np.newaxis], [0, 1, 0, 1, 0]
    costing = Costing(Counting(), n_draws=20_000, random_state=0).fit(X, y, sample_weight=weight)
    kept = np.bincount(
        np.concatenate([draw.rows_ for draw in costing.estimators_ if isinstance(draw, Counting)]), minlength=5
    )
    n_constant = sum(isinstance(draw, ConstantClassifier) for draw in costing.estimators_)
    assert kept[0] == 0
    # Draws of one class only are answered by a constant, and are those with neither row 1 nor 3: 3/4 * 1/4.
    assert n_constant / 20_000 == pytest.approx(0.1875, abs=0.01)
    assert kept[4] == 20_000 - n_constant
    assert costing.n_rows_drawn_.mean() == pytest.approx(weight.sum() / weight.max(), abs=0.02)
    np.testing.assert_allclose(kept[[1, 3]] / 20_000, [0.25, 0.75], atol=0.01)


@given(seeds)
def test_the_error_rate_on_a_draw_estimates_the_weighted_loss(seed: int) -> None:
    """The folk theorem of section 2, on a sample: error on the rows kept is weighted loss over mean weight."""
    random = np.random.RandomState(seed)
    n_rows = 20_000
    weight = random.exponential(size=n_rows)
    y = random.randint(2, size=n_rows)
    answer = random.randint(2, size=n_rows)
    costing = Costing(Counting(), n_draws=1, random_state=seed + 1)
    costing.fit(np.arange(n_rows)[:, np.newaxis], y, sample_weight=weight)
    rows = costing.estimators_[0].rows_
    error = (answer[rows] != y[rows]).mean()
    expected = np.average(answer != y, weights=weight)
    assert error == pytest.approx(expected, abs=5 * np.sqrt(0.25 / len(rows)))


def test_equal_weights_keep_every_row_and_train_once_where_training_has_no_luck() -> None:
    X, y = np.arange(6)[:, np.newaxis], [0, 1] * 3
    costing = Costing(Counting(), n_draws=7).fit(X, y)
    np.testing.assert_array_equal(costing.n_rows_drawn_, np.full(7, 6))
    assert len(costing.estimators_) == 7
    assert len({id(draw) for draw in costing.estimators_}) == 1


def test_the_shared_form_sees_the_draws_index_and_averages_over_it() -> None:
    random = np.random.RandomState(0)
    X, y = random.normal(size=(300, 2)), random.randint(2, size=300)
    y[X[:, 0] > 0] = 1
    weight = random.random_sample(300)
    costing = Costing(
        DecisionTreeClassifier(max_depth=4, random_state=0), n_draws=5, draw_models="shared", random_state=0
    ).fit(X, y, sample_weight=weight)
    (shared,) = costing.estimators_
    assert shared.n_features_in_ == 2 + 5
    by_draw = [shared.predict_proba(np.hstack([X, np.tile(np.eye(5)[draw], (300, 1))])) for draw in range(5)]
    np.testing.assert_allclose(costing.predict_proba(X), np.mean(by_draw, axis=0))


@pytest.mark.parametrize("draw_models", ["separate", "shared"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, lambda X: pd.DataFrame(X, columns=["u", "v"])])
def test_it_learns_the_weighted_problem_in_both_forms(draw_models: Any, form: Any) -> None:
    """Every row is seen with both labels; only the weights tell which is right."""
    random = np.random.RandomState(0)
    X = np.repeat(random.normal(size=(300, 2)), 2, axis=0)
    y = np.tile([0, 1], 300)
    right = X[:, 0] + X[:, 1] > 0
    weight = np.where(y == right, 1.0, 0.05)
    costing = Costing(DecisionTreeClassifier(max_depth=5), draw_models=draw_models, random_state=0)
    costing.fit(form(X), y, sample_weight=weight)
    assert (costing.predict(form(X)) == right).mean() > 0.9


def test_votes_are_averages_of_probabilities_or_of_answers() -> None:
    random = np.random.RandomState(0)
    X, y = random.normal(size=(200, 2)), np.array(["no", "yes"])[random.randint(2, size=200)]
    weight = random.random_sample(200)
    vote: Any
    for vote in ("soft", "hard"):
        costing = Costing(LogisticRegression(), vote=vote, random_state=0).fit(X, y, sample_weight=weight)
        if vote == "soft":
            expected = np.mean([draw.predict_proba(X) for draw in costing.estimators_], axis=0)
        else:
            expected = np.mean([np.eye(2)[draw.predict(X)] for draw in costing.estimators_], axis=0)
        np.testing.assert_allclose(costing.predict_proba(X), expected)
        np.testing.assert_array_equal(costing.predict(X), np.array(["no", "yes"])[expected.argmax(axis=1)])


def test_auto_takes_probabilities_where_there_are_any() -> None:
    X, y = np.random.RandomState(0).normal(size=(100, 2)), [0, 1] * 50
    weight = np.random.RandomState(1).random_sample(100)
    hard = Costing(LinearSVC(), n_draws=4, random_state=0).fit(X, y, sample_weight=weight).predict_proba(X)
    assert set(np.unique(hard)) <= {0, 0.25, 0.5, 0.75, 1}
    soft = Costing(LogisticRegression(), n_draws=4, random_state=0).fit(X, y, sample_weight=weight).predict_proba(X)
    assert len(np.unique(soft)) > 50


def test_frames_with_names_reach_the_estimator_of_the_shared_form() -> None:
    frame = pl.DataFrame({"u": [0.0, 1.0, 2.0, 3.0], "v": ["a", "b", "a", "b"]})
    costing = Costing(Counting(), n_draws=2, draw_models="shared", random_state=0).fit(frame, [0, 1, 0, 1])
    assert costing.estimators_[0].X_.columns == ["u", "v", "draw=0", "draw=1"]
    assert costing.feature_names_in_.tolist() == ["u", "v"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_draws": 0}, "n_draws must be"),
        ({"n_draws": 2.5}, "n_draws must be"),
        ({"vote": "loud"}, "vote must be"),
        ({"vote": "soft", "estimator": LinearSVC()}, "needs an estimator with predict_proba"),
        ({"draw_models": "none"}, "draw_models must be"),
    ],
)
def test_parameters_that_cannot_be_meant_are_refused(parameters: dict[str, Any], message: str) -> None:
    costing = Costing(**({"estimator": LogisticRegression()} | parameters))
    with pytest.raises(ParameterError, match=message):
        costing.fit([[0.0], [1.0]], [0, 1])


def test_weights_must_not_be_negative_nor_all_zero() -> None:
    costing = Costing(LogisticRegression())
    with pytest.raises(ValueError, match="zero for every row"):
        costing.fit([[0.0], [1.0]], [0, 1], sample_weight=[0, 0])
    with pytest.raises(ValueError, match="row 1 has -1"):
        costing.fit([[0.0], [1.0]], [0, 1], sample_weight=[1, -1])


SAMPLES = "rejection sampling meets a weighted problem in distribution, not row by row"


@parametrize_with_checks(
    [
        Costing(DecisionTreeClassifier(random_state=0), n_draws=3, random_state=0),
        Costing(LogisticRegression(), n_draws=3, draw_models="shared", random_state=0),
        Costing(RidgeClassifier(), n_draws=3, random_state=0),
        Costing(KNeighborsClassifier(), n_draws=3, random_state=0),
    ],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": SAMPLES,
        "check_sample_weight_equivalence_on_sparse_data": SAMPLES,
    },
)
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)
