"""Compiled: where to split the rows of an entry.

Where all columns are tried they stand side by side, so that vector instructions judge one cut of many columns at once;
where some are drawn, each column is looked at on its own. Sums are added in the order of the rows
in both, so that it makes no difference to the tree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.cpython.unsafe import numbers
from numpy.typing import NDArray

from offsettree._jit import kernel

__all__ = [
    "FEW_ROWS",
    "MISSING",
    "NONE",
    "N_BINS",
    "ONE",
    "Room",
    "Settings",
    "count",
    "draw_below",
    "find_split",
    "make_room",
    "take_away",
]

N_BINS = 64
MISSING = N_BINS - 1
FEW_ROWS = 64  # up to which no histogram is kept for the entries below
MOST_LANES = 64  # columns side by side: their counts are to fit into the first cache
ONE = np.uint64(1)
NONE = np.uint64(0)

trailing_zeros: Any = numbers.trailing_zeros


class Settings(NamedTuple):
    """How trees are grown."""

    max_depth: int
    leaf_scale: float  # a leaf weighs at least this times the square root of the whole weight, and at least 1
    n_tried: int  # columns looked at for a split
    random_cuts: bool  # one cut drawn per column, instead of the best one
    alpha: float  # what a leaf costs, as a share of the whole weight's impurity
    leaf_price: float  # the most that it costs, in weight


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


@kernel
def tries_all(n_columns: int, settings: Settings) -> bool:
    return settings.n_tried >= n_columns


@kernel
def make_room(n_slots: int, n_columns: int, settings: Settings) -> Room:
    n_blocks = (n_columns + MOST_LANES - 1) // MOST_LANES
    n_lanes = ((n_columns + n_blocks - 1) // n_blocks + 15) // 16 * 16 if n_blocks > 0 else 0
    if tries_all(n_columns, settings):
        histograms = np.empty((n_slots, n_blocks, 2 * N_BINS, n_lanes), np.float32)
    else:
        histograms = np.empty((n_slots, n_columns, N_BINS, 2), np.float32)
    return Room(
        histograms,
        np.empty((2 * N_BINS, n_lanes), np.float32),
        np.empty((6, n_lanes), np.float32),
        np.empty((N_BINS, 2), np.float32),
        np.arange(n_columns).astype(np.int32),
        np.empty(N_BINS, np.int32),
        np.zeros(1, np.uint64),
    )


@kernel
def draw_below(random: NDArray[np.uint64], bound: Any) -> Any:
    """Draw a whole number (splitmix64)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64(((z >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@kernel
def count(codes: Any, row: Any, vote: Any, begin: int, end: int, settings: Settings, histogram: Any) -> None:
    """Count all columns."""
    n_columns = codes.shape[1]
    if tries_all(n_columns, settings):
        for block in range(histogram.shape[0]):
            count_block(codes, row, vote, begin, end, block, histogram[block])
        return
    histogram[:] = 0
    for q in range(begin, end):
        i = row[q]
        v = vote[q]
        w = abs(v)
        for j in range(n_columns):
            b = codes[i, j]
            histogram[j, b, 0] += v
            histogram[j, b, 1] += w


@kernel
def count_block(codes: Any, row: Any, vote: Any, begin: int, end: int, block: int, counted: Any) -> None:
    """Count columns that stand side by side."""
    n_lanes = counted.shape[1]
    first = block * n_lanes
    n_columns = min(n_lanes, codes.shape[1] - first)
    votes = counted[:N_BINS]
    weights = counted[N_BINS:]
    counted[:] = 0
    for q in range(begin, end):
        i = row[q]
        v = vote[q]
        w = abs(v)
        for lane in range(n_columns):
            b = codes[i, first + lane]
            votes[b, lane] += v
            weights[b, lane] += w


@kernel
def count_column(codes: Any, row: Any, vote: Any, begin: int, end: int, column: Any, counted: Any) -> Any:
    """Count one column; return which bins occur. Only those have been written."""
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


@kernel
def occurring(counted: Any) -> Any:
    seen = NONE
    for b in range(N_BINS):
        if counted[b, 1] > 0:
            seen |= ONE << np.uint64(b)
    return seen


@kernel
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


@kernel
def gain(votes: Any, weight: Any, all_votes: Any, all_weight: Any, least: Any) -> Any:
    """Purity of two parts, of which `votes` and `weight` are one; -1 if either is too light to be a leaf."""
    rest = all_weight - weight
    if weight < least or rest < least or rest <= 0:
        return np.float32(-1)
    other = all_votes - votes
    return votes * votes / weight + other * other / rest


@kernel
def best_cut(counted: Any, seen: Any, votes: Any, weight: Any, least: Any, random_cuts: bool, random: Any) -> Any:
    """Find the cut of a column of numbers; return its purity, the last bin that goes left, and whether missing does."""
    best = np.float32(-1)
    cut = np.int64(-1)
    missing_left = False
    missing = (seen >> np.uint64(MISSING)) & ONE == ONE
    values = seen & ~(ONE << np.uint64(MISSING))
    drawn = -1
    if random_cuts:
        n_cuts = 0 if missing else -1
        rest = values
        while rest:
            n_cuts += 1
            rest &= rest - ONE
        if n_cuts <= 0:
            return best, cut, missing_left
        drawn = draw_below(random, n_cuts)
    here = np.float32(0)
    heavy = np.float32(0)
    place = 0
    while values:
        b = np.int64(trailing_zeros(values))
        values &= values - ONE
        if values == NONE and not missing:
            break
        here += counted[b, 0]
        heavy += counted[b, 1]
        if drawn < 0 or drawn == place:
            purity = gain(here, heavy, votes, weight, least)
            if purity > best:
                best, cut, missing_left = purity, b, False
            if missing and values != NONE:
                purity = gain(here + counted[MISSING, 0], heavy + counted[MISSING, 1], votes, weight, least)
                if purity > best:
                    best, cut, missing_left = purity, b, True
        place += 1
    return best, cut, missing_left


@kernel
def best_set(
    counted: Any, seen: Any, votes: Any, weight: Any, least: Any, random_cuts: bool, random: Any, by_vote: Any
) -> Any:
    """Find the set of categories to send left: of two labels, the best set is a prefix in the order of mean votes."""
    best = np.float32(-1)
    chosen = NONE
    n_seen = 0
    rest = seen
    while rest:
        b = np.int64(trailing_zeros(rest))
        rest &= rest - ONE
        mean = counted[b, 0] / counted[b, 1]
        place = n_seen
        while place > 0 and counted[by_vote[place - 1], 0] / counted[by_vote[place - 1], 1] > mean:
            by_vote[place] = by_vote[place - 1]
            place -= 1
        by_vote[place] = b
        n_seen += 1
    drawn = draw_below(random, n_seen - 1) if random_cuts else -1
    here = np.float32(0)
    heavy = np.float32(0)
    prefix = NONE
    for place in range(n_seen - 1):
        b = by_vote[place]
        here += counted[b, 0]
        heavy += counted[b, 1]
        prefix |= ONE << np.uint64(b)
        if drawn < 0 or drawn == place:
            purity = gain(here, heavy, votes, weight, least)
            if purity > best:
                best, chosen = purity, prefix
    return best, chosen


@kernel
def split_column(
    counted: Any, seen: Any, is_category: bool, votes: Any, weight: Any, least: Any, settings: Settings, room: Room
) -> Any:
    """Return the purity of a column's split, its cut, and the bins that go left."""
    if is_category:
        purity, chosen = best_set(counted, seen, votes, weight, least, settings.random_cuts, room.random, room.by_vote)
        return purity, np.int64(-1), chosen
    purity, cut, missing_left = best_cut(counted, seen, votes, weight, least, settings.random_cuts, room.random)
    goes_left = (ONE << np.uint64(cut + 1)) - ONE
    if missing_left:
        goes_left |= ONE << np.uint64(MISSING)
    return purity, cut, goes_left


@kernel
def judge_cuts(counted: Any, lanes: Any, votes: Any, weight: Any, least: Any) -> None:
    """Write the purity of the best cut of columns side by side, as `gain` has it."""
    here, heavy, best = lanes[0], lanes[1], lanes[2]
    here[:] = 0
    heavy[:] = 0
    best[:] = -1
    for b in range(MISSING - 1):
        more_votes, more_weight = counted[b], counted[N_BINS + b]
        for lane in range(lanes.shape[1]):
            v = here[lane] + more_votes[lane]
            w = heavy[lane] + more_weight[lane]
            here[lane] = v
            heavy[lane] = w
            rest = weight - w
            other = votes - v
            purity = v * v / w + other * other / rest
            is_light = (w < least) | (rest < least) | (rest <= 0)
            purity = np.float32(-1) if is_light else purity
            best[lane] = purity if purity > best[lane] else best[lane]


@kernel
def find_split(
    codes: Any,
    is_category: Any,
    row: Any,
    vote: Any,
    begin: int,
    end: int,
    slot: int,
    votes: Any,
    weight: Any,
    least: Any,
    settings: Settings,
    room: Room,
) -> Any:
    """Return the column to split, its cut, and the bins that go left; column -1 for none."""
    if tries_all(codes.shape[1], settings) and settings.random_cuts:
        return best_of_cuts(codes, is_category, row, vote, begin, end, slot, votes, weight, least, settings, room)
    if tries_all(codes.shape[1], settings):
        return best_of_all(codes, is_category, row, vote, begin, end, slot, votes, weight, least, settings, room)
    return best_of_drawn(codes, is_category, row, vote, begin, end, slot, votes, weight, least, settings, room)


@kernel
def purity_to_beat(votes: Any, weight: Any) -> Any:
    return votes * votes / weight + np.float32(1e-6) * weight


@kernel
def purest_lane(purity: Any, n_columns: int, best: Any, chosen: int) -> int:
    """Return the first of the purest columns; -1 if none is purer than `best`, or as pure and before the one chosen."""
    purest = -1
    for lane in range(n_columns):
        if purity[lane] > best or (purest < 0 and purity[lane] == best and lane < chosen):
            best = purity[lane]
            purest = lane
    return purest


@kernel
def best_of_all(
    codes: Any,
    is_category: Any,
    row: Any,
    vote: Any,
    begin: int,
    end: int,
    slot: int,
    votes: Any,
    weight: Any,
    least: Any,
    settings: Settings,
    room: Room,
) -> Any:
    """Do as `find_split` where all columns and cuts are tried."""
    best = purity_to_beat(votes, weight)
    column, cut, goes_left = np.int64(-1), np.int64(-1), NONE
    lanes = room.lanes
    n_lanes = lanes.shape[1]
    for block in range((codes.shape[1] + n_lanes - 1) // n_lanes):
        if slot >= 0:
            counted = room.histograms[slot, block]
        else:
            counted = room.block
            count_block(codes, row, vote, begin, end, block, counted)
        judge_cuts(counted, lanes, votes, weight, least)
        first = block * n_lanes
        n_columns = min(n_lanes, codes.shape[1] - first)
        for lane in range(n_columns):
            if is_category[first + lane] or counted[N_BINS + MISSING, lane] > 0:
                lanes[2, lane] = np.inf  # to be looked at on its own
        lane = purest_lane(lanes[2], n_columns, best, column - first)
        while lane >= 0:
            take_lane(counted, lane, room.counted)
            seen = occurring(room.counted)
            if seen & (seen - ONE) != NONE:
                j = np.int64(first + lane)
                purity, b, chosen = split_column(
                    room.counted, seen, is_category[j], votes, weight, least, settings, room
                )
                # Of equals the first column wins, in whatever order they are looked at.
                if purity > best or (purity == best and j < column):
                    best, column, cut, goes_left = purity, j, b, chosen
            # Of heavy rows, what rounding leaves may have been taken for a part: then there may be purer ones yet.
            lanes[2, lane] = -1
            lane = purest_lane(lanes[2], n_columns, best, column - first)
    return column, cut, goes_left


@kernel
def count_values(counted: Any, n_seen: Any) -> None:
    """Count the bins of numbers that occur, of columns side by side."""
    n_seen[:] = 0
    for b in range(MISSING):
        weight = counted[N_BINS + b]
        for lane in range(n_seen.shape[0]):
            n_seen[lane] += np.float32(1) if weight[lane] > 0 else np.float32(0)


@kernel
def sum_up_drawn(counted: Any, lanes: Any) -> None:
    """Write votes and weight up to the cut drawn for each column, and after which bin it is; cuts count from 1 on."""
    votes, weight, n_seen, drawn, bin_at, goes_on = lanes[0], lanes[1], lanes[2], lanes[3], lanes[4], lanes[5]
    votes[:] = 0
    weight[:] = 0
    n_seen[:] = 0
    bin_at[:] = -1
    for b in range(MISSING):
        more_votes, more_weight = counted[b], counted[N_BINS + b]
        # Two loops, as vector instructions are not used for one over so many arrays.
        for lane in range(lanes.shape[1]):
            before = np.float32(1) if n_seen[lane] < drawn[lane] else np.float32(0)
            goes_on[lane] = before
            bin_at[lane] += before
            n_seen[lane] += np.float32(1) if more_weight[lane] > 0 else np.float32(0)
        for lane in range(lanes.shape[1]):
            votes[lane] += goes_on[lane] * more_votes[lane]
            weight[lane] += goes_on[lane] * more_weight[lane]


@kernel
def best_of_cuts(
    codes: Any,
    is_category: Any,
    row: Any,
    vote: Any,
    begin: int,
    end: int,
    slot: int,
    votes: Any,
    weight: Any,
    least: Any,
    settings: Settings,
    room: Room,
) -> Any:
    """Do as `find_split` where all columns are tried, with one cut drawn for each."""
    best = purity_to_beat(votes, weight)
    column, cut, goes_left = np.int64(-1), np.int64(-1), NONE
    lanes = room.lanes
    n_lanes = lanes.shape[1]
    for block in range((codes.shape[1] + n_lanes - 1) // n_lanes):
        if slot >= 0:
            counted = room.histograms[slot, block]
        else:
            counted = room.block
            count_block(codes, row, vote, begin, end, block, counted)
        first = block * n_lanes
        n_columns = min(n_lanes, codes.shape[1] - first)
        count_values(counted, lanes[2])
        drawn = lanes[3]
        drawn[:] = -1
        for lane in range(n_columns):
            j = np.int64(first + lane)
            if is_category[j] or counted[N_BINS + MISSING, lane] > 0:
                take_lane(counted, lane, room.counted)
                seen = occurring(room.counted)
                if seen & (seen - ONE) == NONE:
                    continue
                purity, b, chosen = split_column(
                    room.counted, seen, is_category[j], votes, weight, least, settings, room
                )
                if purity > best:
                    best, column, cut, goes_left = purity, j, b, chosen
            elif lanes[2, lane] > 1:
                drawn[lane] = 1 + draw_below(room.random, np.int64(lanes[2, lane]) - 1)
        sum_up_drawn(counted, lanes)
        for lane in range(n_columns):
            if drawn[lane] < 0:
                continue
            j = np.int64(first + lane)
            purity = gain(lanes[0, lane], lanes[1, lane], votes, weight, least)
            # Of equals the first column wins, in whatever order they are looked at.
            if purity > best or (purity == best and j < column):
                best, column, cut = purity, j, np.int64(lanes[4, lane])
                goes_left = (ONE << np.uint64(cut + 1)) - ONE
    return column, cut, goes_left


@kernel
def take_lane(counted: Any, lane: int, column: Any) -> None:
    for b in range(N_BINS):
        column[b, 0] = counted[b, lane]
        column[b, 1] = counted[N_BINS + b, lane]


@kernel
def best_of_drawn(
    codes: Any,
    is_category: Any,
    row: Any,
    vote: Any,
    begin: int,
    end: int,
    slot: int,
    votes: Any,
    weight: Any,
    least: Any,
    settings: Settings,
    room: Room,
) -> Any:
    """Do as `find_split` where columns are drawn; the same split as the others where none are."""
    n_columns = codes.shape[1]
    best = purity_to_beat(votes, weight)
    column, cut, goes_left = np.int64(-1), np.int64(-1), NONE
    n_tried = 0
    for place in range(n_columns):
        j = np.int64(place)
        if settings.n_tried < n_columns:
            other = place + draw_below(room.random, n_columns - place)
            j = np.int64(room.columns[other])
            room.columns[other] = room.columns[place]
            room.columns[place] = j
        if slot >= 0:
            counted = room.histograms[slot, j]
            seen = occurring(counted)
        else:
            counted = room.counted
            seen = count_column(codes, row, vote, begin, end, j, counted)
        if seen & (seen - ONE) == NONE:
            continue  # a column that is constant here does not count as tried
        purity, b, chosen = split_column(counted, seen, is_category[j], votes, weight, least, settings, room)
        if purity > best:
            best, column, cut, goes_left = purity, j, b, chosen
        n_tried += 1
        if n_tried >= settings.n_tried:
            break
    return column, cut, goes_left
