"""One raw row as numbers, value by value: what a service gets, a hundred times as fast as a table of one row.

Each column has a function that writes a value of the usual types; whatever else comes goes the way of tables, which
knows all types and all errors.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from datetime import date, datetime
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._validation import as_float
from offsettree.encoding.encoded_column import LARGEST, EncodedColumn
from offsettree.encoding.plain_rows import PlainRows
from offsettree.encoding.raw_columns import from_values
from offsettree.encoding.spellings import TRUTH, as_text, read_number

Row = NDArray[np.float32]
Write = Callable[[Any, Row], None]

NUMBERS = frozenset({float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_})
# The dates that `datetime` and NumPy read alike, with an offset that is not looked at, as in `read_stamp`.
STAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:([T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?)(?:\.\d{1,6})?(?: ?(?:Z|[+-]\d\d(?::?\d\d)?))?)?",
    re.ASCII,
).fullmatch


class RowEncoder:
    """Encodes a row given as a dictionary.

    Parameters
    ----------
    columns : list of EncodedColumn
        How each raw column is encoded.
    starts : list of int
        Where the numbers of each column begin, and where the last one's end.
    """

    def __init__(self, columns: Sequence[EncodedColumn], starts: Sequence[int]) -> None:
        self._plan = [
            (column.name, _writer(column, start, stop))
            for column, start, stop in zip(columns, starts[:-1], starts[1:], strict=True)
        ]
        self._zeros = np.zeros(starts[-1], dtype=np.float32)

    def __call__(self, row: dict[str, Any]) -> Row:
        """Return the numbers; a column that is not there is a KeyError."""
        out = self._zeros.copy()
        for name, write in self._plan:
            write(row[name], out)
        return out


class PlainRowsEncoder:
    """Encodes a short list of rows, all of which have the same names and plain values: numbers, words and None.

    Parameters
    ----------
    columns : list of EncodedColumn
        How each raw column is encoded.
    starts : list of int
        Where the numbers of each column begin, and where the last one's end.
    """

    def __init__(self, columns: Sequence[EncodedColumn], starts: Sequence[int]) -> None:
        placed = list(zip(columns, starts[:-1], starts[1:], strict=True))
        self._n_columns = starts[-1]
        self._numbers = [each for each in placed if each[0].kind == "number"]
        self._names = tuple(each[0].name for each in self._numbers)
        # Where all numbers are columns, they are written at once.
        self._places = _places_of([each[1] for each in self._numbers])
        self._has_constants = any(each[0].constant for each in self._numbers)
        self._words = [(*each, _place_finder(each[0], each[1])) for each in placed if each[0].kind == "nominal"]
        self._knows_all = len(self._numbers) + len(self._words) == len(placed)

    def __call__(self, rows: PlainRows) -> Row | None:
        """Return the numbers; None where a value is not plain or not there, which tables know how to treat."""
        if not self._knows_all:
            return None
        out = np.zeros((rows.n_rows, self._n_columns), dtype=np.float32)
        try:
            done = self._write_numbers(rows, out) and all(self._write_words(rows, out, *each) for each in self._words)
        except (KeyError, OverflowError):
            return None
        return out if done else None

    def _write_numbers(self, rows: PlainRows, out: Row) -> bool:
        flat = rows.columns(self._names)
        kinds = set(map(type, flat))
        if not kinds <= {float, int, NoneType}:
            return False
        # An array of doubles is filled in half the time that NumPy takes, but knows no gaps.
        numbers = array("d", flat) if NoneType not in kinds else flat
        table = np.array(numbers, dtype=np.float64).reshape(len(self._numbers), rows.n_rows)
        if not np.abs(table).max(initial=0.0) <= LARGEST:  # a gap, or too large
            if np.isinf(table).any() or np.nanmax(np.abs(table), initial=0.0) > LARGEST:
                return False
            missing = np.isnan(table)
            for (column, _, stop), values, gaps in zip(self._numbers, table, missing, strict=True):
                values[gaps] = min(max(column.fill, -LARGEST), LARGEST)
                if column.marks_missing:
                    out[:, stop - 1] = gaps
        if not self._has_constants:
            out[:, self._places] = table.T
            return True
        for (column, start, _), values in zip(self._numbers, table, strict=True):
            if not column.constant:
                out[:, start] = values
        return True

    def _write_words(
        self, rows: PlainRows, out: Row, column: EncodedColumn, start: int, stop: int, find: Callable[[str], int]
    ) -> bool:
        words = rows.column(column.name)
        if set(map(type, words)) != {str} or "" in words:
            return False
        for at, word in enumerate(words):
            place = find(word)
            if place >= 0:
                out[at, place] = 1.0
        return True


def _places_of(starts: list[int]) -> Any:
    """Return columns as a slice where they are neighbours, which is faster."""
    if starts and starts == list(range(starts[0], starts[0] + len(starts))):
        return slice(starts[0], starts[0] + len(starts))
    return starts


def _place_finder(column: EncodedColumn, start: int) -> Callable[[str], int]:
    """Return what finds the place of a word's column; -1 for a word that has none."""
    place_of = {level: start + place for place, level in enumerate(column.levels) if level}
    by_truth = {TRUTH.get(level.casefold()): place for level, place in place_of.items()} | {None: -1}

    def find(word: str) -> int:
        place = place_of.get(word)
        return by_truth.get(TRUTH.get(word.casefold()), -1) if place is None else place

    return find


