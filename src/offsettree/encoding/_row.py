"""One raw row as numbers, value by value: what a service gets, a hundred times as fast as a table of one row.

Values of the usual types are written at once; whatever else comes goes the way of tables, which knows all types and all
errors.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from datetime import date, datetime
from types import NoneType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree.encoding.encoded_column import LARGEST, EncodedColumn
from offsettree.encoding.plain_rows import PlainRows
from offsettree.encoding.raw_columns import from_values
from offsettree.encoding.spellings import TRUTH, as_text, read_number

Row = NDArray[np.float32]

NUMBERS = frozenset({float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_})
# The dates that `datetime` and NumPy read alike, with an offset that is not looked at, as in `read_stamp`.
STAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:([T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?)(?:\.\d{1,6})?(?: ?(?:Z|[+-]\d\d(?::?\d\d)?))?)?",
    re.ASCII,
).fullmatch


class WordPlaces(dict[str, int]):
    """The column of each word of a nominal column; -1 for a word that has none.

    The same truth value is True in one table, "true" in another and 1 where there are gaps.
    """

    def __init__(self, column: EncodedColumn, start: int) -> None:
        super().__init__((level, start + place) for place, level in enumerate(column.levels) if level)
        self._by_truth = {TRUTH.get(level.casefold()): place for level, place in self.items()} | {None: -1}

    def __missing__(self, word: str) -> int:
        return self._by_truth.get(TRUTH.get(word.casefold()), -1)


class Planned(NamedTuple):
    """A column with its place in the row, and what stands there for a missing value."""

    column: EncodedColumn
    start: int
    stop: int
    place: int | None  # of the number, or of the hour of a date, if it has a column
    fill: np.float32
    flag: int | None  # of the column that says so, if there is one


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
        self._plan: list[tuple[str, str, int | None, WordPlaces, Planned]] = []
        for column, start, stop in zip(columns, starts[:-1], starts[1:], strict=True):
            place = None if column.constant or column.kind == "nominal" else start + len(column.levels)
            fill = np.float32(min(max(column.fill, -LARGEST), LARGEST))
            planned = Planned(column, start, stop, place, fill, stop - 1 if column.marks_missing else None)
            self._plan.append((column.name, column.kind, place, WordPlaces(column, start), planned))
        self._zeros = np.zeros(starts[-1], dtype=np.float32)

    def __call__(self, row: dict[str, Any]) -> Row:
        """Return the numbers; a column that is not there is a KeyError."""
        out = self._zeros.copy()
        for name, column_kind, place, places, planned in self._plan:
            value = row[name]
            kind = type(value)
            if column_kind == "number":
                try:
                    number = float(value) if kind in NUMBERS else read_number(value) if kind is str else np.inf
                except (ValueError, OverflowError):
                    number = np.inf
                if -LARGEST <= number <= LARGEST:
                    if place is not None:
                        out[place] = number
                    continue
                is_missing = value is None or number != number
            elif column_kind == "nominal":
                word = value if kind is str else as_text(value) if kind in NUMBERS and value == value else ""
                if word:
                    at = places[word]
                    if at >= 0:
                        out[at] = 1.0
                    continue
                is_missing = value is None or kind is str or kind in NUMBERS
            elif _write_date(value, out, planned):
                continue
            else:
                is_missing = value is None
            if not is_missing:
                part = out[np.newaxis, planned.start : planned.stop]
                planned.column.encode(from_values(name, [value]), part, lambda _: "row 1")
                continue
            if place is not None:
                out[place] = planned.fill
            if planned.flag is not None:
                out[planned.flag] = 1.0
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
        self._words = [(*each, WordPlaces(each[0], each[1])) for each in placed if each[0].kind == "nominal"]
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
        self, rows: PlainRows, out: Row, column: EncodedColumn, start: int, stop: int, places: WordPlaces
    ) -> bool:
        words = rows.column(column.name)
        if set(map(type, words)) != {str} or "" in words:
            return False
        for at, word in enumerate(words):
            place = places[word]
            if place >= 0:
                out[at, place] = 1.0
        return True


def _places_of(starts: list[int]) -> Any:
    """Return columns as a slice where they are neighbours, which is faster."""
    if starts and starts == list(range(starts[0], starts[0] + len(starts))):
        return slice(starts[0], starts[0] + len(starts))
    return starts


def _write_date(value: Any, out: Row, planned: Planned) -> bool:
    """Write the day of the week and the hour; return false for what tables have to look at."""
    if type(value) is str and (parts := STAMP(value)):
        try:
            value = datetime.fromisoformat(parts[1] + (parts[2] or ""))
        except ValueError:
            return False
    if not isinstance(value, date) or value != value:
        return False
    if planned.column.levels:
        out[planned.start + value.weekday()] = 1.0
    if planned.place is not None and isinstance(value, datetime):
        out[planned.place] = (value.hour * 3600 + value.minute * 60 + value.second) / 3600
    return True
