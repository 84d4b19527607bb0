"""Doubly robust estimates, and the two policies that learn from them."""

from __future__ import annotations

import tracemalloc
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_digits
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier

from offsettree import DoublyRobust, OffsetTree, RewardRegression, simulate_log
from offsettree._available import Available
from offsettree.exceptions import LogError, ParameterError
from offsettree.learners import ConstantClassifier
from offsettree.logs import CheckedLog
from offsettree.reductions import _corrections
from offsettree.reductions._cross_fit import CrossFit
from offsettree.reductions._reward_models import LinearRewards
from tests.strategies import seeds


def a_log(n_rows: int = 600, k: int = 5, seed: int = 0) -> dict[str, Any]:
    """Skewed logging; an action earns the more the nearer it is to the first feature."""
    random = np.random.RandomState(seed)
    X = random.normal(size=(n_rows, 3))
    chance = random.dirichlet(np.ones(k), size=n_rows) * 0.7 + 0.3 / k
    action = (chance.cumsum(axis=1) < random.random_sample((n_rows, 1))).sum(axis=1).clip(0, k - 1)
    reward = np.clip(mean_rewards(X, k)[np.arange(n_rows), action] + 0.05 * random.normal(size=n_rows), 0, 1)
    return {"X": X, "action": action, "reward": reward, "propensity": chance[np.arange(n_rows), action]}


def mean_rewards(X: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    return np.asarray(np.exp(-((X[:, :1] - np.linspace(-1.5, 1.5, k)) ** 2)))


def value(policy: Any, k: int = 5) -> float:
    X = np.random.RandomState(99).normal(size=(2000, 3))
    return float(mean_rewards(X, k)[np.arange(len(X)), policy.predict(X)].mean())


def cross_fit(log: dict[str, Any], model: Any = "linear", k: int = 5) -> CrossFit:
    X, action, reward, propensity = log.values()
    return CrossFit.make(model, CheckedLog(X, action, reward, propensity, np.arange(k)), np.random.RandomState(0))


@settings(deadline=None, max_examples=25)
@given(seeds, st.sampled_from(["linear", DummyRegressor(), KNeighborsRegressor(1)]), st.integers(2, 6))
def test_estimates_are_right_in_the_mean_whatever_the_model(seed: int, model: Any, k: int) -> None:
    """Over the action drawn, of which every context sees all: the mean by propensity is the reward itself."""
    random = np.random.RandomState(seed)
    rewards = random.random_sample((8, k))
    chance = random.dirichlet(np.ones(k), size=8) * 0.8 + 0.2 / k
    X = np.repeat(random.normal(size=(8, 2)), k, axis=0)
    log = {
        "X": X,
        "action": np.tile(np.arange(k), 8),
        "reward": rewards.ravel(),
        "propensity": chance.ravel(),
    }
    made = cross_fit(log, model, k)
    same_model = CrossFit(made.X, made.action, made.error, np.zeros_like(made.folds), made.models[:1])
    predicted = made.models[0].predict(X, np.arange(k))
    own = predicted[np.arange(len(X)), log["action"]]
    same_model.error[:] = (log["reward"] - own) / log["propensity"]
    estimates = same_model.rewards(np.arange(k)).reshape(8, k, k)
    np.testing.assert_allclose((chance[:, :, np.newaxis] * estimates).sum(axis=1), rewards, atol=1e-9)


class Memory(RegressorMixin, BaseEstimator):
    """Knows the rows that it learned from, and refuses to predict them."""

    def fit(self, X: Any, y: Any) -> Any:
        self.known_ = {row.tobytes() for row in np.asarray(X)}
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X: Any) -> Any:
        assert not self.known_ & {row.tobytes() for row in np.asarray(X)}
        return np.full(len(X), self.mean_)


def test_no_row_is_judged_by_a_model_that_learned_from_it() -> None:
    log = a_log()
    estimates = cross_fit(log, Memory())
    assert np.isfinite(estimates.rewards(np.array([4, 0, 2]))).all()
    OffsetTree(DecisionTreeClassifier(max_depth=3), reward_model=Memory(), random_state=0).fit(**log)


def test_linear_models_predict_one_action_as_they_predict_all() -> None:
    log = a_log()
    for X in (log["X"], sp.csr_matrix(log["X"])):
        model = LinearRewards(CheckedLog(X, log["action"], log["reward"], log["propensity"], np.arange(5)), 0)
        table = model.predict(X, np.arange(5))
        assert ((table >= 0) & (table <= 1)).all()
        np.testing.assert_allclose(model.predict_own(X, log["action"]), table[np.arange(600), log["action"]])


def test_linear_models_find_linear_rewards() -> None:
    random = np.random.RandomState(0)
    X, slopes, action = (
        random.uniform(-1, 1, size=(900, 3)),
        random.uniform(-0.15, 0.15, size=(3, 4)),
        np.arange(900) % 4,
    )
    mean = 0.5 + X @ slopes
    log = CheckedLog(X, action, mean[np.arange(900), action], np.full(900, 0.25), np.arange(4))
    model = LinearRewards(log, 0)
    np.testing.assert_allclose(model.predict(X, np.arange(4)), mean, atol=0.01)


