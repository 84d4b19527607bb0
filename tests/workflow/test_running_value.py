"""Values from sums alone are those of `evaluate`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from offsettree import evaluate
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
    assert any("differ from the usual one, 0" in text for text in found.estimate.serious)
    assert found.doubtful


def test_what_was_never_matched_is_said_or_refused() -> None:
    running = RunningValue()
    running.add(decision == action, np.zeros(N, dtype=bool), reward, propensity)
    found = running.compared(2, 0.95)
    assert found.doubtful
    assert np.isinf(found.gain.high)
    nothing = RunningValue()
    nothing.add(np.zeros(N, dtype=bool), action == 2, reward, propensity)
    with pytest.raises(LogError, match="in none of the 900 rows"):
        nothing.compared(2, 0.95)


def test_the_best_constant_so_far_is_that_of_the_rows_so_far() -> None:
    constant = RunningConstant()
    constant.add(action[:300], np.where(action[:300] == 0, 1.0, 0.0), propensity[:300])
    assert constant.best() == 0
    constant.add(action[300:], np.where(action[300:] == 1, 9.0, 0.0), propensity[300:])
    assert constant.best() == 1
