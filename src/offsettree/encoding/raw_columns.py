"""A raw table by columns, whatever brought it: pyarrow table, pandas or polars frame, mappings of names to values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from offsettree._validation import as_float
from offsettree.encoding.spellings import as_stamp, as_text
from offsettree.exceptions import FeatureError

__all__ = [
    "Column",
    "Dates",
    "Numbers",
    "RawTable",
    "Texts",
    "UselessColumnError",
    "column_names",
    "count_raw_rows",
    "from_values",
    "read_column",
]

# A pyarrow table, a frame, a mapping or a sequence of mappings: no protocol covers them.
RawTable: TypeAlias = Any


class UselessColumnError(FeatureError):
    """A column of values that no encoding takes."""


class Numbers(NamedTuple):
    """A column of numbers; NaN where missing."""

    values: NDArray[np.float64]


class Texts(NamedTuple):
    """A column of words: the position of each row's word among those that occur, -1 where missing."""

    codes: NDArray[np.intp]
    words: Sequence[str]


class Dates(NamedTuple):
    """A column of dates or times; NaT where missing."""

    values: NDArray[np.datetime64]


Column = Numbers | Texts | Dates


def column_names(table: RawTable) -> list[str]:
    """List the names of the columns."""
    if isinstance(table, Mapping):
        return [str(name) for name in table]
    if hasattr(table, "column_names"):  # pyarrow
        return list(table.column_names)
    if hasattr(table, "columns") and hasattr(table, "dtypes"):
        return [str(name) for name in table.columns]
    rows = _as_mappings(table)
    return list(dict.fromkeys(str(name) for row in rows for name in row))


def count_raw_rows(table: RawTable) -> int:
    """Count the rows."""
    if isinstance(table, Mapping):
        return 1
    if hasattr(table, "num_rows"):
        return int(table.num_rows)
    return len(table if hasattr(table, "columns") else _as_mappings(table))


def read_column(table: RawTable, name: str) -> Column | None:
    """Return a column, or None where there is none of that name."""
    if isinstance(table, Mapping):
        return from_values(name, [table[name]]) if name in table else None
    if hasattr(table, "column_names"):
        return _from_arrow(name, table[name]) if name in table.column_names else None
    if hasattr(table, "columns") and hasattr(table, "dtypes"):
        # Columns of pandas may be named by whole numbers.
        label = name if name in table.columns else next((each for each in table.columns if str(each) == name), None)
        if label is None:
            return None
        column = table[label]
        return _from_pandas(name, column) if hasattr(column, "iloc") else _from_polars(name, column)
    rows = _as_mappings(table)
    if not any(name in row for row in rows):
        return None
    return from_values(name, [row.get(name) for row in rows])


def _as_mappings(table: RawTable) -> Sequence[Mapping[str, Any]]:
    if isinstance(table, list | tuple) and all(isinstance(row, Mapping) for row in table):
        return table
    raise FeatureError(
        "raw rows must be a pyarrow table, a pandas or polars frame, a mapping of names to values or a list of such; "
        f"got {type(table).__name__}. The policy knows its columns by name."
    )


