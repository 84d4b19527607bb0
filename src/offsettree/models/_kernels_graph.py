"""Walking a graph of splits: numba only, loaded when the first decision is taken.

`nodes` has four 32-bit words a split: feature, threshold (float32), left and right. Words below zero are ``~answer``.
`flags` tell what rows without NaN and splits without categories never ask: where NaN goes, and whether the threshold
word is an index into `sets`. A split by score has a row of `scores` for its feature, the weights of the columns; row 0
is where columns count from, and `centred` a row less that. `loops` are the same splits for the fastest walk: children
are places in the long array, and each action, far after the splits, is an entry that leads to itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import borrowing_kernel, kernel
from offsettree.learners._kernels_scores import centre_row, weigh
from offsettree.models._kernels_rows import load, scan
from offsettree.models._merge import merge_trees
from offsettree.models.layout import BY_CATEGORY, BY_SCORE, HAS_NAN, MISSING_LEFT

LANES = 12
BLOCK = 96  # rows copied at a time: enough to forget what a block costs, few enough for the first cache


merge = borrowing_kernel(merge_trees)


@borrowing_kernel
def _goes_right(nodes: Any, thresholds: Any, flags: Any, sets: Any, at: Any, value: Any) -> Any:
    """Answer one split for any value: NaN and categories included."""
    if flags[at] & BY_CATEGORY:
        if value >= 0 and value <= 255 and value == np.floor(value):
            code = np.int64(value)
            return 1 - np.int64((sets[nodes[at, 1], code >> 5] >> np.uint32(code & 31)) & np.uint32(1))
        return 1 - np.int64(flags[at] & MISSING_LEFT)
    if value != value:
        return 1 - np.int64(flags[at] & MISSING_LEFT)
    return np.int64(value > thresholds[at, 1])


@borrowing_kernel
def walk(nodes: Any, thresholds: Any, flags: Any, sets: Any, scores: Any, root: Any, row: Any, centred: Any) -> Any:
    """Walk one row, whatever it holds."""
    at = root
    last = -1
    last_score = np.float32(0)
    while at >= 0:
        column = nodes[at, 0]
        if flags[at] & BY_SCORE:
            if column != last:  # the splits of a contest, which come together, have the same score
                width = centred.shape[0]
                last, last_score = column, weigh(scores[column], 0, centred, 0, width)
            value = last_score
        else:
            value = np.float32(row[column])
        at = nodes[at, 2 + _goes_right(nodes, thresholds, flags, sets, at, value)]
    return ~at


@borrowing_kernel
def _step(loops: Any, thresholds: Any, at: Any, rows: Any, lane: Any) -> Any:
    """Go one split further. Unsigned throughout: a signed index might count from the end, which costs a comparison."""
    goes_right = np.uint64(rows[lane + np.uint64(loops[at])] > thresholds[at + np.uint64(1)])
    return np.uint64(loops[at + np.uint64(2) + goes_right])


@borrowing_kernel
def walk_lanes(loops: Any, thresholds: Any, end: Any, rows: Any, first: Any, width: Any, places: Any) -> Any:
    """Walk twelve rows in turn, each from its place on: while one waits for memory the others go on.

    A row that has arrived goes round in the loop of its action until the last has arrived too, which is cheaper than to
    ask for each whether it has. That all have is seen at once, as actions are places from a power of two, `end`, on.
    The first row begins at `first` of the long array, each of the others `width` further.
    """
    a, b, c, d, e, f, g, h, i, j, k, m = (
        np.uint64(places[0]),
        np.uint64(places[1]),
        np.uint64(places[2]),
        np.uint64(places[3]),
        np.uint64(places[4]),
        np.uint64(places[5]),
        np.uint64(places[6]),
        np.uint64(places[7]),
        np.uint64(places[8]),
        np.uint64(places[9]),
        np.uint64(places[10]),
        np.uint64(places[11]),
    )
    while (a & b & c & d & e & f & g & h & i & j & k & m) < end:
        a = _step(loops, thresholds, a, rows, first)
        b = _step(loops, thresholds, b, rows, first + width)
        c = _step(loops, thresholds, c, rows, first + width * np.uint64(2))
        d = _step(loops, thresholds, d, rows, first + width * np.uint64(3))
        e = _step(loops, thresholds, e, rows, first + width * np.uint64(4))
        f = _step(loops, thresholds, f, rows, first + width * np.uint64(5))
        g = _step(loops, thresholds, g, rows, first + width * np.uint64(6))
        h = _step(loops, thresholds, h, rows, first + width * np.uint64(7))
        i = _step(loops, thresholds, i, rows, first + width * np.uint64(8))
        j = _step(loops, thresholds, j, rows, first + width * np.uint64(9))
        k = _step(loops, thresholds, k, rows, first + width * np.uint64(10))
        m = _step(loops, thresholds, m, rows, first + width * np.uint64(11))
    places[0] = a
    places[1] = b
    places[2] = c
    places[3] = d
    places[4] = e
    places[5] = f
    places[6] = g
    places[7] = h
    places[8] = i
    places[9] = j
    places[10] = k
    places[11] = m


@borrowing_kernel
def _from_root(loops: Any, thresholds: Any, start: Any, end: Any, rows: Any, width: Any, begin: Any, out: Any) -> Any:
    """Answer twelve rows, number `begin` and following."""
    here = out[begin : begin + LANES]
    for lane in range(LANES):
        here[lane] = start
    walk_lanes(loops, thresholds, np.uint64(end), rows, np.uint64(begin * width), np.uint64(width), here)
    for lane in range(LANES):
        here[lane] = (here[lane] - end) >> 2


@kernel
def walk_all(graph: Any, root: Any, rows: Any, n_rows: Any, width: Any, plain: Any, out: Any) -> Any:
    """Walk the first rows of a long array of them."""
    nodes, flags, sets, scores, loops, end = graph
    thresholds = nodes.view(np.float32)
    loop_thresholds = loops.view(np.float32)
    start = 4 * root if root >= 0 else end + 4 * ~root
    whole = n_rows - n_rows % LANES if plain else 0
    for begin in range(0, whole, LANES):
        _from_root(loops, loop_thresholds, start, end, rows, width, begin, out)
    centred = np.empty(scores.shape[1], np.float32)
    for i in range(whole, n_rows):
        row = rows[i * width : (i + 1) * width]
        if scores.shape[0] > 0:
            centre_row(row, scores[0], centred)
        out[i] = walk(nodes, thresholds, flags, sets, scores, root, row, centred)


@kernel
def choose_rows(graph: Any, root: Any, values: Any, out: Any, plain: Any, refused: Any) -> Any:
    """Walk every row of a table given as one long array of `values`, for as many rows as `out` has.

    Stops where there is something that is `refused`; tells what was there that is not finite.
    """
    width = values.shape[0] // out.shape[0]
    rows = np.empty(BLOCK * width, np.float32)
    found = 0
    for first in range(0, out.shape[0], BLOCK):
        n_rows = min(BLOCK, out.shape[0] - first)
        here = load(values, first * width, (first + n_rows) * width, rows)
        found |= here
        if found & refused:
            return found
        walk_all(graph, root, rows, n_rows, width, plain and not here & HAS_NAN, out[first : first + n_rows])
    return found


@kernel
def choose_finite(loops: Any, root: Any, end: Any, values: Any, out: Any) -> Any:
    """Do as `choose_rows` for at least twelve rows of float32, walked where they stand; -1 for something not finite."""
    n_rows = out.shape[0]
    width = values.shape[0] // n_rows
    thresholds = loops.view(np.float32)
    start = 4 * root if root >= 0 else end + 4 * ~root
    for first in range(0, n_rows, BLOCK):
        last = min(first + BLOCK, n_rows)
        if scan(values[first * width : last * width]):
            return -1
        for begin in range(first, last, LANES):
            # The last twelve may overlap with those before, who get the same answers once more.
            _from_root(loops, thresholds, start, end, values, width, min(begin, n_rows - LANES), out)
    return 0


@kernel
def choose_one(nodes: Any, flags: Any, sets: Any, scores: Any, root: Any, x: Any, refused: Any) -> Any:
    """Walk one row; -1 where it holds something that is refused."""
    found = scan(x)
    if found & refused:
        return -1
    thresholds = nodes.view(np.float32)
    if found & HAS_NAN or sets.shape[0] > 0 or scores.shape[0] > 0:
        centred = np.empty(scores.shape[1], np.float32)
        if scores.shape[0] > 0:
            centre_row(x, scores[0], centred)
        return walk(nodes, thresholds, flags, sets, scores, root, x, centred)
    at = root
    while at >= 0:
        here = np.uint64(at)
        goes_right = np.float32(x[np.uint64(nodes[here, 0])]) > thresholds[here, 1]
        at = nodes[here, np.uint64(2) + np.uint64(goes_right)]
    return ~at


@kernel
def choose_csr(
    nodes: Any,
    flags: Any,
    sets: Any,
    scores: Any,
    root: Any,
    data: Any,
    indices: Any,
    indptr: Any,
    n_features: Any,
    out: Any,
) -> Any:
    """Walk the rows of a CSR matrix, one at a time spread out in a scratch row that is wiped afterwards."""
    thresholds = nodes.view(np.float32)
    row = np.zeros(n_features, np.float32)
    centred = np.empty(scores.shape[1], np.float32)
    for i in range(out.shape[0]):
        for j in range(indptr[i], indptr[i + 1]):
            row[indices[j]] = data[j]
        if scores.shape[0] > 0:
            centre_row(row, scores[0], centred)
        out[i] = walk(nodes, thresholds, flags, sets, scores, root, row, centred)
        for j in range(indptr[i], indptr[i + 1]):
            row[indices[j]] = 0
    return 0
