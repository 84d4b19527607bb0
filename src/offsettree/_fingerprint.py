"""What a policy remembers of the rows it was trained on: enough to notice when it is evaluated on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features, as_floats, count_rows, is_frame, is_sparse, numeric_columns

__all__ = ["Fingerprint", "remember_rows", "share_remembered"]

N_KEPT = 1024  # numbers of rows that are kept: 8 kB, and as much for how often each was met
N_COLUMNS = 6
N_LOOKED_AT, N_CANDIDATES = 512, 256  # rows and columns among which those that tell rows apart are found
BLOCK = 1 << 14  # rows numbered at a time: their columns stay in the cache
FEWEST, N_EXPECTED = 8192, 32  # rows looked at, and how many of them should be among those remembered

FACTOR, SHUFFLE = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@dataclass(frozen=True)
class Fingerprint:
    """The smallest of the numbers that rows are known by, and how many rows had each.

    What a row's number is depends on the row alone, so that two logs that share rows keep the same ones of them,
    whatever else they hold and in whatever order.
    """

    numbers: NDArray[np.uint64]
    counts: NDArray[np.int64]
    columns: NDArray[np.int64]  # by which rows are known, of the numeric ones; none for a sparse X

    @property
    def largest(self) -> np.uint64:
        """The number up to which all rows are remembered."""
        if len(self.numbers) < N_KEPT:
            return np.uint64(np.iinfo(np.uint64).max)
        return np.uint64(self.numbers[-1])

    @property
    def n_to_look_at(self) -> int:
        """How many rows of another log are enough to tell whether they were among these."""
        return max(FEWEST, int(N_EXPECTED * (float(np.iinfo(np.uint64).max) / float(self.largest))))

    @property
    def share_of_twins(self) -> float:
        """The share of rows that equal another one: as many of any other log's rows are met by accident."""
        return float(self.counts[self.counts > 1].sum() / self.counts.sum())


def remember_rows(X: Features, reward: NDArray[np.float64], before: Fingerprint | None = None) -> Fingerprint:
    """Return the fingerprint of a log, or of all logs so far where there was one `before`."""
    kept = before or Fingerprint(np.empty(0, np.uint64), np.empty(0, np.int64), _telling_columns(X))
    n_rows = len(reward)
    for start in range(0, n_rows, BLOCK):
        number = _row_numbers(X, reward, kept.columns, start, min(start + BLOCK, n_rows))
        number = number[number <= kept.largest]
        numbers, where = np.unique(np.concatenate([kept.numbers, number]), return_inverse=True)
        counts = np.bincount(where, np.concatenate([kept.counts, np.ones(len(number), np.int64)])).astype(np.int64)
        kept = Fingerprint(numbers[:N_KEPT], counts[:N_KEPT], kept.columns)
    return kept


def share_remembered(fingerprint: Fingerprint, X: Features, reward: NDArray[np.float64]) -> float:
    """Return the share of rows that are in the log remembered, as far as it cannot be accident; 0 where it can."""
    n_rows = count_rows(X)
    n_seen = n_found = 0
    for start in range(0, n_rows, BLOCK):
        number = _row_numbers(X, reward, fingerprint.columns, start, min(start + BLOCK, n_rows))
        number = number[number <= fingerprint.largest]
        n_seen += len(number)
        place = np.searchsorted(fingerprint.numbers, number)
        n_found += int((fingerprint.numbers[np.minimum(place, len(fingerprint.numbers) - 1)] == number).sum())
    if n_found < 5:
        return 0.0
    share, by_accident = n_found / n_seen, fingerprint.share_of_twins
    # Of rows that recur anyway nothing can be told; both shares are of samples.
    spread = np.sqrt(by_accident * (1 - by_accident) * (1 / n_seen + 1 / fingerprint.counts.sum()))
    if share <= by_accident + 0.1 + 4 * spread:
        return 0.0
    return float((share - by_accident) / (1 - by_accident))


def _row_numbers(
    X: Features, reward: NDArray[np.float64], columns: NDArray[np.int64], start: int, stop: int
) -> NDArray[np.uint64]:
    number = _bits(reward[start:stop])
    if is_sparse(X):
        number = number * FACTOR ^ _sparse_numbers(X, start, stop)
    else:
        for column in _some_columns(X, columns, start, stop):
            number *= FACTOR
            number += _bits(column)
    number = (number ^ number >> np.uint64(30)) * SHUFFLE
    return np.asarray((number ^ number >> np.uint64(27)) * FACTOR)


def _telling_columns(X: Features) -> NDArray[np.int64]:
    """Find the columns of most different values: columns of zeros and ones would make twins of most rows."""
    if is_sparse(X):
        return np.empty(0, dtype=np.int64)
    n_columns = len(numeric_columns(X)) if is_frame(X) else X.shape[1]
    candidates = np.unique(np.linspace(0, n_columns - 1, min(n_columns, N_CANDIDATES)).astype(np.int64))
    if len(candidates) <= N_COLUMNS:
        return candidates
    values = _some_columns(X, candidates, 0, min(N_LOOKED_AT, count_rows(X)))
    variety = np.array([len(np.unique(column)) for column in values])
    return np.sort(candidates[np.argsort(-variety, kind="stable")[:N_COLUMNS]])


def _some_columns(X: Features, columns: NDArray[np.int64], start: int, stop: int) -> list[NDArray[np.float64]]:
    if is_frame(X):
        names = numeric_columns(X)
        chosen = [names[i] for i in columns if i < len(names)]
        part = as_floats(X[start:stop][chosen]) if chosen else np.empty((stop - start, 0))
        return list(part.T)
    return [X[start:stop, i] for i in columns if i < X.shape[1]]


def _bits(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    return values.astype(np.float64).view(np.uint64)


def _sparse_numbers(X: Features, start: int, stop: int) -> NDArray[np.uint64]:
    first, last = int(X.indptr[start]), int(X.indptr[stop])
    entry = (_bits(X.data[first:last]) ^ X.indices[first:last].astype(np.uint64) * SHUFFLE) * FACTOR
    entry ^= entry >> np.uint64(29)
    # Sums of whole numbers are exact, also when they wrap around.
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entry, dtype=np.uint64)])
    ends = X.indptr[start : stop + 1] - first
    return np.asarray(total[ends[1:]] - total[ends[:-1]])