@pytest.mark.parametrize("k", [2, 5, 8])
def test_a_forest_of_corrections_predicts_what_the_forest_does(k: int) -> None:
    log = a_log(k=k)
    error = np.random.RandomState(1).normal(size=600)
    forest = ExtraTreesRegressor(7, min_samples_leaf=4, random_state=0)
    errors = _corrections.Errors(log["action"], error, k)
    corrections = _corrections.ForestCorrections(forest, log["X"], errors, np.random.RandomState(0))
    np.testing.assert_allclose(
        corrections.predict(log["X"]).toarray(), forest.predict(log["X"]).reshape(600, k), atol=1e-12
    )


def test_corrections_count_the_rows_to_which_an_action_was_available() -> None:
    log = a_log(k=3)
    error = np.random.RandomState(1).normal(size=600)
    mask = np.random.RandomState(2).random_sample((600, 3)) < 0.5
    mask[np.arange(600), log["action"]] = True
    forest = ExtraTreesRegressor(1, max_depth=2, random_state=0)
    errors = _corrections.Errors(log["action"], error, 3, Available(sp.csr_array(mask)))
    corrections = _corrections.ForestCorrections(forest, log["X"], errors, np.random.RandomState(0))
    leaf = forest.apply(log["X"])[:, 0]
    predicted = corrections.predict(log["X"]).toarray()
    for row in range(0, 600, 50):
        for action in range(3):
            here = (leaf == leaf[row]) & mask[:, action]
            expected = error[here & (log["action"] == action)].sum() / max(1, here.sum())
            assert predicted[row, action] == pytest.approx(expected)


def test_it_is_better_than_its_model() -> None:
    log = a_log(3000)
    robust = value(DoublyRobust(random_state=0).fit(**log))
    assert (
        robust > value(DoublyRobust(Ridge(alpha=1e9, fit_intercept=False), random_state=0).fit(**log)) + 0.02
    )  # corrects nothing


def test_a_model_that_knows_nothing_is_corrected() -> None:
    log = a_log(3000)
    assert value(DoublyRobust(reward_model=DummyRegressor(), random_state=0).fit(**log)) > 0.7
    assert value(OffsetTree(reward_model=DummyRegressor(), random_state=0).fit(**log)) > 0.6


def test_wrong_propensities_are_forgiven_where_the_model_is_right() -> None:
    log = a_log(3000) | {"propensity": 0.9}
    policy = DoublyRobust(reward_model=KNeighborsRegressor(15), random_state=0).fit(**log)
    assert value(policy) > 0.75


def test_predicted_rewards_are_in_the_units_of_the_rewards() -> None:
    log = a_log(3000)
    policy = DoublyRobust(random_state=0, reward_range=(-10, 10)).fit(**log | {"reward": 20 * log["reward"] - 10})
    predicted = policy.predict_rewards(log["X"])
    assert predicted.shape == (3000, 5)
    assert np.abs(predicted - (20 * mean_rewards(log["X"], 5) - 10)).mean() < 4  # of 20
    np.testing.assert_array_equal(predicted.argmax(axis=1), policy.predict(log["X"]))


@pytest.mark.parametrize("estimator", [None, Ridge(), KNeighborsRegressor(9)])
def test_workers_change_nothing(estimator: Any) -> None:
    log = a_log()
    one, two = (DoublyRobust(estimator, n_jobs=n, random_state=0).fit(**log) for n in (1, 2))
    np.testing.assert_array_equal(one.predict(log["X"]), two.predict(log["X"]))


@pytest.mark.filterwarnings("ignore:.*never logged:offsettree.exceptions.OffsetTreeWarning")
def test_many_actions_need_no_table_of_rows_times_actions() -> None:
    n_rows, k = 4000, 3000
    log = a_log(n_rows, 4) | {"action": np.random.RandomState(0).randint(k, size=n_rows), "propensity": 1 / k}
    policy = DoublyRobust(ExtraTreesRegressor(5, min_samples_leaf=20), actions=np.arange(k), random_state=0)
    tracemalloc.start()
    try:
        policy.fit(**log)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.5 * 8 * n_rows * k
    chosen = policy.predict(log["X"][:50])
    ranked = policy.rank(log["X"][:50], 7)
    np.testing.assert_array_equal(ranked[:, 0], chosen)


def test_decisions_are_taken_in_pieces() -> None:
    log = a_log()
    policy = DoublyRobust(random_state=0).fit(**log)
    expected, ranked = policy.predict(log["X"]), policy.rank(log["X"], 3)
    mask = np.random.RandomState(0).random_sample((600, 5)) < 0.5
    mask[:, 2] = True
    within = policy.predict(log["X"], mask)
    with patch("offsettree._available.VALUES_AT_ONCE", 100), patch.object(_corrections, "VALUES_AT_ONCE", 900):
        np.testing.assert_array_equal(policy.predict(log["X"]), expected)
        np.testing.assert_array_equal(policy.rank(log["X"], 3), ranked)
        np.testing.assert_array_equal(policy.predict(log["X"], sp.csr_array(mask)), within)
        in_blocks = DoublyRobust(Ridge(), random_state=0).fit(**log)
    whole = DoublyRobust(Ridge(), random_state=0).fit(**log)
    np.testing.assert_allclose(in_blocks.predict_rewards(log["X"]), whole.predict_rewards(log["X"]))


