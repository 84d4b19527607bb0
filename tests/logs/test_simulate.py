from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from offsettree import OffsetTree, simulate_log
from offsettree.exceptions import ActionError, LogError, OffsetTreeError, ParameterError, PropensityError

X, y = load_iris(return_X_y=True)
names = np.array(["setosa", "versicolor", "virginica"])[y]


def test_the_right_label_earns_one_and_all_others_nothing() -> None:
    log = simulate_log(X, names, random_state=0)
    np.testing.assert_array_equal(log.reward, log.action == names)
    np.testing.assert_allclose(log.propensity, 1 / 3)
    assert 0.2 < log.reward.mean() < 0.5
    np.testing.assert_array_equal(log.action, simulate_log(X, names, random_state=0).action)


def test_actions_are_drawn_with_the_probabilities_given() -> None:
    rewards = np.tile([0.1, 0.2, 0.7], (30_000, 1))
    log = simulate_log(np.zeros((30_000, 1)), rewards, logging=[0.5, 0.3, 0.2], random_state=0)
    np.testing.assert_allclose(np.bincount(log.action) / len(log), [0.5, 0.3, 0.2], atol=0.01)
    np.testing.assert_array_equal(log.reward, np.array([0.1, 0.2, 0.7])[log.action])
    np.testing.assert_array_equal(log.propensity, np.array([0.5, 0.3, 0.2])[log.action])


def test_probabilities_may_differ_by_row() -> None:
    chances = np.random.RandomState(0).dirichlet(np.ones(3), size=len(X))
    log = simulate_log(X, y, logging=chances, random_state=1)
    np.testing.assert_allclose(log.propensity, chances[np.arange(len(X)), log.action])


def test_an_action_of_probability_zero_is_never_drawn() -> None:
    log = simulate_log(X, y, logging=[0.0, 1.0, 0.0], random_state=0)
    assert set(log.action) == {1}
    log = simulate_log(X, y, logging=[0.3, 0.7, 0.0], random_state=0)
    assert set(log.action) == {0, 1}


def test_a_policy_can_do_the_logging() -> None:
    soft = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, names)
    log = simulate_log(X, names, logging=soft, random_state=0)
    probability = soft.predict_proba(X)[np.arange(len(X)), np.searchsorted(soft.classes_, log.action)]
    np.testing.assert_array_equal(log.propensity, probability)
    policy = OffsetTree(random_state=0).fit(**simulate_log(X, names, random_state=0).arrays())
    log = simulate_log(X, names, logging=policy)
    np.testing.assert_array_equal(log.action, policy.predict(X))
    assert (log.propensity == 1).all()


def test_a_policy_without_probabilities_is_followed() -> None:
    class Always:
        def predict(self, X: Any) -> Any:
            return np.full(len(X), "virginica")

    assert set(simulate_log(X, names, logging=Always()).action) == {"virginica"}


def test_actions_can_be_named() -> None:
    log = simulate_log(X[:2], [[0.0, 1.0], [1.0, 0.0]], logging=[0.0, 1.0], actions=["no", "yes"])
    assert log.action.tolist() == ["yes", "yes"]
    log = simulate_log(X[:2], ["no", "no"], actions=["no", "yes"], logging=[0.0, 1.0])
    assert log.reward.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("y", "logging", "error", "message"),
    [
        (y, "greedy", ParameterError, "'uniform', probabilities or a policy"),
        (y, [0.5, 0.5], ParameterError, r"\(150, 3\)"),
        (y, [0.5, 0.6, 0.1], PropensityError, r"sum 1.2"),
        (y, [1.5, -0.5, 0.0], PropensityError, "at least 0"),
        (y, object(), ParameterError, "'uniform'"),
        (y[:5], "uniform", LogError, "5 values for 150 rows"),
        (np.ones((4, 2)), "uniform", LogError, "a row per row of X"),
        (np.zeros(150, dtype=int), "uniform", ActionError, "at least two actions"),
    ],
)
def test_what_cannot_be_simulated_is_refused(y: Any, logging: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        simulate_log(X, y, logging=logging)


def test_a_policy_over_other_actions_is_refused() -> None:
    other = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(OffsetTreeError, match="actions that y does not have"):
        simulate_log(X, names, logging=other)

    class Nameless:
        def predict_proba(self, X: Any) -> Any:
            return np.ones((len(X), 3)) / 3

    with pytest.raises(ParameterError, match="must know its actions_"):
        simulate_log(X, names, logging=Nameless())
