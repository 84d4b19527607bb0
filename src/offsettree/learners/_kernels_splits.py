"""Compiled: where to split the rows of an entry."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import borrowing_kernel
from offsettree.learners._kernels_counts import (
    MISSING,
    N_BINS,
    NONE,
    ONE,
    Entry,
    Room,
    Rows,
    Settings,
    count_block,
    count_column,
    draw_below,
    occurring,
    tries_all,
)
from offsettree.learners._kernels_cuts import count_values, gain, judge_cuts, split_column, split_lane, sum_up_drawn


@borrowing_kernel
def find_split(rows: Rows, entry: Entry, settings: Settings, room: Room) -> Any:
    """Return the column to split, its cut, and the bins that go left; column -1 for none."""
    if not tries_all(rows.codes.shape[1], settings):
        return best_of_drawn(rows, entry, settings, room)
    if settings.random_cuts:
        return best_of_cuts(rows, entry, settings, room)
    return best_of_all(rows, entry, settings, room)


@borrowing_kernel
def purity_to_beat(votes: Any, weight: Any) -> Any:
    return votes * votes / weight + np.float32(1e-6) * weight


@borrowing_kernel
def purest_lane(purity: Any, n_columns: int, best: Any, chosen: int) -> int:
    """Return the first of the purest columns; -1 if none is purer than `best`, or as pure and before the one chosen."""
    purest = -1
    for lane in range(n_columns):
        if purity[lane] > best or (purest < 0 and purity[lane] == best and lane < chosen):
            best = purity[lane]
            purest = lane
    return purest


@borrowing_kernel
def best_of_all(rows: Rows, entry: Entry, settings: Settings, room: Room) -> Any:
    """Do as `find_split` where all columns and cuts are tried."""
    codes, is_category = rows.codes, rows.is_category
    votes, weight, least = entry.votes, entry.weight, entry.least
    best = purity_to_beat(votes, weight)
    column, cut, goes_left = np.int64(-1), np.int64(-1), NONE
    lanes = room.lanes
    n_lanes = lanes.shape[1]
    for block in range((codes.shape[1] + n_lanes - 1) // n_lanes):
        counted = room.histograms[entry.slot, block] if entry.slot >= 0 else room.block
        if entry.slot < 0:
            count_block(rows, entry.begin, entry.end, block, counted)
        judge_cuts(counted, lanes, votes, weight, least)
        first = block * n_lanes
        n_columns = min(n_lanes, codes.shape[1] - first)
        for lane in range(n_columns):
            if is_category[first + lane] or counted[N_BINS + MISSING, lane] > 0:
                lanes[2, lane] = np.inf  # to be looked at on its own
        lane = purest_lane(lanes[2], n_columns, best, column - first)
        while lane >= 0:
            j = np.int64(first + lane)
            purity, b, chosen = split_lane(counted, lane, is_category[j], votes, weight, least, settings, room)
            # Of equals the first column wins, in whatever order they are looked at.
            if purity > best or (purity == best and j < column):
                best, column, cut, goes_left = purity, j, b, chosen
            # Of heavy rows, what rounding leaves may have been taken for a part: then there may be purer ones yet.
            lanes[2, lane] = -1
            lane = purest_lane(lanes[2], n_columns, best, column - first)
    return column, cut, goes_left


@borrowing_kernel
def best_of_cuts(rows: Rows, entry: Entry, settings: Settings, room: Room) -> Any:
    """Do as `find_split` where all columns are tried, with one cut drawn for each."""
    codes, is_category = rows.codes, rows.is_category
    votes, weight, least = entry.votes, entry.weight, entry.least
    best = purity_to_beat(votes, weight)
    column, cut, goes_left = np.int64(-1), np.int64(-1), NONE
    lanes = room.lanes
    n_lanes = lanes.shape[1]
    for block in range((codes.shape[1] + n_lanes - 1) // n_lanes):
        counted = room.histograms[entry.slot, block] if entry.slot >= 0 else room.block
        if entry.slot < 0:
            count_block(rows, entry.begin, entry.end, block, counted)
        first = block * n_lanes
        n_columns = min(n_lanes, codes.shape[1] - first)
        count_values(counted, lanes[2])
        drawn = lanes[3]
        for lane in range(n_lanes):
            drawn[lane] = -1
        for lane in range(n_columns):
            j = np.int64(first + lane)
            if is_category[j] or counted[N_BINS + MISSING, lane] > 0:
                purity, b, chosen = split_lane(counted, lane, is_category[j], votes, weight, least, settings, room)
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


@borrowing_kernel
def best_of_drawn(rows: Rows, entry: Entry, settings: Settings, room: Room) -> Any:
    """Do as `find_split` where columns are drawn; the same split as the others where none are."""
    codes, is_category = rows.codes, rows.is_category
    votes, weight, least = entry.votes, entry.weight, entry.least
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
        if entry.slot >= 0:
            counted = room.histograms[entry.slot, j]
            seen = occurring(counted)
        else:
            counted = room.counted
            seen = count_column(rows, entry.begin, entry.end, j, counted)
        if seen & (seen - ONE) == NONE:
            continue  # a column that is constant here does not count as tried
        purity, b, chosen = split_column(counted, seen, is_category[j], votes, weight, least, settings, room)
        if purity > best:
            best, column, cut, goes_left = purity, j, b, chosen
        n_tried += 1
        if n_tried >= settings.n_tried:
            break
    return column, cut, goes_left
