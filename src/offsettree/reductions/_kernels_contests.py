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
    MISSING,
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
from offsettree.learners._kernels_scores import centre_row, weigh

__all__ = ["Climb", "Open", "Scores", "directions", "held_out_error", "order_by_leaf", "train"]


class Scores(NamedTuple):
    """What it takes to give every contest one more column; without, `weights` has no rows."""

    narrow: NDArray[np.float32]  # X in one of its two kinds, the other without rows: kernels are compiled once for both
    wide: NDArray[np.float64]
    weights: NDArray[np.float32]  # per node
    centre: NDArray[np.float32]


class Climb(NamedTuple):
    """Where the rows are. Leaves are numbered from left to right, a child that is one is ``~leaf``."""

    row: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    leaf_begin: NDArray[np.int32]  # one more than there are leaves
    begin: NDArray[np.int32]  # of the survivors at each node
    n_kept: NDArray[np.int32]
    reached: NDArray[np.int32]  # rows that took part


class Open(NamedTuple):
    """Which actions each row may choose; without, `mask` has no rows. Leaves below a node are a range of `leaves`."""

    mask: NDArray[np.bool_]
    leaves: NDArray[np.int32]
    begin: NDArray[np.int32]
    middle: NDArray[np.int32]
    end: NDArray[np.int32]


