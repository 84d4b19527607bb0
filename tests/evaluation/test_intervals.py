from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from sklearn.linear_model import Ridge

from offsettree import evaluate
from offsettree.evaluation._concentration import BetTerms, ControlledMean, bernstein_ends, betting_ends
from offsettree.evaluation._intervals import bootstrap_values, normal_intervals
from offsettree.evaluation._kernels_betting import bet_sizes, controlled_terms, log_wealth
from offsettree.evaluation._terms import Terms
from offsettree.exceptions import OffsetTreeWarning
from tests.evaluation.test_evaluate import some_log
from tests.strategies import seeds


def coin_log(n_rows: int, seed: int, *, n_actions: int = 4, value: float = 0.7, epsilon: float = 1.0) -> dict[str, Any]:
    """Action 0 earns 1 with chance `value`, all others never; it is also the one that is logged least."""
    random = np.random.RandomState(seed)
    chances = np.full(n_actions, epsilon / n_actions)
    chances[-1] += 1 - epsilon
    action = random.choice(n_actions, n_rows, p=chances)
    reward = (action == 0) * (random.random_sample(n_rows) < value)
    return {"X": np.zeros((n_rows, 1)), "action": action, "reward": reward, "propensity": chances[action]}


def test_the_normal_interval_is_students_at_the_effective_size() -> None:
    values = np.array([1.0, 2.0, 4.0, 3.0])
    (found,) = normal_intervals([Terms(values)], 0.9, [4.0])
    stderr = values.std(ddof=1) / 2
    assert (found.value, found.stderr) == pytest.approx((2.5, stderr))
    assert found.high - 2.5 == pytest.approx(stats.t.ppf(0.95, 3) * stderr)


@pytest.mark.parametrize("method", ["snips", "doubly_robust"])
@pytest.mark.parametrize("shift", [1e6, 1e7, 1e9])
def test_large_rewards_that_vary_little_lose_no_digits(shift: float, method: str) -> None:
    log = some_log(1000)
    model = np.zeros((1000, 3))
    plain = evaluate(0, **log.arrays(), method=method, reward_model=model)
    moved = {**log.arrays(), "reward": shift + log.reward}
    shifted = evaluate(0, **moved, method=method, reward_model=shift + model)
    assert shifted.stderr == pytest.approx(plain.stderr, rel=1e-3)
    assert shifted.difference is not None
    assert plain.difference is not None
    assert shifted.difference.stderr == pytest.approx(plain.difference.stderr, rel=1e-3)


@given(seeds, st.booleans())
def test_the_bootstrap_draws_rows_as_often_as_chance_would(seed: int, is_ratio: bool) -> None:
    random = np.random.RandomState(seed)
    n_rows = random.randint(2, 60)
    numerator, denominator = random.random_sample(n_rows), random.random_sample(n_rows) + 0.5
    terms = [Terms(numerator, denominator if is_ratio else None), Terms(numerator)]
    found, other = bootstrap_values(terms, np.random.RandomState(seed), 2000)
    index = random.randint(n_rows, size=(20_000, n_rows))
    counts = denominator if is_ratio else np.ones(n_rows)
    plain = numerator[index].sum(axis=1) / counts[index].sum(axis=1)
    assert found.mean() == pytest.approx(plain.mean(), abs=6 * plain.std() / np.sqrt(2000))
    assert found.std() == pytest.approx(plain.std(), rel=0.15)
    if not is_ratio:
        np.testing.assert_allclose(found, other)  # the same rows are drawn for both


def test_resamples_go_over_blocks_and_threads_without_a_seam() -> None:
    random = np.random.RandomState(0)
    values = np.repeat([0.0, 1.0], 25_000)  # blocks differ as much as can be
    (found,) = bootstrap_values([Terms(values)], random, 1000)
    assert found.std() == pytest.approx(0.5 / np.sqrt(50_000), rel=0.1)
    (again,) = bootstrap_values([Terms(values)], np.random.RandomState(0), 1000)
    np.testing.assert_array_equal(found, again)


def test_resamples_without_weight_are_left_out() -> None:
    log = {"X": np.zeros((4, 1)), "action": [0, 0, 1, 1], "reward": [1, 0, 1, 0], "propensity": 0.5}
    found = evaluate(0, **log, interval="bootstrap", random_state=0)  # type: ignore[arg-type]
    assert (found.low, found.high) == (0, 1)
    assert np.isfinite(found.stderr)


