"""NDJSON: one object per line, with keys in any order and without declared types.

Arrow parses blocks of lines with the types that a first pass found. A block of mixed types takes the slow path through
Python's parser, which gives the same table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson

from offsettree._messages import Parameter
from offsettree.exceptions import LogError
from offsettree.logs._reader import Options, Reader
from offsettree.logs._source import Source, line_blocks
from offsettree.logs._tables import cast_to, local_times

PIECE = 1 << 16  # bytes parsed at a time in the first pass, so that rows with ever new keys are noticed early
CELL_BYTES = 8
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")  # an escaped surrogate, half of a character

Keys = tuple[str, ...]  # ("user", "age") is the column user.age


class NdjsonReader(Reader):
    """A log in files of JSON objects, one per line; nested objects become columns with dotted names."""

    def __init__(self, sources: list[Source], options: Options) -> None:
        super().__init__(sources, options)
        self._types: dict[Keys, pa.DataType] | None = None

    def file_names(self) -> list[str]:
        """Return the keys that occur, in order of appearance."""
        return [".".join(keys) for keys in self.types()]

    def types(self) -> dict[Keys, pa.DataType]:
        """Return the types that hold in all rows; even the keys are known only after a pass over all files."""
        if self._types is None:
            types: dict[Keys, pa.DataType] = {}
            for source in self.sources:
                size = source.file.stat().st_size
                for block, first_row in _numbered(source, self.options.encoding, PIECE):
                    for keys, kind in _types_of(block, source, first_row, self.options.encoding).items():
                        types[keys] = _common_type(types.get(keys, pa.null()), kind)
                    # Each new key adds a column with a cell for every row.
                    source.limits.check_ratio(first_row * len(types) * CELL_BYTES, size, source)
            as_text = {keys: pa.string() for keys in types if self.options.types.get(".".join(keys)) == "text"}
            self._types = types | as_text
        return self._types

    def tables(self, source: Source, columns: list[str] | None) -> Iterator[pa.Table]:
        """Read one file with the types that hold in all files."""
        types = self.types()
        if columns is not None:
            types = {keys: kind for keys, kind in types.items() if ".".join(keys) in set(columns)}
        # Arrow would convert times with an offset to UTC; local time is kept.
        schema = _nested({keys: pa.string() if pa.types.is_timestamp(kind) else kind for keys, kind in types.items()})
        for block, first_row in _numbered(source, self.options.encoding):
            yield _parse(block, schema, types, source, first_row, self.options.encoding)


def _numbered(source: Source, encoding: str, n_bytes: int | None = None) -> Iterator[tuple[bytes, int]]:
    """Yield blocks of lines, or pieces of about `n_bytes` bytes, with the number of their first row."""
    first_row = 1
    for block in line_blocks(source, encoding):
        for piece in [block] if n_bytes is None else _pieces(block, n_bytes):
            n_rows = sum(1 for line in piece.split(b"\n") if line.strip())
            if not n_rows:
                continue
            source.limits.check_nesting(piece, n_rows, source, first_row)
            yield piece, first_row
            first_row += n_rows


def _pieces(block: bytes, n_bytes: int) -> Iterator[bytes]:
    begin = 0
    while begin < len(block):
        end = block.find(b"\n", begin + n_bytes) + 1 or len(block)
        yield block[begin:end]
        begin = end


def _types_of(block: bytes, source: Source, first_row: int, encoding: str) -> dict[Keys, pa.DataType]:
    try:
        table = _arrow_json(block, None)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        types: dict[Keys, pa.DataType] = {}
        for row in parse_lines(block, source, first_row, encoding):
            for keys, value in flatten(row):
                types[keys] = _common_type(types.get(keys, pa.null()), _kind_of(value))
        return types
    return dict(_leaves(table.schema))


def _parse(
    block: bytes,
    schema: pa.Schema | None,
    types: dict[Keys, pa.DataType],
    source: Source,
    first_row: int,
    encoding: str,
) -> pa.Table:
    if schema is not None:
        try:
            return _flattened(_arrow_json(block, schema), types)
        except (pa.ArrowInvalid, UnicodeDecodeError):
            pass
    values: dict[Keys, list[Any]] = {keys: [] for keys in types}
    for row in parse_lines(block, source, first_row, encoding):
        found = dict(flatten(row))
        for keys, column in values.items():
            column.append(found.get(keys))
    return pa.table({".".join(keys): _column(column, types[keys]) for keys, column in values.items()})


def _arrow_json(block: bytes, schema: pa.Schema | None) -> pa.Table:
    block.decode()  # Arrow may not notice invalid UTF-8
    return pajson.read_json(
        pa.BufferReader(block),
        read_options=pajson.ReadOptions(block_size=len(block) + 1),
        parse_options=pajson.ParseOptions(
            explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else "ignore"
        ),
    )


def parse_lines(block: bytes, source: Source, first_row: int, encoding: str = "utf-8") -> Iterator[dict[str, Any]]:
    """Parse one object per line."""
    for row, line in enumerate(filter(bytes.strip, block.split(b"\n")), start=first_row):
        source.limits.check_nesting(line, 1, source, row)
        try:
            value = json.loads(line.decode("utf-8-sig"))
            if SURROGATE.search(line):
                json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise LogError(
                f"text must be whole characters; row {row} of {source} has half of one, such as \\ud800 alone: "
                f"{line[:60]!r}. Correct the program that cut it in two."
            ) from None
        except UnicodeDecodeError:
            raise LogError(
                f"text must be {encoding}; row {row} of {source} is not: {line[:60]!r}. If the whole file is in "
                "another encoding, pass it: ",
                Parameter("encoding", "latin-1"),
                " reads any file.",
            ) from None
        except ValueError as error:
            raise LogError(
                f"every line must be one JSON object; row {row} of {source} is not: {error}. Was it cut off?"
            ) from None
        if not isinstance(value, dict):
            raise LogError(f"every line must be one JSON object; row {row} of {source} is {str(value)[:60]!r}.")
        yield value


def flatten(row: dict[str, Any], above: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Yield the values of nested objects, with the keys that lead to them."""
    for key, value in row.items():
        if isinstance(value, dict):
            yield from flatten(value, (*above, key))
        else:
            yield (*above, key), value


