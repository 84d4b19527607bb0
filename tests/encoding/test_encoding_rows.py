"""A row is encoded the same way alone, among others, and in whatever table it comes."""

from __future__ import annotations

import pickle
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsettree import TableEncoder
from offsettree.exceptions import FeatureError
from offsettree.logs import scan_tables

ODD = st.one_of(
    st.sampled_from([None, float("nan"), np.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "us"), ""]),
    st.sampled_from([True, 0, -0.0, 3, 2**60 + 1, 10**300, 1e39, -1e300, 0.1, np.inf, -np.inf, Decimal("0.1")]),
    st.sampled_from([np.float64(0.1), np.float32(0.1), np.int64(3), np.int8(3), np.bool_(True), np.float64("inf")]),
    st.sampled_from(["a", "b", "c", "True", "TRUE", "1", "1.0", " 0.5 ", "NA", "null", "inf", "nan", "1e5", "x1"]),
    st.sampled_from([np.str_("a"), b"a", [1], {"a": 1}, (), np.zeros(2), timedelta(hours=1), object]),
    st.sampled_from(
        ["2024-01-31", "2024-02-31", "2024-01-31T12:30", "2024-01-31 12:30:15.5+01:00", "20240131", "2024"]
    ),
    st.sampled_from(["2024-01-31T24:00", "2024-01-31T12Z", " 2024-01-31 ", "2024-1-31", "0000-01-01", "20240131"]),
    st.sampled_from([date(2024, 2, 29), datetime(1, 1, 1, 5), pd.Timestamp("2024-05-06 07:08:09.123456")]),  # noqa: DTZ001
    st.sampled_from([np.datetime64("2024-05-06T07"), pd.Timestamp("2024-05-06 07:08", tz="UTC")]),
    st.floats(),
    st.integers(),
    st.text(max_size=3),
    st.datetimes(),
    st.decimals(allow_nan=False),
)
ROME = timezone(timedelta(hours=1))
MIXED = st.none() | st.sampled_from(["x", "True", "true", "1", "NA"]) | st.booleans() | st.integers(0, 3)
PLAIN = {
    "truth": st.none() | st.booleans(),
    "whole": st.none() | st.integers(-3, 3) | st.just(2**60 + 1),
    "number": st.none() | st.floats(allow_nan=False, allow_infinity=False, width=32),
    "word": st.none() | st.sampled_from(["a", "b", "True", "1", ""]),
    "when": st.none() | st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001
}
TYPES = {"truth": pa.bool_(), "whole": pa.int64(), "number": pa.float64(), "word": pa.string()}


def as_objects(rows: list[dict[str, Any]]) -> Any:
    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=object) for name in rows[0]})


def as_arrow(rows: list[dict[str, Any]]) -> Any:
    schema = pa.schema([(name, TYPES.get(name, pa.timestamp("us"))) for name in rows[0]])
    return pa.Table.from_pylist(rows, schema=schema)


def as_polars(rows: list[dict[str, Any]]) -> Any:
    return pl.from_arrow(as_arrow(rows))


def as_pandas(rows: list[dict[str, Any]]) -> Any:
    return as_arrow(rows).to_pandas()


def outcome(encode: Any, row: Any) -> Any:
    """Return the numbers, or the error."""
    try:
        return encode(row).ravel().tolist()
    except (FeatureError, OverflowError) as error:
        return type(error), str(error)


def learned_on(*, gaps: bool, infinite: bool) -> TableEncoder:
    days = [datetime(2024, 1, day, day) for day in range(1, 21)]  # noqa: DTZ001
    rows: list[dict[str, Any]] = [
        {
            "number": 0.5 * place,
            "word": "ab1"[place % 3],
            "truth": ("true", "FALSE", "maybe")[place % 3],
            "when": day,
            "day": day.date(),
            "same": 1.0 if place else None,
        }
        for place, day in enumerate(days)
    ]
    rows += [{"number": np.inf}] * infinite + [{}] * gaps if infinite or gaps else []
    return TableEncoder.learn([rows])