@pytest.mark.parametrize("method", ["snips", "ips", "direct", "doubly_robust", "switch"])
@pytest.mark.parametrize("interval", ["normal", "bootstrap"])
def test_of_a_single_row_that_counts_no_spread_is_known(method: str, interval: str) -> None:
    """Resamples repeat the row, and would be sure of it."""
    given_too: dict[str, Any] = {"reward_model": np.zeros((3, 2)), "random_state": 0}
    log: dict[str, Any] = {"X": np.zeros((3, 1)), "action": [0, 1, 1], "reward": [0, 1, 0], "propensity": 0.5}
    if method != "direct":  # which says something of every row
        found = evaluate(0, **log, **given_too, method=method, interval=interval)
        assert (found.stderr, found.low, found.high) == (np.inf, -np.inf, np.inf)
        assert found.difference is not None
        assert (found.difference.low, found.difference.high) == (-np.inf, np.inf)
        other = evaluate(1, **log, **given_too, method=method, interval=interval, baseline=0)
        assert np.isfinite([other.low, other.high]).all()
        assert other.baseline is not None
        assert other.difference is not None
        assert (other.baseline.stderr, other.difference.stderr) == (np.inf, np.inf)
    alone = {name: column if np.ndim(column) == 0 else column[:1] for name, column in log.items()}
    model = np.zeros((1, 2))
    found = evaluate(0, **alone, method=method, interval=interval, reward_model=model, actions=[0, 1])
    assert (found.stderr, found.low, found.high) == (np.inf, -np.inf, np.inf)


@pytest.mark.parametrize("interval", ["normal", "bootstrap"])
def test_a_log_without_a_matched_row_tells_nothing_of_the_spread(interval: str) -> None:
    log: dict[str, Any] = {"X": np.zeros((9, 1)), "action": [0] * 9, "reward": [0, 0, 1] * 3, "propensity": 0.5}
    with pytest.warns(OffsetTreeWarning, match="never took"):
        found = evaluate(
            1, **log, actions=[0, 1], method="doubly_robust", reward_model=np.zeros((9, 2)), interval=interval
        )
    assert (found.stderr, found.low, found.high) == (np.inf, -np.inf, np.inf)


@pytest.mark.parametrize("unit", [1e-250, 1e-160, 1e160, 1e200])
@pytest.mark.parametrize("method", ["snips", "ips", "direct", "doubly_robust", "switch"])
@pytest.mark.parametrize("interval", ["normal", "bootstrap", "betting"])
def test_rewards_may_be_as_large_or_small_as_numbers_get(unit: float, method: str, interval: str) -> None:
    if interval == "betting" and method in ("direct", "switch"):
        return
    log = some_log(300)
    settings: dict[str, Any] = {"method": method, "interval": interval, "random_state": 0, "reward_model": Ridge()}
    plain = evaluate(0, **log.arrays(), **settings, reward_range=(0, 1))
    found = evaluate(0, **{**log.arrays(), "reward": unit * log.reward}, **settings, reward_range=(0, unit))
    for name in ("value", "stderr", "low", "high"):
        assert getattr(found, name) / unit == pytest.approx(getattr(plain, name), rel=1e-6, abs=1e-9)
    assert found.difference is not None
    assert plain.difference is not None
    assert found.difference.stderr / unit == pytest.approx(plain.difference.stderr)


def test_bernstein_is_the_inequality_of_maurer_and_pontil() -> None:
    log = coin_log(400, 0)
    found = evaluate(0, **log, interval="bernstein", method="ips")
    weight = (log["action"] == 0) * 4.0
    terms = weight * (log["reward"] - 0.5) + 0.5
    share = np.log(4 / 0.05)
    margin = np.sqrt(2 * terms.var(ddof=1) * share / 400) + 7 * 4 * share / (3 * 399)
    assert found.low == pytest.approx(max(terms.mean() - margin, 0))
    assert found.high == pytest.approx(min(terms.mean() + margin, 1))


def plain_wealth(terms: NDArray[Any], floor: NDArray[Any], bets: NDArray[Any], mean: float) -> float:
    """The wealth at its best moments, every eighth row, written as it is defined."""
    stakes = [
        [bet if mean <= least else min(bet, 0.75 / (mean - least)) for bet, least in zip(*way, strict=True)]
        for way in zip(bets, floor, strict=True)
    ]
    wealth = np.cumprod(1 + np.array(stakes) * (terms - mean), axis=1).mean(axis=0)
    moments = [*range(7, terms.shape[1], 8), terms.shape[1] - 1]
    return float(max(0.0, np.log(wealth[moments]).max()))


@given(seeds, st.sampled_from([1.0, -1.0]), st.sampled_from([1.0, 0.0]))
def test_the_kernel_bets_as_the_definition_says(seed: int, sign: float, mean_u: float) -> None:
    random = np.random.RandomState(seed)
    n_rows = random.randint(1, 40)
    low_u, high_u = (0.0, 4.0) if mean_u else (-1.0, 3.0)
    u = random.choice([low_u, high_u], n_rows)
    reward = random.random_sample(n_rows)
    terms, floors, bets = np.empty((2, n_rows)), np.empty((2, n_rows)), np.empty((2, n_rows))
    for way, fixed in enumerate((-1.0, 0.0 if sign > 0 else 1.0)):
        controlled_terms(u, reward, mean_u, low_u, high_u, fixed, sign, terms[way], floors[way])
        bet_sizes(terms[way], 0.0, 1.0, 3.0, False, bets[way])
    assert (terms >= floors - 1e-12).all()
    for mean in (-0.9, -0.2, 0.3, 0.8):
        assert log_wealth(terms, floors, bets, mean) == pytest.approx(plain_wealth(terms, floors, bets, mean))


