"""Small files that ask for much, and values that no array holds: refused with what to do, before anything gives way."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from offsettree import LoggedData
from offsettree.exceptions import ActionError, LogError, OffsetTreeError, ParameterError
from offsettree.logs import _columnar, _limits, scan_tables
from offsettree.logs._limits import Limits
from offsettree.logs._set_tables import ids_in
from offsettree.logs._written_out import written_out_bytes
from offsettree.workflow.inspection import inspect_log

ROW: dict[str, Any] = {"x": 1.5, "action": "a", "reward": 1, "propensity": 0.5}
DECISION: dict[str, Any] = {"_label_cost": -1.0, "_label_probability": 0.5, "_label_Action": 1, "c": {"u": {"x": 2}}}


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def compressed(path: Path, text: bytes, times: int) -> Path:
    with pa.output_stream(str(path), compression="zstd") as file:
        for _ in range(times):
            file.write(text)
    return path


def nested(depth: int) -> str:
    return json.dumps(ROW)[:-1] + ', "deep": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}\n"


@pytest.mark.parametrize("name", ["log.ndjson", "log.dsjson"])
def test_json_that_nests_deep_is_refused_before_it_is_parsed(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(json.dumps(ROW) + "\n" + nested(100_000))
    with pytest.raises(LogError, match=r"not nest more than 64 deep; row 2 of .* raise the limit: max_nesting=\.\.\."):
        LoggedData.read(file, format=name.split(".")[1])


def test_the_nesting_that_is_allowed_is_read(tmp_path: Path) -> None:
    file = tmp_path / "log.ndjson"
    file.write_text(nested(65).replace('"a"', '"b"') + nested(64))
    with pytest.raises(LogError, match="row 1 of"):
        LoggedData.read(file, features=["x"])
    assert len(LoggedData.read(file, features=["x"], max_nesting=65)) == 2


@pytest.mark.parametrize(
    ("line", "depth"),
    [
        (b'{"a": [1, {"b": []}]}', 4),
        (b'{"a": "[[[[", "b": 1}', 1),
        (rb'{"a": "\"[[[[", "b": "]]]]"}', 1),
        (rb'{"a": "\\", "b": [[]]}', 3),
        (b"]]]][[[", 3),
        (b'{"a": "]]]]]]", "b": [[[[', 5),
        (b'"[[[[', 4),
        (b"", 0),
    ],
)
def test_brackets_count_where_a_parser_would_see_them(line: bytes, depth: int) -> None:
    assert _limits.depth(line) == depth


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    bomb = compressed(tmp_path / "log.ndjson.zst", b" " * (1 << 20), 40)
    assert bomb.stat().st_size < 1 << 14
    with pytest.raises(LogError, match=r"longer than 16,777,216 bytes; .* max_line_bytes=\.\.\."):
        LoggedData.read(bomb, format="ndjson")
    with pytest.raises(LogError, match="longer than 1,000 bytes"):
        LoggedData.read(bomb, format="vw", max_line_bytes=1000)


def test_long_rows_of_csv_are_read_where_they_are_expected(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("x,action,reward,propensity\n" + f'"{"y" * (3 << 20)}",a,1,0.5\nz,b,1,0.5\n')
    with pytest.raises(LogError, match=r"pass max_line_bytes=\.\.\."):
        LoggedData.read(file)
    assert len(LoggedData.read(file, max_line_bytes=4 << 20)) == 2


def test_a_file_that_unfolds_into_far_more_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_limits, "FREE_BYTES", 1 << 20)
    header = b"x,action,reward,propensity\n"
    for name, text in (("log.csv.zst", header + b"1,a,1,0.5\n" * 10**6), ("log.vw.zst", b"1:0:0.5 | x:1\n" * 10**6)):
        bomb = compressed(tmp_path / name, text, 1)
        assert bomb.stat().st_size < 1 << 13
        with pytest.raises(LogError, match=r"more than 1000 times as large as its file; .* max_ratio=\.\.\."):
            LoggedData.read(bomb)
    assert sum(len(table) for table in scan_tables(tmp_path / "log.csv.zst", max_ratio=1e6)) == 10**6


def test_columns_of_one_value_are_refused_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_limits, "FREE_BYTES", 1 << 20)
    table = pa.table({name: pa.repeat(pa.scalar(value), 10**6) for name, value in ROW.items() if name != "action"})
    pq.write_table(table.append_column("action", pa.repeat("a", 10**6)), tmp_path / "log.parquet")
    with pytest.raises(LogError, match="more than 1000 times"):
        list(scan_tables(tmp_path / "log.parquet"))


N_MANY = 10**6


def _numbers() -> pa.Table:
    return pa.table({name: np.zeros(N_MANY) for name in ("x", "action", "reward", "propensity")})


def _compressed_batch(path: Path) -> None:
    with pa.ipc.new_file(str(path), _numbers().schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(_numbers(), max_chunksize=N_MANY)


def _compressed_stream(path: Path) -> None:
    with pa.ipc.new_stream(str(path), _numbers().schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(_numbers(), max_chunksize=N_MANY)


def _stream_within_zstd(path: Path) -> None:
    with pa.output_stream(str(path), compression="zstd") as file, pa.ipc.new_stream(file, _numbers().schema) as writer:
        writer.write_table(_numbers(), max_chunksize=N_MANY)


def _one_text(n_rows: int = 100) -> dict[str, Any]:
    """Make a text of a megabyte, stored once and named in every row."""
    code = pa.array(np.zeros(n_rows, dtype=np.int32))
    numbers = {name: np.ones(n_rows) for name in ("action", "reward", "propensity")}
    return {"x": pa.DictionaryArray.from_arrays(code, pa.array(["a" * 10**6])), **numbers}


def _text_in_parquet(path: Path) -> None:
    pq.write_table(pa.table(_one_text()), path, compression="zstd", store_schema=False)


def _text_in_arrow(path: Path) -> None:
    table = pa.table(_one_text())
    with pa.ipc.new_file(str(path), table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)


def _views_in_arrow(path: Path) -> None:
    text = b"a" * 10**6
    view = np.tile(np.array([len(text), int.from_bytes(text[:4], "little"), 0, 0], dtype=np.int32), 100)
    try:
        views = pa.Array.from_buffers(pa.string_view(), 100, [None, pa.py_buffer(view), pa.py_buffer(text)])
    except ValueError:
        pytest.skip("pyarrow 18 makes no views of given buffers")
    table = pa.table(_one_text() | {"x": views})
    with pa.ipc.new_file(str(path), table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)


def _list_in_parquet(path: Path) -> None:
    lists = pa.ListArray.from_arrays(pa.array([0, N_MANY], pa.int32()), pa.array(np.zeros(N_MANY)))
    pq.write_table(pa.table({"x": lists, "action": [1], "reward": [1.0], "propensity": [1.0]}), path)


def _number_in_thrift(number: int) -> bytes:
    number, text = 2 * number, b""
    while number > 127:
        number, text = number >> 7, text + bytes([number & 127 | 128])
    return text + bytes([number])


def _page_that_lies(path: Path) -> None:
    """Write a page of some hundred bytes that says it has two gigabytes; all else about it is right."""
    table = pa.table(_one_text() | {"x": np.random.default_rng(0).normal(size=100)})
    table = table.select(["action", "reward", "propensity", "x"])  # last, so that only its own page moves
    pq.write_table(table, path, compression="zstd", use_dictionary=False, write_statistics=False)
    about = pq.ParquetFile(path).metadata.row_group(0).column(3)
    sizes = about.total_uncompressed_size, about.total_compressed_size
    head, page = path.read_bytes()[: about.data_page_offset], path.read_bytes()[about.data_page_offset :]
    size = _number_in_thrift(8 * 100 + 7)  # values, and the levels: a length and a run
    largest = _number_in_thrift((1 << 31) - 1)
    assert page[3 : 3 + len(size)] == size
    page = page[:3] + largest + page[3 + len(size) :]
    grown = sizes[0], sizes[1] + len(largest) - len(size)
    told, new = (b"\x16" + b"\x16".join(map(_number_in_thrift, each)) for each in (sizes, grown))
    assert page.count(told) == 1
    path.write_bytes(head + page.replace(told, new))


def _texts_in_lists(path: Path, **options: Any) -> None:
    text = pa.array(["a" * 10**6] * 100)
    lists = pa.ListArray.from_arrays(pa.array([0, 100], pa.int32()), text)
    table = pa.table({"x": lists, "action": [1], "reward": [1.0], "propensity": [1.0]})
    pq.write_table(table, path, compression="zstd", **options)


def _texts_in_maps(path: Path) -> None:
    text = pa.array(["a" * 10**6] * 100)
    maps = pa.MapArray.from_arrays(pa.array([0, 100], pa.int32()), text, text)
    table = pa.table({"x": maps, "action": [1], "reward": [1.0], "propensity": [1.0]})
    pq.write_table(table, path, compression="zstd")


def _texts_in_lists_by_beginnings(path: Path) -> None:
    _texts_in_lists(path, use_dictionary=False, column_encoding={"x.list.element": "DELTA_BYTE_ARRAY"})


def _texts_by_beginnings(path: Path) -> None:
    table = pa.table(_one_text() | {"x": ["a" * 10**6] * 100})
    pq.write_table(table, path, compression="zstd", use_dictionary=False, column_encoding={"x": "DELTA_BYTE_ARRAY"})


def _long_values(path: Path) -> None:
    values = pa.array([b"a" * 10**6] * 100, pa.binary(10**6))
    pq.write_table(pa.table(_one_text() | {"x": values}), path, compression="zstd", store_schema=False)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("log.parquet", _page_that_lies),
        ("log.parquet", _texts_in_lists),
        ("log.parquet", _texts_in_maps),
        ("log.parquet", _texts_in_lists_by_beginnings),
        ("log.parquet", _texts_by_beginnings),
        ("log.parquet", _long_values),
        ("log.arrow", _compressed_batch),
        ("log.arrows", _compressed_stream),
        ("log.arrows.zst", _stream_within_zstd),
        ("log.arrow", _text_in_arrow),
        ("log.arrow", _views_in_arrow),
        ("log.parquet", _text_in_parquet),
        ("log.parquet", _list_in_parquet),
    ],
)
def test_columns_are_refused_before_they_unfold(
    name: str, write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_limits, "FREE_BYTES", 1 << 20)
    monkeypatch.setattr(_columnar, "BATCH_BYTES", 1 << 20)
    write(tmp_path / name)
    usual = pa.default_memory_pool()
    counting = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(counting)
    tracemalloc.start()
    try:
        with pytest.raises(LogError, match=r"more than 5 times as large as its file; .* max_ratio=\.\.\."):
            LoggedData.read(tmp_path / name, features=["x"], max_ratio=5)
        most = max(counting.max_memory(), tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(usual)
    assert most < 6 << 20  # as a table it would take 8 to 100


def _views_of_lists(values: pa.Array) -> pa.Array:
    """Make lists that all hold the first of some values."""
    begin, size = pa.array(np.zeros(100, dtype=np.int32)), pa.array(np.ones(100, dtype=np.int32))
    return pa.ListViewArray.from_arrays(begin, size, values)


def _of_an_application(values: Any) -> pa.Array:
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return pa.ExtensionArray.from_storage(pa.opaque(values.type, "text", "a shop"), values)


LONG = "a" * 10**6
SHARED = {
    "text": _views_of_lists(pa.array([LONG, *[""] * 1000])),
    "lists": _views_of_lists(pa.array([[1.0] * 10**5, *[[]] * 1000])),
    "structures": _views_of_lists(pa.array([{"a": LONG}, *[{"a": ""}] * 1000])),
    "structures with maps": _views_of_lists(
        pa.array([{"a": [("k", LONG)]}, *[{"a": []}] * 1000], pa.struct({"a": pa.map_(pa.string(), pa.string())}))
    ),
    "lists of a fixed size": _views_of_lists(pa.array([[LONG, ""], *[["", ""]] * 1000], pa.list_(pa.string(), 2))),
    "texts by number": _views_of_lists(pa.array([LONG, *[""] * 1000]).dictionary_encode()),
    "slices": _views_of_lists(pa.array(["", LONG, *[""] * 1000]).slice(1)).slice(1),
    "bytes by number": pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(100, dtype=np.int32)), pa.array([LONG.encode()], pa.binary(10**6))
    ),
    "bytes by number in lists": _views_of_lists(
        pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(100, dtype=np.int32)), pa.array([LONG.encode()], pa.binary(10**6))
        )
    ),
    "views in lists": pa.ListArray.from_arrays(
        pa.array(np.arange(101, dtype=np.int32)), _views_of_lists(pa.array([LONG, *[""] * 1000]))
    ),
    "views in lists of a fixed size": pa.FixedSizeListArray.from_arrays(
        _views_of_lists(pa.array([LONG, *[""] * 1000])), 1
    ),
    "what is missing": pa.DictionaryArray.from_arrays(pa.array([None] * 100, pa.int32()), pa.array([LONG])),
    "a type of an application": pa.ExtensionArray.from_storage(
        pa.opaque(pa.dictionary(pa.int32(), pa.string()), "text", "a shop"), _one_text()["x"]
    ),
    "a type of an application in structures": pa.StructArray.from_arrays(
        [_of_an_application(_one_text()["x"])], ["in"]
    ),
    "a type of an application in lists": pa.ListArray.from_arrays(
        pa.array(np.arange(101, dtype=np.int32)), _of_an_application(_one_text()["x"])
    ),
    "a type of an application in views": _views_of_lists(
        _of_an_application(pa.array([LONG, *[""] * 1000]).dictionary_encode())
    ),
}


@pytest.mark.parametrize("name", SHARED)
def test_values_that_are_stored_once_count_in_every_row(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_limits, "FREE_BYTES", 1 << 20)
    column = SHARED[name]
    table = pa.table({"x": column, **{role: np.ones(len(column)) for role in ("action", "reward", "propensity")}})
    with pa.ipc.new_file(str(tmp_path / "log.arrow"), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(LogError, match="more than 10 times as large as its file"):
        list(scan_tables(tmp_path / "log.arrow", max_ratio=10))


def test_sizes_of_lists_within_lists_do_not_wrap_around() -> None:
    array: pa.Array = pa.array(["a" * 100] * 1000)
    for _ in range(8):  # each entry is all of the next: 100 * 1000 ** 9 bytes
        begin, size = np.zeros(1000, dtype=np.int32), np.full(1000, 1000, dtype=np.int32)
        array = pa.ListViewArray.from_arrays(pa.array(begin), pa.array(size), array)
    assert written_out_bytes(pa.record_batch({"x": array})) >= 10**18


@pytest.mark.parametrize(
    "column",
    [
        pa.RunEndEncodedArray.from_arrays(pa.array([100], pa.int32()), pa.array([LONG])),
        pa.UnionArray.from_dense(
            pa.array([0] * 100, pa.int8()), pa.array(np.zeros(100, dtype=np.int32)), [pa.array([LONG])]
        ),
        pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int32()), pa.array([[1.0] * 10**5])),
    ],
    ids=["runs", "unions", "lists by number"],
)
def test_types_that_nobody_counts_are_refused(column: Any, tmp_path: Path) -> None:
    for value in (column, pa.StructArray.from_arrays([column], ["inner"])):
        table = pa.table({"x": value})
        with pa.ipc.new_file(str(tmp_path / "log.arrow"), table.schema) as writer:
            writer.write_table(table)
        with pytest.raises(LogError, match=r"'x' of .*log\.arrow is of type .* Write it in a plain type"):
            list(scan_tables(tmp_path / "log.arrow"))


@pytest.mark.skipif(not hasattr(pa, "json_"), reason="pyarrow 18 has no such type")
def test_types_of_applications_are_read_as_what_they_are_made_of(tmp_path: Path) -> None:
    words = pa.ExtensionArray.from_storage(pa.json_(), pa.array(["1", "2"] * 50))
    table = pa.table(
        {"x": words} | {role: [1.0, 0.5] * 50 for role in ("reward", "propensity")} | {"action": [1, 2] * 50}
    )
    with pa.ipc.new_file(str(tmp_path / "log.arrow"), table.schema) as writer:
        writer.write_table(table)
    assert LoggedData.read(tmp_path / "log.arrow").X["x"].tolist() == ["1", "2"] * 50


@pytest.mark.parametrize("name", ["log.ndjson", "log.arrow", "log.parquet"])
def test_what_is_missing_in_every_object_of_lists_is_missing(name: str, tmp_path: Path) -> None:
    rows = [ROW | {"action": i % 2, "x": i, "eligible": [{"id": 0, "y": i}, {"id": 1, "y": None}]} for i in range(8)]
    for row in rows:
        row["eligible"][1]["odd"] = None
    table = pa.Table.from_pylist(rows)
    if name.endswith("ndjson"):
        write_lines(tmp_path / name, rows)
    elif name.endswith("parquet"):
        pq.write_table(table, tmp_path / name)
    else:
        with pa.ipc.new_file(str(tmp_path / name), table.schema) as writer:
            writer.write_table(table)
    sets = LoggedData.read(tmp_path / name, action_sets=True, eligible="eligible").action_sets
    assert sets is not None
    assert sets.pairs["odd"].isna().all()  # type: ignore[index]
    assert sets.pairs["y"].notna().sum() == 8  # type: ignore[index]


@pytest.mark.parametrize("name", ["log.arrow", "log.parquet"])
def test_types_of_applications_within_structures_are_read_as_well(name: str, tmp_path: Path) -> None:
    inner = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16)] * 100, pa.binary(16)))
    words = pa.ExtensionArray.from_storage(pa.json_(), pa.array([*"1234"] * 25))
    nested = pa.StructArray.from_arrays([inner, words, pa.array([1.5] * 100)], ["key", "word", "z"])
    more = {"reward": [1.0, 0.5] * 50, "propensity": [1.0, 0.5] * 50, "action": [1, 2] * 50}
    table = pa.table({"y": nested, "x": np.arange(100.0), **more})
    if name.endswith("parquet"):
        pq.write_table(table, tmp_path / name)
    else:
        with pa.ipc.new_file(str(tmp_path / name), table.schema) as writer:
            writer.write_table(table)
    assert LoggedData.read(tmp_path / name, features=["x"]).X.columns.tolist() == ["x"]
    X = LoggedData.read(tmp_path / name).X
    assert X["y.z"].tolist() == [1.5] * 100
    assert X["y.word"].tolist() == [*"1234"] * 25
    assert "y.key" not in X.columns


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
@pytest.mark.parametrize("data_page_version", ["1.0", "2.0"])
def test_texts_in_every_encoding_are_read(
    encoding: str, data_page_version: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_columnar, "BATCH_BYTES", 1 << 14)  # several batches
    texts = [f"text {i % 700}" for i in range(5000)]
    table = pa.table({"x": texts, "y": [[text, "b"] for text in texts], "z": [{"t": text} for text in texts]})
    encodings = dict.fromkeys(("x", "y.list.element", "z.t"), encoding)
    pq.write_table(
        table,
        tmp_path / "log.parquet",
        use_dictionary=False,
        column_encoding=encodings,
        data_page_version=data_page_version,
        data_page_size=1 << 12,
    )
    read = pa.concat_tables(scan_tables(tmp_path / "log.parquet", max_ratio=1e6))
    assert read.equals(table.flatten())


def test_chunks_under_other_names_are_refused(tmp_path: Path) -> None:
    """Arrow goes by their order: what is not counted under its name would be read all the same."""
    _list_in_parquet(tmp_path / "log.parquet")
    data = (tmp_path / "log.parquet").read_bytes()
    place = data.rindex(b"element", 0, data.rindex(b"ARROW:schema"))  # the last is the chunk's, not the schema's
    for name in (b"elem\xffnt", b"elemenu"):
        (tmp_path / "log.parquet").write_bytes(data[:place] + name + data[place + 7 :])
        with pytest.raises(LogError, match="other columns than the file"):
            list(scan_tables(tmp_path / "log.parquet"))


@pytest.mark.parametrize(
    "cell",
    ['[{"id": "a", "\\ud800": 1}]', '[{"id": "a", "x": "\\udfff"}]', "[" * 9999, '[{"id":"a","x":' + '{"y":' * 500],
)
def test_lists_of_actions_in_cells_are_checked_as_lines_of_json_are(cell: str, tmp_path: Path) -> None:
    table = pa.table({"x": [1.0], "item": ["a"], "reward": [1.0], "p": [0.5], "eligible": [cell]})
    pq.write_table(table, tmp_path / "log.parquet")
    roles = {"action": "item", "reward": "reward", "propensity": "p", "eligible": "eligible"}
    with pytest.raises(ActionError, match="must be a list of actions in JSON"):
        LoggedData.read(tmp_path / "log.parquet", action_sets=True, **roles)


def test_rows_that_each_bring_a_column_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_limits, "FREE_BYTES", 1 << 16)
    file = write_lines(tmp_path / "log.ndjson", [ROW | {f"k{i}": 1} for i in range(3000)])
    with pytest.raises(LogError, match="more than 50 times"):
        LoggedData.read(file, max_ratio=50)


@pytest.mark.parametrize("limit", [{"max_nesting": 0}, {"max_line_bytes": 1.5}, {"max_ratio": float("nan")}])
def test_limits_that_cannot_be_meant_are_refused(limit: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="whole numbers from 1 on"):
        Limits(**limit)


HOSTILE: dict[str, tuple[str, list[dict[str, Any]] | str]] = {
    "half a character": ("log.ndjson", [ROW, ROW | {"city": "\ud800"}]),
    "half a character as action": ("log.ndjson", [ROW, ROW | {"action": "\udfff"}]),
    "half a character in a decision": ("log.dsjson", [DECISION, DECISION | {"c": {"u": {"x": "\ud800"}}}]),
    "half a character as key": ("log.dsjson", [DECISION, DECISION | {"c": {"\ud800": 1}}]),
    "a reward of 400 digits": ("log.ndjson", [ROW, ROW | {"reward": 10**400}]),
    "a cost of 400 digits": ("log.dsjson", [DECISION, DECISION | {"_label_cost": 10**400}]),
    "a feature of 400 digits": ("log.dsjson", [DECISION, DECISION | {"c": {"u": {"x": 10**400}}}]),
    "an action of 30 digits": ("log.dsjson", [DECISION, DECISION | {"_label_Action": 10**30}]),
    "an action that is true": ("log.dsjson", [DECISION, DECISION | {"_label_Action": True}]),
    "a cost of 400 digits in vw": ("log.vw", f"1:{'1' * 400}:0.5 | x:1\n"),
    "an action of 23 digits in vw": ("log.vw", f"1:0:0.5 | x:1\n{'1' * 23}:0:0.5 | x:1\n"),
    "an action of 5000 digits in vw": ("log.vw", f"1:0:0.5 | x:1\n{'1' * 5000}:0:0.5 | x:1\n"),
    "an action that no float tells from others": ("log.csv", "x,action,reward,propensity\n1,1.0,1,1\n2,1e30,1,1\n"),
    "an action of blanks": ("log.csv", "x,action,reward,propensity\n1,a,1,1\n2,   ,1,1\n"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_values_that_no_array_holds_are_refused(name: str, tmp_path: Path) -> None:
    file_name, content = HOSTILE[name]
    file = tmp_path / file_name
    if isinstance(content, str):
        file.write_text(content)
    else:
        write_lines(file, content)
    for read in (LoggedData.read, inspect_log):
        with pytest.raises(OffsetTreeError, match=r"row \d"):
            read(file)


def test_an_action_of_blanks_is_told_with_its_row_in_the_file(tmp_path: Path) -> None:
    """Not as one that is missing in a row of an array, which is all that is known later."""
    (tmp_path / "log.csv").write_text(str(HOSTILE["an action of blanks"][1]))
    for read in (LoggedData.read, inspect_log, lambda file: list(LoggedData.scan(file))):
        with pytest.raises(LogError, match=r"row 2 of .*log\.csv, must name the action; it is '   ', nothing but"):
            read(tmp_path / "log.csv")


def test_an_id_of_many_digits_is_a_name(tmp_path: Path) -> None:
    actions = {"c": {"u": {"x": 2}, "_multi": [{"id": 10**30}, {"id": 7}]}}
    file = write_lines(tmp_path / "log.dsjson", [DECISION | actions, DECISION | actions | {"_label_Action": 2}])
    assert LoggedData.read(file).action.tolist() == [str(10**30), "7"]
    actions = {"c": {"u": {"x": 2}, "_multi": [{"id": True}, {"id": 7}]}}
    write_lines(file, [DECISION | actions, DECISION | actions | {"_label_Action": 2}])
    assert LoggedData.read(file).action.tolist() == [1, 7]


def test_a_propensity_hardly_above_zero_is_doubted(tmp_path: Path) -> None:
    rows = [ROW | {"x": i, "action": "ab"[i % 2], "propensity": 1e-299 if i == 3 else 0.5} for i in range(1000)]
    facts = inspect_log(write_lines(tmp_path / "log.ndjson", rows))
    assert "propensities cannot be right" in facts["warnings"][0]


def test_actions_that_differ_in_blanks_are_told(tmp_path: Path) -> None:
    rows = [ROW | {"x": i, "action": ["a", " a ", "b"][i % 3]} for i in range(9)]
    file = write_lines(tmp_path / "log.ndjson", rows)
    for notes in (LoggedData.read(file).notes, inspect_log(file)["notes"]):
        assert any("differ in blanks only are different actions: ' a ' and 'a'" in note for note in notes)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "latin-1", "utf-8-sig"])
def test_json_in_other_encodings_is_read_whole(encoding: str, tmp_path: Path) -> None:
    """The end of a line, seen as a byte, may be half of a character: 0x0a0a in UTF-16."""
    file = tmp_path / "log.ndjson"
    city = "é" if encoding == "latin-1" else "\u0a0a\u010a"
    rows = [json.dumps(ROW | {"city": city, "action": "ab"[i % 2]}, ensure_ascii=False) for i in range(4)]
    file.write_bytes("".join(f"{row}\n" for row in rows).encode(encoding))
    assert LoggedData.read(file, format="ndjson", encoding=encoding).X["city"].tolist() == [city] * 4
    file.write_bytes(file.read_bytes()[:-1] + b"\xd8")
    with pytest.raises(LogError, match=r"text must be|JSON object"):
        LoggedData.read(file, format="ndjson", encoding=encoding)


def test_an_encoding_that_is_none_of_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="encoding must be one that Python knows"):
        LoggedData.read(write_lines(tmp_path / "log.ndjson", [ROW]), encoding="zlib")


def test_blank_labels_in_arrays_are_missing_ones() -> None:
    with pytest.raises(ActionError, match="missing in row 1, which has '  '"):
        LoggedData([[1], [2]], ["a", "  "], [0, 1], 0.5)


def test_a_decision_of_many_lines_is_as_long_as_they_are_together(tmp_path: Path) -> None:
    file = tmp_path / "log.vw"
    decision = "shared | x:1\n0:1:0.5 | a:1\n| a:2\n"
    file.write_text(decision + "\n" + decision + "| a:3\n" * 1000)
    with pytest.raises(
        LogError, match=r"a line must not be longer than 5,000 bytes; .* raise the limit: max_line_bytes"
    ):
        LoggedData.read(file, action_sets=True, max_line_bytes=5000)
    file.write_text((decision + "\n") * 1000)
    assert len(LoggedData.read(file, action_sets=True, max_line_bytes=5000)) == 1000


@pytest.mark.parametrize("what", ["é" * 40, "x" + "é" * 40])
def test_a_line_is_not_cut_within_a_character_to_show_it(what: str, tmp_path: Path) -> None:
    file = tmp_path / "log.vw"
    file.write_text(f"1:0:0.5 | a\n{what}\n")
    with pytest.raises(LogError, match="it has no bar"):
        LoggedData.read(file)


READ_A_BEGINNING = """
import sys
from offsettree import LoggedData
from offsettree.exceptions import LogError

