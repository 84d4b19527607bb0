"""How one raw column becomes columns of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from offsettree.encoding.raw_columns import Column, Dates, Numbers, Texts
from offsettree.encoding.spellings import TRUTH, as_text, read_number, read_stamp
from offsettree.exceptions import FeatureError

__all__ = ["DAYS", "LARGEST", "EncodedColumn", "entry", "read_encoded_column"]

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
LARGEST = float(np.finfo(np.float32).max)

Kind = Literal["number", "nominal", "date"]


@dataclass(frozen=True)
class EncodedColumn:
    """How one raw column is encoded.

    Attributes
    ----------
    name : str
        Of the raw column.
    kind : {"number", "nominal", "date"}
        A number becomes one column; a nominal column one of zeros and ones per level; a date one per day of the week,
        and its hour.
    levels : list of str
        The words of a nominal column that have a column of their own; all others have zeros.
    fill : float
        What stands for a missing number or hour: the mean.
    marks_missing : bool
        Whether one more column says that the value is missing.
    constant : bool
        Whether the number never varied where it was known, and has no column of its own.
    share_missing : float
        The share of rows without a value, in training.
    infinite : bool
        Whether some numbers were infinite in training; if not, one that is is refused.
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()
    fill: float = 0.0
    marks_missing: bool = False
    constant: bool = False
    share_missing: float = 0.0
    infinite: bool = False

    @property
    def names_out(self) -> list[str]:
        """The names of the columns that it becomes."""
        if self.kind == "nominal":
            names = [f"{self.name}={level}" for level in self.levels]
        elif self.kind == "date":
            names = [f"{self.name}: {day}" for day in self.levels] + ([] if self.constant else [f"{self.name}: hour"])
        else:
            names = [] if self.constant else [self.name]
        return [*names, f"{self.name} is missing"] if self.marks_missing else names

    def encode(self, column: Column, out: NDArray[np.float32], at: Callable[[int], str]) -> None:
        """Write the values into columns of zeros; `at` says where a row is, for errors."""
        if self.kind == "nominal":
            self._encode_words(column, out)
        elif self.kind == "date":
            self._encode_dates(self._as_dates(column, at), out)
        else:
            values = self.as_numbers(column, at)
            missing = np.isnan(values)
            if not self.constant:
                # Beyond what a float32 holds there is nothing to tell apart.
                out[:, 0] = np.clip(np.where(missing, self.fill, values), -LARGEST, LARGEST)
            if self.marks_missing:
                out[:, -1] = missing

    def _encode_words(self, column: Column, out: NDArray[np.float32]) -> None:
        if isinstance(column, Texts):
            texts = column
        else:
            missing = np.isnat(column.values) if isinstance(column, Dates) else np.isnan(column.values)
            found, codes = np.unique(column.values, return_inverse=True)
            texts = Texts(np.where(missing, -1, codes), [as_text(value) for value in found.tolist()])
        where = {level: place for place, level in enumerate(self.levels)}
        # The same truth value is True in one table, "true" in another and 1 where there are gaps.
        by_truth = {TRUTH[level.casefold()]: place for level, place in where.items() if level.casefold() in TRUTH}
        near = [by_truth.get(TRUTH.get(word.casefold(), -1.0), -1) for word in texts.words]
        table = np.array([*map(where.get, texts.words, near), -1], dtype=np.intp)
        place = table[texts.codes]
        rows = np.flatnonzero(place >= 0)
        out[rows, place[rows]] = 1.0
        if self.marks_missing:
            out[:, -1] = texts.codes < 0

    def _encode_dates(self, stamps: NDArray[np.datetime64], out: NDArray[np.float32]) -> None:
        missing = np.isnat(stamps)
        known = np.where(missing, np.datetime64(0, "us"), stamps)
        days = known.astype("datetime64[D]")
        if self.levels:
            day = (days.astype(np.int64) + 3) % 7  # the day 0 was a Thursday
            rows = np.flatnonzero(~missing)
            out[rows, day[rows]] = 1.0
        if not self.constant:
            hour = (known - days).astype("timedelta64[s]").astype(np.float64) / 3600
            out[:, len(self.levels)] = np.where(missing, self.fill, hour)
        if self.marks_missing:
            out[:, -1] = missing

    def as_numbers(self, column: Column, at: Callable[[int], str]) -> NDArray[np.float64]:
        """Return a raw column as numbers, NaN where missing; refuse what is none."""
        if isinstance(column, Dates):
            known = ~np.isnat(column.values)
            if known.any():
                raise FeatureError(
                    f"column {self.name!r} must hold numbers, as in training; got dates, the first in "
                    f"{at(int(known.argmax()))}."
                )
            return np.full(len(column.values), np.nan)
        if isinstance(column, Numbers):
            values = column.values
        else:
            table, bad = _read_words(column, read_number, np.nan)
            if bad is not None:
                raise FeatureError(
                    f"column {self.name!r} must hold numbers, as in training; got {column.words[column.codes[bad]]!r} "
                    f"in {at(bad)}. Leave missing values empty."
                )
            values = np.asarray(table, dtype=np.float64)[column.codes]
        if not self.infinite and (odd := np.isinf(values)).any():
            row = int(odd.argmax())
            raise FeatureError(
                f"column {self.name!r} must hold finite numbers, as in training; got {values[row]} in {at(row)} "
                f"({int(odd.sum()):,} in all). Leave missing values empty."
            )
        return values

    def _as_dates(self, column: Column, at: Callable[[int], str]) -> NDArray[np.datetime64]:
        nothing = np.datetime64("NaT", "us")
        if isinstance(column, Dates):
            return column.values
        if isinstance(column, Texts):
            table, bad = _read_words(column, read_stamp, nothing)
            if bad is not None:
                raise FeatureError(
                    f"column {self.name!r} must hold dates, as in training, written as 2024-01-31 or "
                    f"2024-01-31T12:00:00; got {column.words[column.codes[bad]]!r} in {at(bad)}."
                )
            return np.asarray(table, dtype="datetime64[us]")[column.codes]
        known = ~np.isnan(column.values)
        if known.any():
            raise FeatureError(
                f"column {self.name!r} must hold dates, as in training; got numbers, the first in "
                f"{at(int(known.argmax()))}."
            )
        return np.full(len(column.values), nothing)


