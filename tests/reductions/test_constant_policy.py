"""Always one action: which one, and what is taken where it is not available."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsettree import ConstantPolicy
from offsettree.exceptions import ParameterError
from offsettree.reductions._action_values import shrunken_values


def fitted(logged: Any, reward: Any, propensity: Any = 0.5, **parameters: Any) -> ConstantPolicy:
    policy = ConstantPolicy(**parameters)
    return policy.fit(np.zeros((len(logged), 1)), logged, reward=reward, propensity=propensity)


def test_rewards_count_by_one_over_propensity() -> None:
    """Logged where it earns, `a` looks better than it is: 0.8 against 0.6 by rows, 0.5 against 0.6 by weight."""
    action = np.repeat(["a", "b"], 1000)
    reward = np.concatenate([np.repeat([1.0, 0.0], [800, 200]), np.repeat([1.0, 0.0], [600, 400])])
    propensity = np.concatenate([np.repeat([0.8, 0.2], [800, 200]), np.full(1000, 0.5)])
    policy = fitted(action, reward, propensity)
    assert policy.action_ == "b"
    np.testing.assert_allclose(policy.values_, [0.5, 0.6], atol=0.02)


def test_an_action_tried_three_times_does_not_win_by_luck() -> None:
    action = np.repeat([0, 1, 2], [3, 2000, 2000])
    reward = np.concatenate([[1, 1, 0], np.repeat([1, 0], [800, 1200]), np.repeat([1, 0], [900, 1100])])
    policy = fitted(action, reward.astype(float), 1 / 3)
    assert policy.action_ == 2
    assert policy.rank([[0.0]], 3).tolist() == [[2, 0, 1]]


def test_one_large_reward_does_not_win_by_luck() -> None:
    """Money: 1 % earn about ten, one row of a rare action earned 500."""
    random = np.random.RandomState(0)
    action = np.repeat([0, 1, 2], [40, 5000, 5000])
    chance = np.repeat([0.0, 0.01, 0.03], [40, 5000, 5000])
    reward = np.where(random.random_sample(10_040) < chance, 10.0, 0.0)
    reward[7] = 500
    assert fitted(action, reward, 1 / 3, reward_range=(0, 500)).action_ == 2


def test_shrunken_values_pick_better_actions_than_raw_ones() -> None:
    """Over logs with many rarely tried actions; what is compared is the true value of the pick."""
    random = np.random.RandomState(1)
    shrunken, raw = [], []
    for _ in range(200):
        truth = np.clip(random.normal(0.3, 0.03, 20), 0, 1)
        share = random.dirichlet(np.full(20, 0.3))
        action = random.choice(20, 1000, p=share)
        reward = (random.random_sample(1000) < truth[action]).astype(float)
        values = shrunken_values(action, reward, share[action], 20)
        seen = np.bincount(action, minlength=20)
        means = np.divide(np.bincount(action, reward, 20), seen, out=np.zeros(20), where=seen > 0)
        shrunken.append(truth[values.argmax()])
        raw.append(truth[means.argmax()])
    assert np.mean(shrunken) > np.mean(raw) + 0.005


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1), st.floats(0.01, 1)), min_size=1, max_size=30))
def test_values_lie_between_the_raw_ones_and_none_that_was_never_logged_is_best(rows: Any) -> None:
    action, reward, propensity = (np.array(column) for column in zip(*rows, strict=True))
    values = shrunken_values(action, reward, propensity, 4)
    logged = np.unique(action)
    means = [np.average(reward[action == each], weights=1 / propensity[action == each]) for each in logged]
    assert np.isfinite(values).all()
    assert (values >= min(means) - 1e-9).all()
    assert (values <= max(means) + 1e-9).all()
    assert values[logged].max() >= values.max() - 1e-9


def test_rewards_that_are_all_equal_leave_the_first_action() -> None:
    policy = fitted(["b", "a"] * 5, np.ones(10))
    assert policy.action_ == "a"
    np.testing.assert_allclose(policy.values_, 1)


def test_an_action_can_be_named_and_the_best_of_the_others_steps_in() -> None:
    action, reward = np.tile(["a", "b", "c"], 100), np.tile([0.0, 1.0, 0.5], 100)
    policy = fitted(action, reward, 1 / 3, action="c")
    assert policy.decide([0.0]) == policy.action_ == "c"
    assert policy.decide([0.0], ["a", "b"]) == "b"
    with pytest.raises(ParameterError, match="one of the policy's 3 actions, 'a', 'b', 'c'; got 'd'"):
        fitted(action, reward, 1 / 3, action="d")
    with pytest.raises(ParameterError, match="action must be None or one"):
        fitted(action, reward, 1 / 3, action=["a"])


@pytest.mark.filterwarnings("ignore:.*never logged:offsettree.exceptions.OffsetTreeWarning")
def test_an_action_never_logged_comes_last() -> None:
    policy = fitted(["a", "b"] * 50, np.tile([0.0, 0.1], 50), actions=["new", "a", "b"])
    assert policy.rank([[0.0]], 3).tolist() == [["b", "a", "new"]]


def test_rows_without_a_choice_teach_nothing() -> None:
    available = np.repeat([[True, True], [True, False]], 100, axis=0)
    action = np.concatenate([np.tile([0, 1], 50), np.zeros(100, dtype=int)])
    reward = np.concatenate([np.tile([0.2, 0.6], 50), np.ones(100)])
    policy = ConstantPolicy().fit(
        np.zeros((200, 1)), action, reward=reward, propensity=np.repeat([0.5, 1.0], 100), available=available
    )
    assert policy.action_ == 1
