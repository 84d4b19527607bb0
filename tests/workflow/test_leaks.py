"""Features that tell the outcome are noticed by name, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from offsettree.workflow.leaks import find_leaks

random = np.random.default_rng(0)
N = 400
action = random.choice(["call", "mail", "wait"], N)
paid = (random.random(N) < 0.2).astype(float)
money = np.where(paid > 0, random.gamma(2.0, 30.0, N).round(2), 0.0)
honest = pd.DataFrame(
    {
        "age": random.integers(18, 80, N),
        "country": random.choice(["fr", "it"], N),
        "last_contact": random.choice(["call", "mail", "none"], N),
        "sent_at": pd.Timestamp("2026-11-01") + pd.to_timedelta(random.integers(0, 9999, N), unit="min"),
        "empty": np.nan,
        "nested": [[1]] * N,
    }
)


@pytest.mark.parametrize("reward", [paid, money])
def test_honest_features_are_left_in_peace(reward: Any) -> None:
    assert find_leaks(honest, action, reward) == []
    assert find_leaks(honest, np.arange(N) % 3, reward) == []


@pytest.mark.parametrize(
    ("reward", "values"),
    [
        (paid, paid),
        (paid, 7 - 3 * paid),
        (paid, np.where(paid > 0, "bought", "left")),
        (money, (1.19 * money).round(2)),
        (money, np.where(random.random(N) < 0.3, np.nan, 100 * money)),
    ],
    ids=["itself", "affine", "words", "rounded", "gaps"],
)
def test_the_reward_in_other_units_is_noticed(reward: Any, values: Any) -> None:
    (found,) = find_leaks(honest.assign(outcome=values), action, reward)
    assert "column 'outcome' is the reward in other units" in found
    assert "features=[...]" in found


@pytest.mark.parametrize("other", ["", "none", None])
def test_a_name_of_what_paid_is_noticed(other: Any) -> None:
    bought = np.where(money > 0, action, other)
    (found,) = find_leaks(honest.assign(bought=bought), action, money)
    assert "column 'bought' names the logged action only where it paid" in found


def test_actions_that_are_numbers_are_noticed_too() -> None:
    item = np.arange(N) % 7
    X = np.column_stack([honest["age"], np.where(paid > 0, item, -1)])
    (found,) = find_leaks(X, item, paid)
    assert "column 1 names" in found


def test_a_good_guess_of_the_action_is_no_leak() -> None:
    likes = np.where(random.random(N) < 0.7, action, "wait")
    reward = (random.random(N) < np.where(likes == action, 0.6, 0.1)).astype(float)
    assert find_leaks(honest.assign(likes=likes), action, reward) == []


def test_few_rows_and_equal_rewards_say_nothing() -> None:
    assert find_leaks(honest.assign(outcome=paid).head(40), action[:40], paid[:40]) == []
    assert find_leaks(honest.assign(outcome=1.0), action, np.ones(N)) == []
