"""Tables written are tables read; a file is there whole or not at all."""

from __future__ import annotations

import datetime as dt
import gzip
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offsettree.exceptions import LogError, ParameterError
from offsettree.logs import scan_tables, write_table

SUFFIXES = [".csv", ".csv.gz", ".tsv", ".tsv.zst", ".ndjson", ".jsonl.gz", ".parquet", ".pq", ".arrow", ".feather"]
# CSV and JSON cannot tell empty text from none, and a file cannot hold half a character.
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=8)
columns = {
    "text": st.none() | text,
    "number": st.none() | st.floats(allow_nan=False, allow_infinity=False),
    "whole": st.none() | st.integers(-(2**53), 2**53),
}
row_lists = st.lists(st.fixed_dictionaries(columns), min_size=1, max_size=12)
SCHEMA = pa.schema({"text": pa.string(), "number": pa.float64(), "whole": pa.int64()})


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(rows=row_lists, chunk_rows=st.integers(1, 13))
@settings(max_examples=25)
def test_what_is_written_is_read(suffix: str, rows: list[dict[str, Any]], chunk_rows: int) -> None:
    table = pa.Table.from_pylist(rows, SCHEMA)
    pieces = [table.slice(start, chunk_rows) for start in range(0, len(table), chunk_rows)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"table{suffix}")
        assert write_table(path, pieces) == len(table)
        types = {"text": "text", "number": "number", "whole": "number"}
        read = list(scan_tables(path, types=types, chunk_rows=chunk_rows))
    assert [len(piece) for piece in read] == [len(piece) for piece in pieces]
    found = pa.concat_tables(read).to_pylist()
    assert found == rows


def interrupted() -> Iterator[pa.Table]:
    yield pa.table({"x": [1, 2]})
    raise KeyboardInterrupt


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_interruption_leaves_what_was_there(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"table{suffix}"
    with pytest.raises(KeyboardInterrupt):
        write_table(path, interrupted())
    assert list(tmp_path.iterdir()) == []
    path.write_text("before")
    with pytest.raises(KeyboardInterrupt):
        write_table(path, interrupted())
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link_and_a_device_a_device(tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "real.csv")
    write_table(link, pa.table({"x": [1]}))
    assert link.is_symlink()
    assert (tmp_path / "real.csv").read_text() == '"x"\n1\n'
    null = tmp_path / "null.csv"
    null.symlink_to("/dev/null")
    assert write_table(null, pa.table({"x": [1]})) == 1
    assert Path("/dev/null").is_char_device()


def test_json_knows_no_infinity_and_dates_are_text(tmp_path: Path) -> None:
    path = tmp_path / "table.ndjson.gz"
    write_table(path, pa.table({"x": [float("inf")], "on": [dt.date(2024, 1, 2)]}))
    assert gzip.decompress(path.read_bytes()) == b'{"x": null, "on": "2024-01-02"}\n'


@pytest.mark.parametrize("name", ["table", "table.xlsx", "table.parquet.gz", "table.gz"])
def test_a_name_that_tells_no_format_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"must end in \.csv, "):
        write_table(tmp_path / name, [])


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ParameterError, match="must not be a folder"):
        write_table(tmp_path / "folder.csv", [])
    with pytest.raises(ParameterError, match="in an existing folder"):
        write_table(tmp_path / "nowhere" / "table.csv", [])


def test_tables_must_be_alike_and_at_least_one(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with pytest.raises(LogError, match="at least one table"):
        write_table(path, [])
    with pytest.raises(LogError, match="same columns; the first has x, another y"):
        write_table(path, [pa.table({"x": [1]}), pa.table({"y": [1]})])
    assert write_table(path, [pa.table({"x": [1.5]}), pa.table({"x": [1]})]) == 2
    assert list(tmp_path.iterdir()) == [path]
