"""Values from sums alone are those of `evaluate`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsettree import ConstantPolicy, evaluate
from offsettree.exceptions import LogError
from offsettree.workflow.running_value import RunningConstant, RunningValue

random = np.random.default_rng(0)
N = 900
action = random.choice(3, N, p=[0.2, 0.5, 0.3])
decision = np.where(random.random(N) < 0.5, 1, random.integers(0, 3, N))
propensity = np.array([0.2, 0.5, 0.3])[action]
reward = random.gamma(1 + action)


def test_sums_of_chunks_give_what_evaluate_gives() -> None:
    running = RunningValue()
    for rows in np.array_split(np.arange(N), 7):
        running.add(decision[rows] == action[rows], action[rows] == 2, reward[rows], propensity[rows])
    found = running.compared(2, 0.9)
    log: dict[str, Any] = {"X": np.zeros((N, 1)), "action": action, "reward": reward, "propensity": propensity}
    alone = evaluate(decision, **log, interval="normal", level=0.9)
    beside = evaluate(decision, **log, interval="normal", level=0.9, baseline=2)
    assert found.estimate.value == pytest.approx(alone.value)
    assert found.estimate.stderr == pytest.approx(alone.stderr, rel=0.01)
    assert alone.difference is not None
    assert beside.difference is not None
    assert found.estimate.difference is not None
    assert found.estimate.difference.stderr == pytest.approx(alone.difference.stderr, rel=0.01)
    assert found.gain.value == pytest.approx(beside.difference.value)
    assert found.gain.stderr == pytest.approx(beside.difference.stderr, rel=0.01)
    assert found.estimate.n_matched == alone.n_matched
    assert found.estimate.effective_rows == pytest.approx(alone.effective_rows)
    assert found.estimate.serious == ()


def test_few_rewards_that_differ_forbid_a_verdict() -> None:
    running = RunningValue()
    clicks = (np.arange(N) == 5).astype(float)
    running.add(decision == action, action == 2, clicks, propensity)
    found = running.compared(2, 0.95)
    assert any("differ from the most common one, 0" in text for text in found.estimate.serious)
    assert found.doubts


def test_what_was_never_matched_is_said_or_refused() -> None:
    running = RunningValue()
    running.add(decision == action, np.zeros(N, dtype=bool), reward, propensity)
    found = running.compared(2, 0.95)
    assert found.doubts
    assert np.isinf(found.gain.high)
    nothing = RunningValue()
    nothing.add(np.zeros(N, dtype=bool), action == 2, reward, propensity)
    with pytest.raises(LogError, match="in none of the 900 rows"):
        nothing.compared(2, 0.95)


def test_of_equal_rewards_there_is_no_interval() -> None:
    running = RunningValue()
    running.add(decision == action, action == 2, np.ones(N), propensity)
    found = running.compared(2, 0.95)
    for interval in (found.estimate, found.estimate.difference, found.constant, found.gain):
        assert interval is not None
        assert np.isnan([interval.low, interval.high]).all()
    assert any("reward_range=(low, high)" in text for text in found.estimate.serious)


@given(st.integers(0, 9999), st.integers(1, 60))
def test_the_best_constant_is_the_one_that_the_constant_policy_picks(seed: int, n_rows: int) -> None:
    """Rows of three actions come in chunks; the third is taken seldom, and must not win by luck."""
    random = np.random.default_rng(seed)
    chances = np.array([0.45, 0.45, 0.1])
    taken = random.choice(3, n_rows, p=chances)
    earned = np.round(random.normal(10.0, 5.0, n_rows), 3)
    constant = RunningConstant((-20.0, 40.0))
    for rows in np.array_split(np.arange(n_rows), 3):
        constant.add(taken[rows], earned[rows], chances[taken[rows]])
    policy = ConstantPolicy(reward_range=(-20.0, 40.0), actions=[0, 1, 2]).fit(
        np.zeros((n_rows, 1)), taken, reward=earned, propensity=chances[taken]
    )
    assert constant.best() == policy.action_


def test_an_action_tried_once_is_not_the_best_by_luck() -> None:
    random = np.random.default_rng(0)
    taken = np.repeat(["a", "b", "c"], [500, 500, 1])
    earned = np.concatenate([random.random(500) < 0.5, random.random(500) < 0.6, [True]]).astype(float)
    constant = RunningConstant()
    constant.add(taken, earned, np.full(1001, 1 / 3))
    assert constant.best() == "b"


def test_the_best_constant_so_far_is_that_of_the_rows_so_far() -> None:
    constant = RunningConstant()
    constant.add(action[:300], np.where(action[:300] == 0, 1.0, 0.0), propensity[:300])
    assert constant.best() == 0
    constant.add(action[300:], np.where(action[300:] == 1, 9.0, 0.0), propensity[300:])
    assert constant.best() == 1
