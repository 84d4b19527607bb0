"""Columns in at most 63 bins, and one more for what is missing: what our tree learner sees of X."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree._features import (
    Features,
    as_floats,
    count_rows,
    is_frame,
    is_sparse,
    numeric_columns,
    refuse_dates,
    take_rows,
)
from offsettree._validation import warn_caller
from offsettree.encoding.frame_indicators import factorise
from offsettree.exceptions import FeatureError

N_VALUES = 63
SAMPLE = 20_000  # rows from which quantiles are taken
SORTED = 1 << 18  # values of the sample that are sorted at once
BLOCK = 1 << 22  # values that are written out at once, of an X that kernels do not take as it is
MANY_CODES = 1 << 28  # values of a sparse X of which to tell
MOST_CODES = 1 << 33
KINDS = (np.dtype(np.float32), np.dtype(np.float64))  # what kernels are compiled for


@dataclass(frozen=True, eq=False)
class Bins:
    """Where the columns of X are cut.

    A column of numbers with up to 63 values has a bin for each, another is cut at quantiles. A nominal column has
    a code for each of its 62 most frequent values; other values, and those not seen before, count as missing.
    """

    edges: NDArray[np.float32]  # of shape (n_columns, 63), each row ascending and filled up with infinity
    is_category: NDArray[np.bool_]
    names: tuple[str, ...] | None  # the columns of a frame
    categories: dict[int, dict[Any, int]]  # column -> value -> code

    @classmethod
    def fit(cls, X: Features, rows: NDArray[np.intp] | None = None) -> Self:
        """Look at the values of the rows that count, or of a sample of them."""
        n_columns = X.shape[1]
        names, categories = None, {}
        if is_frame(X):
            names = tuple(X.columns)
            numeric = set(numeric_columns(X))
            nominal = [name for name in names if name not in numeric]
            refuse_dates(X, nominal)
            seen = X if rows is None else take_rows(X, rows)
            categories = {names.index(name): _frequent(seen, name) for name in nominal}
        is_category = np.zeros(n_columns, dtype=bool)
        is_category[list(categories)] = True
        edges = np.full((n_columns, N_VALUES), np.inf, dtype=np.float32)
        bins = cls(edges, is_category, names, categories)
        n_rows = count_rows(X) if rows is None else len(rows)
        here = rows_looked_at(n_rows)
        here = here if rows is None else rows[here]
        whole = isinstance(X, np.ndarray)  # of which a few columns are taken at a time, so that X is never copied
        sample = X if whole else bins.numbers(take_rows(X, here))
        step = max(1, SORTED // max(1, len(here)))
        for begin in range(0, n_columns, step):
            part = sample[:, begin : begin + step]
            part = _dense(part[here] if whole else part)  # np.take would copy all rows of a part first
            for column, values in enumerate(np.sort(part.T, axis=1), start=begin):
                if not is_category[column]:
                    cuts = _cuts(values[: len(values) - np.count_nonzero(np.isnan(values))])
                    edges[column, : len(cuts)] = cuts
        return bins

    def numbers(self, X: Features) -> Features:
        """Return X with a number for every value: an array or a sparse matrix as it is, a frame as float32."""
        if not is_frame(X):
            return X
        numbers = np.empty((count_rows(X), len(self.is_category)), dtype=np.float32)
        for column, name in enumerate(self.names or ()):
            if self.is_category[column]:
                code = self.categories[column]
                codes, values = factorise(X[name])
                numbers[:, column] = np.array([*(code.get(value, np.nan) for value in values), np.nan])[codes]
            else:
                with np.errstate(over="ignore"):
                    numbers[:, column] = as_floats(X[[name]]).ravel()
        return numbers

    def codes(self, numbers: Features) -> NDArray[np.uint8]:
        """Return the bin of every number."""
        from offsettree.learners._kernels_histogram import bin_columns

        n_rows, n_columns = numbers.shape
        if is_sparse(numbers) and n_rows * n_columns > MOST_CODES:
            raise FeatureError(
                f"a histogram tree holds one byte per row and column, and X is {n_rows:,} x {n_columns:,}: too many. "
                "Give a linear estimator, such as LogisticRegression(), which keeps X sparse, or select columns."
            )
        if is_sparse(numbers):
            _warn_if_wide(numbers)
        codes = np.empty((n_rows, n_columns), dtype=np.uint8)
        for part, table in tables(numbers):
            bin_columns(table, self.edges, self.is_category, codes[part])
        return codes


def rows_looked_at(n_rows: int) -> NDArray[np.intp]:
    """Return the rows from which quantiles are taken: all of them, or some."""
    # Evenly spread, not drawn: the same log gives the same bins whatever the seed.
    return np.linspace(0, n_rows - 1, min(n_rows, SAMPLE)).astype(np.intp)


def tables(numbers: Features) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield the rows as tables that kernels take: all at once, or block by block where they must be written out."""
    n_rows, n_columns = numbers.shape
    # Rows in another order, or that cannot be written to, are of a type of their own to kernels.
    if not is_sparse(numbers) and numbers.dtype in KINDS and numbers.dtype.isnative and numbers.flags.carray:
        yield slice(0, n_rows), numbers
        return
    step = max(1, BLOCK // n_columns)
    for begin in range(0, n_rows, step):
        yield slice(begin, begin + step), np.require(_dense(numbers[begin : begin + step]), requirements=["C", "W"])


def _warn_if_wide(X: Features) -> None:
    n_rows, n_columns = X.shape
    n_bytes, n_own = n_rows * n_columns, X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    if n_bytes > max(MANY_CODES, n_own):
        warn_caller(
            f"X is sparse and takes {n_own / 1e6:,.0f} MB, but a histogram tree holds one byte per row and column, "
            f"here {n_rows:,} x {n_columns:,}: {n_bytes / 1e6:,.0f} MB, and time to match. For text and the like, give "
            "a linear estimator, such as SGDClassifier() or LogisticRegression(), which keeps X sparse."
        )


def _dense(part: Features) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # what is too large for float32 is infinite
        return np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float32)


def _cuts(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cut between neighbours of a sorted column: between all, or at quantiles if there are too many values."""
    if len(values) == 0:
        return values
    new = np.flatnonzero(values[1:] > values[:-1]) + 1
    if len(new) >= N_VALUES:
        wanted = np.arange(1, N_VALUES) * len(values) // N_VALUES
        # The next place at which the value changes, so that a frequent value is not passed over.
        new = np.unique(new[np.minimum(np.searchsorted(new, wanted), len(new) - 1)])
    below, above = values[new - 1], values[new]
    with np.errstate(over="ignore", invalid="ignore"):  # far apart, or infinite: then the cut is at the lower one
        middle = below + (above - below) / 2
    return np.where((middle < above) & np.isfinite(middle), middle, below)


def _frequent(frame: Features, name: Any) -> dict[Any, int]:
    try:
        codes, values = factorise(frame[name])
    except TypeError as error:
        raise FeatureError(
            f"the values of a nominal column must be strings, truth values or the like; column {name!r} has others "
            f"({error}). Make names or numbers of them."
        ) from error
    often = np.argsort(-np.bincount(codes[codes >= 0], minlength=len(values)), kind="stable")[: N_VALUES - 1]
    return {values[place]: code for code, place in enumerate(often.tolist())}
