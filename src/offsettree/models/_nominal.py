"""Frames with nominal columns, as the numbers that a saved policy takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree._features import as_floats
from offsettree.exceptions import FeatureError, PolicyFileError
from offsettree.models.part import Part

# What a column of the model takes from a column of the frame: its number, the position of its value among the levels
# (NaN if it is none of them), 1 where it is missing; or, from 0 on, 1 where the value is the level of that position.
NUMBER, CODE, MISSING = -1, -2, -3
PLAIN = (str, bool, int, float)


@dataclass(frozen=True)
class NominalColumns:
    """How a frame with nominal columns becomes the columns of numbers that a model sees.

    Parameters
    ----------
    names : tuple of str
        The columns of the frame.
    levels : dict of int to tuple
        The known values of every nominal column, by its position.
    shown : tuple of (int, int)
        For every column of the model: a column of the frame, and what is taken of it, `NUMBER`, `CODE`, `MISSING` or
        the position of a level, whose indicator it is.
    """

    names: tuple[str, ...]
    levels: dict[int, tuple[Any, ...]]
    shown: tuple[tuple[int, int], ...]

    @property
    def n_columns(self) -> int:
        """How many columns the model sees."""
        return len(self.shown)

    @cached_property
    def _positions(self) -> dict[int, dict[Any, int]]:
        return {
            column: {level_key(value): place for place, value in enumerate(values)}
            for column, values in self.levels.items()
        }

    def describe(self) -> dict[str, Any]:
        """Return what the manifest says of them."""
        return {
            "levels": {str(column): list(values) for column, values in self.levels.items()},
            "shown": [list(pair) for pair in self.shown],
        }

    @classmethod
    def read(cls, part: Part, names: list[str]) -> Self:
        """Read and check what was written."""
        given, shown = part.said.get("levels"), part.said.get("shown")
        if not isinstance(given, dict) or not isinstance(shown, list) or not shown:
            raise PolicyFileError(f"{part.where} must have levels and what is shown of them.")
        levels: dict[int, tuple[Any, ...]] = {}
        places = set(map(str, range(len(names))))
        for column, values in given.items():
            # As it was written: of many digits, or of those of other scripts, Python would make a number or an error.
            known = column in places and isinstance(values, list)
            if not known or any(type(value) not in PLAIN for value in values):
                raise PolicyFileError(
                    f"{part.where}.levels must be lists of plain values by column; {column!r} is not."
                )
            levels[int(column)] = tuple(values)
        for pair in shown:
            if not (isinstance(pair, list) and len(pair) == 2 and all(type(n) is int for n in pair)):
                raise PolicyFileError(f"{part.where}.shown must be pairs of whole numbers; got {pair!r:.80}.")
            column, what = pair
            n_levels = len(levels.get(column, ()))
            if not 0 <= column < len(names) or not (
                MISSING <= what < n_levels and (what == NUMBER) == (column not in levels)
            ):
                raise PolicyFileError(f"{part.where}.shown must name columns and their levels; got {pair!r:.80}.")
        return cls(tuple(names), levels, tuple((column, what) for column, what in shown))

    def encode(self, frame: Any) -> NDArray[np.float64]:
        """Return a frame, whose columns have been checked by name, as numbers."""
        raw: dict[int, NDArray[np.float64]] = {}
        for place, name in enumerate(frame.columns):
            if place not in self.levels:
                raw[place] = as_floats(frame[[name]]).ravel()
                bad = np.isinf(raw[place])
                if bad.any():
                    raise FeatureError(
                        f"X must not hold infinity; row {int(bad.argmax())}, column {name!r} does "
                        f"({int(bad.sum()):,} in all). Replace infinity by a large number or mark it as missing."
                    )
            else:
                raw[place] = self._codes(place, frame[name])
        out = np.empty((frame.shape[0], len(self.shown)))
        for at, (column, what) in enumerate(self.shown):
            values = raw[column]
            if what == NUMBER:
                out[:, at] = values
            elif what == CODE:
                out[:, at] = np.where(values >= 0, values, np.nan)
            else:
                out[:, at] = np.isnan(values) if what == MISSING else values == what
        return out

    def one_row(self, x: Any) -> Any:
        """Return a context given by name as a frame of one row, as far as `encode` needs it to be one."""
        if hasattr(x, "to_dict") and hasattr(x, "index"):  # a row of a pandas frame
            x = x.to_dict()
        if not isinstance(x, Mapping):
            raise FeatureError(
                "the policy was fitted on a frame with nominal columns; pass such a frame, or a mapping of names to "
                f"values. Got a {type(x).__name__}."
            )
        if missing := [name for name in self.names if name not in x]:
            raise FeatureError(f"a context given by name must have every feature; {', '.join(missing)} missing.")
        return OneRowFrame({name: x[name] for name in self.names}, {self.names[column] for column in self.levels})

    def quick_row(self) -> Callable[[Any], NDArray[np.float64] | None]:
        """Return the function from a dictionary of floats, whole numbers and known words to numbers, as fast as can be.

        It answers None where there is anything else: `encode` knows all values and all errors.
        """
        places: list[dict[int, int]] = [{} for _ in self.names]
        for at, (column, what) in enumerate(self.shown):
            places[column][what] = at
        if sum(map(len, places)) < len(self.shown):  # the same twice
            return lambda row: None
        numbers = [(name, places[at].get(NUMBER)) for at, name in enumerate(self.names) if at not in self.levels]
        words = [
            (
                self.names[column],
                {word: (place, places[column].get(place)) for word, place in known.items() if type(word) is str},
                places[column].get(CODE),
            )
            for column, known in self._positions.items()
        ]
        zeros = np.zeros(len(self.shown))

        def numbers_of(row: Any) -> NDArray[np.float64] | None:
            if type(row) is not dict:
                return None
            out = zeros.copy()
            try:
                for name, at in numbers:
                    value = row[name]
                    if type(value) is not float and type(value) is not int:
                        return None
                    if at is not None:
                        out[at] = value
                for name, known, at in words:
                    place, hot = known[row[name]]
                    if at is not None:
                        out[at] = place
                    if hot is not None:
                        out[hot] = 1.0
            except (KeyError, TypeError, OverflowError):  # not there, not known, no word, too large
                return None
            return out

        return numbers_of

    def _codes(self, column: int, values: Any) -> NDArray[np.float64]:
        """Return the place of each value among the levels: NaN where it is missing, -1 where it is not known."""
        place_of = self._positions[column]
        listed = values.to_list() if hasattr(values, "to_list") else list(values)
        return np.array(
            [np.nan if is_missing(value) else place_of.get(level_key(value), -1) for value in listed], dtype=float
        )


class OneRowFrame:
    """The little of a frame that it takes to encode one row."""

    def __init__(self, values: dict[str, Any], nominal: set[str]) -> None:
        self.columns = list(values)
        self.dtypes = [np.dtype(object) if name in nominal else np.dtype(np.float64) for name in values]
        self.shape = (1, len(values))
        self._values = values

    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, list):
            return OneRowFrame({each: self._values[each] for each in name}, set())
        return [self._values[name]]

    def to_numpy(self) -> NDArray[np.float64]:
        """Return the numbers; None is a missing one."""
        values = list(self._values.values())
        if any(isinstance(value, complex) for value in values):  # numpy's would lose a part
            raise TypeError("it is complex")
        return np.array([[np.nan if value is None else float(value) for value in values]])


def level_key(value: Any) -> Any:
    """Return what tells a value from others: numpy's numbers are Python's, and what is no plain value is its text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, PLAIN) else str(value)


def is_missing(value: Any) -> bool:
    """Tell None, NaN and pandas' NA from values."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas' NA will not be compared
        return True
