"""Compiled: the contests of an offset tree over binned rows, from the leaves up.

The rows of the log stand in the order of the tree's leaves, so that every subtree owns a slice, and a node's rows are
those its children let through, moved to the front of it. That a row survives falls out of growing a tree: the rows
stand in the order of its leaves then, and a leaf keeps the rows of the side it answers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import borrowing_kernel, kernel
from offsettree.learners._kernels_counts import MISSING, Rows, Settings
from offsettree.learners._kernels_histogram import emit, grow, judge, seeded, weight_wrong
from offsettree.learners._kernels_scores import centre_row, weigh
from offsettree.learners.scratch import Drawn, Scratch, Table
from offsettree.reductions._contest_room import Climb, Contests, Open, Workspace


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


@borrowing_kernel
def standing(climb: Climb, child: int) -> Any:
    """Return where the rows begin that come from a child, and how many they are."""
    if child < 0:
        return climb.leaf_begin[~child], climb.leaf_begin[~child + 1] - climb.leaf_begin[~child]
    return climb.begin[child], climb.n_kept[child]


@borrowing_kernel
def gather(climb: Climb, node: int) -> Any:
    """Move the rows of both children side by side; return where they begin, how many came from the left, and all."""
    begin, n_left = standing(climb, climb.left[node])
    other, n_right = standing(climb, climb.right[node])
    if other != begin + n_left:
        for q in range(n_right):
            climb.row[begin + n_left + q] = climb.row[other + q]
    climb.begin[node] = begin
    climb.reached[node] = n_left + n_right
    return begin, n_left, n_left + n_right


@borrowing_kernel
def set_aside(climb: Climb, begin: int, n_left: int, n_rows: int, node: int, choice: Open, aside: Any) -> Any:
    """Move rows that find nothing on the other side behind those that do; return how many do, from the left and in all.

    Both parts keep their order.
    """
    row = climb.row[begin : begin + n_rows]
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


@borrowing_kernel
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


@borrowing_kernel
def sort(values: Any, pending: Any) -> None:
    """Sort numbers in place by quicksort: NumPy's, compiled, takes longer to compile than all else here."""
    pending[0], pending[1] = 0, values.shape[0] - 1
    n_pending = 2
    while n_pending > 0:
        first, last = pending[n_pending - 2], pending[n_pending - 1]
        n_pending -= 2
        while last - first > 16:
            low, middle, high = values[first], values[(first + last) // 2], values[last]
            pivot = max(min(low, middle), min(max(low, middle), high))
            i, j = first, last
            while i <= j:
                while values[i] < pivot:
                    i += 1
                while pivot < values[j]:
                    j -= 1
                if i <= j:
                    values[i], values[j] = values[j], values[i]
                    i += 1
                    j -= 1
            # The shorter part next: the longer ones that wait at least double, and are few.
            if j - first < last - i:
                pending[n_pending], pending[n_pending + 1] = i, last
                last = j
            else:
                pending[n_pending], pending[n_pending + 1] = first, j
                first = i
            n_pending += 2
        for i in range(first + 1, last + 1):
            value = values[i]
            j = i
            while j > first and value < values[j - 1]:
                values[j] = values[j - 1]
                j -= 1
            values[j] = value


@borrowing_kernel
def with_scores(contests: Contests, node: int, row: Any, work: Workspace) -> None:
    """Copy the rows of a contest and bin their scores, at quantiles, into the last column."""
    codes, edges, scores, block = contests.codes, contests.edges, contests.scores, work.block
    n_rows = row.shape[0]
    last = codes.shape[1]
    value, in_order = work.score[:n_rows], work.in_order[:n_rows]
    for q in range(n_rows):
        for j in range(last):
            block[q, j] = codes[row[q], j]
        if scores.narrow.shape[0] > 0:
            centre_row(scores.narrow[row[q]], scores.centre, work.centred)
        else:
            centre_row(scores.wide[row[q]], scores.centre, work.centred)
        value[q] = weigh(scores.weights, node * last, work.centred, 0, last)
        in_order[q] = value[q]
        work.here[q] = q
    sort(in_order, work.pending)
    n_edges = 0
    for e in range(edges.shape[1]):
        edges[last, e] = np.inf
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


@borrowing_kernel
def train(
    contests: Contests, nodes: Any, seeds: Any, settings: Settings, work: Workspace, table: Table, start: Any, done: Any
) -> None:
    """Train the contests of `nodes`, children first, into the table, from where it stopped until room is wanting.

    `done` has the number of nodes that are done, of entries and of sets; `start` is where the entries of each begin.
    """
    climb = contests.climb
    scored = contests.scores.weights.shape[0] > 0
    most_entries = work.order.shape[0]
    n_entries, n_sets = done[1], done[2]
    for place in range(done[0], nodes.shape[0]):
        node = nodes[place]
        n_rows = standing(climb, climb.left[node])[1] + standing(climb, climb.right[node])[1]
        if n_rows > work.vote.shape[0] or n_entries + most_entries > table.left.shape[0]:
            break
        begin, n_left, n_rows = gather(climb, node)
        n_all = n_rows
        if contests.choice.mask.shape[0] > 0:
            n_left, n_rows = set_aside(climb, begin, n_left, n_rows, node, contests.choice, work.scratch.row)
        row = climb.row[begin : begin + n_rows]
        if n_rows == 0:
            # Nobody was heard: the left wins, as everywhere.
            table.feature[n_entries], table.left[n_entries], table.right[n_entries] = -1, -1, -1
            table.threshold[n_entries], table.missing_left[n_entries] = 0, False
            table.category_set[n_entries], table.value[n_entries] = -1, 1.0
            n_entries += 1
            climb.n_kept[node] = 0
        else:
            cast(climb, begin, n_left, n_rows, contests.own_vote, work.vote, work.side)
            seeded(work.scratch, seeds[node])
            if scored:
                with_scores(contests, node, row, work)
            rows = Rows(
                work.block if scored else contests.codes,
                contests.is_category,
                work.here[:n_rows] if scored else row,
                work.vote[:n_rows],
                work.side[:n_rows],
            )
            grow(rows, settings, work.scratch)
            if scored:
                for q in range(n_rows):
                    work.here[q] = row[work.here[q]]
                for q in range(n_rows):
                    row[q] = work.here[q]
            first = n_entries
            n_entries, n_sets = emit(work.scratch.entries, contests.edges, table, n_entries, n_sets, work.order)
            climb.n_kept[node] = keep_winners(work.scratch, work.order, n_entries - first, row, work.side)
        # Those set aside climb as well.
        for q in range(n_rows, n_all):
            climb.row[begin + climb.n_kept[node]] = climb.row[begin + q]
            climb.n_kept[node] += 1
        start[place + 1] = n_entries
        done[0] += 1
    done[1], done[2] = n_entries, n_sets


@borrowing_kernel
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


@borrowing_kernel
def held_out_error(
    contests: Contests, nodes: Any, seed: int, settings: Settings, work: Workspace, drawn: Drawn, n_trees: int
) -> Any:
    """Judge settings: the weight that contests get wrong on rows held out, and the whole weight.

    Each contest is given to a committee of `n_trees`, and each row is judged, and let through, by those that did not
    see it.
    """
    climb = contests.climb
    scored = contests.scores.weights.shape[0] > 0
    wrong = 0.0
    whole = 0.0
    for place in range(nodes.shape[0]):
        node = nodes[place]
        begin, n_left, n_rows = gather(climb, node)
        climb.n_kept[node] = 0
        if n_rows == 0:
            continue
        cast(climb, begin, n_left, n_rows, contests.own_vote, work.vote, work.side)
        seeded(work.scratch, seed + node)
        row = climb.row[begin : begin + n_rows]
        if scored:
            with_scores(contests, node, row, work)
        rows = Rows(
            work.block if scored else contests.codes,
            contests.is_category,
            work.here[:n_rows] if scored else row,
            work.vote[:n_rows],
            work.side[:n_rows],
        )
        judge(rows, settings, work.scratch, n_trees, drawn)
        n_kept = 0
        for q in range(n_rows):
            whole += abs(work.vote[q])
            wrong += weight_wrong(drawn.total_vote[q], work.vote[q])
            if drawn.total_vote[q] == 0 or (drawn.total_vote[q] > 0) == (work.side[q] == 1):
                row[n_kept] = row[q]
                n_kept += 1
        climb.n_kept[node] = n_kept
    return wrong, whole
