from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsettree import TableEncoder
from offsettree.exceptions import FeatureError, ParameterError

ROWS: dict[str, list[Any]] = {
    "age": [20, 30, None, 50] * 10,
    "plan": ["basic", "pro", "pro", None] * 10,
    "member": [True, False, True, True] * 10,
    "when": [datetime(2024, 1, 1 + i % 9, i % 24) for i in range(40)],  # noqa: DTZ001
}


def as_pandas(rows: dict[str, list[Any]]) -> Any:
    return pd.DataFrame(rows)


def as_polars(rows: dict[str, list[Any]]) -> Any:
    return pl.DataFrame(rows)


def as_arrow(rows: dict[str, list[Any]]) -> Any:
    return pa.table(rows)


def as_mappings(rows: dict[str, list[Any]]) -> Any:
    return [dict(zip(rows, values, strict=True)) for values in zip(*rows.values(), strict=True)]


FORMS = [as_pandas, as_polars, as_arrow, as_mappings]


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_a_table_give_the_same_encoding_and_numbers(form: Any) -> None:
    reference = TableEncoder.learn([pa.table(ROWS)])
    encoder = TableEncoder.learn([form(ROWS)])
    assert encoder.to_manifest() == reference.to_manifest()
    assert np.array_equal(encoder.encode(form(ROWS)), reference.encode(pa.table(ROWS)))


@pytest.mark.parametrize("form", FORMS)
def test_learning_from_pieces_is_learning_from_the_whole(form: Any) -> None:
    pieces = [form({name: values[i : i + 7] for name, values in ROWS.items()}) for i in range(0, 40, 7)]
    assert TableEncoder.learn(pieces).to_manifest() == TableEncoder.learn([form(ROWS)]).to_manifest()


def test_one_mapping_is_one_row() -> None:
    encoder = TableEncoder.learn([pa.table(ROWS)])
    whole = encoder.encode(pa.table(ROWS))
    for place, row in enumerate(as_mappings(ROWS)[:5]):
        assert np.array_equal(encoder.encode(row)[0], whole[place])


def test_nominal_columns_are_zeros_and_ones_and_unknown_values_zeros_only() -> None:
    encoder = TableEncoder.learn([pd.DataFrame({"plan": ["a", "b"] * 60})])
    assert encoder.names_out == ["plan=a", "plan=b"]
    assert encoder.encode([{"plan": "b"}, {"plan": "never seen"}, {"plan": None}]).tolist() == [[0, 1], [0, 0], [0, 0]]


def test_a_missing_number_is_the_mean_and_is_marked() -> None:
    encoder = TableEncoder.learn([pd.DataFrame({"age": [20.0, None, 40.0]})])
    assert encoder.encode([{"age": None}, {"age": 25}]).tolist() == [[30, 1], [25, 0]]


def test_of_a_date_the_day_of_the_week_and_the_hour_are_kept() -> None:
    stamps = [datetime(2024, 1, day, 6) for day in range(1, 15)]  # noqa: DTZ001
    encoder = TableEncoder.learn([pd.DataFrame({"sent": stamps})])
    row = dict(zip(encoder.names_out, encoder.encode({"sent": datetime(2030, 5, 1, 18, 30)})[0], strict=True))  # noqa: DTZ001
    assert row["sent: Wednesday"] == 1
    assert row["sent: hour"] == 18.5
    assert sum(row.values()) == 19.5
    assert "day of the week and the hour are used" in encoder.notes[0]


def test_a_date_with_a_time_zone_is_read_as_it_is_written() -> None:
    stamps = [datetime(2024, 1, day, 6, tzinfo=UTC) for day in range(1, 15)]
    encoders = [TableEncoder.learn([form({"sent": stamps})]) for form in FORMS]
    numbers = [encoder.encode(form({"sent": stamps})) for encoder, form in zip(encoders, FORMS, strict=True)]
    assert all(np.array_equal(each, numbers[0]) for each in numbers)
    assert TableEncoder.learn([[{"day": date(2024, 1, 1)}, {"day": date(2024, 1, 2)}]]).names_out[0] == "day: Monday"


def test_identifiers_constants_and_empty_columns_are_left_out_and_reported() -> None:
    frame = pd.DataFrame(
        {
            "row": np.arange(100),
            "customer_id": np.random.default_rng(0).permutation(100) * 7,
            "session": [f"s{i}" for i in range(100)],
            "version": "1.2",
            "nothing": [None] * 100,
            "age": np.random.default_rng(1).integers(20, 60, 100),
        }
    )
    encoder = TableEncoder.learn([frame])
    assert encoder.names_in == ["age"]
    named = [re.findall("'(\\w+)'", note) for note in encoder.notes]
    assert named == [["row", "customer_id", "session"], ["version"], ["nothing"]]


def test_only_the_most_frequent_values_have_columns() -> None:
    words = [f"v{int(i**0.5)}" for i in range(1000)]
    encoder = TableEncoder.learn([pd.DataFrame({"v": words})], max_levels=5)
    assert encoder.names_out == [f"v=v{i}" for i in range(26, 31)]
    assert "27 rarest are taken as one" in encoder.notes[0]


def test_numbers_that_were_words_in_training_are_words() -> None:
    encoder = TableEncoder.learn([[{"code": "7"}, {"code": "x"}, {"code": "7"}]])
    assert encoder.encode([{"code": 7}, {"code": 7.0}, {"code": "x"}]).tolist() == [[1, 0], [1, 0], [0, 1]]


