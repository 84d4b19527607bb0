"""Tables as readers hand them out: few types, no nesting, chunks of at most so many rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsettree.encoding.spellings import MISSING, OFFSET, is_numeral
from offsettree.exceptions import LogError

SHORT_VIEW = 12  # bytes of text that Arrow keeps beside its length


def plain(table: pa.Table) -> pa.Table:
    """Write nested columns side by side (``user.age``), every column in a plain type, empty text as missing.

    CSV cannot tell empty text from none, and a log must not depend on the format it came in.
    """
    while any(pa.types.is_struct(kind) or isinstance(kind, pa.BaseExtensionType) for kind in table.schema.types):
        table = _as_stored(table).flatten()
    for place, (name, kind) in enumerate(zip(table.column_names, table.schema.types, strict=True)):
        column = given = table.column(place)
        to = kind
        while pa.types.is_dictionary(to):
            to = to.value_type
        if pa.types.is_large_string(to) or pa.types.is_string_view(to):
            to = pa.string()
        elif pa.types.is_decimal(to) or pa.types.is_float16(to):
            to = pa.float64()
        if to != kind:
            _check_views(column)
            if pa.types.is_float16(kind):
                column = column.cast(pa.float32())
            column = column.cast(to, safe=False)
        if pa.types.is_string(to) and pc.any(empty := pc.equal(column, "")).as_py():
            column = pc.if_else(empty, pa.scalar(None, pa.string()), column)
        if column is not given:
            table = table.set_column(place, name, column)
    return table.replace_schema_metadata(None)


def _as_stored(table: pa.Table) -> pa.Table:
    """Return columns of types that are an application's own, such as Arrow's JSON, as what they are made of."""
    for place, (name, kind) in enumerate(zip(table.column_names, table.schema.types, strict=True)):
        if isinstance(kind, pa.BaseExtensionType):
            chunks = [chunk.storage for chunk in table.column(place).chunks]
            table = table.set_column(place, name, pa.chunked_array(chunks, kind.storage_type))
    return table


def _check_views(column: pa.ChunkedArray) -> None:
    """Refuse text that begins or ends beside its bytes: Arrow looks at what is not missing, and copies all."""
    for chunk in column.chunks:
        values = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk
        if not pa.types.is_string_view(values.type):
            continue
        _, views, *data = values.buffers()
        places = np.frombuffer(views, dtype=np.int32).reshape(-1, 4)[values.offset : values.offset + len(values)]
        length, _, buffer, offset = places.T.astype(np.int64)
        size = np.array([*(0 if part is None else part.size for part in data), 0])
        known = (buffer >= 0) & (buffer < len(data)) & (offset >= 0)
        fits = known & (offset + length <= size[np.where(known, buffer, 0)])
        if not ((length >= 0) & ((length <= SHORT_VIEW) | fits)).all():
            raise ValueError("a text begins or ends outside of the file")


def flat_names(schema: pa.Schema) -> list[str]:
    """List the columns that `plain` makes of a schema."""
    return list(plain(empty_table(schema)).column_names)


def empty_table(schema: pa.Schema) -> pa.Table:
    """Return a table without rows; Arrow's own way has no types of applications within others."""
    return pa.table([pa.nulls(0, field.type) for field in schema], schema=schema)


def with_kinds(table: pa.Table, kinds: Mapping[str, str], file: Any, first_row: int) -> pa.Table:
    """Make numbers or text of columns, where the caller knows better than the file."""
    for name, kind in kinds.items():
        if name not in table.column_names:
            continue
        place = table.column_names.index(name)
        column = table.column(place)
        if kind == "text" and not pa.types.is_string(column.type):
            table = table.set_column(place, name, column.cast(pa.string()))
        elif kind == "number" and not is_number(column.type):
            table = table.set_column(place, name, _numbers(column, name, file, first_row))
    return table


def is_number(kind: pa.DataType) -> bool:
    """Tell numbers and truth values from everything else."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def cast_to(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a column in a type; one that has it as it is, as Arrow's cast makes nulls of objects in lists too few."""
    return column if column.type == kind else column.cast(kind)


def is_bytes(kind: pa.DataType) -> bool:
    """Tell bytes that are no text, of any layout."""
    layouts = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
    return any(test(kind) for test in layouts)


def _numbers(column: pa.ChunkedArray, name: str, file: Any, first_row: int) -> pa.ChunkedArray:
    if pa.types.is_string(column.type):
        column = as_numerals(column)
    try:
        return column.cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        for row, value in enumerate(column.to_pylist()):
            if value is not None and not is_numeral(value):
                raise LogError(
                    f"column {name!r} must be numbers; row {first_row + row} of {file} has {value!r} (rows are counted "
                    "from 1, without a header). Correct the value, or leave the column out."
                ) from None
        raise


def as_numerals(column: pa.ChunkedArray, decimal: str = ".") -> pa.ChunkedArray:
    """Return text without blanks around it, missing values as null, as Arrow's CSV reader takes numbers."""
    column = pc.utf8_trim_whitespace(column)
    column = pc.if_else(pc.is_in(column, pa.array(MISSING)), pa.scalar(None, pa.string()), column)
    return column if decimal == "." else pc.replace_substring(column, decimal, ".")


def local_times(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Read text as the times that clocks showed, whatever their offset: an hour of the day means that one."""
    return pc.replace_substring_regex(as_numerals(column), OFFSET, r"\1").cast(pa.timestamp("us"))


def in_chunks(tables: Iterable[pa.Table], chunk_rows: int) -> Iterator[pa.Table]:
    """Cut and join tables into chunks of `chunk_rows` rows, the last one shorter; at least one, if an empty one."""
    waiting: list[pa.Table] = []
    n_waiting = 0
    nothing_yet = True
    for table in tables:
        waiting.append(table)
        n_waiting += len(table)
        if n_waiting < chunk_rows:
            continue
        joined = pa.concat_tables(waiting)
        whole = n_waiting - n_waiting % chunk_rows
        for start in range(0, whole, chunk_rows):
            yield joined.slice(start, chunk_rows)
        nothing_yet = False
        waiting, n_waiting = ([joined.slice(whole)], n_waiting - whole) if whole < n_waiting else ([], 0)
    if n_waiting or (nothing_yet and waiting):
        yield pa.concat_tables(waiting)
