"""One contest, and the settings it is trained under."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from threadpoolctl import threadpool_info, threadpool_limits

from offsettree import OffsetTree, simulate_log
from offsettree.exceptions import OffsetTreeWarning, ParameterError
from offsettree.learners._template import Template
from offsettree.reductions._nodes import PLAIN_LINEAR, prefers_left

random = np.random.RandomState(0)
X = random.normal(size=(400, 3))
log = simulate_log(X, np.digitize(X[:, 0], [-0.5, 0.5]), random_state=1)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreeClassifier])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_reading_a_tree_directly_gives_its_own_predictions(kind: Any, dtype: Any) -> None:
    """To the last bit: thresholds lie between values that differ in the last bits of float32 only."""
    base = random.normal(size=(2000, 2)).astype(np.float32)
    near = np.nextafter(base, np.float32(np.inf))
    rows = np.vstack([base, near]).astype(dtype)
    tree = kind(random_state=0).fit(rows, np.repeat([0, 1], 2000))
    np.testing.assert_array_equal(prefers_left(tree, rows), tree.predict(rows) == 1)
    order = np.asfortranarray(rows)
    np.testing.assert_array_equal(prefers_left(tree, order), tree.predict(order) == 1)


@pytest.mark.parametrize("kind", PLAIN_LINEAR)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("labels", [(0, 1), (1, 2)])
def test_reading_a_linear_model_directly_gives_its_own_predictions(kind: Any, dtype: Any, labels: Any) -> None:
    """Features of few values put many rows on the very boundary; the label for left may be the lower one."""
    rows = random.randint(-2, 3, size=(500, 4)).astype(dtype)
    label = np.where(rows[:, 0] + random.randint(-1, 2, size=500) > 0, labels[1], labels[0])
    model = kind().fit(rows, label)
    model.coef_, model.intercept_ = np.round(model.coef_), np.round(model.intercept_)
    for form in (rows, np.asfortranarray(rows), rows[::-1]):
        np.testing.assert_array_equal(prefers_left(model, form), model.predict(form) == 1)


def test_a_class_that_only_derives_from_a_known_one_is_asked_itself() -> None:
    class Contrary(LogisticRegression):
        def predict(self, X: Any) -> Any:
            return 1 - super().predict(X)

    model = Contrary().fit(X, X[:, 0] > 0)
    np.testing.assert_array_equal(prefers_left(model, X), model.predict(X) == 1)


@pytest.mark.parametrize("estimator", [LogisticRegression(), make_pipeline(StandardScaler(), SGDClassifier())])
def test_copies_of_a_template_share_nothing_that_can_change(estimator: Any) -> None:
    template = Template(estimator)
    first, second = template.copy(1), template.copy(2)
    first.fit(X, X[:, 0] > 0)
    name = "random_state" if isinstance(estimator, LogisticRegression) else "sgdclassifier__random_state"
    assert (first.get_params()[name], second.get_params()[name]) == (1, 2)
    assert estimator.get_params()[name] is None
    assert not hasattr(second, "coef_")
    assert not hasattr(template.copy(3), "coef_")


def test_parameters_that_the_estimator_does_not_take_are_refused_before_any_contest() -> None:
    with pytest.raises(ParameterError, match=r"parameters that it takes.*'max_depth' parameter of Decision"):
        OffsetTree(DecisionTreeClassifier(max_depth=-1)).fit(**log[:10].arrays())


class Witness(ClassifierMixin, BaseEstimator):
    """Notes under which settings it was trained."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.classes_ = np.array([0, 1])
        self.n_threads_ = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        return self

    def predict(self, X: Any) -> Any:
        return np.ones(len(X), dtype=int)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_contests_are_trained_with_one_blas_thread(n_jobs: int | None) -> None:
    with threadpool_limits(2, user_api="blas"):
        assert any(pool["user_api"] == "blas" and pool["num_threads"] == 2 for pool in threadpool_info())
        policy = OffsetTree(Witness(), n_jobs=n_jobs).fit(**log.arrays())
    assert [set(node.n_threads_) for node in policy.estimators_] == [{1}, {1}]