def test_words_that_were_numbers_in_training_are_read_or_refused() -> None:
    encoder = TableEncoder.learn([[{"age": 20}, {"age": 30}]])
    assert encoder.encode([{"age": "25"}]).tolist() == [[25]]
    with pytest.raises(FeatureError, match="column 'age' must hold numbers, as in training; got 'old'"):
        encoder.encode([{"age": "old"}])


def test_a_column_that_is_missing_is_named() -> None:
    encoder = TableEncoder.learn([pa.table(ROWS)])
    with pytest.raises(FeatureError, match=r"must have the column 'plan'.*they have age, member, when"):
        encoder.encode(pa.table(ROWS).drop_columns(["plan"]))


def test_what_is_no_value_is_refused() -> None:
    with pytest.raises(FeatureError, match=r"column 'tags' has the type list"):
        TableEncoder.learn([pa.table({"tags": [["a"], ["b"]]})])
    with pytest.raises(FeatureError, match="raw rows must be"):
        TableEncoder.learn([np.zeros((3, 2))])
    with pytest.raises(FeatureError, match="no column is left to learn from"):
        TableEncoder.learn([pd.DataFrame({"a": [1, 1]})])
    with pytest.raises(ParameterError, match="max_levels"):
        TableEncoder.learn([pd.DataFrame({"a": [1, 2]})], max_levels=0)


def test_infinity_is_the_largest_number() -> None:
    encoder = TableEncoder.learn([pd.DataFrame({"a": [1.0, np.inf, 2.0]})])
    assert np.isfinite(encoder.encode([{"a": np.inf}, {"a": -np.inf}, {"a": 1e300}])).all()


def test_an_encoder_survives_json() -> None:
    encoder = TableEncoder.learn([pa.table(ROWS)])
    again = TableEncoder.from_manifest(json.loads(json.dumps(encoder.to_manifest())))
    assert again.to_manifest() == encoder.to_manifest()
    assert np.array_equal(again.encode(pa.table(ROWS)), encoder.encode(pa.table(ROWS)))


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "pickle"},
        {"kind": None},
        {"levels": [1]},
        {"levels": ["a", "a"]},
        {"fill": float("nan")},
        {"fill": "0"},
        {"fill": True},
        {"name": 3},
        {"share_missing": 2},
        {"marks_missing": 1},
        {"kind": "date", "levels": ["Monday"]},
        {"kind": "number", "levels": ["a"]},
    ],
)
def test_a_manifest_with_other_content_is_refused(change: dict[str, Any]) -> None:
    column = {"name": "a", "kind": "nominal", "levels": ["x"], "fill": 0.0, "marks_missing": False, "constant": False}
    column |= {"share_missing": 0.0}
    assert TableEncoder.from_manifest({"columns": [column], "notes": []}).names_out == ["a=x"]
    with pytest.raises(FeatureError):
        TableEncoder.from_manifest({"columns": [column | change], "notes": []})
    with pytest.raises(FeatureError):
        TableEncoder.from_manifest({"columns": [column, column], "notes": []})
    with pytest.raises(FeatureError):
        TableEncoder.from_manifest([column])


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "n": st.none() | st.floats(allow_nan=False, width=32),
                "w": st.none() | st.text(max_size=3),
                "b": st.booleans(),
            }
        ),
        min_size=2,
        max_size=30,
    )
)
def test_encoding_never_has_gaps_and_pandas_equals_mappings(rows: list[dict[str, Any]]) -> None:
    try:
        encoder = TableEncoder.learn([rows])
    except FeatureError:
        return  # nothing varied
    numbers = encoder.encode(rows)
    assert numbers.shape == (len(rows), len(encoder.names_out))
    assert np.isfinite(numbers).all()
    frame = pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=kind) for name, kind in KINDS.items()})
    assert np.array_equal(encoder.encode(frame), numbers)


KINDS = {"n": "float64", "w": "object", "b": "bool"}


def test_an_infinite_number_is_refused_where_training_had_none() -> None:
    encoder = TableEncoder.learn([pd.DataFrame({"a": [1.0, 3.0, 2.0]})])
    with pytest.raises(FeatureError, match="column 'a' must hold finite numbers, as in training; got -inf in row 2"):
        encoder.encode([{"a": 1.0}, {"a": -np.inf}])
    with pytest.raises(FeatureError, match=r"got inf in row 1 of rows\.csv"):
        encoder.encode([{"a": "inf"}], where="rows.csv")
    again = TableEncoder.from_manifest(TableEncoder.learn([pd.DataFrame({"a": [1.0, np.inf, 2.0]})]).to_manifest())
    assert np.isfinite(again.encode([{"a": np.inf}])).all()
    manifest = encoder.to_manifest()
    del manifest["columns"][0]["infinite"]  # as files were written before
    with pytest.raises(FeatureError, match="finite"):
        TableEncoder.from_manifest(manifest).encode([{"a": np.inf}])


def test_columns_left_out_for_one_reason_are_named_at_once() -> None:
    frame = pd.DataFrame({"x": range(60)} | {f"same{i}": [1] * 60 for i in range(21)})
    frame["x"] = frame["x"] % 7
    frame["empty"] = np.nan
    notes = TableEncoder.learn([frame]).notes
    assert notes == [
        "21 columns are left out: each is the same in every row ('same0', 'same1', 'same2', 'same3', 'same4', ...).",
        "column 'empty' is left out: it is empty.",
    ]
