"""Rows of one group count together: intervals hold where rows of a group are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsettree import evaluate
from offsettree.evaluation._groups import check_group, folds_by_group, sum_by_group
from offsettree.evaluation._terms import Terms
from offsettree.exceptions import ParameterError


def grouped_log(seed: int, n_groups: int = 80) -> dict[str, Any]:
    """A log of two actions in groups of about ten rows, that earn alike: 0.5 on average, whatever is done."""
    random = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), random.integers(5, 16, n_groups))
    level = random.beta(0.5, 0.5, n_groups)
    reward = (random.random(len(group)) < level[group]).astype(float)
    action = random.integers(0, 2, len(group))
    return {"X": level[group][:, np.newaxis], "action": action, "reward": reward, "propensity": 0.5, "group": group}


@pytest.mark.parametrize("method", ["snips", "ips", "doubly_robust"])
@pytest.mark.parametrize("interval", ["mid_p", "normal"])
def test_intervals_hold_where_rows_of_a_group_are_alike(method: str, interval: str) -> None:
    held = by_rows = 0
    how: dict[str, Any] = {"method": method, "interval": interval, "random_state": 0}
    for seed in range(120):
        log = grouped_log(seed)
        if method == "doubly_robust":
            how["reward_model"] = np.full((len(log["action"]), 2), 0.3)
        found = evaluate(1, **log, **how)
        held += found.low <= 0.5 <= found.high
        group = log.pop("group")
        plain = evaluate(1, **log, **how)
        by_rows += plain.low <= 0.5 <= plain.high
        assert found.value == pytest.approx(plain.value)
        assert found.n_groups == len(np.unique(group))
    # 95 % of 120 is 114; 107 or fewer by chance once in 500 times.
    assert held >= 108
    assert by_rows <= 100


@given(st.integers(0, 999), st.sampled_from([True, False]))
def test_sums_over_groups_have_the_same_value(seed: int, from_zero: bool) -> None:
    random = np.random.default_rng(seed)
    numerator, weight, group = random.normal(size=30), random.gamma(1.0, size=30), random.integers(0, 7, 30)
    group = np.unique(group, return_inverse=True)[1]
    terms = Terms(numerator * weight, None if from_zero else weight, weight=weight, from_zero=from_zero)
    summed = sum_by_group(terms, group)
    assert len(summed.numerator) == group.max() + 1
    assert summed.numerator.sum() / summed.counted.sum() == pytest.approx(terms.numerator.sum() / terms.counted.sum())
    assert summed.weight is not None
    assert summed.weight.mean() == pytest.approx(weight.mean())


def test_groups_of_one_row_are_no_groups() -> None:
    log = grouped_log(0)
    log["group"] = np.arange(len(log["action"]))
    alone = evaluate(1, **log)
    del log["group"]
    assert alone == evaluate(1, **log)


def test_reward_models_do_not_learn_from_the_group_that_they_predict() -> None:
    group = np.repeat(np.arange(12), 5)
    folds = folds_by_group(60, np.random.RandomState(0), group)
    assert np.sort(np.concatenate([test for _, test in folds])).tolist() == list(range(60))
    for train, test in folds:
        assert not set(group[train]) & set(group[test])


def test_few_groups_are_told_of() -> None:
    log = grouped_log(0, n_groups=12)
    assert any("12 groups are worth" in text for text in evaluate(1, **log).warnings)
    assert any("12 groups are worth" in text for text in evaluate(1, **log, interval="normal").serious)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"interval": "betting"}, "assumes independent rows"),
        ({"interval": "empirical_likelihood"}, "assumes independent rows"),
        ({"group": [1, 2]}, "one value per row"),
        ({"group": "all"}, "one value per row"),
        ({"group": np.zeros(999)}, "at least two groups"),
        ({"group": np.full(999, np.nan)}, "missing in row 0"),
    ],
)
def test_groups_that_cannot_be_meant_are_refused(change: dict[str, Any], words: str) -> None:
    log = grouped_log(0)
    if "group" in change and np.ndim(change["group"]) and len(change["group"]) > 2:
        change = {"group": change["group"][: len(log["action"])]}
    with pytest.raises(ParameterError, match=words):
        evaluate(1, **{**log, **change})


@pytest.mark.parametrize("missing", [None, np.nan, pd.NaT])
def test_a_row_of_nobody_is_refused(missing: Any) -> None:
    with pytest.raises(ParameterError, match="missing in row 2"):
        check_group(np.array(["a", "b", missing, "b"], dtype=object), 4)


@pytest.mark.parametrize("seed", range(3))
def test_copies_of_rows_in_groups_say_no_more_of_money_than_the_rows(seed: int) -> None:
    random = np.random.default_rng(seed)
    reward = np.where(random.random(1500) < 0.01, random.lognormal(3, 1, 1500), 0.0)
    log: dict[str, Any] = {"X": np.zeros((1500, 1)), "action": random.integers(0, 2, 1500), "reward": reward}
    rows = evaluate(1, **log, propensity=0.5)
    copies: dict[str, Any] = {name: np.repeat(values, 20, axis=0) for name, values in log.items()}
    groups = evaluate(1, **copies, propensity=0.5, group=np.repeat(np.arange(1500), 20))
    assert (groups.low, groups.high) == pytest.approx((rows.low, rows.high))
