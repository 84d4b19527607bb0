"""Compiled: the contests of an offset tree over binned rows, from the leaves up.

The rows of the log stand in the order of the tree's leaves, so that every subtree owns a slice, and a node's rows are
those its children let through, moved to the front of it. That a row survives falls out of growing a tree: the rows
stand in the order of its leaves then, and a leaf keeps the rows of the side it answers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree._jit import kernel
from offsettree.learners._kernels_histogram import (
    Scratch,
    Settings,
    Table,
    emit,
    grow,
    judge,
    make_scratch,
    make_table,
    seeded,
    weight_wrong,
)

__all__ = ["Climb", "at_leaves", "held_out_error", "train"]


class Climb(NamedTuple):
    """Where the rows are. Leaves are numbered from left to right, a child that is one is ``~leaf``."""

    row: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    leaf_begin: NDArray[np.int32]  # one more than there are leaves
    begin: NDArray[np.int32]  # of the survivors at each node
    n_kept: NDArray[np.int32]
    reached: NDArray[np.int32]  # rows that took part


@kernel
def at_leaves(position: Any, rows: Any, place: Any) -> Any:
    """Sort rows by the place of their action, in their order at each; return them, and where each place begins."""
    begin = np.zeros(place.shape[0] + 1, np.int32)
    for i in rows:
        begin[place[position[i]] + 1] += 1
    for leaf in range(place.shape[0]):
        begin[leaf + 1] += begin[leaf]
    following = begin[:-1].copy()
    sorted_rows = np.empty(rows.shape[0], np.int32)
    for i in rows:
        leaf = place[position[i]]
        sorted_rows[following[leaf]] = i
        following[leaf] += 1
    return sorted_rows, begin


@kernel
def gather(climb: Climb, node: int) -> Any:
    """Move the rows of both children side by side; return where they begin, how many came from the left, and all."""
    side = climb.left[node]
    if side < 0:
        begin = climb.leaf_begin[~side]
        n_left = climb.leaf_begin[~side + 1] - begin
    else:
        begin, n_left = climb.begin[side], climb.n_kept[side]
    side = climb.right[node]
    if side < 0:
        other = climb.leaf_begin[~side]
        n_right = climb.leaf_begin[~side + 1] - other
    else:
        other, n_right = climb.begin[side], climb.n_kept[side]
    if other != begin + n_left:
        for q in range(n_right):
            climb.row[begin + n_left + q] = climb.row[other + q]
    climb.begin[node] = begin
    climb.reached[node] = n_left + n_right
    return begin, n_left, n_left + n_right


@kernel
def cast(climb: Climb, begin: int, n_left: int, n_rows: int, own_vote: Any, vote: Any, side: Any) -> None:
    """Write the votes of a contest, positive for the left, with mean weight 1."""
    total = 0.0
    for q in range(n_rows):
        total += abs(own_vote[climb.row[begin + q]])
    scale = n_rows / total
    for q in range(n_rows):
        from_left = q < n_left
        own = own_vote[climb.row[begin + q]] * scale
        vote[q] = own if from_left else -own
        side[q] = from_left


@kernel
def enlarged(table: Table, n_entries: int, n_sets: int, more_entries: int, more_sets: int) -> Table:
    larger = make_table(more_entries, more_sets)
    larger.feature[:n_entries] = table.feature[:n_entries]
    larger.threshold[:n_entries] = table.threshold[:n_entries]
    larger.left[:n_entries] = table.left[:n_entries]
    larger.right[:n_entries] = table.right[:n_entries]
    larger.missing_left[:n_entries] = table.missing_left[:n_entries]
    larger.category_set[:n_entries] = table.category_set[:n_entries]
    larger.sets[:n_sets] = table.sets[:n_sets]
    larger.value[:n_entries] = table.value[:n_entries]
    return larger


@kernel
def train(
    codes: Any,
    is_category: Any,
    edges: Any,
    own_vote: Any,
    climb: Climb,
    nodes: Any,
    seeds: Any,
    settings: Settings,
) -> Any:
    """Train the contests of `nodes`, children first; return the table of their trees and where each begins."""
    n_columns = codes.shape[1]
    start = np.zeros(nodes.shape[0] + 1, np.int64)
    table = make_table(256, 16)
    n_entries = 0
    n_sets = 0
    room = 0
    scratch = make_scratch(0, n_columns, settings)
    vote = np.empty(0, np.float32)
    side = np.empty(0, np.uint8)
    order = np.empty(0, np.int32)
    for place in range(nodes.shape[0]):
        node = nodes[place]
        begin, n_left, n_rows = gather(climb, node)
        if n_rows > room:
            room = max(n_rows, 2 * room)
            scratch = make_scratch(room, n_columns, settings)
            vote = np.empty(room, np.float32)
            side = np.empty(room, np.uint8)
            order = np.empty(scratch.entries.left.shape[0], np.int32)
        n_grown = 1
        if n_rows > 0:
            cast(climb, begin, n_left, n_rows, own_vote, vote, side)
            seeded(scratch, seeds[node])
            row = climb.row[begin : begin + n_rows]
            n_grown = grow(codes, is_category, row, vote[:n_rows], side[:n_rows], settings, scratch)
        if n_entries + n_grown > table.left.shape[0] or n_sets + n_grown > table.sets.shape[0]:
            table = enlarged(
                table,
                n_entries,
                n_sets,
                max(2 * table.left.shape[0], n_entries + n_grown),
                max(2 * table.sets.shape[0], n_sets + n_grown),
            )
        if n_rows == 0:
            # Nobody was heard: the left wins, as everywhere.
            table.feature[n_entries], table.left[n_entries], table.right[n_entries] = -1, -1, -1
            table.threshold[n_entries], table.missing_left[n_entries] = 0, False
            table.category_set[n_entries], table.value[n_entries] = -1, 1.0
            n_entries += 1
            climb.n_kept[node] = 0
        else:
            first = n_entries
            n_entries, n_sets = emit(scratch.entries, edges, table, n_entries, n_sets, order)
            climb.n_kept[node] = keep_winners(scratch, order, n_entries - first, row, side)
        start[place + 1] = n_entries
    return table, start, n_entries, n_sets


@kernel
def keep_winners(scratch: Scratch, order: Any, n_entries: int, row: Any, side: Any) -> int:
    """Move the rows of the side that their leaf answers to the front; return how many they are."""
    entries = scratch.entries
    for place in range(n_entries):
        t = order[place]
        if entries.column[t] < 0:
            left_wins = entries.vote[t] > 0
            for q in range(entries.begin[t], entries.end[t]):
                side[q] = (side[q] == 1) == left_wins
    n_kept = 0
    for q in range(row.shape[0]):
        if side[q]:
            row[n_kept] = row[q]
            n_kept += 1
    return n_kept


@kernel
def held_out_error(
    codes: Any, is_category: Any, own_vote: Any, climb: Climb, nodes: Any, seed: int, settings: Settings, n_trees: int
) -> Any:
    """Judge settings: the weight that contests get wrong on rows held out, and the whole weight.

    Each contest is given to a committee of `n_trees`, and each row is judged, and let through, by those that did not
    see it.
    """
    n_columns = codes.shape[1]
    wrong = 0.0
    whole = 0.0
    room = 0
    scratch = make_scratch(0, n_columns, settings)
    vote = np.empty(0, np.float32)
    side = np.empty(0, np.uint8)
    told = np.empty(0, np.float64)
    for place in range(nodes.shape[0]):
        node = nodes[place]
        begin, n_left, n_rows = gather(climb, node)
        climb.n_kept[node] = 0
        if n_rows == 0:
            continue
        if n_rows > room:
            room = max(n_rows, 2 * room)
            scratch = make_scratch(room, n_columns, settings)
            vote = np.empty(room, np.float32)
            side = np.empty(room, np.uint8)
            told = np.empty(room, np.float64)
        cast(climb, begin, n_left, n_rows, own_vote, vote, side)
        seeded(scratch, seed + node)
        row = climb.row[begin : begin + n_rows]
        judge(codes, is_category, row, vote[:n_rows], settings, scratch, n_trees, told)
        n_kept = 0
        for q in range(n_rows):
            whole += abs(vote[q])
            wrong += weight_wrong(told[q], vote[q])
            if told[q] == 0 or (told[q] > 0) == (side[q] == 1):
                row[n_kept] = row[q]
                n_kept += 1
        climb.n_kept[node] = n_kept
    return wrong, whole
