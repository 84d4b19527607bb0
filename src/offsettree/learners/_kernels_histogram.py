"""Compiled: one decision tree from binned rows.

A column has at most 64 bins, the last for missing values, so that a set of bins is one 64-bit word: which bins occur
among a few rows, and which of them a split sends left. Votes are weights with the sign of the label.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._jit import borrowing_kernel
from offsettree.learners._kernels_counts import (
    FEW_ROWS,
    MISSING,
    NONE,
    ONE,
    Entry,
    Rows,
    Settings,
    count,
    draw_below,
    take_away,
)
from offsettree.learners._kernels_splits import find_split
from offsettree.learners.scratch import Drawn, Entries, Scratch, Table


@borrowing_kernel
def seeded(scratch: Scratch, seed: int) -> None:
    """Begin a stream of random numbers, the same whatever trees were grown before."""
    scratch.room.random[0] = np.uint64(seed)
    for j in range(scratch.room.columns.shape[0]):
        scratch.room.columns[j] = j


@borrowing_kernel
def bin_columns(X: NDArray[Any], edges: NDArray[np.float32], is_category: NDArray[np.bool_], codes: Any) -> None:
    """Write the bin of each value: the number of edges below it; a category's is its code."""
    n_rows, n_columns = X.shape
    n_edges = edges.shape[1]
    for i in range(n_rows):
        for j in range(n_columns):
            x = np.float32(X[i, j])
            if np.isnan(x):
                codes[i, j] = MISSING
            elif is_category[j]:
                codes[i, j] = np.uint8(x)
            else:
                # To count all edges is faster than to search among them: it needs no branches.
                below = np.int32(0)
                for e in range(n_edges):
                    below += np.int32(edges[j, e] < x)
                codes[i, j] = below


@borrowing_kernel
def partition(rows: Rows, begin: int, end: int, column: int, goes_left: Any, scratch: Scratch) -> Any:
    """Move the rows that go left before the others, both in their order.

    Return where the others begin, and which bins occur: of bins much lighter than others, histograms may not tell.
    """
    codes, row, vote, side = rows.codes, rows.row, rows.vote, rows.side
    middle = begin
    n_right = 0
    occur = NONE
    for q in range(begin, end):
        b = np.uint64(codes[row[q], column])
        occur |= ONE << b
        if (goes_left >> b) & ONE:
            row[middle] = row[q]
            vote[middle] = vote[q]
            side[middle] = side[q]
            middle += 1
        else:
            scratch.row[n_right] = row[q]
            scratch.vote[n_right] = vote[q]
            scratch.side[n_right] = side[q]
            n_right += 1
    for q in range(n_right):
        row[middle + q] = scratch.row[q]
        vote[middle + q] = scratch.vote[q]
        side[middle + q] = scratch.side[q]
    return middle, occur


@borrowing_kernel
def grow(rows: Rows, settings: Settings, scratch: Scratch) -> int:
    """Grow and prune one tree over the rows given, which are put in the order of its leaves; return its entries."""
    row, vote, n_columns = rows.row, rows.vote, rows.codes.shape[1]
    entries = scratch.entries
    histograms = scratch.room.histograms
    whole = 0.0
    for q in range(row.shape[0]):
        whole += abs(vote[q])
    least = np.float32(max(1.0, settings.leaf_scale * np.sqrt(whole)) * (1 - 1e-6))
    free, waiting = scratch.free, scratch.waiting
    n_free = free.shape[0]
    for place in range(n_free):
        free[place] = place
    waiting[0] = 0
    n_waiting = 1
    n_entries = 1
    entries.begin[0], entries.end[0], entries.depth[0], entries.histogram[0] = 0, row.shape[0], 0, -1
    while n_waiting > 0:
        n_waiting -= 1
        t = waiting[n_waiting]
        begin, end, slot = entries.begin[t], entries.end[t], entries.histogram[t]
        votes = 0.0
        weight = 0.0
        for q in range(begin, end):
            votes += vote[q]
            weight += abs(vote[q])
        entries.vote[t] = votes / weight if weight > 0 else 0.0
        entries.cost[t] = weight - votes * votes / weight if weight > 0 else 0.0
        entries.column[t] = -1
        column = -1
        cut = -1
        goes_left = NONE
        occur = NONE
        middle = begin
        if entries.depth[t] < settings.max_depth and weight >= 2 * least and abs(votes) < (1 - 1e-6) * weight:
            if slot < 0 and n_free > 0 and settings.n_tried >= n_columns and end - begin > FEW_ROWS:
                n_free -= 1
                slot = free[n_free]
                count(rows, begin, end, settings, histograms[slot])
            entry = Entry(begin, end, slot, np.float32(votes), np.float32(weight), least)
            column, cut, goes_left = find_split(rows, entry, settings, scratch.room)
            if column >= 0:
                middle, occur = partition(rows, begin, end, column, goes_left, scratch)
        if column < 0 or middle in (begin, end):
            if slot >= 0:
                free[n_free] = slot
                n_free += 1
            continue
        if middle - begin > end - middle:
            # What did not occur here goes with the larger part.
            unseen = ~occur if rows.is_category[column] else ~occur & (ONE << np.uint64(MISSING))
            goes_left |= unseen
        child = n_entries
        n_entries += 2
        entries.column[t], entries.cut[t], entries.goes_left[t], entries.left[t] = column, cut, goes_left, child
        entries.begin[child], entries.end[child] = begin, middle
        entries.begin[child + 1], entries.end[child + 1] = middle, end
        for c in (child, child + 1):
            entries.depth[c] = entries.depth[t] + 1
            entries.histogram[c] = -1
        fewer = child if middle - begin < end - middle else child + 1
        more = 2 * child + 1 - fewer
        if slot >= 0:
            if n_free > 0 and entries.depth[child] < settings.max_depth and end - begin > 2 * FEW_ROWS:
                n_free -= 1
                counted = free[n_free]
                count(rows, entries.begin[fewer], entries.end[fewer], settings, histograms[counted])
                take_away(histograms[slot], histograms[counted], settings, n_columns)
                entries.histogram[more], entries.histogram[fewer] = slot, counted
            else:
                free[n_free] = slot
                n_free += 1
        waiting[n_waiting] = more
        waiting[n_waiting + 1] = fewer  # next, so that its histogram is free again soon
        n_waiting += 2
    if settings.alpha > 0:
        prune(entries, n_entries, 2 * min(settings.alpha * whole, settings.leaf_price))
    return n_entries


