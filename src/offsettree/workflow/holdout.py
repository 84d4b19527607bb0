"""Splits a log into training and held-out rows: at random, by time, or by groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._features import is_frame
from offsettree._messages import Parameter
from offsettree.encoding.raw_columns import Dates, Numbers, read_column
from offsettree.encoding.spellings import read_stamp
from offsettree.exceptions import LogError, ParameterError
from offsettree.logs import LoggedData

__all__ = ["HoldOut", "group_codes", "hold_out", "split_rows", "time_ranks"]

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class HoldOut:
    """The training rows and the held-out rows of a log."""

    features: Any  # the log's X, without the group column
    train: Rows
    test: Rows
    notes: list[str] = field(default_factory=list)  # how rows were held out, and whether a column was dropped for it
    group: Rows | None = None  # the number of each row's group
    time: Rows | None = None  # the rank of each row's time


def hold_out(log: LoggedData, test_size: float, split_by_time: Any, group: Any, random_state: int | None) -> HoldOut:
    """Split a log at random, by time or by group; both are given as a column name of X or as one value per row."""
    n_rows, features = len(log), log.X
    if split_by_time is not None and group is not None:
        raise ParameterError(
            "give either split_by_time or group, not both: a customer with early and late rows would have to be on "
            "both sides."
        )
    if split_by_time is not None:
        values, name = _values_of(log, split_by_time, "split_by_time")
        ranks = time_ranks(values, n_rows, name)
        train, test = split_rows(n_rows, test_size, time=ranks)
        return HoldOut(features, train, test, [f"Held out: the {len(test):,} latest rows, by {name}."], time=ranks)
    if group is None:
        return HoldOut(features, *split_rows(n_rows, test_size, random_state))
    values, name = _values_of(log, group, "group")
    codes = group_codes(values, n_rows, name)
    train, test = split_rows(n_rows, test_size, random_state, group=codes)
    n_groups, n_test = len(np.unique(codes)), len(np.unique(codes[test]))
    notes = [f"Held out: all rows of {n_test:,} of the {n_groups:,} groups, by {name}."]
    if isinstance(group, str):
        features = features[[each for each in features.columns if str(each) != group]]
        notes.append(f"column {group!r} is left out of the features: it identifies the groups.")
    return HoldOut(features, train, test, notes, group=codes)


def split_rows(
    n_rows: int,
    test_size: float,
    random_state: int | None = None,
    *,
    time: NDArray[np.intp] | None = None,
    group: NDArray[np.intp] | None = None,
) -> tuple[Rows, Rows]:
    """Return the training rows and the held-out rows, both in the order of the log.

    With ranks by `time_ranks` the latest rows are held out; with codes by `group_codes` groups are drawn. Rows of the
    same time or group stay together, so the actual share is the one nearest to `test_size` that is possible.

    Examples
    --------
    >>> train, test = split_rows(6, 0.3, time=np.array([0, 1, 2, 3, 3, 3]))
    >>> train.tolist(), test.tolist()
    ([0, 1, 2], [3, 4, 5])
    """
    n_test = round(n_rows * test_size)
    if n_test < 1 or n_test >= n_rows:
        given = Parameter("test_size", test_size)
        raise LogError(f"the log of {n_rows} rows cannot be split with ", given, ": a part would be empty.")
    if time is not None:
        # Cut between two distinct times, so that rows of the same time stay together.
        older = np.cumsum(np.bincount(time))[:-1]
        cut = int(np.abs(older - (n_rows - n_test)).argmin())
        held_out = time > cut
    elif group is not None:
        drawn = np.random.default_rng(random_state).permutation(int(group.max()) + 1)
        sizes = np.cumsum(np.bincount(group)[drawn])[:-1]
        held_out = np.isin(group, drawn[: int(np.abs(sizes - n_test).argmin()) + 1])
    else:
        held_out = np.zeros(n_rows, dtype=bool)
        held_out[np.random.default_rng(random_state).permutation(n_rows)[:n_test]] = True
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def time_ranks(values: Any, n_rows: int, name: str = "split_by_time") -> NDArray[np.intp]:
    """Return the rank of each row's time, given as numbers, dates, or text such as 2026-11-17."""
    column = _column(values, n_rows, name)
    if isinstance(column, Numbers | Dates):
        times: NDArray[Any] = column.values
    else:
        try:
            stamps = np.array([*map(read_stamp, column.words), np.datetime64("NaT", "us")], dtype="datetime64[us]")
        except ValueError as error:
            raise LogError(
                f"{name} must hold numbers, dates or times; it holds other text ({error}). Write dates as 2026-11-17 "
                "or 2026-11-17 08:30, or number the rows in their order."
            ) from None
        times = stamps[column.codes]
    missing = np.isnan(times) if times.dtype.kind == "f" else np.isnat(times)
    _refuse_missing(missing, name, "a time")
    found, rank = np.unique(times, return_inverse=True)
    if len(found) < 2:
        raise LogError(
            f"{name} must have at least two different times; all {n_rows:,} rows have {found[0]}. Give the column with "
            "the time of each decision, or leave it out to hold out random rows."
        )
    return rank.astype(np.intp)


def group_codes(values: Any, n_rows: int, name: str = "group") -> NDArray[np.intp]:
    """Return the number of each row's group, which is given as a number or text."""
    column = _column(values, n_rows, name)
    codes: Any = column.values if isinstance(column, Numbers | Dates) else column.codes
    missing = codes < 0 if codes.dtype.kind == "i" else codes != codes
    _refuse_missing(missing, name, "a group")
    found, code = np.unique(codes, return_inverse=True)
    if len(found) < 2:
        raise LogError(
            f"{name} must have at least two groups; all {n_rows:,} rows are in one. Give a column such as the "
            "customer's number, or give none if rows are independent."
        )
    return code.astype(np.intp)


def _values_of(log: LoggedData, given: Any, parameter: str) -> tuple[Any, str]:
    """Return the values of a column, given by name or as values, and its name for messages."""
    if not isinstance(given, str):
        name = getattr(given, "name", None)
        return given, f"column {name!r}" if isinstance(name, str) and name else parameter
    if not is_frame(log.X) or given not in log.X.columns:
        available = f"it has {', '.join(map(str, log.X.columns))}" if is_frame(log.X) else "it has no names"
        raise ParameterError(
            f"{parameter} must be the name of a column of the log's X, or one value per row; X has no column "
            f"{given!r}: {available}."
        )
    return log.X[given], f"column {given!r}"


def _column(values: Any, n_rows: int, name: str) -> Any:
    if is_frame(values) or np.ndim(values) != 1:
        raise ParameterError(f"{name} must be the name of a column of X, or one value per row; got {values!r:.80}.")
    if len(values) != n_rows:
        raise ParameterError(f"{name} must have one value per row of the log, {n_rows:,}; got {len(values):,}.")
    if not hasattr(values, "to_numpy"):
        import pandas as pd

        values = pd.Series(values)
    return read_column(_OneColumn(values), "values")


class _OneColumn:
    """A pandas or polars series, wrapped so that `read_column` reads it as a frame's column."""

    columns = ("values",)
    dtypes = ()

    def __init__(self, values: Any) -> None:
        self.values = values

    def __getitem__(self, name: str) -> Any:
        return self.values


def _refuse_missing(missing: NDArray[np.bool_], name: str, meaning: str) -> None:
    if missing.any():
        raise LogError(
            f"{name} must give every row {meaning}; it is missing in row {int(missing.argmax())} "
            f"({int(missing.sum()):,} in all). Drop these rows, or fill the gaps."
        )