def test_seeds_reach_learners_inside_a_pipeline_and_stay_where_they_were_set() -> None:
    pipeline = make_pipeline(StandardScaler(), SGDClassifier())
    first = OffsetTree(pipeline, random_state=0).fit(**log.arrays())
    again = OffsetTree(pipeline, random_state=0).fit(**log.arrays())
    seeds = [node.steps[-1][1].random_state for node in first.estimators_]
    assert None not in seeds
    assert len(set(seeds)) == 2
    for one, two in zip(first.estimators_, again.estimators_, strict=True):
        np.testing.assert_array_equal(one.steps[-1][1].coef_, two.steps[-1][1].coef_)
    own = OffsetTree(DecisionTreeClassifier(random_state=7), random_state=0).fit(**log.arrays())
    assert {node.random_state for node in own.estimators_} == {7}


class Answers(ClassifierMixin, BaseEstimator):
    """Answers anything but what it was taught."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.answer) if np.ndim(self.answer) == 0 else np.tile(self.answer, (len(X), 1))


@pytest.mark.parametrize("answer", ["1", 0.3, 2, [1]])
def test_answers_that_are_not_the_labels_taught_are_refused(answer: Any) -> None:
    with pytest.raises(ParameterError, match=r"Answers.predict must answer one label per row, 0 or 1"):
        OffsetTree(Answers(answer)).fit(**log.arrays())


def test_a_learner_whose_fit_returns_nothing_is_a_learner() -> None:
    class Silent(LogisticRegression):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            super().fit(X, y, sample_weight)

    expected = OffsetTree(LogisticRegression()).fit(**log.arrays()).predict(X)
    np.testing.assert_array_equal(OffsetTree(Silent()).fit(**log.arrays()).predict(X), expected)


def test_a_contest_too_small_for_its_learner_goes_to_the_louder_side() -> None:
    small = log[:30]
    with pytest.warns(OffsetTreeWarning, match=r"contest at node \d of the tree, on \d+ rows.*more weight always wins"):
        policy = OffsetTree(KNeighborsClassifier(40), random_state=0).fit(**small.arrays())
    assert set(policy.predict(X)) <= {0, 1, 2}
    with pytest.raises(ValueError, match="n_neighbors"):
        OffsetTree(KNeighborsClassifier(4000), random_state=0).fit(**log.arrays())


def test_predicted_offsets_stay_within_the_reward_range() -> None:
    class Wild(LinearRegression):
        def predict(self, X: Any) -> Any:
            return np.full(len(X), 7.0)

    policy = OffsetTree(offset=Wild())
    with pytest.warns(OffsetTreeWarning, match="votes against"):
        policy.fit(**(log.arrays() | {"reward": random.random_sample(400)}))
    assert policy.offset_ == 1.0


def test_a_regressor_that_predicts_tables_is_refused() -> None:
    class Table(LinearRegression):
        def predict(self, X: Any) -> Any:
            return np.ones((len(X), 2))

    with pytest.raises(ParameterError, match="one finite number per row"):
        OffsetTree(offset=Table()).fit(**log.arrays())


def test_rounding_makes_no_votes_of_rewards_at_the_offset() -> None:
    policy = OffsetTree(reward_range=(0.1, 0.3)).fit(X[:40], [0, 1] * 20, reward=np.full(40, 0.2), propensity=0.5)
    assert policy.node_rows_.tolist() == [0]


def test_an_X_stored_by_columns_gives_the_same_policy() -> None:
    policies = [
        OffsetTree(LogisticRegression(), random_state=0).fit(**log.arrays() | {"X": form(log.X)})
        for form in (np.ascontiguousarray, np.asfortranarray)
    ]
    np.testing.assert_array_equal(policies[0].node_rows_, policies[1].node_rows_)
    np.testing.assert_array_equal(policies[0].predict(X), policies[1].predict(X))