@given(seeds)
def test_betting_terms_have_the_mean_of_the_value_given_all_rows_before(seed: int) -> None:
    """The one thing that makes the interval hold: c is settled before the row it is used on."""
    random = np.random.RandomState(seed)
    past_u, past_reward = random.choice([0.0, 4.0], 10), random.random_sample(10)
    # The last row: one of four actions, each with a reward of its own; the policy takes the first.
    rewards = random.random_sample(4)
    last = []
    for action in range(4):
        terms, floors = np.empty(11), np.empty(11)
        u, reward = np.append(past_u, 4.0 * (action == 0)), np.append(past_reward, rewards[action])
        controlled_terms(u, reward, 1.0, 0.0, 4.0, -1.0, 1.0, terms, floors)
        last.append(terms[-1])
    assert np.mean(last) == pytest.approx(rewards[0])


@pytest.mark.parametrize("value", [0.0, 0.05, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("n_rows", [20, 200, 5000])
def test_betting_is_narrower_than_bernstein(value: float, n_rows: int) -> None:
    log = coin_log(n_rows, 3, value=value)
    bernstein, betting = (evaluate(0, **log, interval=kind, random_state=0) for kind in ("bernstein", "betting"))
    assert betting.high - betting.low < bernstein.high - bernstein.low or n_rows == 20
    assert betting.low <= betting.value <= betting.high


def test_betting_needs_no_bound_on_the_weights() -> None:
    log = coin_log(4000, 0, epsilon=0.2, value=0.9)
    found = evaluate(0, **log, interval="betting", max_weight=np.inf, random_state=0)
    assert found.low < 0.9 < found.high
    assert found.high - found.low < 0.5
    robust = evaluate(0, **log, interval="betting", method="doubly_robust", max_weight=np.inf, random_state=0)
    assert robust.low < 0.9 < robust.high


def test_guaranteed_intervals_follow_the_reward_range() -> None:
    log = coin_log(1000, 1)
    for kind in ("bernstein", "betting"):
        plain = evaluate(0, **log, interval=kind, random_state=0)
        scaled = {**log, "reward": -3 + 10 * log["reward"]}
        found = evaluate(0, **scaled, interval=kind, reward_range=(-3, 7), random_state=0)
        assert (found.low, found.high) == pytest.approx((-3 + 10 * plain.low, -3 + 10 * plain.high))
        assert found.difference is not None
        assert plain.difference is not None
        assert found.difference.low == pytest.approx(10 * plain.difference.low)


def test_ends_of_few_rows_are_those_of_the_range() -> None:
    one = ControlledMean(np.array([2.0]), np.array([1.0]), 1.0, 0.0, 2.0)
    assert bernstein_ends(one, 0.95) == (0.0, 1.0)
    assert betting_ends(one, 0.95) == (0.0, 1.0)
    assert betting_ends(one, 0.95, [BetTerms(np.array([2.0]), -2.0, 3.0, 1.0)]) == (0.0, 1.0)


def covered(n_logs: int, truth: float, difference: float, **settings: Any) -> tuple[float, float]:
    """The shares of logs whose intervals hold the value, and the difference to what was logged."""
    hits = np.zeros(2)
    for seed in range(n_logs):
        found = evaluate(0, **coin_log(800, seed, epsilon=0.8), **settings, random_state=seed)
        assert found.difference is not None
        hits += (
            found.low <= truth <= found.high,
            found.difference.low <= difference <= found.difference.high,
        )
    return hits[0] / n_logs, hits[1] / n_logs


@pytest.mark.parametrize("interval", ["normal", "bootstrap", "bernstein", "betting"])
@pytest.mark.parametrize("method", ["ips", "snips"])
def test_intervals_hold_as_often_as_they_say(method: str, interval: str) -> None:
    """A fast look; benchmarks/interval_coverage.py takes thousands of logs."""
    for share in covered(200, 0.7, 0.7 - 0.2 * 0.7, method=method, interval=interval):
        assert share > 0.9
        assert share < 0.99 or interval in ("bernstein", "betting")


@pytest.mark.parametrize("interval", ["normal", "betting"])
def test_intervals_of_the_doubly_robust_estimate_hold_whatever_the_model(interval: str) -> None:
    for predicted in (0.7, 5.0):
        model = np.full((800, 4), predicted)
        settings = {"method": "doubly_robust", "interval": interval, "reward_model": model}
        for share in covered(100, 0.7, 0.7 - 0.2 * 0.7, **settings):
            assert share > 0.9