ENCODERS = [learned_on(gaps=gaps, infinite=infinite) for gaps in (False, True) for infinite in (False, True)]


@given(st.sampled_from(ENCODERS), st.fixed_dictionaries(dict.fromkeys(ENCODERS[0].names_in, ODD)), st.data())
def test_a_row_alone_is_encoded_or_refused_as_in_a_table(
    encoder: TableEncoder, row: dict[str, Any], data: st.DataObject
) -> None:
    odd = data.draw(st.sampled_from(encoder.names_in))
    plain = {"number": 1, "word": "a", "truth": "True", "when": "2024-01-31", "day": None, "same": 1}
    for each in (row, plain | {odd: row[odd]}):
        expected = outcome(encoder.encode, [each])
        assert outcome(encoder.encode_row, each) == expected
        assert outcome(encoder.encode, each) == expected
        assert outcome(pickle.loads(pickle.dumps(encoder)).encode, each) == expected


@given(st.sampled_from(ENCODERS), st.sampled_from(ENCODERS[0].names_in))
def test_a_row_without_a_column_is_refused_as_a_table_is(encoder: TableEncoder, name: str) -> None:
    row = {other: None for other in encoder.names_in if other != name}
    assert outcome(encoder.encode_row, row) == outcome(encoder.encode, [row])
    assert f"must have the column {name!r}" in outcome(encoder.encode_row, row)[1]


def learn(table: Any) -> TableEncoder | None:
    try:
        return TableEncoder.learn([table])
    except FeatureError:
        return None  # nothing varied


