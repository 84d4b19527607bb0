"""Hashes of a sample of a policy's training rows, to notice when it is evaluated on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features, as_floats, count_rows, is_frame, is_sparse, numeric_columns

N_KEPT = 1024  # hashes kept: 8 kB, and as much for their counts
N_COLUMNS = 6
N_LOOKED_AT, N_CANDIDATES = 512, 256  # rows and columns examined to find the columns to hash
BLOCK = 1 << 14  # rows hashed at a time, so that their columns stay in the CPU cache
FEWEST, N_EXPECTED = 8192, 32  # fewest rows compared, and how many of them should match if all were trained on

FACTOR, SHUFFLE = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@dataclass(frozen=True)
class Fingerprint:
    """The smallest hashes of the rows, and the number of rows that have each.

    A row's hash depends on the row alone, so that two logs with common rows keep the hashes of the same ones, in
    whatever order they come.
    """

    numbers: NDArray[np.uint64]
    counts: NDArray[np.int64]
    columns: NDArray[np.int64]  # numeric columns that are hashed; empty for a sparse X

    @property
    def largest(self) -> np.uint64:
        """The largest hash up to which all rows are remembered."""
        if len(self.numbers) < N_KEPT:
            return np.uint64(np.iinfo(np.uint64).max)
        return np.uint64(self.numbers[-1])

    @property
    def n_to_look_at(self) -> int:
        """How many rows of another log suffice to decide whether it was trained on."""
        return max(FEWEST, int(N_EXPECTED * (float(np.iinfo(np.uint64).max) / float(self.largest))))

    @property
    def share_of_twins(self) -> float:
        """The share of rows that equal another one: as many rows of any other log match by chance."""
        return float(self.counts[self.counts > 1].sum() / self.counts.sum())


def remember_rows(X: Features, reward: NDArray[np.float64], before: Fingerprint | None = None) -> Fingerprint:
    """Return the fingerprint of a log, added to that of the logs `before`."""
    kept = before or empty_fingerprint(X)
    n_rows = len(reward)
    for start in range(0, n_rows, BLOCK):
        number = _row_hashes(X, reward, kept.columns, start, min(start + BLOCK, n_rows))
        number = number[number <= kept.largest]
        numbers, where = np.unique(np.concatenate([kept.numbers, number]), return_inverse=True)
        counts = np.bincount(where, np.concatenate([kept.counts, np.ones(len(number), np.int64)])).astype(np.int64)
        kept = Fingerprint(numbers[:N_KEPT], counts[:N_KEPT], kept.columns)
    return kept


def joined_fingerprint(parts: Sequence[Fingerprint]) -> Fingerprint:
    """Return the fingerprint of a log from those of its parts, in which the same columns were hashed."""
    if len(parts) == 1:
        return parts[0]
    numbers, where = np.unique(np.concatenate([part.numbers for part in parts]), return_inverse=True)
    counts = np.bincount(where, np.concatenate([part.counts for part in parts])).astype(np.int64)
    return Fingerprint(numbers[:N_KEPT], counts[:N_KEPT], parts[0].columns)


def empty_fingerprint(X: Features) -> Fingerprint:
    """Return the fingerprint of no rows, with the columns chosen that the first rows of a log suggest."""
    if is_sparse(X):
        candidates = np.empty(0, dtype=np.int64)
    else:
        n_columns = len(numeric_columns(X)) if is_frame(X) else X.shape[1]
        candidates = np.unique(np.linspace(0, n_columns - 1, min(n_columns, N_CANDIDATES)).astype(np.int64))
    if len(candidates) > N_COLUMNS:  # those with most distinct values: by zeros and ones most rows would be equal
        values = _some_columns(X, candidates, 0, min(N_LOOKED_AT, count_rows(X)))
        variety = np.array([len(np.unique(column)) for column in values])
        candidates = np.sort(candidates[np.argsort(-variety, kind="stable")[:N_COLUMNS]])
    return Fingerprint(np.empty(0, np.uint64), np.empty(0, np.int64), candidates)


def share_remembered(fingerprint: Fingerprint, X: Features, reward: NDArray[np.float64]) -> float:
    """Return the share of rows that were trained on, beyond chance matches; 0 if chance explains them."""
    n_rows = count_rows(X)
    n_seen = n_found = 0
    for start in range(0, n_rows, BLOCK):
        number = _row_hashes(X, reward, fingerprint.columns, start, min(start + BLOCK, n_rows))
        number = number[number <= fingerprint.largest]
        n_seen += len(number)
        place = np.searchsorted(fingerprint.numbers, number)
        n_found += int((fingerprint.numbers[np.minimum(place, len(fingerprint.numbers) - 1)] == number).sum())
    if n_found < 5:
        return 0.0
    share, by_chance = n_found / n_seen, fingerprint.share_of_twins
    # Both shares are estimated from samples, hence the standard error.
    stderr = np.sqrt(by_chance * (1 - by_chance) * (1 / n_seen + 1 / fingerprint.counts.sum()))
    if share <= by_chance + 0.1 + 4 * stderr:
        return 0.0
    return float((share - by_chance) / (1 - by_chance))


def _row_hashes(
    X: Features, reward: NDArray[np.float64], columns: NDArray[np.int64], start: int, stop: int
) -> NDArray[np.uint64]:
    number = reward[start:stop].astype(np.float64).view(np.uint64)
    if is_sparse(X):
        number = number * FACTOR ^ _sparse_hashes(X, start, stop)
    else:
        for column in _some_columns(X, columns, start, stop):
            number *= FACTOR
            number += column.astype(np.float64).view(np.uint64)
    number = (number ^ number >> np.uint64(30)) * SHUFFLE
    return np.asarray((number ^ number >> np.uint64(27)) * FACTOR)


def _some_columns(X: Features, columns: NDArray[np.int64], start: int, stop: int) -> list[NDArray[np.float64]]:
    if is_frame(X):
        names = numeric_columns(X)
        chosen = [names[i] for i in columns if i < len(names)]
        part = as_floats(X[start:stop][chosen]) if chosen else np.empty((stop - start, 0))
        return list(part.T)
    return [X[start:stop, i] for i in columns if i < X.shape[1]]


def _sparse_hashes(X: Features, start: int, stop: int) -> NDArray[np.uint64]:
    first, last = int(X.indptr[start]), int(X.indptr[stop])
    values = X.data[first:last].astype(np.float64).view(np.uint64)
    entry = (values ^ X.indices[first:last].astype(np.uint64) * SHUFFLE) * FACTOR
    entry ^= entry >> np.uint64(29)
    # Integer sums are exact, even when they wrap around.
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entry, dtype=np.uint64)])
    ends = X.indptr[start : stop + 1] - first
    return np.asarray(total[ends[1:]] - total[ends[:-1]])
