from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offsettree.evaluation import _mid_p as mid_p
from offsettree.evaluation._claims import missing_weight
from offsettree.evaluation._reward_limits import RewardLimits
from tests.evaluation.test_mid_p import METHODS, a_log, parts, valued
from tests.strategies import seeds


@settings(max_examples=15, deadline=None)
@given(seeds, st.sampled_from(METHODS), st.sampled_from([0.02, 0.4]), st.sampled_from([5, 100]))
def test_a_higher_level_never_gives_a_narrower_interval(seed: int, method: str, rate: float, n_rows: int) -> None:
    log = a_log(n_rows, seed, rate)
    log["action"][:2] = (0, 1)
    found = [parts(valued(log, method, baseline=1, reward_range=(0, 1), level=level)) for level in (0.5, 0.9, 0.99)]
    for inner, outer in itertools.pairwise(found):
        for each, other in zip(inner, outer, strict=True):
            assert other.low <= each.low + 1e-6
            assert other.high >= each.high - 1e-6


@settings(max_examples=25, deadline=None)
@given(seeds, st.integers(2, 200), st.sampled_from([1.0, 1e-200, 1e200]))
def test_a_further_row_earns_as_large_rewards_do(seed: int, n_rows: int, unit: float) -> None:
    reward = unit * np.random.default_rng(seed).exponential(size=n_rows)
    known, mirrored = RewardLimits.of(reward, None), RewardLimits.of(-reward, None)
    assert (
        reward.min() * (1 - 1e-9)
        <= known.unseen_low[0]
        < reward.mean()
        < known.unseen_high[0]
        <= reward.max() * (1 + 1e-9)
    )
    assert (mirrored.unseen_low[0], mirrored.unseen_high[0]) == pytest.approx(
        (-known.unseen_high[0], -known.unseen_low[0]), rel=1e-9
    )


def test_rewards_of_two_kinds_reach_to_both_and_equal_ones_to_the_range() -> None:
    two = RewardLimits.of(np.repeat([0.0, 1.0], [97, 3]), (0.0, 1.0))
    assert (two.unseen_low[0], two.unseen_high[0]) == pytest.approx((0, 1))
    equal = RewardLimits.of(np.zeros(9), (-1.0, 5.0))
    assert (equal.unseen_low[0], equal.unseen_high[0]) == (-1, 5)
    # Where many rewards differ the range counts for little.
    assert RewardLimits.of(np.arange(1000.0), (0.0, 1e6)).unseen_high[0] < 2000


def test_weight_is_missing_only_beyond_chance() -> None:
    short = np.array([-1.0, 0.0, 0.19, 0.21, 0.5])
    assert missing_weight(short, 0.1, from_zero=False) == pytest.approx([0, 0, 0, 0.01, 0.3])
    assert missing_weight(short, 0.1, from_zero=True) == pytest.approx([0, 0, 0, 0.11, 0.4])


def test_the_share_matters_to_a_difference_only_where_few_rewards_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    widths = {}
    for share in (0.5, 1.0):
        monkeypatch.setattr(mid_p, "SHARE", share)
        for n_rows, rate in ((300, 0.02), (20_000, 0.5)):
            each = parts(valued(a_log(n_rows, 1, rate), baseline=1, reward_range=(0, 1)))[2]
            widths[n_rows, share] = each.high - each.low
    assert widths[300, 1.0] > 1.1 * widths[300, 0.5]
    assert widths[20_000, 1.0] == pytest.approx(widths[20_000, 0.5], rel=1e-3)


def test_values_allow_for_amounts_that_few_rewards_do_not_show() -> None:
    reward = np.append(np.zeros(80), [1.0, 1.0, 2.0, 3.0, 9.0])
    known = RewardLimits.of(reward, None)
    off = np.maximum(reward - reward.mean(), 0)
    ratio = (off**3).sum() / (off**2).sum()
    without = [(np.delete(off, i) ** 3).sum() / (np.delete(off, i) ** 2).sum() for i in np.flatnonzero(off)]
    jackknifed = reward.mean() + ratio + (ratio - np.array(without)).sum()
    assert known.tail_high[0] == pytest.approx(max(jackknifed, jackknifed + (9 - jackknifed) / 6))
    assert known.tail_high[0] > reward.max() > known.unseen_high[0]
    assert RewardLimits.of(reward, (0.0, 10.0)).tail_high[0] == 10
    # Satterthwaite: of the variance, the part that is due to how the five differ has four degrees of freedom.
    share = 1 - reward.sum() ** 2 / (5 * (reward**2).sum())
    assert known.freedom[0] == pytest.approx(4 / share**2)
    mirrored = RewardLimits.of(-reward, None)
    assert (mirrored.tail_low[0], mirrored.freedom[0]) == pytest.approx((-known.tail_high[0], known.freedom[0]))


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 50), st.integers(1, 2000), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_nothing_is_added_for_rewards_of_two_kinds(n_ones: int, n_zeros: int, low: float, step: float) -> None:
    known = RewardLimits.of(low + step * np.repeat([1.0, 0.0], [n_ones, n_zeros]), None)
    assert known.freedom[0] == np.inf
    assert known.tail_low[0] == pytest.approx(known.unseen_low[0], rel=1e-9, abs=1e-6 * step)
    assert known.tail_high[0] == pytest.approx(known.unseen_high[0], rel=1e-9, abs=1e-6 * step)


def test_student_widens_the_interval_of_a_value_but_not_of_a_difference() -> None:
    log = a_log(300, 0, 0.05)
    log["reward"] = log["reward"] * np.random.default_rng(0).lognormal(size=300)
    found, plain = parts(valued(log, baseline=1)), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mid_p, "_by_student", lambda chance, freedom: chance)
        plain = parts(valued(log, baseline=1))
    for each, other in zip(found[:2], plain[:2], strict=True):
        assert 1 < (each.high - each.low) / (other.high - other.low) < 1.3
    assert (found[2].low, found[2].high) == (plain[2].low, plain[2].high)