@kernel
def order_by_leaf(rows: Any, position: Any, place: Any) -> Any:
    """Return the rows in the order of the places of their actions, and where each place begins."""
    begin = np.zeros(place.shape[0] + 1, np.int32)
    for q in range(rows.shape[0]):
        begin[place[position[rows[q]]] + 1] += 1
    for leaf in range(place.shape[0]):
        begin[leaf + 1] += begin[leaf]
    free = begin[:-1].copy()
    ordered = np.empty(rows.shape[0], np.int32)
    for q in range(rows.shape[0]):
        leaf = place[position[rows[q]]]
        ordered[free[leaf]] = rows[q]
        free[leaf] += 1
    return ordered, begin


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
def set_aside(climb: Climb, begin: int, n_left: int, n_rows: int, node: int, choice: Open) -> Any:
    """Move rows that find nothing on the other side behind those that do; return how many do, from the left and in all.

    Both parts keep their order.
    """
    row = climb.row[begin : begin + n_rows]
    aside = np.empty(n_rows, np.int32)
    n_aside = 0
    n_here = 0
    n_here_left = 0
    for q in range(n_rows):
        first = choice.middle[node] if q < n_left else choice.begin[node]
        last = choice.end[node] if q < n_left else choice.middle[node]
        meets = False
        for place in range(first, last):
            if choice.mask[row[q], choice.leaves[place]]:
                meets = True
                break
        if meets:
            row[n_here] = row[q]
            n_here += 1
            n_here_left += q < n_left
        else:
            aside[n_aside] = row[q]
            n_aside += 1
    for q in range(n_aside):
        row[n_here + q] = aside[q]
    climb.reached[node] = n_here
    return n_here_left, n_here


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
def with_scores(codes: Any, scores: Scores, node: int, row: Any, block: Any, edges: Any) -> None:
    """Copy the rows of a contest and bin their scores, at quantiles, into the last column."""
    n_rows = row.shape[0]
    last = codes.shape[1]
    value = np.empty(n_rows, np.float32)
    centred = np.empty(last, np.float32)
    weights = scores.weights.reshape(-1)
    for q in range(n_rows):
        for j in range(last):
            block[q, j] = codes[row[q], j]
        if scores.narrow.shape[0] > 0:
            centre_row(scores.narrow[row[q]], scores.centre, centred)
        else:
            centre_row(scores.wide[row[q]], scores.centre, centred)
        value[q] = weigh(weights, node * last, centred, 0, last)
    in_order = np.sort(value)
    n_edges = 0
    edges[last, :] = np.inf
    for cut in range(1, MISSING):
        edge = in_order[cut * n_rows // MISSING]
        if edge < in_order[n_rows - 1] and (n_edges == 0 or edge > edges[last, n_edges - 1]):
            edges[last, n_edges] = edge
            n_edges += 1
    for q in range(n_rows):
        below = 0
        for e in range(n_edges):
            below += edges[last, e] < value[q]
        block[q, last] = below


@kernel
def directions(left: Any, right: Any, slopes: Any) -> Any:
    """Return for each node the mean slopes of the leaves on its left, less those of the leaves on its right."""
    n_nodes = left.shape[0]
    width = slopes.shape[1]
    total = np.zeros((n_nodes, width), np.float64)
    n_leaves = np.zeros(n_nodes, np.int64)
    out = np.zeros((n_nodes, width), np.float32)
    side_total = np.empty((2, width), np.float64)
    for node in range(n_nodes - 1, -1, -1):  # every node comes after its parent
        counts = (1, 1)
        for side in range(2):
            child = left[node] if side == 0 else right[node]
            n_here = 1 if child < 0 else n_leaves[child]
            counts = (n_here, counts[1]) if side == 0 else (counts[0], n_here)
            for j in range(width):
                side_total[side, j] = slopes[~child, j] if child < 0 else total[child, j]
        n_leaves[node] = counts[0] + counts[1]
        for j in range(width):
            total[node, j] = side_total[0, j] + side_total[1, j]
            out[node, j] = side_total[0, j] / counts[0] - side_total[1, j] / counts[1]
    return out


@kernel
def resized(table: Table, n_entries: int, n_sets: int, more_entries: int, more_sets: int) -> Table:
    """Copy a table; in loops, as slices bring NumPy's errors of shapes with them, which take long to compile."""
    other = make_table(more_entries, more_sets)
    for t in range(n_entries):
        other.feature[t] = table.feature[t]
        other.threshold[t] = table.threshold[t]
        other.left[t] = table.left[t]
        other.right[t] = table.right[t]
        other.missing_left[t] = table.missing_left[t]
        other.category_set[t] = table.category_set[t]
        other.value[t] = table.value[t]
    for s in range(n_sets):
        other.sets[s] = table.sets[s]
    return other


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
    scores: Scores,
    choice: Open,
) -> Any:
    """Train the contests of `nodes`, children first; return the table of their trees and where each begins."""
    scored = scores.weights.shape[0] > 0
    n_columns = codes.shape[1] + (1 if scored else 0)
    block = np.empty((0, n_columns), np.uint8)
    here = np.empty(0, np.int32)
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
        n_all = n_rows
        if choice.mask.shape[0] > 0:
            n_left, n_rows = set_aside(climb, begin, n_left, n_rows, node, choice)
        if n_rows > room:
            room = max(n_rows, 2 * room)
            scratch = make_scratch(room, n_columns, settings)
            vote = np.empty(room, np.float32)
            side = np.empty(room, np.uint8)
            order = np.empty(scratch.entries.left.shape[0], np.int32)
            if scored:
                block = np.empty((room, n_columns), np.uint8)
                here = np.empty(room, np.int32)
        n_grown = 1
        row = climb.row[begin : begin + n_rows]
        if n_rows > 0:
            cast(climb, begin, n_left, n_rows, own_vote, vote, side)
            seeded(scratch, seeds[node])
            if scored:
                with_scores(codes, scores, node, row, block, edges)
                for q in range(n_rows):
                    here[q] = q
            # Called in one place for both: what is called is compiled again in every place.
            n_grown = grow(
                block if scored else codes,
                is_category,
                here[:n_rows] if scored else row,
                vote[:n_rows],
                side[:n_rows],
                settings,
                scratch,
            )
            if scored:
                for q in range(n_rows):
                    here[q] = row[here[q]]
                for q in range(n_rows):
                    row[q] = here[q]
        if n_entries + n_grown > table.left.shape[0] or n_sets + n_grown > table.sets.shape[0]:
            table = resized(
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
        # Those set aside climb as well.
        for q in range(n_rows, n_all):
            climb.row[begin + climb.n_kept[node]] = climb.row[begin + q]
            climb.n_kept[node] += 1
        start[place + 1] = n_entries
    return resized(table, n_entries, n_sets, n_entries, n_sets), start, n_entries, n_sets  # no room left unused


@kernel
def keep_winners(scratch: Scratch, order: Any, n_entries: int, row: Any, side: Any) -> int:
    """Move the rows of the side that their leaf answers to the front; return how many they are."""
    entries = scratch.entries
    for place in range(n_entries):
        t = order[place]
        if entries.column[t] < 0:
            left_wins = (1 + entries.vote[t]) / 2 > 0.5  # rounded as in the table, which decides
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
    codes: Any,
    is_category: Any,
    edges: Any,
    own_vote: Any,
    climb: Climb,
    nodes: Any,
    seed: int,
    settings: Settings,
    scores: Scores,
    n_trees: int,
) -> Any:
    """Judge settings: the weight that contests get wrong on rows held out, and the whole weight.

    Each contest is given to a committee of `n_trees`, and each row is judged, and let through, by those that did not
    see it.
    """
    scored = scores.weights.shape[0] > 0
    n_columns = codes.shape[1] + (1 if scored else 0)
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
        block, here = codes, row
        if scored:
            block = np.empty((n_rows, n_columns), np.uint8)
            with_scores(codes, scores, node, row, block, edges)
            here = np.empty(n_rows, np.int32)
            for q in range(n_rows):
                here[q] = q
        judge(block, is_category, here, vote[:n_rows], settings, scratch, n_trees, told)
        n_kept = 0
        for q in range(n_rows):
            whole += abs(vote[q])
            wrong += weight_wrong(told[q], vote[q])
            if told[q] == 0 or (told[q] > 0) == (side[q] == 1):
                row[n_kept] = row[q]
                n_kept += 1
        climb.n_kept[node] = n_kept
    return wrong, whole