@borrowing_kernel
def prune(entries: Entries, n_entries: int, price: float) -> None:
    """Make a leaf of every split whose subtree does not earn the price of its leaves (minimal cost-complexity)."""
    for t in range(n_entries - 1, -1, -1):
        as_leaf = entries.cost[t] + price
        if entries.column[t] >= 0:
            as_split = entries.cost[entries.left[t]] + entries.cost[entries.left[t] + 1]
            if as_split < as_leaf:
                entries.cost[t] = as_split
                continue
            entries.column[t] = -1
        entries.cost[t] = as_leaf


@borrowing_kernel
def emit(entries: Entries, edges: NDArray[np.float32], table: Table, start: int, n_sets: int, order: Any) -> Any:
    """Write the tree, without what was pruned, to the table from `start` on; return where it ends, and the sets."""
    order[0] = 0
    n_written = 1
    place = 0
    while place < n_written:
        t = order[place]
        at = start + place
        table.value[at] = (1 + entries.vote[t]) / 2
        table.category_set[at] = -1
        table.feature[at] = entries.column[t]
        table.left[at] = -1
        table.right[at] = -1
        table.threshold[at] = 0
        table.missing_left[at] = False
        if entries.column[t] >= 0:
            order[n_written] = entries.left[t]
            order[n_written + 1] = entries.left[t] + 1
            table.left[at] = n_written
            table.right[at] = n_written + 1
            n_written += 2
            table.missing_left[at] = (entries.goes_left[t] >> np.uint64(MISSING)) & ONE == ONE
            if entries.cut[t] >= 0:
                table.threshold[at] = edges[entries.column[t], entries.cut[t]]
            else:
                table.category_set[at] = n_sets
                table.sets[n_sets] = entries.goes_left[t] & ~(ONE << np.uint64(MISSING))
                n_sets += 1
        place += 1
    return start + n_written, n_sets


@borrowing_kernel
def find_leaf(entries: Entries, codes: Any, i: int) -> int:
    """Return the entry at which a binned row ends."""
    t = 0
    while entries.column[t] >= 0:
        goes_left = (entries.goes_left[t] >> np.uint64(codes[i, entries.column[t]])) & ONE
        t = entries.left[t] + (0 if goes_left else 1)
    return t


@borrowing_kernel
def find_leaves(
    X: Any,
    out: Any,
    feature: Any,
    threshold: Any,
    left: Any,
    right: Any,
    missing_left: Any,
    category_set: Any,
    sets: Any,
) -> None:
    """Write the entry at which each row ends, for one `FlatTree`; rows are numbers, with the codes of categories."""
    for i in range(X.shape[0]):
        t = 0
        while feature[t] >= 0:
            x = np.float32(X[i, feature[t]])
            goes_left = missing_left[t]
            if category_set[t] >= 0:
                if x >= 0 and x < 256:
                    code = np.int64(x)
                    goes_left = (sets[category_set[t], code >> 5] >> np.uint32(code & 31)) & np.uint32(1) == 1
            elif not np.isnan(x):
                goes_left = x <= threshold[t]
            t = left[t] if goes_left else right[t]
        out[i] = t


@borrowing_kernel
def judge(rows: Rows, settings: Settings, scratch: Scratch, n_trees: int, drawn: Drawn) -> None:
    """Give each row the votes of those of `n_trees`, each grown on about 63 of 100 rows, that did not see it."""
    n_rows = rows.row.shape[0]
    for q in range(n_rows):
        drawn.total_vote[q] = 0
    for _ in range(n_trees):
        n_drawn = 0
        for q in range(n_rows):
            drawn.is_drawn[q] = draw_below(scratch.room.random, 100) < 63
            if drawn.is_drawn[q]:
                drawn.row[n_drawn] = rows.row[q]
                drawn.vote[n_drawn] = rows.vote[q]
                n_drawn += 1
        if n_drawn == 0:
            continue
        part = Rows(rows.codes, rows.is_category, drawn.row[:n_drawn], drawn.vote[:n_drawn], drawn.side[:n_drawn])
        grow(part, settings, scratch)
        for q in range(n_rows):
            if not drawn.is_drawn[q]:
                drawn.total_vote[q] += scratch.entries.vote[find_leaf(scratch.entries, rows.codes, rows.row[q])]


@borrowing_kernel
def held_out_error(rows: Rows, settings: Settings, n_rounds: int, scratch: Scratch, drawn: Drawn) -> float:
    """Return the weight that single trees get wrong on rows held out; what gets no answer is half wrong."""
    wrong = 0.0
    for _ in range(n_rounds):
        judge(rows, settings, scratch, 1, drawn)
        for q in range(rows.row.shape[0]):
            wrong += weight_wrong(drawn.total_vote[q], rows.vote[q])
    return wrong


@borrowing_kernel
def weight_wrong(total_vote: float, vote: float) -> float:
    if total_vote == 0:
        return abs(vote) / 2
    return abs(vote) if (total_vote > 0) != (vote > 0) else 0.0
