"""Tournaments over a tree built per row: contests from the leaves up, and the rows that climb while they are chosen.

The tree of a row is balanced over its eligible actions. A round plays all contests of one height above the leaves:
neighbours meet, and the last of an odd number goes on without a contest.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.logs import ActionSets

Pairs = NDArray[np.intp]
MOST_KEPT = 1 << 12  # positions whose order is not drawn again


class Contests:
    """Contests of one height: the row of each, and the two pairs that meet, left and right."""

    def __init__(self, row: NDArray[np.intp], left: Pairs, right: Pairs) -> None:
        self.row, self.left, self.right = row, left, right

    def take(self, which: NDArray[Any]) -> Contests:
        """Return some of the contests."""
        return Contests(self.row[which], self.left[which], self.right[which])


# From the height, from 1 on, and contests to whether the left one wins.
Decide = Callable[[int, Contests], NDArray[np.bool_]]
# From contests to what rewards are compared with: it must not depend on which of the two was taken, nor on its reward.
Offset = Callable[[Contests], NDArray[np.float64]]
# From the height, contests, whether left is the better answer, and weights to the classifier of that height.
Learn = Callable[[int, Contests, NDArray[np.bool_], NDArray[np.float64]], None]


def n_rounds(sizes: NDArray[np.intp]) -> int:
    """Return the height of the tallest tree."""
    return int(np.ceil(np.log2(sizes.max()))) if sizes.max() > 1 else 0


class _Round:
    """The pairs that are left, row after row, and who meets whom."""

    def __init__(self, pairs: Pairs, starts: NDArray[np.intp]) -> None:
        sizes = np.diff(starts)
        row = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(len(pairs)) - starts[row]
        self.stays = place % 2 == 0
        meets = self.stays & (place + 1 < sizes[row])
        first = np.flatnonzero(meets)
        self.contests = Contests(row[first], pairs[first], pairs[first + 1])
        self.pairs, self.meets = pairs, meets
        self.next_starts = np.concatenate([[0], np.cumsum((sizes + 1) // 2)]).astype(np.intp)

    def after(self, left_wins: NDArray[np.bool_]) -> tuple[Pairs, NDArray[np.intp]]:
        winners = self.pairs.copy()
        winners[self.meets] = np.where(left_wins, self.contests.left, self.contests.right)
        return winners[self.stays], self.next_starts


def play(leaves: Pairs, starts: NDArray[np.intp], decide: Decide) -> Pairs:
    """Return the winner of each row (Algorithm 3)."""
    pairs, begins = leaves, starts
    for height in range(1, n_rounds(np.diff(starts)) + 1):
        now = _Round(pairs, begins)
        pairs, begins = now.after(decide(height, now.contests))
    return pairs


def climb(
    leaves: Pairs,
    starts: NDArray[np.intp],
    logged: Pairs,
    reward: NDArray[np.float64],
    propensity: NDArray[np.float64],
    offset: Offset,
    learn: Learn,
    decide: Decide,
) -> None:
    """Train one classifier per height from the leaves up (Algorithm 2).

    A row is learned from at the contest of its logged action, if that was chosen in all contests below.
    """
    pairs, begins = leaves, starts
    is_chosen = np.ones(len(logged), dtype=bool)
    for height in range(1, n_rounds(np.diff(starts)) + 1):
        now = _Round(pairs, begins)
        contests = now.contests
        is_left = contests.left == logged[contests.row]
        rows = np.flatnonzero((is_left | (contests.right == logged[contests.row])) & is_chosen[contests.row])
        row = contests.row[rows]
        # What earned more than the offset was right to be taken; what earned less speaks for the other one.
        own = contests.take(rows)
        above = reward[row] - offset(own)
        learn(height, own, is_left[rows] == (above >= 0), np.abs(above) / propensity[row])
        left_wins = decide(height, contests)
        is_chosen[row] = left_wins[rows] == is_left[rows]
        pairs, begins = now.after(left_wins)


def leaves_in_order(sets: ActionSets, key: NDArray[Any]) -> Pairs:
    """Return the pairs of each row sorted by a key per pair: the leaves of its tree from left to right."""
    row = np.repeat(np.arange(len(sets)), sets.sizes)
    return np.asarray(np.lexsort((key, row)), dtype=np.intp)


def seeded_order(ids: NDArray[Any], seed: int) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return a number drawn for each id, the same in every row, and the rank of each id among all."""
    labels, code = np.unique(ids, return_inverse=True)
    drawn = np.array([_drawn.__wrapped__(label, seed) for label in labels.tolist()], dtype=np.int64)
    return drawn[code], np.asarray(code, dtype=np.intp)


def seeded_of_one(labels: list[Any] | None, n: int, seed: int) -> tuple[Pairs, Pairs] | None:
    """Return the leaves of one row from left to right, and the rank of each id; None if ids are of several types."""
    if labels is None:
        return _of_positions(n, seed) if n <= MOST_KEPT else _of_positions.__wrapped__(n, seed)
    if set(map(type, labels)) not in ({int}, {str}):
        return None
    rank = np.empty(n, dtype=np.intp)
    rank[np.array(labels).argsort()] = np.arange(n)
    drawn = np.array([_drawn(label, seed) for label in labels], dtype=np.int64)
    return np.argsort(drawn, kind="stable"), rank


@lru_cache(64)
def _of_positions(n: int, seed: int) -> tuple[Pairs, Pairs]:
    rank = np.arange(n)
    return np.argsort(seeded_order(rank, seed)[0], kind="stable"), rank


@lru_cache(1 << 16, typed=True)
def _drawn(label: Any, seed: int) -> int:
    return zlib.crc32(f"{label}".encode(errors="surrogatepass"), seed)
