"""Compiled: the votes and the weight of the rows of an entry, by bin.

Where all columns are tried they stand side by side, so that vector instructions judge one cut of many columns at once;
where some are drawn, each column is looked at on its own. Sums are added in the order of the rows
in both, so that it makes no difference to the tree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree._jit import borrowing_kernel

N_BINS = 64
MISSING = N_BINS - 1
FEW_ROWS = 64  # up to which no histogram is kept for the entries below
MOST_LANES = 64  # columns side by side: their counts are to fit into the first cache
ONE = np.uint64(1)
NONE = np.uint64(0)


class Settings(NamedTuple):
    """How trees are grown."""

    max_depth: int
    leaf_scale: float  # a leaf weighs at least this times the square root of the whole weight, and at least 1
    n_tried: int  # columns looked at for a split
    random_cuts: bool  # one cut drawn per column, instead of the best one
    alpha: float  # what a leaf costs, as a share of the whole weight's impurity
    leaf_price: float  # the most that it costs, in weight


class Rows(NamedTuple):
    """What a tree is grown from."""

    codes: NDArray[np.uint8]  # bins of all rows, of which some take part
    is_category: NDArray[np.bool_]
    row: NDArray[np.int32]  # those that do
    vote: NDArray[np.float32]  # of each that does
    side: NDArray[np.uint8]  # goes with it when rows are put in the order of the leaves


class Entry(NamedTuple):
    """The rows of one entry of a tree: a slice of all, with the sum of their votes and their weight."""

    begin: Any
    end: Any
    slot: Any  # of its histogram, or -1
    votes: Any
    weight: Any
    least: Any  # the weight of a leaf


class Room(NamedTuple):
    """Room for counts.

    A histogram has the votes and the weight of each bin: of shape (n_columns, 64, 2), or where columns stand side by
    side (n_blocks, 128, n_lanes), with the weights after the votes.
    """

    histograms: NDArray[np.float32]  # one after the other
    block: NDArray[np.float32]  # of columns side by side
    lanes: NDArray[np.float32]  # votes and weight up to a bin, and what is to be known of each column
    counted: NDArray[np.float32]  # of one column
    columns: NDArray[np.int32]  # a permutation
    by_vote: NDArray[np.int32]
    random: NDArray[np.uint64]


@borrowing_kernel
def tries_all(n_columns: int, settings: Settings) -> bool:
    return settings.n_tried >= n_columns


def make_room(n_slots: int, n_columns: int, settings: Settings) -> Room:
    n_blocks = -(-n_columns // MOST_LANES)
    n_lanes = ((n_columns + n_blocks - 1) // n_blocks + 15) // 16 * 16 if n_blocks > 0 else 0
    tried = settings.n_tried >= n_columns
    return Room(
        np.empty((n_slots, n_blocks, 2 * N_BINS, n_lanes) if tried else (n_slots, n_columns, N_BINS, 2), np.float32),
        np.empty((2 * N_BINS, n_lanes), np.float32),
        np.empty((6, n_lanes), np.float32),
        np.empty((N_BINS, 2), np.float32),
        np.arange(n_columns, dtype=np.int32),
        np.empty(N_BINS, np.int32),
        np.zeros(1, np.uint64),
    )


@borrowing_kernel
def draw_below(random: NDArray[np.uint64], bound: Any) -> Any:
    """Draw a whole number (splitmix64)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64(((z >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@borrowing_kernel
def count(rows: Rows, begin: int, end: int, settings: Settings, histogram: Any) -> None:
    """Count all columns."""
    n_columns = rows.codes.shape[1]
    if tries_all(n_columns, settings):
        for block in range(histogram.shape[0]):
            count_block(rows, begin, end, block, histogram[block])
        return
    for j in range(n_columns):
        for b in range(N_BINS):
            histogram[j, b, 0], histogram[j, b, 1] = 0, 0
    for q in range(begin, end):
        i = rows.row[q]
        v = rows.vote[q]
        w = abs(v)
        for j in range(n_columns):
            b = rows.codes[i, j]
            histogram[j, b, 0] += v
            histogram[j, b, 1] += w


@borrowing_kernel
def count_block(rows: Rows, begin: int, end: int, block: int, counted: Any) -> None:
    """Count columns that stand side by side."""
    codes, row, vote = rows.codes, rows.row, rows.vote
    n_lanes = counted.shape[1]
    first = block * n_lanes
    n_columns = min(n_lanes, codes.shape[1] - first)
    votes = counted[:N_BINS]
    weights = counted[N_BINS:]
    for b in range(2 * N_BINS):
        for lane in range(n_lanes):
            counted[b, lane] = 0
    for q in range(begin, end):
        i = row[q]
        v = vote[q]
        w = abs(v)
        for lane in range(n_columns):
            b = codes[i, first + lane]
            votes[b, lane] += v
            weights[b, lane] += w


@borrowing_kernel
def count_column(rows: Rows, begin: int, end: int, column: Any, counted: Any) -> Any:
    """Count one column; return which bins occur. Only those have been written."""
    codes, row, vote = rows.codes, rows.row, rows.vote
    seen = NONE
    for q in range(begin, end):
        b = codes[row[q], column]
        bit = ONE << np.uint64(b)
        if seen & bit:
            counted[b, 0] += vote[q]
            counted[b, 1] += abs(vote[q])
        else:
            counted[b, 0] = vote[q]
            counted[b, 1] = abs(vote[q])
            seen |= bit
    return seen


@borrowing_kernel
def occurring(counted: Any) -> Any:
    seen = NONE
    for b in range(N_BINS):
        if counted[b, 1] > 0:
            seen |= ONE << np.uint64(b)
    return seen


@borrowing_kernel
def take_away(whole: Any, part: Any, settings: Settings, n_columns: int) -> None:
    """Make of the histogram of all rows that of the other part."""
    side_by_side = tries_all(n_columns, settings)
    for outer in range(whole.shape[0]):
        if side_by_side:
            votes, weights = whole[outer, :N_BINS], whole[outer, N_BINS:]
            less_votes, less_weights = part[outer, :N_BINS], part[outer, N_BINS:]
            for b in range(N_BINS):
                for lane in range(whole.shape[2]):
                    left_over = weights[b, lane] - less_weights[b, lane]
                    other = votes[b, lane] - less_votes[b, lane]
                    # What rounding may leave of a bin whose rows are all in the part.
                    is_empty = left_over <= np.float32(1e-5) * weights[b, lane]
                    weights[b, lane] = np.float32(0) if is_empty else left_over
                    votes[b, lane] = np.float32(0) if is_empty else other
        else:
            for b in range(N_BINS):
                left_over = whole[outer, b, 1] - part[outer, b, 1]
                other = whole[outer, b, 0] - part[outer, b, 0]
                is_empty = left_over <= np.float32(1e-5) * whole[outer, b, 1]
                whole[outer, b, 0] = np.float32(0) if is_empty else other
                whole[outer, b, 1] = np.float32(0) if is_empty else left_over


@borrowing_kernel
def take_lane(counted: Any, lane: int, column: Any) -> None:
    for b in range(N_BINS):
        column[b, 0] = counted[b, lane]
        column[b, 1] = counted[N_BINS + b, lane]