def _writer(column: EncodedColumn, start: int, stop: int) -> Write:
    """Return the function that writes a value of the column into a row of zeros."""

    def write_by_table(value: Any, out: Row) -> None:
        column.encode(from_values(column.name, [value]), out[np.newaxis, start:stop], lambda _: "row 1")

    make = {"number": _number_writer, "nominal": _word_writer, "date": _date_writer}[column.kind]
    return make(column, start, stop, write_by_table)


def _missing_writer(column: EncodedColumn, filled: int | None, stop: int) -> Callable[[Row], None]:
    fill, flag = np.float32(min(max(column.fill, -LARGEST), LARGEST)), stop - 1 if column.marks_missing else None

    def write_missing(out: Row) -> None:
        if filled is not None:
            out[filled] = fill
        if flag is not None:
            out[flag] = 1.0

    return write_missing


def _number_writer(column: EncodedColumn, start: int, stop: int, write_by_table: Write) -> Write:
    place = None if column.constant else start
    write_missing = _missing_writer(column, place, stop)

    def write(value: Any, out: Row) -> None:
        kind = type(value)
        if kind in NUMBERS:
            number = as_float(value)
        elif value is None:
            return write_missing(out)
        elif kind is str:
            try:
                number = read_number(value)
            except ValueError:
                return write_by_table(value, out)
        else:
            return write_by_table(value, out)
        if -LARGEST <= number <= LARGEST:
            if place is not None:
                out[place] = number
            return None
        return write_missing(out) if number != number else write_by_table(value, out)

    return write


def _word_writer(column: EncodedColumn, start: int, stop: int, write_by_table: Write) -> Write:
    find = _place_finder(column, start)
    write_missing = _missing_writer(column, None, stop)

    def write(value: Any, out: Row) -> None:
        kind = type(value)
        if kind is str:
            word = value
        elif value is None or (kind in NUMBERS and value != value):
            return write_missing(out)
        elif kind in NUMBERS:
            word = as_text(value)
        else:
            return write_by_table(value, out)
        if not word:
            return write_missing(out)
        place = find(word)
        if place >= 0:
            out[place] = 1.0
        return None

    return write


def _date_writer(column: EncodedColumn, start: int, stop: int, write_by_table: Write) -> Write:
    first_day = start if column.levels else None
    hour = None if column.constant else start + len(column.levels)
    write_missing = _missing_writer(column, hour, stop)

    def write(value: Any, out: Row) -> None:
        if type(value) is str and (parts := STAMP(value)):
            try:
                value = datetime.fromisoformat(parts[1] + (parts[2] or ""))
            except ValueError:
                return write_by_table(value, out)
        if value is None:
            return write_missing(out)
        if not isinstance(value, date) or value != value:
            return write_by_table(value, out)
        if first_day is not None:
            out[first_day + value.weekday()] = 1.0
        if hour is not None and isinstance(value, datetime):
            out[hour] = (value.hour * 3600 + value.minute * 60 + value.second) / 3600
        return None

    return write
