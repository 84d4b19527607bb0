"""Features as lists of keys and values: names are hashed, so that new ones need no place kept for them."""

from __future__ import annotations

import math
import zlib
from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features, as_floats, count_rows, is_frame, is_sparse, numeric_columns, refuse_dates
from offsettree._sparse import as_csr
from offsettree.actions.eligible import ID
from offsettree.encoding.plain_rows import PlainRows
from offsettree.exceptions import FeatureError

MISSING = " is missing"
LARGEST = float(np.finfo(np.float32).max)


class Hashed(NamedTuple):
    """Rows of features; those of row i are from ``starts[i]`` to ``starts[i + 1]``."""

    keys: NDArray[np.uint64]
    values: NDArray[np.float32]
    starts: NDArray[np.int64]


@lru_cache(1 << 16)
def key_of(name: str) -> int:
    """Return the key of a feature's name; the same in every process. Columns of arrays have small keys."""
    return zlib.crc32(name.encode(errors="surrogatepass")) + (1 << 32)


def hash_table(table: Features | None, what: str, before: int = 0) -> Hashed | None:
    """Hash the rows of an array, a CSR matrix or a frame; None where there is no table.

    Columns of arrays are numbered from `before` + 1 on.
    """
    if table is None:
        return None
    if is_frame(table):
        return _hash_frame(table)
    if is_sparse(table):
        table = as_csr(table)
        keys, values, starts = table.indices.astype(np.uint64) + np.uint64(1), table.data, table.indptr
    else:
        try:
            table = np.asarray(table, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise FeatureError(f"{what} must be a table of numbers, or a frame; {error}.") from None
        if table.ndim != 2:
            raise FeatureError(f"{what} must be a table of rows and features; got shape {table.shape}.")
        keys, values, starts = dense_keys(*table.shape), table.ravel(), np.arange(len(table) + 1) * table.shape[1]
    with np.errstate(over="ignore"):
        singles = values.astype(np.float32)
    if not np.isfinite(singles).all():
        place = int(np.searchsorted(starts, int((~np.isfinite(singles)).argmax()), side="right") - 1)
        raise FeatureError(
            f"{what} must be finite, and within {LARGEST:.2g} of zero; row {place} is not. Fill gaps, or pass a frame."
        )
    keys = keys + np.uint64(before) if before else keys
    return Hashed(keys, singles, starts.astype(np.int64))


@lru_cache(64)
def _keys_of_shape(n_rows: int, n_columns: int) -> NDArray[np.uint64]:
    return np.tile(np.arange(1, n_columns + 1, dtype=np.uint64), n_rows)


def dense_keys(n_rows: int, n_columns: int) -> NDArray[np.uint64]:
    """Return the keys of an array: the numbers of its columns, from 1 on."""
    if n_rows * n_columns <= 1 << 14:
        return _keys_of_shape(n_rows, n_columns)
    return _keys_of_shape.__wrapped__(n_rows, n_columns)


def _hash_frame(frame: Features) -> Hashed:
    names, n_rows = list(frame.columns), count_rows(frame)
    numeric = set(numeric_columns(frame))
    refuse_dates(frame, [name for name in names if name not in numeric])
    keys = np.empty((n_rows, len(names)), dtype=np.uint64)
    values = np.ones((n_rows, len(names)), dtype=np.float32)
    for place, name in enumerate(names):
        missing = key_of(f"{name}{MISSING}")
        if name in numeric:
            column = as_floats(frame[[name]]).ravel()
            if (huge := np.abs(column) > LARGEST).any():
                raise FeatureError(
                    f"features must be within {LARGEST:.2g} of zero; row {int(huge.argmax())} of {name!r} is not."
                )
            known = ~np.isnan(column)
            keys[:, place] = np.where(known, key_of(str(name)), missing)
            values[:, place] = np.where(known, column, 1.0)
        else:
            words = frame[name].to_numpy()
            kept = {word: missing if _is_missing(word) else key_of(f"{name}={word}") for word in set(words.tolist())}
            keys[:, place] = [kept[word] for word in words.tolist()]
    return Hashed(keys.ravel(), values.ravel(), np.arange(n_rows + 1, dtype=np.int64) * len(names))


def hash_ids(ids: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the key of each id."""
    labels, code = np.unique(ids, return_inverse=True)
    return np.array([id_key(label) for label in labels.tolist()], dtype=np.uint64)[code]


@lru_cache(1 << 16, typed=True)
def id_key(label: Any) -> int:
    """Return the key of one id, which no feature of a mapping has."""
    return key_of(f"{ID}\0{label}")


def hash_mapping(row: Mapping[str, Any], what: str) -> Hashed:
    """Hash one row of features by name."""
    keys: list[int] = []
    values: list[float] = []
    for name, value in row.items():
        _add(str(name), value, keys, values, what)
    starts = np.array([0, len(keys)], dtype=np.int64)
    return Hashed(np.array(keys, dtype=np.uint64), np.array(values, dtype=np.float32), starts)


def hash_mappings(rows: Sequence[Mapping[str, Any]], what: str) -> Hashed:
    """Hash rows of features by name, all but their ids."""
    keys: list[int] = []
    values: list[float] = []
    starts = [0]
    for row in rows:
        for name, value in row.items():
            if name != ID:
                _add(str(name), value, keys, values, what)
        starts.append(len(keys))
    return Hashed(np.array(keys, np.uint64), np.array(values, np.float32), np.array(starts, np.int64))


def hash_plain(rows: PlainRows) -> Hashed | None:
    """Hash rows of the same names at once; None if a value is neither a finite number nor a text."""
    names, flat = tuple(name for name in rows.names if name != ID), rows.rows_without(ID)
    if set(map(type, flat)) <= {float, int}:
        try:
            doubles = np.frombuffer(array("d", flat)) if flat else np.empty(0)
        except OverflowError:
            return None
        if not np.abs(doubles).max(initial=0.0) <= LARGEST:
            return None
        return Hashed(
            _keys_of_names(names, rows.n_rows), doubles.astype(np.float32), even_starts(rows.n_rows, len(names))
        )
    keys = np.empty((rows.n_rows, len(names)), dtype=np.uint64)
    values = np.ones((rows.n_rows, len(names)), dtype=np.float32)
    for place, name in enumerate(names):
        column = rows.column(name)
        kinds = set(map(type, column))
        if kinds == {str}:
            keys[:, place] = [_word_key(name, word) for word in column]
        elif kinds <= {float, int}:
            try:
                doubles = np.array(column, dtype=np.float64)
            except OverflowError:
                return None
            if not np.abs(doubles).max(initial=0.0) <= LARGEST:
                return None
            values[:, place] = doubles
            keys[:, place] = key_of(name)
        else:
            return None
    return Hashed(keys.ravel(), values.ravel(), even_starts(rows.n_rows, len(names)))


@lru_cache(256)
def _keys_of_names(names: tuple[str, ...], n_rows: int) -> NDArray[np.uint64]:
    return np.tile(np.array([key_of(name) for name in names], dtype=np.uint64), n_rows)


@lru_cache(256)
def even_starts(n_rows: int, n_columns: int) -> NDArray[np.int64]:
    """Return where each row begins if all have as many features."""
    return np.arange(n_rows + 1, dtype=np.int64) * n_columns


@lru_cache(1 << 16)
def _word_key(name: str, word: str) -> int:
    return key_of(f"{name}={word}")


def _add(name: str, value: Any, keys: list[int], values: list[float], what: str) -> None:
    if isinstance(value, str):
        keys.append(_word_key(name, value))
        values.append(1.0)
    elif isinstance(value, Mapping):
        for inner, each in value.items():
            _add(f"{name}.{inner}", each, keys, values, what)
    elif isinstance(value, list | tuple | np.ndarray):
        for place, each in enumerate(value):
            _add(name if isinstance(each, str) else f"{name}.{place}", each, keys, values, what)
    elif _is_missing(value):
        keys.append(key_of(f"{name}{MISSING}"))
        values.append(1.0)
    else:
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.inf
        if not abs(number) <= LARGEST:
            raise FeatureError(
                f"features of {what} must be finite numbers within {LARGEST:.2g} of zero, texts or lists of them; "
                f"{name!r} is {value!r:.60}."
            )
        keys.append(key_of(name))
        values.append(number)


def _is_missing(value: Any) -> bool:
    return value is None or value != value or type(value).__name__ in ("NAType", "NaTType")