try:
    LoggedData.read(sys.argv[1])
except LogError:
    print("refused")
"""


def test_a_process_may_end_while_arrow_reads_ahead(tmp_path: Path) -> None:
    """Each of these was aborted with a chance of a half."""
    n = 500_000
    names = ",".join(f"c{place}" for place in range(n))
    file = tmp_path / "log.csv.gz"
    file.write_bytes(gzip.compress(f"{names},action,reward,propensity\n{'1,' * n}a,1,1\n".encode(), 1))
    for _ in range(6):
        run = subprocess.run(  # noqa: S603 - a text of our own
            [sys.executable, "-c", READ_A_BEGINNING, str(file)], check=True, capture_output=True, text=True
        )
        assert run.stdout.strip() == "refused"


@pytest.mark.parametrize("word", ["9" * 9001, "--5", "5-"])
def test_what_is_no_whole_number_is_a_word(word: str, tmp_path: Path) -> None:
    assert ids_in(f"3 {word}", "id", "i", "row 0") == (["3", word], [])
    for part in (word[:40], "7"):
        (tmp_path / f"place={part}").mkdir()
        (tmp_path / f"place={part}" / "log.csv").write_text("x,action,reward,propensity\n1,a,1,0.5\n2,b,0,0.5\n")
    assert set(LoggedData.read(tmp_path).X["place"]) == {word[:40], "7"}
