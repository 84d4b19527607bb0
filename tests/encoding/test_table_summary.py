"""Summaries of parts, merged in their order, make the encoder of one pass over all tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsettree.encoding import TableEncoder, _column_summaries
from offsettree.encoding.table_summary import TableSummary

VALUES = st.one_of(st.none(), st.integers(-3, 3).map(float), st.sampled_from(["a", "b", ""]))
TABLES = st.lists(st.lists(st.fixed_dictionaries({"one": VALUES, "two": VALUES}), min_size=1, max_size=8), max_size=6)


def merged(tables: list[Any]) -> TableSummary:
    whole = TableSummary()
    for table in tables:
        part = TableSummary(full=whole.full_columns())
        part.add(table)
        whole.merge(part)
    return whole


def described(summary: TableSummary) -> Any:
    return {name: vars(column) for name, column in summary.columns.items()}, summary.n_rows, summary.of_no_use


@given(TABLES)
def test_merged_parts_are_known_as_one_pass_knows_them(tables: list[Any]) -> None:
    at_once = TableSummary()
    for table in tables:
        at_once.add(table)
    assert described(merged(tables)) == described(at_once)


def test_columns_that_come_late_or_hold_lists_are_known_as_in_one_pass() -> None:
    days = pd.DatetimeIndex(["2024-01-01T00:00", "2024-01-02T10:00"])
    tables = [
        [{"x": 1.0}, {"x": 2.0}],
        pd.DataFrame({"x": [3.0, np.nan], "sent": days, "list": [[1], [2]]}),
        [{"x": 4.0, "list": 1.0, "plan": "pro"}],
        pd.DataFrame({"sent": days[:1], "plan": ["free"]}),
    ]
    at_once = TableEncoder.learn(tables)
    assert TableEncoder.of_summary(merged(tables)).to_manifest() == at_once.to_manifest()
    assert "list" in at_once.left_out


@pytest.mark.parametrize("order", [1, -1])
def test_numbers_that_go_on_rising_or_falling_from_part_to_part_are_identifiers(order: int) -> None:
    rows = np.arange(200.0)[::order]
    parts = [pd.DataFrame({"n": rows[first : first + 50], "x": rows[first : first + 50] % 7}) for first in (0, 50, 150)]
    assert TableEncoder.of_summary(merged(parts)).names_in == ["x"]
    again = [*parts, parts[0]]  # each rises, but not from one to the next
    assert TableEncoder.of_summary(merged(again)).names_in == ["n", "x"]


def test_little_is_kept_of_numbers_that_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_column_summaries, "MOST_WORDS", 100)
    random = np.random.default_rng(0)
    parts = [pd.DataFrame({"x": random.normal(size=300), "n": random.integers(0, 5, 300)}) for _ in range(4)]
    whole = merged(parts)
    assert whole.full_columns() == ["x"]
    last = TableSummary(full=whole.full_columns())
    last.add(parts[0])
    assert not last.columns["x"].numbers
    assert last.columns["n"].numbers
    assert TableEncoder.of_summary(whole).to_manifest() == TableEncoder.learn(parts).to_manifest()


def test_words_beyond_a_bound_are_forgotten_where_parts_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_column_summaries, "MOST_WORDS", 10)
    parts = [[{"w": f"{place}-{word}"} for word in range(8)] + [{"w": "often"}] * 3 for place in range(3)]
    column = merged(parts).columns["w"]
    assert len(column.words) <= 10
    assert column.words["often"] == 9
    assert len(column.words) + column.words_forgotten == 3 * 8 + 1
