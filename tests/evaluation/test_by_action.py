"""What each action earns has the interval that `evaluate` gives to always taking it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offsettree import evaluate
from offsettree.evaluation.parts import values_by_action
from offsettree.exceptions import OffsetTreeWarning


def drawn_log(seed: int, n_rows: int, rate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    chance = np.array([0.7, 0.2, 0.08, 0.02])
    action = random.choice(4, n_rows, p=chance)
    return action, (random.random(n_rows) < rate).astype(float), chance[action]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([5, 60, 2000]), st.sampled_from([0.004, 0.3, 1.0]))
def test_each_has_the_interval_of_the_policy_that_always_takes_it(seed: int, n_rows: int, rate: float) -> None:
    action, reward, propensity = drawn_log(seed, n_rows, rate)
    found = values_by_action(action, reward, propensity, 4, (0.0, 1.0))
    for each in range(4):
        if not (action == each).any():
            assert found[each] is None
            continue
        decisions = np.full(n_rows, each)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OffsetTreeWarning)
            expected = evaluate(
                decisions,
                np.zeros((n_rows, 1)),
                action,
                reward=reward,
                propensity=propensity,
                method="snips",
                reward_range=(0.0, 1.0),
            )
        got = found[each]
        assert got is not None
        np.testing.assert_allclose(
            [got.value, got.low, got.high], [expected.value, expected.low, expected.high], atol=1e-6
        )


def test_a_few_equal_rewards_do_not_make_sure() -> None:
    action, reward = np.repeat([0, 1], [9, 91]), np.repeat([1.0, 0.0], [9, 91])
    sure, other = values_by_action(action, reward, np.full(100, 0.5), 2, (0.0, 1.0))
    assert sure is not None
    assert other is not None
    assert (sure.value, sure.high) == (1, 1)
    assert 0 < sure.low < 0.9
    assert (other.value, other.low) == (0, 0)
    assert 0 < other.high < 0.1


def test_rewards_that_are_all_equal_have_no_interval_without_a_known_range() -> None:
    found = values_by_action(np.array([0, 1, 1]), np.full(3, 2.0), np.full(3, 0.5), 2, None)
    assert all(each is not None and each.value == 2 and np.isnan(each.low) and np.isnan(each.high) for each in found)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_huge_and_tiny_rewards_have_intervals_of_their_size(unit: float) -> None:
    action, reward, propensity = drawn_log(3, 500, 0.3)
    plain = values_by_action(action, reward, propensity, 4, (0.0, 1.0))
    scaled = values_by_action(action, unit * reward, propensity, 4, (0.0, unit))
    for one, other in zip(plain, scaled, strict=True):
        assert one is not None
        assert other is not None
        np.testing.assert_allclose([other.low / unit, other.high / unit], [one.low, one.high], atol=1e-6)
