"""Types that hold in all rows, text and numbers, chunks in bounded memory, logs without propensities."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import offsettree
from offsettree import LoggedData
from offsettree.exceptions import LogError, MissingExtraError
from offsettree.logs import _columnar, _csv, _source, read_columns, readers, scan_tables, write_table

LATE = [  # what comes late, and what a column of whole numbers is then
    ("zz", pa.string()),
    ("1.5", pa.float64()),
    ("99999999999999999999", pa.float64()),
    ("NA", pa.int64()),
    ("2024-01-01", pa.string()),
]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_csv, "BLOCK_SIZE", 1 << 10)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(("value", "kind"), LATE)
def test_a_type_holds_in_all_rows_of_a_csv_file(value: str, kind: pa.DataType, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("late,a,r,p\n" + "7,1,1,0.5\n" * 1000 + f"{value},1,1,0.5\n" + "8,2,0,0.5\n" * 10)
    tables = list(scan_tables(path, chunk_rows=100))
    assert {table.schema.field("late").type for table in tables} == {kind}
    assert {table.schema.field("a").type for table in tables} == {pa.int64()}
    column = LoggedData.read(path).X["late"]
    assert len(column) == 1011
    assert column.dtype == ("category" if kind == pa.string() else "float64")
    if kind == pa.string():
        assert column.cat.categories.tolist() == sorted(["7", "8", value])


@pytest.mark.usefixtures("small_blocks")
def test_without_a_first_pass_a_late_value_of_another_kind_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("late,a\n" + "7,1\n" * 1000 + "zz,1\n")
    with pytest.raises(
        LogError, match=r"column 'late' must be whole numbers.*row 1001 of .*'zz'.*types=\{\"late\": \"t"
    ):
        list(scan_tables(path, first_pass=False))
    (table,) = scan_tables(path, first_pass=False, types={"late": "text"})
    assert table["late"][-1].as_py() == "zz"
    with pytest.raises(LogError, match=r"column 'late' must be numbers.*row 1001 of .*'zz'"):
        list(scan_tables(path, types={"late": "number"}))


@pytest.mark.usefixtures("small_blocks")
def test_a_column_that_begins_with_gaps_is_what_comes_later(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("number,word,never\n" + ",,\n" * 2000 + "1,one,\n2.5,two,\n")
    schema = next(scan_tables(path)).schema
    assert [schema.field(name).type for name in ("number", "word", "never")] == [pa.float64(), pa.string(), pa.null()]


def test_a_type_holds_in_all_rows_of_an_ndjson_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_source, "BLOCK_SIZE", 64)
    path = tmp_path / "log.ndjson"
    path.write_text(
        '{"a": 1, "user": {"age": 1, "on": "2024-01-01"}}\n' * 10
        + '{"a": 2.5, "user": {"age": "old", "on": "later"}, "new": true}\n\n'
        + '{"a": null, "user": {"age": [3]}}\n'
    )
    tables = list(scan_tables(path, chunk_rows=5))
    assert [len(table) for table in tables] == [5, 5, 2]
    assert len({table.schema.to_string() for table in tables}) == 1
    rows = pa.concat_tables(tables).to_pylist()
    assert rows[0] == {"a": 1.0, "user.age": "1", "user.on": "2024-01-01", "new": None}
    assert rows[10] == {"a": 2.5, "user.age": "old", "user.on": "later", "new": True}
    assert rows[11] == {"a": None, "user.age": "[3]", "user.on": None, "new": None}


def test_text_in_another_encoding_and_with_commas_in_numbers(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes("city;cost\nKöln;1,5\nBüren;2\n".encode("latin-1"))
    (table,) = scan_tables(path, encoding="latin-1", decimal=",")
    assert table.to_pydict() == {"city": ["Köln", "Büren"], "cost": [1.5, 2.0]}
    path.write_bytes("city\tcost\nKöln\t1\n".encode("utf-16"))
    (table,) = scan_tables(path, encoding="utf-16")
    assert table.to_pydict() == {"city": ["Köln"], "cost": [1]}


def test_na_is_missing_among_numbers_and_a_name_among_names(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("country,age\nNA,NA\nDE,7\n,\n")
    (table,) = scan_tables(path)
    assert table.to_pydict() == {"country": ["NA", "DE", None], "age": [None, 7, None]}


def test_nested_and_rare_types_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    table = pa.table(
        {
            "user": [{"age": 1, "at": {"city": "Rome"}}, {"age": 2, "at": None}],
            "price": pa.array([Decimal("1.5"), None]),
            "half": pa.array(np.array([0.5, 1.5], dtype=np.float16)),
            "on": pa.array([True, None]),
            "at": pa.array([0, 1]).cast(pa.timestamp("us", "UTC")),
            "clock": pa.array([3600, None]).cast(pa.int32()).cast(pa.time32("s")),
            "action": [1, 2],
            "reward": [0.0, 1.0],
        }
    )
    pa.parquet.write_table(table, path)
    log = LoggedData.read(path, propensity=0.5)
    assert list(log.X.columns) == ["user.age", "user.at.city", "price", "half", "on", "at", "clock"]
    np.testing.assert_array_equal(log.X["on"], [1.0, np.nan])
    assert log.X["half"].tolist() == [0.5, 1.5]
    assert log.X["user.at.city"].tolist()[0] == "Rome"
    assert next(scan_tables(path, columns=["user.age"])).to_pydict() == {"user.age": [1, 2]}
    pa.parquet.write_table(table.append_column("tags", pa.array([["a"], []])), path)
    with pytest.raises(LogError, match=r"column 'tags' holds list.*features=\[\.\.\.\]"):
        LoggedData.read(path, propensity=0.5, features=["price", "tags"])
    assert len(LoggedData.read(path, propensity=0.5, features=["price"])) == 2


def test_files_of_a_parquet_folder_may_differ_where_types_can_be_joined(tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"x": [1], "new": ["a"]}), tmp_path / "a.parquet")
    pa.parquet.write_table(pa.table({"x": [1.5]}), tmp_path / "b.parquet")
    assert pa.concat_tables(scan_tables(tmp_path)).to_pydict() == {"x": [1.0, 1.5], "new": ["a", None]}
    pa.parquet.write_table(pa.table({"x": ["text"]}), tmp_path / "c.parquet")
    with pytest.raises(LogError, match=r"same types of columns; .*c\.parquet differs"):
        list(scan_tables(tmp_path))


def test_partitions_may_be_missing_or_text(tmp_path: Path) -> None:
    for name in ("lang=de%20CH", "lang=__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part.csv").write_text("x\n1\n")
    assert pa.concat_tables(scan_tables(tmp_path)).to_pydict() == {"x": [1, 1], "lang": [None, "de CH"]}
    (tmp_path / "stray.csv").write_text("x\n1\n")
    with pytest.raises(LogError, match=r"the same partition columns"):
        list(scan_tables(tmp_path))


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".ndjson"])
def test_a_scan_holds_a_small_part_of_the_rows(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_columnar, "BATCH_ROWS", 500)
    monkeypatch.setattr(_csv, "BLOCK_SIZE", 1 << 14)
    monkeypatch.setattr(_source, "BLOCK_SIZE", 1 << 16)
    random = np.random.default_rng(0)
    path = tmp_path / f"log{suffix}"
    parts = [pa.table({f"x{j}": random.normal(size=500) for j in range(8)}) for _ in range(120)]
    write_table(path, parts)
    size = sum(part.nbytes for part in parts)
    del parts
    before = pa.total_allocated_bytes()
    most = 0
    for table in scan_tables(path, chunk_rows=1000):
        most = max(most, pa.total_allocated_bytes() - before)
        del table
    assert most < size / 3


def test_a_log_without_propensities_is_read_for_who_will_estimate_them(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("x,action,reward,prob\n1,a,1,0.5\n2,b,0,0.5\n")
    parts = read_columns(path, without_propensity=True)
    assert parts.propensity is None
    assert parts.feature_names == ["x"]
    assert read_columns(path).propensity is not None


def test_what_was_guessed_and_what_looks_odd_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("x,arm,visit,conversion\n1,a,1,0\n2,b,0,0\n")
    log = LoggedData.read(path, reward="visit", propensity=0.5)
    assert log.notes[0].startswith("Guessed by name: the action is column 'arm'")
    assert "'conversion'" in log.notes[1]


def test_an_encoder_makes_the_X_of_each_chunk(tmp_path: Path) -> None:
    class Doubler:
        def encode(self, table: pa.Table) -> Any:
            return 2 * table.column("x").to_numpy()[:, np.newaxis]

    path = tmp_path / "log.csv"
    path.write_text("x,a,r,p\n" + "3,1,1,0.5\n" * 5)
    scan = LoggedData.scan(path, 2, encoder=Doubler())
    assert [chunk.X.tolist() for chunk in scan] == [[[6], [6]], [[6], [6]], [[6]]]
    assert repr(scan).endswith("log.csv, 1 features, chunks of 2 rows>")


def test_frames_of_chunks_hold_text_and_those_of_logs_categories(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("x,a,r,p\nv,1,1,0.5\nu,1,1,0.5\n")
    assert LoggedData.read(path).X["x"].cat.categories.tolist() == ["u", "v"]
    assert not isinstance(next(iter(LoggedData.scan(path))).X["x"].dtype, pd.CategoricalDtype)


def test_polars_and_pandas_frames_of_the_same_file_are_one_log(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("x,a,r,p\n1,u,1,0.5\n2,v,1,0.5\n")
    log = LoggedData.read(path)
    other = LoggedData.from_frame(pl.read_csv(path), action="a", reward="r", propensity="p")
    np.testing.assert_array_equal(log.action, other.action)
    np.testing.assert_array_equal(log.X, other.X)


def test_a_missing_extra_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def gone(module: str, *, extra: str) -> None:
        raise MissingExtraError(f"{module} {extra}")

    monkeypatch.setattr(readers, "require", gone)
    with pytest.raises(MissingExtraError, match="pyarrow files"):
        LoggedData.read(tmp_path)


def test_logs_are_imported_and_read_without_scikit_learn(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("x,a,r,p\n1,u,1,0.5\n2,v,1,0.5\n")
    code = f"""
