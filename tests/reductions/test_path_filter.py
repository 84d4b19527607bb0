"""Which rows climb: by the word of those who learned from them, of those who did not, or all with less weight."""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from offsettree import OffsetTree, simulate_log
from offsettree.exceptions import OffsetTreeWarning, ParameterError
from offsettree.reductions._nodes import N_FOLDS, NodeLearner, TrainingSet, ask_out_of_fold, random_folds
from tests.strategies import LoggedProblem, logged_problems

digits, digit = load_digits(return_X_y=True)


class Memory(ClassifierMixin, BaseEstimator):
    """Answers what it was taught about the rows it was taught with, and right (0) about all others."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.classes_ = np.array([0, 1])
        self.known_ = dict(zip(X[:, 0].tolist(), y.tolist(), strict=True))
        self.weight_ = dict(zip(X[:, 0].tolist(), sample_weight.tolist(), strict=True))
        return self

    def predict(self, X: Any) -> Any:
        return np.array([self.known_.get(x, 0) for x in X[:, 0].tolist()])


# Eight rows, two per action of ((0, 1), (2, 3)): one says its action is good, the other that it is bad.
X = np.arange(8.0)[:, np.newaxis]
ACTION, REWARD = np.repeat([0, 1, 2, 3], 2), np.tile([1.0, 0.0], 4)
EIGHT: dict[str, Any] = {"X": X, "action": ACTION, "reward": REWARD, "propensity": 0.25}


def test_in_sample_a_memory_lets_its_good_rows_climb_and_no_others() -> None:
    policy = OffsetTree(Memory()).fit(**EIGHT)
    assert policy.node_rows_.tolist() == [4, 4, 4]
    assert set(policy.estimators_[0].known_) == {0.0, 2.0, 4.0, 6.0}


def test_out_of_fold_a_memory_knows_nothing_of_the_rows_it_is_asked_about() -> None:
    rows, action = np.arange(80.0)[:, np.newaxis], np.repeat([0, 1, 2, 3], 20)
    policy = OffsetTree(Memory(), path_filter="out_of_fold", random_state=0)
    policy.fit(rows, action, reward=np.tile([1.0, 0.0], 40), propensity=0.25)
    assert policy.node_rows_.tolist() == [40, 40, 40]
    # Of rows that it was not taught with it says right: those of the actions 1 and 3 climb, good or bad.
    assert set(policy.estimators_[0].known_) == {*range(20, 40), *range(60, 80)}
    # The classifiers of the contests themselves learn from all their rows.
    assert [set(node.known_) for node in policy.estimators_[1:]] == [set(range(40)), set(range(40, 80))]


def test_no_row_is_judged_by_a_classifier_that_learned_from_it() -> None:
    asked: list[float] = []

    class Forgetful(Memory):
        def predict(self, X: Any) -> Any:
            assert not set(X[:, 0].tolist()) & set(self.known_)
            asked.extend(X[:, 0].tolist())
            return super().predict(X)

    random = np.random.RandomState(0)
    rows, label = np.arange(90.0)[:, np.newaxis], random.random_sample(90) < 0.5
    fold = random_folds(90, random)
    ask_out_of_fold(NodeLearner(Forgetful()), TrainingSet(rows, label, np.ones(90), 0, "here"), fold)
    assert sorted(asked) == rows.ravel().tolist()
    assert np.bincount(fold).tolist() == [90 // N_FOLDS] * N_FOLDS


def test_a_soft_filter_leaves_rows_a_part_of_their_weight_per_contest_lost() -> None:
    policy = OffsetTree(Memory(), path_filter=0.1).fit(**EIGHT)
    assert policy.node_rows_.tolist() == [8, 4, 4]
    weight = policy.estimators_[0].weight_
    assert [weight[x] / weight[0.0] for x in range(8)] == pytest.approx([1.0, 0.1] * 4)
    assert np.mean(list(weight.values())) == pytest.approx(1.0)


def test_with_a_share_of_one_every_node_learns_from_all_rows_below_it() -> None:
    log = simulate_log(digits[:500], digit[:500], random_state=0)
    policy = OffsetTree(path_filter=1, random_state=0).fit(**log.arrays())
    n_logged = np.bincount(log.action, minlength=10)
    for node, n_rows in enumerate(policy.node_rows_):
        assert n_rows == sum(n_logged[side].sum() for side in policy.tree_.actions_below(node))


@settings(deadline=None, max_examples=30)
@given(logged_problems())
@pytest.mark.filterwarnings("ignore:.*never logged:offsettree.exceptions.OffsetTreeWarning")
def test_a_share_of_zero_is_the_filter_of_the_paper(case: LoggedProblem) -> None:
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    policies = [
        OffsetTree(tree, tree=case.pairs, actions=case.actions, path_filter=kind).fit(**case.log.arrays())
        for kind in ("in_sample", 0, 0.0)
    ]
    for policy in policies[1:]:
        np.testing.assert_array_equal(policy.node_rows_, policies[0].node_rows_)
        np.testing.assert_array_equal(policy.predict(case.X_new), policies[0].predict(case.X_new))


@settings(deadline=None, max_examples=30)
@given(logged_problems())
@pytest.mark.filterwarnings("ignore:.*never logged:offsettree.exceptions.OffsetTreeWarning")
def test_logs_too_short_for_folds_are_learned_from_all_the_same(case: LoggedProblem) -> None:
    for kind in ("out_of_fold", 0.3):
        policy = OffsetTree(
            DecisionTreeClassifier(max_depth=2), tree=case.pairs, actions=case.actions, path_filter=kind, random_state=0
        ).fit(**case.log.arrays())
        assert set(policy.predict(case.X_new)) <= set(policy.actions_)


def test_a_fold_too_small_for_its_learner_goes_to_the_louder_side() -> None:
    log = simulate_log(digits[:200], digit[:200] % 3, random_state=0)
    with pytest.warns(OffsetTreeWarning, match=r"node \d of the tree without fold \d, on \d+ rows"):
        OffsetTree(KNeighborsClassifier(30), path_filter="out_of_fold", random_state=0).fit(**log[:60].arrays())


def assert_same(one: Any, two: Any) -> None:
    np.testing.assert_array_equal(one.node_rows_, two.node_rows_)
    for first, second in zip(one.estimators_, two.estimators_, strict=True):
        assert type(first) is type(second)
        for name in ("coef_", "intercept_"):
            if hasattr(first, name):
                np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
        if hasattr(first, "tree_"):
            np.testing.assert_array_equal(first.tree_.threshold, second.tree_.threshold)
            np.testing.assert_array_equal(first.tree_.value, second.tree_.value)


@pytest.mark.parametrize("path_filter", ["in_sample", "out_of_fold", 0.2])
@pytest.mark.parametrize("estimator", [DecisionTreeClassifier(max_depth=4), SGDClassifier()])
def test_neither_workers_nor_backend_change_a_bit(estimator: Any, path_filter: Any) -> None:
    random = np.random.RandomState(0)
    rewards = random.random_sample((900, 23))
    log = simulate_log(digits[:900], rewards, random_state=0)
    policy = OffsetTree(estimator, path_filter=path_filter, tree="random", random_state=3)
    expected = policy.fit(**log.arrays())
    for n_jobs, backend in ((2, "threading"), (3, "threading"), (2, "loky")):
        with joblib.parallel_config(backend=backend):
            again = OffsetTree(**policy.get_params(deep=False)).set_params(n_jobs=n_jobs).fit(**log.arrays())
        assert_same(expected, again)
    assert_same(expected, OffsetTree(**policy.get_params(deep=False)).set_params(n_jobs=2).fit(**log.arrays()))


def test_the_folds_follow_the_seed() -> None:
    log = simulate_log(digits, digit, random_state=0)

    def rows(seed: int) -> NDArray[np.int64]:
        policy = OffsetTree(
            DecisionTreeClassifier(max_depth=3, random_state=0), path_filter="out_of_fold", random_state=seed
        )
        return policy.fit(**log.arrays()).node_rows_

    np.testing.assert_array_equal(rows(0), rows(0))
    assert (rows(0) != rows(1)).any()


@pytest.mark.parametrize("path_filter", ["oof", -0.1, 1.1, True, np.nan, None, ["in_sample"]])
def test_a_filter_that_cannot_be_meant_is_refused(path_filter: Any) -> None:
    with pytest.raises(ParameterError, match="path_filter must be 'in_sample', 'out_of_fold', or from 0 to 1"):
        OffsetTree(path_filter=path_filter).fit(**EIGHT)


@pytest.mark.parametrize("path_filter", ["out_of_fold", 0.1])
def test_a_shared_classifier_filters_in_sample_only(path_filter: Any) -> None:
    with pytest.raises(ParameterError, match="must be 'in_sample' where node_models is 'shared'"):
        OffsetTree(path_filter=path_filter, node_models="shared").fit(**EIGHT)
