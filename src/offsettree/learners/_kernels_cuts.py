"""Compiled: how to split one column, or many side by side, of which the bins have been counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.cpython.unsafe import numbers

from offsettree._jit import borrowing_kernel
from offsettree.learners._kernels_counts import (
    MISSING,
    N_BINS,
    NONE,
    ONE,
    Room,
    Settings,
    draw_below,
    occurring,
    take_lane,
)

trailing_zeros: Any = numbers.trailing_zeros


@borrowing_kernel
def gain(votes: Any, weight: Any, all_votes: Any, all_weight: Any, least: Any) -> Any:
    """Purity of two parts, of which `votes` and `weight` are one; -1 if either is too light to be a leaf."""
    rest = all_weight - weight
    if weight < least or rest < least or rest <= 0:
        return np.float32(-1)
    other = all_votes - votes
    return votes * votes / weight + other * other / rest


@borrowing_kernel
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


@borrowing_kernel
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


@borrowing_kernel
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


@borrowing_kernel
def judge_cuts(counted: Any, lanes: Any, votes: Any, weight: Any, least: Any) -> None:
    """Write the purity of the best cut of columns side by side, as `gain` has it."""
    here, heavy, best = lanes[0], lanes[1], lanes[2]
    for lane in range(lanes.shape[1]):
        here[lane], heavy[lane], best[lane] = 0, 0, -1
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


@borrowing_kernel
def count_values(counted: Any, n_seen: Any) -> None:
    """Count the bins of numbers that occur, of columns side by side."""
    for lane in range(n_seen.shape[0]):
        n_seen[lane] = 0
    for b in range(MISSING):
        weight = counted[N_BINS + b]
        for lane in range(n_seen.shape[0]):
            n_seen[lane] += np.float32(1) if weight[lane] > 0 else np.float32(0)


@borrowing_kernel
def sum_up_drawn(counted: Any, lanes: Any) -> None:
    """Write votes and weight up to the cut drawn for each column, and after which bin it is; cuts count from 1 on."""
    votes, weight, n_seen, drawn, bin_at, goes_on = lanes[0], lanes[1], lanes[2], lanes[3], lanes[4], lanes[5]
    for lane in range(lanes.shape[1]):
        votes[lane], weight[lane], n_seen[lane], bin_at[lane] = 0, 0, 0, -1
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


@borrowing_kernel
def split_lane(
    counted: Any, lane: int, is_category: bool, votes: Any, weight: Any, least: Any, settings: Settings, room: Room
) -> Any:
    """Do as `split_column` for one of many columns; one with a single bin cannot be split, and has purity -1."""
    take_lane(counted, lane, room.counted)
    seen = occurring(room.counted)
    if seen & (seen - ONE) == NONE:
        return np.float32(-1), np.int64(-1), NONE
    return split_column(room.counted, seen, is_category, votes, weight, least, settings, room)
