"""Walking a tree of committees: numba only, loaded when the first decision is taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import borrowing_kernel, kernel
from offsettree.learners._kernels_scores import dot
from offsettree.models._kernels_graph import walk
from offsettree.models._kernels_rows import load
from offsettree.models.layout import BY_MARGIN, BY_SPLITS, HAS_NAN

NO_SCORES = np.empty((0, 0), np.float32)
NOT_CENTRED = np.empty(0, np.float32)
BLOCK = 512  # rows that are asked about at once: a tree comes from far off, and once for all that meet at a contest


@borrowing_kernel
def _hold(
    contest: Any, here: Any, asked: Any, parts: Any, members: Any, splits: Any, margins: Any, table: Any, sums: Any
) -> None:
    """Hold one contest for some rows: sums and quotients as the committee's own `predict` has them.

    The shares of right and left, not yet divided, are left in ``sums[2]`` and ``sums[3]``.
    """
    part_start, _ = asked
    member_start, part_divisor, weight, hard = parts
    kind, place = members
    nodes, flags, sets, shares = splits
    weights, bias = margins
    rows, wide, width, plain = table
    right, left, total_right, total_left = sums[0], sums[1], sums[2], sums[3]
    thresholds = nodes.view(np.float32)
    n_here = here.shape[0]
    for i in range(n_here):
        total_right[i], total_left[i] = 0.0, 0.0
    for part in range(part_start[contest], part_start[contest + 1]):
        for i in range(n_here):
            right[i], left[i] = 0.0, 0.0
        for member in range(member_start[part], member_start[part + 1]):
            first = place[member]
            for i in range(n_here):
                begin = here[i] * width
                if kind[member] > BY_SPLITS:
                    margin = dot(weights, first * width, wide, begin, width) + bias[first]
                    share = np.float64(margin > 0) if kind[member] == BY_MARGIN else 1.0 / (1.0 + np.exp(-margin))
                    right[i] += 1.0 - share
                    left[i] += share
                    continue
                leaf = first
                if kind[member] == BY_SPLITS and plain:
                    at = first
                    while at >= 0:
                        at = nodes[at, 2 + np.int64(rows[begin + nodes[at, 0]] > thresholds[at, 1])]
                    leaf = ~at
                elif kind[member] == BY_SPLITS:
                    row = rows[begin : begin + width]
                    leaf = walk(nodes, thresholds, flags, sets, NO_SCORES, first, row, NOT_CENTRED)
                right[i] += shares[leaf, 0]
                left[i] += shares[leaf, 1]
        for i in range(n_here):
            to_right = right[i] / part_divisor[part]
            to_left = left[i] / part_divisor[part]
            if hard[part]:
                to_left = np.float64(to_left > to_right)
                to_right = 1.0 - to_left
            total_right[i] += weight[part] * to_right
            total_left[i] += weight[part] * to_left


@borrowing_kernel
def _choose_block(
    way: Any, asked: Any, parts: Any, members: Any, splits: Any, margins: Any, table: Any, room: Any, out: Any
) -> None:
    """Send the rows of a block from the root to their actions; those that meet at a contest are asked together."""
    left, right, root = way
    divisor = asked[1]
    order, sorted_rows, stack, sums = room
    for i in range(out.shape[0]):
        order[i] = i
        out[i] = ~root
    if root < 0:
        return
    stack[0, 0], stack[0, 1], stack[0, 2] = root, 0, out.shape[0]
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        contest, begin, end = stack[n_waiting, 0], stack[n_waiting, 1], stack[n_waiting, 2]
        _hold(contest, order[begin:end], asked, parts, members, splits, margins, table, sums)
        middle, back = begin, end
        for i in range(end - begin):
            if sums[3, i] / divisor[contest] > sums[2, i] / divisor[contest]:
                sorted_rows[middle] = order[begin + i]
                middle += 1
            else:
                back -= 1
                sorted_rows[back] = order[begin + i]
        for i in range(begin, end):
            order[i] = sorted_rows[i]
        for side in range(2):
            first, last = (begin, middle) if side == 0 else (middle, end)
            child = left[contest] if side == 0 else right[contest]
            if child < 0:
                for i in range(first, last):
                    out[order[i]] = ~child
            elif first < last:
                stack[n_waiting, 0], stack[n_waiting, 1], stack[n_waiting, 2] = child, first, last
                n_waiting += 1


@kernel
def _room_for(n_rows: Any) -> Any:
    """Return room for the order of rows, for those that wait at a contest, and for their shares."""
    places = np.empty((2, n_rows), np.int64)
    return places[0], places[1], np.empty((n_rows + 1, 3), np.int64), np.empty((4, n_rows), np.float64)


@kernel
def choose_rows(
    way: Any, asked: Any, parts: Any, members: Any, splits: Any, margins: Any, values: Any, out: Any, refused: Any
) -> Any:
    """Walk every row of a table given as one long array of `values`; see `_kernels_graph.choose_rows`."""
    n_features = values.shape[0] // out.shape[0]
    block = min(BLOCK, out.shape[0])
    rows = np.empty(block * n_features, np.float32)
    wide = np.empty(block * n_features, np.float64)
    room = _room_for(block)
    found = 0
    for first in range(0, out.shape[0], block):
        here = out[first : first + block]
        begin, end = first * n_features, (first + here.shape[0]) * n_features
        now = load(values, begin, end, wide)
        found |= now
        if found & refused:
            return found
        for i in range(end - begin):
            rows[i] = values[begin + i]
        table = rows, wide, n_features, splits[2].shape[0] == 0 and not now & HAS_NAN
        _choose_block(way, asked, parts, members, splits, margins, table, room, here)
    return found


@kernel
def choose_csr(
    way: Any,
    asked: Any,
    parts: Any,
    members: Any,
    splits: Any,
    margins: Any,
    data: Any,
    indices: Any,
    indptr: Any,
    n_features: Any,
    out: Any,
) -> Any:
    """Walk the rows of a CSR matrix, one at a time spread out in scratch rows that are wiped afterwards."""
    row = np.zeros(n_features, np.float32)
    wide = np.zeros(n_features, np.float64)
    room = _room_for(1)
    table = row, wide, n_features, False
    for i in range(out.shape[0]):
        for j in range(indptr[i], indptr[i + 1]):
            row[indices[j]] = data[j]
            wide[indices[j]] += data[j]
        _choose_block(way, asked, parts, members, splits, margins, table, room, out[i : i + 1])
        for j in range(indptr[i], indptr[i + 1]):
            row[indices[j]] = 0
            wide[indices[j]] = 0
    return 0
