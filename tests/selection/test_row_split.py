"""Folds and parts of a race that keep groups together, or the past before the future."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsettree import PolicySearch
from offsettree.exceptions import OffsetTreeWarning, ParameterError
from offsettree.selection._race import plan_race
from offsettree.selection._row_split import RowSplit
from tests.selection.scripted import Scripted, make_log


def parted(split: RowSplit, n_rows: int, n_folds: int, seed: int) -> tuple[Any, list[Any]]:
    random = np.random.RandomState(seed)
    fold = split.folds(np.zeros(n_rows, dtype=np.intp), n_folds, random)
    return fold, split.separate(plan_race(fold, random, in_haste=True), fold, random)


@given(st.integers(0, 999), st.integers(2, 5), st.sampled_from([60, 4000]))
def test_nobody_decides_in_rows_of_a_group_learned_from(seed: int, n_folds: int, n_rows: int) -> None:
    group = np.random.RandomState(seed).randint(0, 20, n_rows)
    split = RowSplit.of(group, None, n_rows)
    fold, rungs = parted(split, n_rows, n_folds, seed)
    assert set(fold) == set(range(n_folds))
    for rung in rungs:
        train, test = rung.part
        assert len(train)
        assert len(test)
        assert not set(group[train]) & set(group[test])
        if rung.fold is None:
            assert not (fold[train] == 0).any()


@given(st.integers(0, 999), st.integers(2, 5), st.sampled_from([60, 4000]))
def test_nobody_decides_in_rows_before_those_learned_from(seed: int, n_folds: int, n_rows: int) -> None:
    time = np.random.RandomState(seed).randint(0, 50, n_rows)
    _, rungs = parted(RowSplit.of(None, time, n_rows), n_rows, n_folds, seed)
    assert [rung.fold for rung in rungs][-1] == 0
    for rung in rungs:
        train, test = rung.part
        assert time[train].max() < time[test].min()
        assert len(test) == pytest.approx(n_rows / n_folds, abs=0.1 * n_rows)


@pytest.mark.parametrize("way", ["group", "time"])
def test_a_search_keeps_to_it(way: str) -> None:
    log = make_log(300)
    values: Any = {way: np.arange(300) // 10}
    search = PolicySearch([Scripted(0.2), Scripted(0.9)], cv=3, scoring="snips", random_state=0)
    if way == "time":
        with pytest.warns(OffsetTreeWarning, match="only the latest rows are held out"):
            search.fit(**log.arrays(), **values)
        assert search.estimate_.n_rows == 100
    else:
        search.fit(**log.arrays(), **values)
        assert search.estimate_.n_groups == 30
    assert search.best_policy_.right == 0.9
    assert not hasattr(search, "_split_by")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"group": np.arange(300), "time": np.arange(300)}, "not both"),
        ({"group": np.arange(300) // 150}, "cv must be at most the number of groups, 2"),
        ({"group": [1]}, "group must have one value per row"),
        ({"time": ["monday"] * 300}, "numbers or dates"),
        ({"time": np.zeros(300)}, "at least two different values"),
        ({"time": np.full(300, np.nan)}, "missing in row 0"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        PolicySearch([Scripted(0.9)], cv=3).fit(**make_log(300).arrays(), **given)


def test_times_are_numbered_anew_where_rows_are_left_out() -> None:
    split = RowSplit.of(None, np.array([1, 2, 2, 2, 3]), 5).take(np.arange(4))
    fold = split.folds(np.zeros(4, dtype=np.intp), 5, np.random.RandomState(0))
    assert fold.tolist() == [1, 0, 0, 0]