def _read_words(column: Texts, read: Callable[[str], Any], nothing: Any) -> tuple[list[Any], int | None]:
    """Read each word, `nothing` last, and find the first row whose word cannot be read; words of no row are let be."""
    table, unread = [], []
    for place, word in enumerate(column.words):
        try:
            table.append(read(word))
        except ValueError:
            table.append(nothing)
            unread.append(place)
    bad = np.isin(column.codes, unread) if unread else np.zeros(0, dtype=bool)
    return [*table, nothing], int(bad.argmax()) if bad.any() else None


def read_encoded_column(manifest: Any) -> EncodedColumn:
    """Make a column of what JSON brought, or refuse it."""
    kind = entry(manifest, "kind", str)
    levels = entry(manifest, "levels", list)
    fill = entry(manifest, "fill", (int, float))
    if kind not in ("number", "nominal", "date"):
        raise FeatureError(f"a column's kind must be 'number', 'nominal' or 'date'; got {kind!r:.40}.")
    if not all(isinstance(level, str) for level in levels) or len(set(levels)) < len(levels):
        raise FeatureError("the levels of a column must be texts that differ.")
    if (kind == "number" and levels) or (kind == "date" and tuple(levels) not in ((), DAYS)):
        raise FeatureError(f"a column of kind {kind!r} cannot have the levels {levels!r:.60}.")
    if not np.isfinite(fill):
        raise FeatureError(f"the fill of a column must be finite; got {fill}.")
    share = entry(manifest, "share_missing", (int, float))
    if not 0 <= share <= 1:
        raise FeatureError(f"the share of missing values must be between 0 and 1; got {share}.")
    flags = {name: entry(manifest, name, bool) for name in ("marks_missing", "constant")}
    flags["infinite"] = "infinite" in manifest and entry(manifest, "infinite", bool)
    return EncodedColumn(
        entry(manifest, "name", str), kind, tuple(levels), float(fill), share_missing=float(share), **flags
    )


def entry(manifest: Any, name: str, kind: Any) -> Any:
    """Return an entry that must be there and of one kind."""
    value = manifest.get(name) if isinstance(manifest, Mapping) else None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise FeatureError(f"the encoding must have {name!r} of the right type; got {value!r:.40}.")
    return value