class Spy(DecisionTreeClassifier):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.seen_ = (X, y, sample_weight)
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("pairs", [(((0, 1), 2), (3, 4)), (0, (1, (2, (3, 4)))), ((4, 2), (0, (3, 1)))])
@pytest.mark.parametrize("with_sets", [False, True])
def test_every_row_has_a_say_in_every_contest(pairs: Any, with_sets: bool) -> None:
    """Against a plain reading: the winners below, by the classifiers themselves, and their estimated rewards."""
    log = a_log(300)
    mask = np.ones((300, 5), dtype=bool)
    if with_sets:
        mask = np.random.RandomState(0).random_sample((300, 5)) < 0.6
        mask[np.arange(300), log["action"]] = True
    made: list[CrossFit] = []
    make = CrossFit.make

    def remember(*args: Any) -> CrossFit:
        made.append(make(*args))
        return made[0]

    policy = OffsetTree(Spy(max_depth=3, random_state=0), tree=pairs, reward_model="linear", random_state=0)
    with patch.object(CrossFit, "make", remember):
        policy.fit(**log, available=mask if with_sets else None)
    estimates = np.where(mask, made[0].rewards(np.arange(5)), np.nan)
    tree = policy.tree_

    def winner(child: int) -> NDArray[np.float64]:
        if child < 0:
            return np.asarray(estimates[:, ~child])
        left, right = winner(int(tree.left[child])), winner(int(tree.right[child]))
        both = ~np.isnan(left) & ~np.isnan(right)
        heard = both & (np.abs(left - right) > 1e-12)
        assert policy.node_rows_[child] == heard.sum()
        classifier = policy.estimators_[child]
        assert not isinstance(classifier, ConstantClassifier)
        X, y, weight = classifier.seen_
        np.testing.assert_array_equal(X, log["X"][heard])
        ahead = (left - right)[heard]
        np.testing.assert_array_equal(y, ahead > 0)
        np.testing.assert_allclose(weight, np.abs(ahead) / np.abs(ahead).mean())
        goes_left = np.where(both, classifier.predict(log["X"]) == 1, ~np.isnan(left))
        return np.where(goes_left, left, right)

    winner(0)


def test_a_reward_model_makes_a_better_tree() -> None:
    X, y = load_digits(return_X_y=True)
    log = simulate_log(X, y, random_state=0)
    train, test = log.split(test_size=0.4, random_state=0)
    plain = OffsetTree(random_state=0).fit(**train.arrays()).score(**test.arrays())
    for path_filter in ("in_sample", "out_of_fold"):
        policy = OffsetTree(reward_model="linear", path_filter=path_filter, random_state=0).fit(**train.arrays())
        assert policy.score(**test.arrays()) > plain + 0.03
        assert policy.compiled_ is not None


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"reward_model": LogisticRegression()}, "reward_model must be a regressor"),
        ({"reward_model": Ridge}, "must be an instance"),
        ({"reward_model": "trees"}, "reward_model must be a regressor"),
    ],
)
def test_what_cannot_predict_rewards_is_refused(parameters: dict[str, Any], message: str) -> None:
    for policy in (DoublyRobust(), OffsetTree()):
        with pytest.raises(ParameterError, match=message):
            policy.set_params(**parameters).fit(**a_log())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"node_models": "shared"}, "node_models must be 'separate' where there is a reward_model"),
        ({"path_filter": 0.5}, "path_filter must be 'in_sample' or 'out_of_fold' where"),
    ],
)
def test_settings_without_a_meaning_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        OffsetTree(reward_model="linear", **parameters).fit(**a_log())


def test_a_reward_model_needs_the_whole_log() -> None:
    from sklearn.linear_model import SGDClassifier

    with pytest.raises(ParameterError, match="reward_model must be None for partial_fit"):
        OffsetTree(SGDClassifier(), reward_model="linear").partial_fit(**a_log())
    with pytest.raises(LogError, match="at least 2 rows"):
        DoublyRobust(actions=[0, 1]).fit([[0.0]], [0], reward=[1], propensity=0.5)


def test_a_model_that_predicts_nonsense_is_named() -> None:
    class Nonsense(Memory):
        def predict(self, X: Any) -> Any:
            return np.full((len(X), 2), np.nan)

    with pytest.raises(ParameterError, match="one finite number per row; Nonsense predicted"):
        DoublyRobust(reward_model=Nonsense()).fit(**a_log())


def test_without_corrections_it_is_regression() -> None:
    log = a_log(2000)
    model = KNeighborsRegressor(25)
    regression = RewardRegression(model, random_state=0).fit(**log)
    robust = DoublyRobust(Ridge(alpha=1e12, fit_intercept=False), model, random_state=0).fit(**log)
    assert (regression.predict(log["X"]) == robust.predict(log["X"])).mean() > 0.98
