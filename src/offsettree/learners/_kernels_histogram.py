"""Compiled: one decision tree from binned rows.

A column has at most 64 bins, the last for missing values, so that a set of bins is one 64-bit word: which bins occur
among a few rows, and which of them a split sends left. Votes are weights with the sign of the label.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.cpython.unsafe import numbers
from numpy.typing import NDArray

from offsettree._jit import kernel

__all__ = [
    "MISSING",
    "N_BINS",
    "Entries",
    "Scratch",
    "Settings",
    "Table",
    "bin_columns",
    "emit",
    "find_leaf",
    "find_leaves",
    "grow",
    "held_out_error",
    "judge",
    "make_scratch",
    "make_table",
    "seeded",
    "weight_wrong",
]

N_BINS = 64
MISSING = N_BINS - 1
FEW_ROWS = 64  # up to which a column is counted on its own; above, all columns at once, each row read once
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


class Entries(NamedTuple):
    """Room for the splits and leaves of one tree; entry 0 is the root and every entry comes after its parent."""

    begin: NDArray[np.int32]  # the rows of an entry are a slice
    end: NDArray[np.int32]
    depth: NDArray[np.int32]
    column: NDArray[np.int32]  # -1 at a leaf
    cut: NDArray[np.int32]  # the last bin that goes left; -1 for a split on categories
    goes_left: NDArray[np.uint64]  # one bit per bin
    left: NDArray[np.int32]  # the right child comes next
    vote: NDArray[np.float64]  # mean vote, from -1 to 1
    cost: NDArray[np.float64]
    histogram: NDArray[np.int32]  # its slot, or -1


class Table(NamedTuple):
    """Finished trees, one after the other; the fields of a `FlatTree`, with a set of categories as one word."""

    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    category_set: NDArray[np.int32]
    sets: NDArray[np.uint64]
    value: NDArray[np.float64]


class Scratch(NamedTuple):
    """Room that one tree after the other uses."""

    entries: Entries
    histograms: NDArray[np.float32]  # slot, column, bin, (votes, weight)
    counted: NDArray[np.float32]  # the same of one column
    columns: NDArray[np.int32]  # a permutation
    by_vote: NDArray[np.int32]
    row: NDArray[np.int32]
    vote: NDArray[np.float32]
    side: NDArray[np.uint8]
    random: NDArray[np.uint64]


@kernel
def make_scratch(n_rows: int, n_columns: int, settings: Settings) -> Scratch:
    n_entries = 2 * n_rows + 1
    if settings.max_depth < 20:
        n_entries = min(n_entries, 2 ** (settings.max_depth + 1))
    entries = Entries(
        np.empty(n_entries, np.int32),
        np.empty(n_entries, np.int32),
        np.empty(n_entries, np.int32),
        np.empty(n_entries, np.int32),
        np.empty(n_entries, np.int32),
        np.empty(n_entries, np.uint64),
        np.empty(n_entries, np.int32),
        np.empty(n_entries, np.float64),
        np.empty(n_entries, np.float64),
        np.empty(n_entries, np.int32),
    )
    # Depth first, each level holds at most one histogram that waits.
    n_slots = settings.max_depth + 3 if settings.n_tried >= n_columns and n_rows > FEW_ROWS else 1
    n_slots = min(n_slots, 2 + n_rows // FEW_ROWS)
    return Scratch(
        entries,
        np.empty((n_slots, n_columns, N_BINS, 2), np.float32),
        np.empty((N_BINS, 2), np.float32),
        np.arange(n_columns).astype(np.int32),
        np.empty(N_BINS, np.int32),
        np.empty(n_rows, np.int32),
        np.empty(n_rows, np.float32),
        np.empty(n_rows, np.uint8),
        np.zeros(1, np.uint64),
    )


@kernel
def seeded(scratch: Scratch, seed: int) -> None:
    """Begin a stream of random numbers, the same whatever trees were grown before."""
    scratch.random[0] = np.uint64(seed)
    for j in range(scratch.columns.shape[0]):
        scratch.columns[j] = j


@kernel
def draw_below(random: NDArray[np.uint64], bound: int) -> Any:
    """Draw a whole number (splitmix64)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64(((z >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@kernel
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


@kernel
def count_all(codes: Any, row: Any, vote: Any, begin: int, end: int, histogram: Any) -> None:
    n_columns = codes.shape[1]
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
def count_column(codes: Any, row: Any, vote: Any, begin: int, end: int, column: int, counted: Any) -> Any:
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
    scratch: Scratch,
) -> Any:
    """Return the column to split, its cut, and the bins that go left; column -1 for none."""
    n_columns = codes.shape[1]
    best = votes * votes / weight + np.float32(1e-6) * weight
    column = -1
    cut = -1
    goes_left = NONE
    n_tried = 0
    for place in range(n_columns):
        j = place
        if settings.n_tried < n_columns:
            other = place + draw_below(scratch.random, n_columns - place)
            j = scratch.columns[other]
            scratch.columns[other] = scratch.columns[place]
            scratch.columns[place] = j
        if slot >= 0:
            counted = scratch.histograms[slot, j]
            seen = occurring(counted)
        else:
            counted = scratch.counted
            seen = count_column(codes, row, vote, begin, end, j, counted)
        if seen & (seen - ONE) == NONE:
            continue  # a column that is constant here does not count as tried
        if is_category[j]:
            purity, chosen = best_set(
                counted, seen, votes, weight, least, settings.random_cuts, scratch.random, scratch.by_vote
            )
            if purity > best:
                best, column, cut, goes_left = purity, j, -1, chosen
        else:
            purity, b, missing_left = best_cut(
                counted, seen, votes, weight, least, settings.random_cuts, scratch.random
            )
            if purity > best:
                best, column, cut = purity, j, b
                goes_left = (ONE << np.uint64(b + 1)) - ONE
                if missing_left:
                    goes_left |= ONE << np.uint64(MISSING)
        n_tried += 1
        if n_tried >= settings.n_tried:
            break
    return column, cut, goes_left


@kernel
def partition(
    codes: Any, row: Any, vote: Any, side: Any, begin: int, end: int, column: int, goes_left: Any, scratch: Scratch
) -> Any:
    """Move the rows that go left before the others, both in their order.

    Return where the others begin, and which bins occur: of bins much lighter than others, histograms may not tell.
    """
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


@kernel
def take_away(whole: Any, part: Any) -> None:
    """Make of the histogram of all rows that of the other part."""
    for j in range(whole.shape[0]):
        for b in range(N_BINS):
            left_over = whole[j, b, 1] - part[j, b, 1]
            # What rounding may leave of a bin whose rows are all in the part.
            if left_over <= np.float32(1e-5) * whole[j, b, 1]:
                whole[j, b, 0] = 0
                whole[j, b, 1] = 0
            else:
                whole[j, b, 0] -= part[j, b, 0]
                whole[j, b, 1] = left_over


@kernel
def grow(codes: Any, is_category: Any, row: Any, vote: Any, side: Any, settings: Settings, scratch: Scratch) -> int:
    """Grow and prune one tree over the rows given, which are put in the order of its leaves; return its entries."""
    n_columns = codes.shape[1]
    entries = scratch.entries
    histograms = scratch.histograms
    whole = 0.0
    for q in range(row.shape[0]):
        whole += abs(vote[q])
    least = np.float32(max(1.0, settings.leaf_scale * np.sqrt(whole)) * (1 - 1e-6))
    free = np.arange(histograms.shape[0])
    n_free = free.shape[0]
    waiting = np.empty(2 * settings.max_depth + 4, np.int64)
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
                count_all(codes, row, vote, begin, end, histograms[slot])
            column, cut, goes_left = find_split(
                codes, is_category, row, vote, begin, end, slot,
                np.float32(votes), np.float32(weight), least, settings, scratch,
            )  # fmt: skip
            if column >= 0:
                middle, occur = partition(codes, row, vote, side, begin, end, column, goes_left, scratch)
        if column < 0 or middle in (begin, end):
            if slot >= 0:
                free[n_free] = slot
                n_free += 1
            continue
        if middle - begin > end - middle:
            # What did not occur here goes with the larger part.
            unseen = ~occur if is_category[column] else ~occur & (ONE << np.uint64(MISSING))
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
                count_all(codes, row, vote, entries.begin[fewer], entries.end[fewer], histograms[counted])
                take_away(histograms[slot], histograms[counted])
                entries.histogram[more], entries.histogram[fewer] = slot, counted
            else:
                free[n_free] = slot
                n_free += 1
        waiting[n_waiting] = more
        waiting[n_waiting + 1] = fewer  # next, so that its histogram is free again soon
        n_waiting += 2
    if settings.alpha > 0:
        prune(entries, n_entries, 2 * settings.alpha * whole)
    return n_entries


@kernel
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


@kernel
def make_table(n_entries: int, n_sets: int) -> Table:
    return Table(
        np.empty(n_entries, np.int32),
        np.empty(n_entries, np.float32),
        np.empty(n_entries, np.int32),
        np.empty(n_entries, np.int32),
        np.empty(n_entries, np.bool_),
        np.empty(n_entries, np.int32),
        np.empty(n_sets, np.uint64),
        np.empty(n_entries, np.float64),
    )


@kernel
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


@kernel
def find_leaf(entries: Entries, codes: Any, i: int) -> int:
    """Return the entry at which a binned row ends."""
    t = 0
    while entries.column[t] >= 0:
        goes_left = (entries.goes_left[t] >> np.uint64(codes[i, entries.column[t]])) & ONE
        t = entries.left[t] + (0 if goes_left else 1)
    return t


@kernel
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


@kernel
def judge(
    codes: Any, is_category: Any, row: Any, vote: Any, settings: Settings, scratch: Scratch, n_trees: int, told: Any
) -> None:
    """Write for each row the votes of those of `n_trees`, each grown on about 63 of 100 rows, that did not see it."""
    n_rows = row.shape[0]
    is_drawn = np.empty(n_rows, np.bool_)
    drawn_row = np.empty(n_rows, np.int32)
    drawn_vote = np.empty(n_rows, np.float32)
    drawn_side = np.zeros(n_rows, np.uint8)
    told[:n_rows] = 0
    for _ in range(n_trees):
        n_drawn = 0
        for q in range(n_rows):
            is_drawn[q] = draw_below(scratch.random, 100) < 63
            if is_drawn[q]:
                drawn_row[n_drawn] = row[q]
                drawn_vote[n_drawn] = vote[q]
                n_drawn += 1
        if n_drawn == 0:
            continue
        grow(codes, is_category, drawn_row[:n_drawn], drawn_vote[:n_drawn], drawn_side[:n_drawn], settings, scratch)
        for q in range(n_rows):
            if not is_drawn[q]:
                told[q] += scratch.entries.vote[find_leaf(scratch.entries, codes, row[q])]


@kernel
def held_out_error(
    codes: Any, is_category: Any, row: Any, vote: Any, settings: Settings, seed: int, n_rounds: int
) -> float:
    """Return the weight that single trees get wrong on rows held out; what gets no answer is half wrong."""
    scratch = make_scratch(row.shape[0], codes.shape[1], settings)
    seeded(scratch, seed)
    told = np.empty(row.shape[0], np.float64)
    wrong = 0.0
    for _ in range(n_rounds):
        judge(codes, is_category, row, vote, settings, scratch, 1, told)
        for q in range(row.shape[0]):
            wrong += weight_wrong(told[q], vote[q])
    return wrong


@kernel
def weight_wrong(told: float, vote: float) -> float:
    if told == 0:
        return abs(vote) / 2
    return abs(vote) if (told > 0) != (vote > 0) else 0.0
