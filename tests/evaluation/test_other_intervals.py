"""Intervals by empirical likelihood and at any time, logarithmic smoothing, and what is said of few rewards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from offsettree import Estimate, evaluate
from offsettree.evaluation._reward_models import forward_folds
from offsettree.evaluation._terms import estimate_terms
from offsettree.exceptions import OffsetTreeWarning, ParameterError
from tests.evaluation.test_intervals import coin_log
from tests.evaluation.test_mid_p import a_log, parts, valued


def test_for_equal_weights_empirical_likelihood_is_that_of_a_share() -> None:
    reward = (np.arange(300) < 30).astype(float)
    found = evaluate(
        0, np.zeros((300, 1)), np.zeros(300, dtype=int), reward=reward, propensity=1.0, interval="empirical_likelihood"
    )
    margin = stats.t.ppf(0.975, 299) ** 2 / 2

    def loss(theta: float) -> float:
        return float(30 * np.log(0.1 / theta) + 270 * np.log(0.9 / (1 - theta)))

    assert loss(found.low) == pytest.approx(margin, rel=1e-3)
    assert loss(found.high) == pytest.approx(margin, rel=1e-3)


@pytest.mark.parametrize("method", ["snips", "ips", "doubly_robust"])
def test_empirical_likelihood_agrees_with_the_normal_interval_on_a_long_log(method: str) -> None:
    log = a_log(20_000, 0)
    found = valued(log, method, interval="empirical_likelihood", baseline=1)
    normal = valued(log, "snips", interval="normal", baseline=1)
    for each, other in zip(parts(found), parts(normal), strict=True):
        assert each.low == pytest.approx(other.low, abs=0.2 * other.stderr)
        assert each.high == pytest.approx(other.high, abs=0.2 * other.stderr)


@pytest.mark.parametrize("baseline", ["logging", 1])
def test_empirical_likelihood_stays_in_the_range_and_has_width(baseline: Any) -> None:
    for rate in (0.0, 0.02, 1.0):
        found = valued(a_log(60, 1, rate), interval="empirical_likelihood", reward_range=(0, 1), baseline=baseline)
        for each, least in zip(parts(found), (0, 0, -1), strict=True):
            assert least <= each.low <= each.value <= each.high <= 1
            assert each.high > each.low
    with pytest.warns(OffsetTreeWarning, match="reward_range"):
        assert np.isnan(valued({**a_log(60, 1), "reward": np.full(60, 3.0)}, interval="empirical_likelihood").low)


def test_empirical_likelihood_holds_as_often_as_it_says() -> None:
    hits = np.zeros(2)
    for seed in range(40):
        found = evaluate(0, **coin_log(300, seed, epsilon=0.8), interval="empirical_likelihood")
        assert found.difference is not None
        hits += found.low <= 0.7 <= found.high, found.difference.low <= 0.7 - 0.14 <= found.difference.high
    assert (hits >= 0.87 * 40).all()


@pytest.mark.parametrize("interval", ["empirical_likelihood", "anytime"])
def test_biased_methods_have_no_such_interval(interval: str) -> None:
    with pytest.raises(ParameterError, match="unbiased estimates"):
        valued(a_log(60, 0), "direct", interval=interval)


def peeked(log: dict[str, Any], n_rows: int, **settings: Any) -> Estimate:
    early = {name: column[:n_rows] for name, column in log.items()}
    return evaluate(0, **early, interval="anytime", reward_range=(0, 1), actions=range(4), **settings)


def growing_log(seed: int, late_chance: float) -> dict[str, Any]:
    """Action 0 earns 0.5, others 0.2; it is logged with chance 0.25, and with another one from row 400 on."""
    random = np.random.default_rng(seed)
    chance = np.where(np.arange(1200) < 400, 0.25, late_chance)
    action = np.where(random.random(1200) < chance, 0, random.integers(1, 4, 1200))
    reward = (random.random(1200) < np.where(action == 0, 0.5, 0.2)).astype(float)
    propensity = np.where(action == 0, chance, (1 - chance) / 3)
    return {"X": np.zeros((1200, 1)), "action": action, "reward": reward, "propensity": propensity}


def test_who_looks_again_and_again_is_wrong_at_most_as_often_as_said() -> None:
    """One look that misses spoils a log. The logging policy changes on the way, but where its own worth is asked."""
    looks = np.unique(np.geomspace(20, 1200, 16).astype(int))
    missed, spoilt_by_normal = np.zeros(3), 0
    for seed in range(40):
        log, steady = growing_log(seed, 0.6), growing_log(seed, 0.25)
        found = [peeked(log, n) for n in looks]
        gains = [peeked(steady, n).difference for n in looks]
        others = [peeked(log, n, baseline=1).difference for n in looks[4::4]]
        missed += (
            any(not each.low <= 0.5 <= each.high for each in found),
            any(gain is None or not gain.low <= 0.5 - 0.275 <= gain.high for gain in gains),
            any(gain is None or not gain.low <= 0.3 <= gain.high for gain in others),
        )
        plain = [evaluate(0, **{k: c[:n] for k, c in log.items()}, interval="normal", baseline=None) for n in looks]
        spoilt_by_normal += any(not each.low <= 0.5 <= each.high for each in plain)
    assert (missed <= 4).all()  # 5 % of 40, and luck
    assert spoilt_by_normal > 6


def test_further_rows_only_narrow_an_interval_that_holds_at_any_time() -> None:
    log = a_log(600, 2, 0.4)
    for settings in ({}, {"max_weight": 20.0}, {"max_weight": 20.0, "method": "doubly_robust", "random_state": 0}):
        found = [peeked(log, n, **settings) for n in (40, 200, 600)]
        assert found[0].low <= found[1].low + 1e-6
        assert found[1].low <= found[2].low + 1e-6
        assert found[0].high >= found[1].high - 1e-6
        assert found[1].high >= found[2].high - 1e-6


def test_folds_for_any_time_do_not_depend_on_how_many_rows_come() -> None:
    short, long = (forward_folds(np.arange(n), is_anytime=True) for n in (700, 5000))
    for (train, test), (longer_train, longer_test) in zip(short, long, strict=False):
        np.testing.assert_array_equal(train, longer_train)
        assert set(test) <= set(longer_test)
    assert sum(len(test) for _, test in long) == 5000


def test_logarithmic_smoothing_by_hand() -> None:
    weight, reward = np.array([0.0, 2.0, 8.0, 0.0]), np.array([1.0, 1.0, 0.5, 0.0])
    found = estimate_terms("log_smoothing", weight, reward, None, (0.0, 1.0)).numerator.mean()
    assert found == pytest.approx(2 * (np.log(1 + 0.5 * 2) + np.log(1 + 0.5 * 4)) / 4)
    moved = estimate_terms("log_smoothing", weight, 3 + 10 * reward, None, (3.0, 13.0)).numerator.mean()
    assert moved == pytest.approx(3 + 10 * found)


def test_logarithmic_smoothing_is_pessimistic_and_comes_near_on_long_logs() -> None:
    for n_rows, gap in ((300, 0.3), (20_000, 0.03)):
        log = a_log(n_rows, 0)
        smoothed, ips = valued(log, "log_smoothing"), valued(log, "ips")
        assert ips.value - gap < smoothed.value < ips.value
        assert smoothed.low <= smoothed.value <= smoothed.high
        assert smoothed.difference is not None
        assert smoothed.baseline is not None
        assert smoothed.difference.value == pytest.approx(smoothed.value - smoothed.baseline.value)
        against = valued(log, "log_smoothing", baseline=0)
        assert against.difference is not None
        assert against.difference.value == 0


@pytest.mark.parametrize("interval", ["normal", "bootstrap"])
def test_intervals_for_long_logs_are_not_believed_where_few_rewards_differ(interval: str) -> None:
    log = a_log(2000, 0, 0.01)
    found = valued(log, interval=interval)
    assert found.effective_rows > 100
    assert any("differ from the usual one" in text and "mid_p" in text for text in found.serious)
    assert not valued(a_log(2000, 0, 0.3), interval=interval).serious
    assert not valued(log).serious


def test_next_to_no_differing_rewards_are_told_of_any_interval() -> None:
    log = a_log(300, 0, 0.0)
    log["reward"][5] = 1
    for interval in ("mid_p", "betting", "anytime", "empirical_likelihood"):
        found = valued(log, interval=interval)
        assert any("too few to estimate how rewards vary" in text for text in found.warnings)
        assert not found.serious