@given(st.lists(st.fixed_dictionaries(PLAIN), min_size=2, max_size=12), st.data())
def test_rows_are_encoded_alone_as_among_others_in_all_tables(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    forms: list[Any] = [list, as_objects, as_pandas, as_arrow, as_polars]
    encoder = learn(data.draw(st.sampled_from(forms))(rows))
    if encoder is None:
        return
    whole = encoder.encode(rows)
    for form in forms:
        assert np.array_equal(encoder.encode(form(rows)), whole)
    form = data.draw(st.sampled_from(forms))
    assert np.array_equal(np.concatenate([encoder.encode(form([row])) for row in rows]), whole)


@given(st.lists(st.fixed_dictionaries({"mixed": MIXED | PLAIN["when"]}), min_size=2, max_size=12))
def test_words_numbers_and_truth_values_in_one_column_are_the_same_alone(rows: list[dict[str, Any]]) -> None:
    encoder = learn(rows)
    if encoder is None or encoder.columns[0].kind == "date":
        return
    whole = encoder.encode(rows)
    assert np.array_equal(encoder.encode(as_objects(rows)), whole)
    assert np.array_equal(np.concatenate([encoder.encode(row) for row in rows]), whole)
    assert np.array_equal(np.concatenate([encoder.encode(as_objects([row])) for row in rows]), whole)


def test_truth_values_with_gaps_are_numbers() -> None:
    encoder = TableEncoder.learn([pd.DataFrame({"ok": pd.Series([True, None, False] * 10, dtype=object)})])
    assert encoder.names_out == ["ok", "ok is missing"]
    for row in ({"ok": True}, pd.DataFrame({"ok": [True]}), pa.table({"ok": [True]}), {"ok": "true"}, {"ok": "True"}):
        assert encoder.encode(row)[0].tolist() == [1, 0]


@pytest.mark.parametrize("given", [True, 1, 1.0, "True", "true", "1"])
@pytest.mark.parametrize("learned", ["True", "true", "1"])
def test_truth_values_among_words_have_one_meaning_however_written(learned: str, given: Any) -> None:
    encoder = TableEncoder.learn([pa.table({"ok": [learned, "maybe"] * 10})])
    assert encoder.encode({"ok": given})[0, encoder.names_out.index(f"ok={learned}")] == 1


def test_columns_of_numbers_take_the_words_for_missing_and_for_truth() -> None:
    encoder = TableEncoder.learn([pd.DataFrame({"n": [0.0, 1.0, None, 1.0, 0.0]})])
    encoded = encoder.encode(pa.table({"n": ["NA", "null", "nan", " ", "True", "FALSE", " 0.5"]}))
    assert encoded.tolist() == [[0.5, 1]] * 4 + [[1, 0], [0, 0], [0.5, 0]]


def test_a_value_that_cannot_be_read_is_named_with_its_row() -> None:
    encoder = TableEncoder.learn([[{"n": 1, "d": datetime(2024, 1, day)} for day in range(1, 9)] + [{"n": 2}]])  # noqa: DTZ001
    rows = {"n": ["1", "2", "old"], "d": ["2024-01-31", "31.01.2024", "2024-01-31"]}
    with pytest.raises(FeatureError, match=r"'n' must hold numbers.*got 'old' in row 12 of a\.csv"):
        encoder.encode(pa.table(rows), where="a.csv", first_row=10)
    with pytest.raises(FeatureError, match=r"'d' must hold dates.*got '31.01.2024' in row 2\."):
        encoder.encode(pa.table(rows | {"n": ["1", "2", "3"]}))
    with pytest.raises(FeatureError, match=r"'d' must hold dates.*got numbers, the first in row 2\."):
        encoder.encode(pd.DataFrame({"n": [1, 1], "d": [None, 5.0]}))
    with pytest.raises(FeatureError, match=r"'n' must hold numbers.*got dates, the first in row 1\."):
        encoder.encode(pd.DataFrame({"n": pd.to_datetime(["2024-01-01"]), "d": [None]}))


def test_categories_that_no_row_has_are_not_read() -> None:
    encoder = TableEncoder.learn([[{"n": 1}, {"n": 2}]])
    assert encoder.encode(pd.DataFrame({"n": pd.Categorical(["7"], categories=["old", "7"])})).tolist() == [[7]]


@pytest.mark.parametrize(
    "written", ["2024-01-01T15:00:00+01:00", "2024-01-01 15:00+0100", "2024-01-01T15:00:00.000Z", "2024-01-01T15+01"]
)
def test_a_time_with_an_offset_is_what_the_clock_on_the_wall_showed(written: str) -> None:
    stamps = [datetime(2024, 1, 1, 15, tzinfo=ROME) + timedelta(hours=5 * i) for i in range(20)]
    encoder = TableEncoder.learn([pd.DataFrame({"t": stamps})])
    for row in ({"t": stamps[0]}, {"t": written}, pd.DataFrame({"t": stamps[:1]}), pa.table({"t": [written]})):
        assert encoder.encode(row)[0, -1] == 15


@pytest.mark.parametrize("gap", [False, True])
def test_files_of_text_tell_the_time_on_the_wall_as_tables_do(tmp_path: Path, gap: bool) -> None:
    stamps = [f"2024-0{6 if day % 2 else 1}-0{day}T15:00:00+0{1 + day % 2}:00" for day in range(1, 9)]
    stamps += [""] * gap
    tables = {"csv": tmp_path / "a.csv", "ndjson": tmp_path / "a.ndjson"}
    tables["csv"].write_text("t,x\n" + "".join(f"{stamp},1\n" for stamp in stamps))
    tables["ndjson"].write_text("".join(f'{{"t": "{stamp}", "x": 1}}\n'.replace('""', "null") for stamp in stamps))
    for path in tables.values():
        (table,) = scan_tables(path)
        encoder = TableEncoder.learn([table])
        hour = encoder.names_out.index("t: hour")
        assert set(encoder.encode(table)[: len(stamps) - gap, hour]) == {15}
        assert encoder.encode({"t": stamps[0]})[0, hour] == 15