def _leaves(fields: Any, above: Keys = ()) -> Iterator[tuple[Keys, pa.DataType]]:
    for part in fields:
        if pa.types.is_struct(part.type):
            yield from _leaves(part.type, (*above, part.name))
        else:
            yield (*above, part.name), part.type


def _nested(types: dict[Keys, pa.DataType]) -> pa.Schema | None:
    """Return the nested schema of the columns; None if a key holds a value in some rows and an object in others."""
    tree: dict[str, Any] = {}
    for keys, kind in types.items():
        branch = tree
        for key in keys[:-1]:
            branch = branch.setdefault(key, {})
            if not isinstance(branch, dict):
                return None
        if keys[-1] in branch:
            return None
        branch[keys[-1]] = kind

    def build(branch: dict[str, Any]) -> list[pa.Field]:
        return [
            pa.field(key, pa.struct(build(kind)) if isinstance(kind, dict) else kind) for key, kind in branch.items()
        ]

    return pa.schema(build(tree))


def _flattened(table: pa.Table, types: dict[Keys, pa.DataType]) -> pa.Table:
    columns = {}
    for keys, kind in types.items():
        column = table.column(keys[0])
        for key in keys[1:]:
            column = pc.struct_field(column, key)
        columns[".".join(keys)] = local_times(column) if pa.types.is_timestamp(kind) else cast_to(column, kind)
    return pa.table(columns)


def _kind_of(value: Any) -> pa.DataType:
    if value is None:
        return pa.null()
    if isinstance(value, bool):
        return pa.bool_()
    if isinstance(value, int):
        return pa.int64() if abs(value) < 1 << 63 else pa.float64()
    return pa.float64() if isinstance(value, float) else pa.string()


def _common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if {one, other} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if pa.types.is_timestamp(one) and pa.types.is_timestamp(other):
        return pa.timestamp("ns")
    return pa.string()


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    convert: Callable[[Any], Any] = as_float if kind == pa.float64() else _text if kind == pa.string() else _unchanged
    found = [None if value is None else convert(value) for value in values]
    return local_times(pa.array(found, pa.string())) if pa.types.is_timestamp(kind) else pa.array(found, kind)


def as_float(number: float) -> float | None:
    """Return a number as a float; None if it is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return None


def _unchanged(value: Any) -> Any:
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
