"""Rows held out: at random, the latest, or whole groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsettree.exceptions import LogError, ParameterError
from offsettree.workflow.holdout import group_codes, split_rows, time_ranks


@given(st.lists(st.integers(0, 8), min_size=4, max_size=60).filter(lambda times: len(set(times)) > 1))
def test_all_rows_held_out_are_later_than_all_learned_from(times: list[int]) -> None:
    train, test = split_rows(len(times), 0.3, time=time_ranks(times, len(times)))
    assert sorted([*train, *test]) == list(range(len(times)))
    assert max(times[row] for row in train) < min(times[row] for row in test)


@given(
    st.lists(st.integers(0, 8), min_size=4, max_size=60).filter(lambda groups: len(set(groups)) > 1),
    st.integers(0, 100),
)
def test_a_group_is_on_one_side_only(groups: list[int], seed: int) -> None:
    train, test = split_rows(len(groups), 0.3, seed, group=group_codes(groups, len(groups)))
    assert sorted([*train, *test]) == list(range(len(groups)))
    assert len(train) > 0
    assert len(test) > 0
    assert not {groups[row] for row in train} & {groups[row] for row in test}


def test_the_share_held_out_is_the_nearest_that_can_be_had() -> None:
    _, test = split_rows(10, 0.3, time=time_ranks([1, 2, 3, 4, 5, 6, 7, 7, 8, 9], 10))
    assert test.tolist() == [6, 7, 8, 9] or test.tolist() == [8, 9]
    _, test = split_rows(1000, 0.3, 0, group=group_codes(np.arange(1000) // 10, 1000))
    assert len(test) == 300


DAYS = ["2026-11-03", "2026-11-01", "2026-11-02", "2026-11-04"]


@pytest.mark.parametrize(
    "times",
    [
        [3.5, 1.0, 2.0, 4.0],
        DAYS,
        [f"{day} 08:30:00" for day in DAYS],
        pd.Series(pd.to_datetime(DAYS), name="sent_at"),
        pl.Series("sent_at", DAYS).str.to_date(),
        pd.Series(DAYS).astype("category"),
        np.array(DAYS, dtype="datetime64[D]"),
    ],
    ids=["numbers", "dates", "times", "pandas", "polars", "categories", "numpy"],
)
def test_times_may_be_numbers_dates_or_text(times: Any) -> None:
    assert time_ranks(times, 4).tolist() == [2, 0, 1, 3]


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([1.0, np.nan, 2.0], "missing in row 1 \\(1 in all\\)"),
        (["2026-11-03", None, "2026-11-02"], "missing in row 1"),
        ([5, 5, 5], "all 3 rows have 5"),
        (["soon", "later", "now"], "numbers, dates or times"),
    ],
)
def test_times_that_cannot_order_the_rows_are_refused(times: Any, words: str) -> None:
    with pytest.raises(LogError, match=words):
        time_ranks(times, 3)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([1, 1, 1], "at least two groups"),
        (["a", None, "b"], "missing in row 1"),
        ([1.0, np.nan, 2.0], "missing in row 1"),
    ],
)
def test_groups_that_cannot_be_told_apart_are_refused(groups: Any, words: str) -> None:
    with pytest.raises(LogError, match=words):
        group_codes(groups, 3)


def test_what_is_no_column_is_refused() -> None:
    with pytest.raises(ParameterError, match="one value per row of the log, 3; got 2"):
        group_codes([1, 2], 3)
    with pytest.raises(ParameterError, match="name of a column of X, or one value per row"):
        time_ranks(np.zeros((3, 2)), 3)
    with pytest.raises(LogError, match="a part would be empty"):
        split_rows(3, 0.01)
