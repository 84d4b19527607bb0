"""Raw rows, of numbers, words and dates with gaps, as one table of float32 that every policy can learn from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.encoding._column_summaries import Summary
from offsettree.encoding._row import PlainRowsEncoder, RowEncoder
from offsettree.encoding.encoded_column import DAYS, EncodedColumn, entry, read_encoded_column
from offsettree.encoding.plain_rows import PlainRows, picked_rows, plain_rows
from offsettree.encoding.raw_columns import RawTable, column_names, count_raw_rows, read_column
from offsettree.encoding.spellings import as_text
from offsettree.encoding.table_summary import TableSummary
from offsettree.exceptions import FeatureError, ParameterError

__all__ = ["EncodedColumn", "TableEncoder"]

MOST_LEVELS = 64
MOST_PLAIN = 1000  # rows; more are a table
CACHED = ("_row_encoder", "_plain_rows_encoder")
FEWEST_ROWS_OF_LEVEL = 5
MOST_CHARACTERS = 1 << 26
MOST_NAMED = 5  # of columns that are left out for one reason
# Why a column is left out, and why several are.
EMPTY, CONSTANT = "it is empty", "it is the same in every row"
IDENTIFIER, SAME_DATE = (
    "its values tell rows or customers apart, as an identifier does",
    "a date that is the same in every row",
)
OF_SEVERAL = {
    EMPTY: "they are empty",
    CONSTANT: "each is the same in every row",
    IDENTIFIER: "their values tell rows or customers apart, as identifiers do",
    SAME_DATE: "dates that are the same in every row",
}


class TableEncoder:
    """Turns raw rows into numbers, always the same way: a part of a policy that takes rows as they come.

    Learned by `learn`. A missing number is replaced by the mean, and one more column says so where numbers were missing
    in training; a nominal column has a column of zeros and ones per level that is frequent enough, 64 at most; of a
    date the day of the week and the hour are kept, as all dates to come lie outside of those seen. Columns that are the
    same in every row, those that number rows or customers, and those that hold lists or the like are left out.

    Parameters
    ----------
    columns : list of EncodedColumn
        How each raw column is encoded; others are left out.
    notes : list of str, default=()
        What was noticed in the columns when they were learned.
    left_out : dict, default={}
        Why each column is left out that is, by name.

    Attributes
    ----------
    names_in : list of str
        The raw columns that rows must have.
    names_out : list of str
        The columns of the result.
    origin : ndarray of shape (len(names_out),)
        From which of `names_in` each column of the result comes.
    notes : list of str
        What was noticed, and left out, in plain words; of many columns the first few are named.
    left_out : dict
        Why each column was left out, by name. A loaded encoder does not know.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20, None, 40] * 5, "plan": ["basic", "pro", "pro"] * 5, "version": 1})
    >>> encoder = TableEncoder.learn([frame])
    >>> encoder.names_out
    ['age', 'age is missing', 'plan=basic', 'plan=pro']
    >>> encoder.encode({"age": 33, "plan": "basic"})
    array([[33.,  0.,  1.,  0.]], dtype=float32)
    >>> encoder.notes
    ["column 'version' is left out: it is the same in every row."]
    >>> encoder.left_out
    {'version': 'it is the same in every row'}
    """

    def __init__(
        self, columns: Sequence[EncodedColumn], notes: Sequence[str] = (), left_out: Mapping[str, str] | None = None
    ) -> None:
        self.columns = list(columns)
        self.notes = list(notes)
        self.left_out = dict(left_out or {})
        self.names_in = [column.name for column in self.columns]
        widths = [len(column.names_out) for column in self.columns]
        self.names_out = [name for column in self.columns for name in column.names_out]
        self.origin = np.repeat(np.arange(len(widths)), widths)
        self._starts = np.concatenate([[0], np.cumsum(widths)]).astype(int).tolist()
        if len(set(self.names_in)) < len(self.names_in):
            raise FeatureError(f"columns must have different names; got {', '.join(self.names_in)}.")

    @classmethod
    def learn(cls, tables: Iterable[RawTable], *, leave_out: Sequence[str] = (), max_levels: int = MOST_LEVELS) -> Self:
        """Learn the encoding from the tables of a log, in one pass and bounded memory.

        Parameters
        ----------
        tables : iterable of pyarrow tables, pandas or polars frames, or lists of mappings
            The features.
        leave_out : list of str, default=()
            Columns that are no features.
        max_levels : int, default=64
            How many values of a nominal column get a column of their own: the most frequent.
        """
        summary = TableSummary(leave_out=leave_out)
        for table in tables:
            summary.add(table)
        return cls.of_summary(summary, max_levels=max_levels)

    @classmethod
    def of_summary(cls, summary: TableSummary, *, max_levels: int = MOST_LEVELS) -> Self:
        """Settle the encoding of tables that have been counted, perhaps in parts, which were merged in their order.

        Parameters
        ----------
        summary : TableSummary
            The counts of all tables.
        max_levels : int, default=64
            As `learn` takes it.
        """
        if max_levels < 1:
            raise ParameterError(f"max_levels must be at least 1; got {max_levels}.")
        of_no_use = summary.of_no_use
        columns, notes = [], []
        left_out: dict[str, list[str]] = {}
        for each in summary.columns.values():
            if each.name in of_no_use:
                notes.append(f"column {each.name!r} is left out: {of_no_use[each.name]}")
                continue
            column, note = _settle(each, max_levels)
            share = each.n_missing / max(1, each.n_rows)
            if column is not None:
                columns.append(replace(column, share_missing=share))
                notes += [note] if note else []
            elif note is not None:
                left_out.setdefault(note, []).append(each.name)
        notes += [_left_out(reason, names) for reason, names in left_out.items()]
        if not columns:
            raise FeatureError(
                "no column is left to learn from: " + (" ".join(notes) or "there is none but those of the log itself.")
            )
        alone = {name: reason.removesuffix(".") for name, reason in of_no_use.items()}
        return cls(columns, notes, alone | {name: reason for reason, names in left_out.items() for name in names})

    def encode(self, table: RawTable, *, where: object = None, first_row: int = 1) -> NDArray[np.float32]:
        """Return the rows as numbers; columns that are not known are left out, one that is missing is an error.

        Parameters
        ----------
        table : pyarrow table, pandas or polars frame, mapping of names to values, or list of mappings
            The rows.
        where : object, optional
            What an error names as the place of the rows, such as a file.
        first_row : int, default=1
            What an error counts the rows from.

        Returns
        -------
        ndarray of shape (n_rows, len(names_out))
        """

        def at(row: int) -> str:
            return f"row {first_row + row:,}" + (f" of {where}" if where is not None else "")

        if isinstance(table, Mapping) and where is None and first_row == 1:
            return self.encode_row(table)[np.newaxis]
        if type(table) is list and len(table) <= MOST_PLAIN and where is None and first_row == 1:
            found = self.encode_plain(plain_rows(table) or picked_rows(table, tuple(self.names_in)))
            if found is not None:
                return found
        n_rows = count_raw_rows(table)
        out = np.zeros((n_rows, len(self.names_out)), dtype=np.float32)
        for column, start, stop in zip(self.columns, self._starts[:-1], self._starts[1:], strict=True):
            values = read_column(table, column.name)
            if values is None:
                there = column_names(table)
                raise FeatureError(
                    f"rows must have the column {column.name!r}, which the policy was trained on; they have "
                    f"{', '.join(there[:20]) or 'none'}{', ...' * (len(there) > 20)}."
                )
            column.encode(values, out[:, start:stop], at)
        return out

    def encode_plain(self, rows: PlainRows | None) -> NDArray[np.float32] | None:
        """Return rows that were read at once as `encode` does; None where that is left to `encode`.

        Parameters
        ----------
        rows : PlainRows or None
            What `plain_rows` has read.
        """
        return None if rows is None else self._plain_rows_encoder(rows)

    def encode_row(self, row: Mapping[str, Any]) -> NDArray[np.float32]:
        """Return one row, a mapping of names to values, as `encode` does a table of that row, in microseconds.

        Parameters
        ----------
        row : mapping of names to values
            The row; columns that are not known are left out, one that is missing is an error.

        Returns
        -------
        ndarray of shape (len(names_out),)
        """
        if type(row) is not dict:
            row = {name: row[name] for name in self.names_in if name in row}
        try:
            return self._row_encoder(row)
        except KeyError:
            return self.encode([row]).ravel()  # for the error

    @cached_property
    def _row_encoder(self) -> RowEncoder:
        return RowEncoder(self.columns, self._starts)

    @cached_property
    def _plain_rows_encoder(self) -> PlainRowsEncoder:
        return PlainRowsEncoder(self.columns, self._starts)

    def to_manifest(self) -> dict[str, Any]:
        """Return the encoding as what JSON can hold."""
        return {
            "columns": [asdict(column) | {"levels": list(column.levels)} for column in self.columns],
            "notes": self.notes,
        }

    @classmethod
    def from_manifest(cls, manifest: Any) -> Self:
        """Make an encoder of what `to_manifest` gave; whatever else is refused."""
        columns = entry(manifest, "columns", list)
        notes = entry(manifest, "notes", list)
        if not all(isinstance(note, str) for note in notes):
            raise FeatureError("the notes of an encoding must be texts.")
        read = [read_encoded_column(each) for each in columns]
        # The name of a column is in the names of all that it becomes: a small manifest must not become a large encoder.
        n_characters = sum(
            (len(column.name) + len(": hour is missing")) * (len(column.levels) + 2) + sum(map(len, column.levels))
            for column in read
        )
        if n_characters > MOST_CHARACTERS:
            raise FeatureError(
                f"the names of all columns that an encoding makes must have at most {MOST_CHARACTERS:,} characters; "
                f"they have {n_characters:,}. Name columns, and the levels within, shorter."
            )
        return cls(read, notes)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in CACHED}

    def __repr__(self) -> str:
        return f"<TableEncoder: {len(self.names_in)} columns as {len(self.names_out)} numbers>"


def _left_out(reason: str, names: list[str]) -> str:
    """Say which columns are left out and why, all of one reason at once."""
    if len(names) == 1:
        return f"column {names[0]!r} is left out: {reason}."
    shown = ", ".join(map(repr, names[:MOST_NAMED])) + ", ..." * (len(names) > MOST_NAMED)
    return f"{len(names):,} columns are left out: {OF_SEVERAL[reason]} ({shown})."


def _settle(summary: Summary, max_levels: int) -> tuple[EncodedColumn | None, str | None]:
    """Return how a column is encoded, and what is to be said of it; or None, and why it is left out."""
    name, n_known = summary.name, summary.n_rows - summary.n_missing
    missing = summary.n_missing > 0
    if summary.is_constant:
        return None, EMPTY if n_known == 0 else CONSTANT
    if summary.is_id:
        return None, IDENTIFIER
    if summary.n_dates == n_known:
        return _settle_date(summary)
    if summary.n_numbers == n_known:
        column = EncodedColumn(
            name,
            "number",
            fill=summary.mean,
            marks_missing=missing,
            constant=len(summary.numbers) == 1,
            infinite=summary.n_finite < summary.n_numbers,
        )
        return column, None
    words = Counter(summary.words)
    for number, count in summary.numbers.items():  # of a column that has both, numbers are words too
        words[as_text(number)] += count
    fewest = FEWEST_ROWS_OF_LEVEL if summary.n_rows >= 20 * FEWEST_ROWS_OF_LEVEL else 1
    frequent = [word for word, count in words.most_common(max_levels) if count >= fewest]
    note = None
    n_others = len(words) + summary.words_forgotten - len(frequent)
    if n_others:
        note = (
            f"column {name!r} has {len(words) + summary.words_forgotten:,} different values; the {n_others:,} rarest "
            "are taken as one."
        )
    return EncodedColumn(name, "nominal", tuple(sorted(frequent)), marks_missing=missing), note


def _settle_date(summary: Summary) -> tuple[EncodedColumn | None, str | None]:
    name = summary.name
    several_days = bool(summary.first_day != summary.last_day)
    if not several_days and not summary.has_hours:
        return None, SAME_DATE
    parts = ["the day of the week"] * several_days + ["the hour"] * summary.has_hours
    note = f"column {name!r} holds dates: {' and '.join(parts)} {'are' if len(parts) == 2 else 'is'} used."
    column = EncodedColumn(
        name,
        "date",
        levels=DAYS if several_days else (),
        fill=12.0,
        marks_missing=summary.n_missing > 0,
        constant=not summary.has_hours,
    )
    return column, note