import sys, types
package = types.ModuleType("offsettree")
package.__path__ = [{str(Path(offsettree.__file__).parent)!r}]
sys.modules["offsettree"] = package
from offsettree.logs import LoggedData
assert not {{"sklearn", "pyarrow", "pandas"}} & set(sys.modules)
assert len(LoggedData.read({str(path)!r})[:1]) == 1
assert "sklearn" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own interpreter


def test_a_column_without_a_name_is_no_feature(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    pd.DataFrame({"x": [1, 2], "a": [1, 2], "r": [0, 1], "p": 0.5}).to_csv(path)  # with its index
    log = LoggedData.read(path)
    assert log.feature_names == ["x"]
    assert any("without a name" in note for note in log.notes)


def test_two_columns_of_one_name_are_refused_also_in_parquet_and_json(tmp_path: Path) -> None:
    table = pa.table([pa.array([1]), pa.array([2])], names=["x", "x"])
    pa.parquet.write_table(table, tmp_path / "log.parquet")
    (tmp_path / "log.ndjson").write_text('{"x.y": 1, "x": {"y": 2}}\n')
    for path in tmp_path.iterdir():
        with pytest.raises(LogError, match=rf"{path.name} has 'x(\.y)?' more than once"):
            list(scan_tables(path))


@pytest.mark.parametrize("group_rows", [7, 1000])
def test_texts_within_lists_are_read_from_any_number_of_row_groups(tmp_path: Path, group_rows: int) -> None:
    n_rows = 60
    table = pa.table(
        {
            "x": [float(i) for i in range(n_rows)],
            "tags": [[f"tag {i % 3}", "same"][: i % 3] for i in range(n_rows)],
            "action": ["a", "b"] * (n_rows // 2),
            "reward": [float(i % 5 == 0) for i in range(n_rows)],
            "propensity": [0.5] * n_rows,
        }
    )
    pa.parquet.write_table(table, tmp_path / "log.parquet", row_group_size=group_rows)
    log = LoggedData.read(tmp_path / "log.parquet")
    assert log.reward.tolist() == table["reward"].to_pylist()
    assert log.X["x"].tolist() == table["x"].to_pylist()