def _from_arrow(name: str, column: Any) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        if not _is_word(kind.value_type):
            return _from_arrow(name, column.cast(kind.value_type))
    elif pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return Numbers(_numbers_from_arrow(column.cast(pa.float64(), safe=False)))
    elif pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return Numbers(_numbers_from_arrow(column.cast(pa.float64())))
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            column = pc.local_timestamp(column)
        return Dates(column.cast(pa.timestamp("us"), safe=False).to_numpy().astype("datetime64[us]"))
    elif not _is_word(kind):
        raise _of_no_use(name, kind)
    if not pa.types.is_dictionary(kind):
        column = pc.dictionary_encode(column)
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.unify_dictionaries().chunk(0) if whole.num_chunks else pa.array([], kind)
    codes = pc.fill_null(whole.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    return _merged(codes.astype(np.intp), [as_text(word) for word in whole.dictionary.to_pylist()])


def _is_word(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _numbers_from_arrow(column: Any) -> NDArray[np.float64]:
    return np.asarray(column.to_numpy(), dtype=np.float64)


def _from_pandas(name: str, column: Any) -> Column:
    if hasattr(column, "cat"):
        words = [as_text(value) for value in column.cat.categories]
        return _merged(column.cat.codes.to_numpy().astype(np.intp), words)
    column = column.infer_objects()
    kind = column.dtype.kind
    if kind in "biuf":
        return Numbers(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind == "M":
        stamps = column.dt.tz_localize(None) if getattr(column.dtype, "tz", None) is not None else column
        return Dates(stamps.to_numpy().astype("datetime64[us]"))
    if kind not in "OUT":
        raise _of_no_use(name, column.dtype)
    if kind == "O" and _has_more_than_words(column):
        return from_values(name, column.tolist())
    codes, found = column.factorize()
    return _merged(codes.astype(np.intp), [as_text(value) for value in found])


def _has_more_than_words(column: Any) -> bool:
    from pandas.api.types import infer_dtype

    return bool(infer_dtype(column, skipna=True) != "string")


def _from_polars(name: str, column: Any) -> Column:
    import polars as pl

    kind = column.dtype
    if kind.is_numeric() or kind in (pl.Boolean, pl.Null):
        return Numbers(column.cast(pl.Float64).to_numpy())
    if kind in (pl.Date, pl.Datetime):
        stamps = column.dt.replace_time_zone(None) if getattr(kind, "time_zone", None) else column
        return Dates(stamps.cast(pl.Datetime("us")).to_numpy().astype("datetime64[us]"))
    if kind not in (pl.String, pl.Categorical, pl.Enum):
        raise _of_no_use(name, kind)
    column = column.cast(pl.String)
    words = column.drop_nulls().unique(maintain_order=True).to_list()
    codes = column.cast(pl.Enum(words)).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    return _merged(codes.astype(np.intp), words)


def from_values(name: str, values: Sequence[Any]) -> Column:
    """Read plain Python values: what most of a table's columns are decides of what kind one is."""
    known = [value for value in values if not _is_missing(value)]
    if all(isinstance(value, bool | int | float | Decimal | np.number | np.bool_) for value in known):
        return Numbers(np.array([np.nan if _is_missing(value) else as_float(value) for value in values]))
    if all(isinstance(value, date | np.datetime64) for value in known):
        stamps = [np.datetime64("NaT", "us") if _is_missing(value) else as_stamp(value) for value in values]
        return Dates(np.array(stamps, dtype="datetime64[us]"))
    nested = [value for value in known if isinstance(value, Mapping | list | tuple | set | bytes | np.ndarray)]
    if nested:
        raise _of_no_use(name, type(nested[0]).__name__)
    position: dict[str, int] = {}
    codes = [-1 if _is_missing(value) else position.setdefault(as_text(value), len(position)) for value in values]
    return _merged(np.array(codes, dtype=np.intp), list(position))


def _is_missing(value: Any) -> bool:
    # pandas' NA first: whether it differs from itself it does not say.
    if value is None or type(value).__name__ == "NAType":
        return True
    return not isinstance(value, np.ndarray | list) and bool(value != value)


def _merged(codes: NDArray[np.intp], words: list[str]) -> Texts:
    """Let values that read alike be one word, and an empty one be missing."""
    position: dict[str, int] = {}
    place = [position.setdefault(word, len(position)) if word != "" else -1 for word in words]
    if len(position) == len(words):
        return Texts(codes, words)
    table = np.array([*place, -1], dtype=np.intp)
    return Texts(table[codes], list(position))


def _of_no_use(name: str, kind: Any) -> UselessColumnError:
    return UselessColumnError(
        f"columns must hold numbers, words, truth values or dates; column {name!r} has the type {kind}. Flatten it, "
        "turn it into numbers, or leave it out."
    )
