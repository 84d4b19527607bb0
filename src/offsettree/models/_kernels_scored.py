"""Walking many trees whose splits may be by score, as fast as if they were not: numba only, loaded when needed.

A split by score compares one more number of the row, after its columns. It must be right when a walk comes by, so the
first such split of a contest on any way is behind a stop: an entry that, like an action, leads to itself. Rows walk
until all are at stops or actions, get the scores they wait for, and go on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import borrowing_kernel
from offsettree.learners._kernels_scores import centre_row, weigh
from offsettree.models._kernels_graph import LANES, walk_lanes
from offsettree.models._kernels_rows import load
from offsettree.models.layout import BY_SCORE


@borrowing_kernel
def find_stops(nodes: Any, flags: Any, known: Any, stops: Any) -> None:
    """Tell for each split whether a stop must come before it: no split above, on any way, has the same score.

    `known` is -1 for each split, and `stops` false.
    """
    for at in range(nodes.shape[0]):  # every split comes after those that lead to it
        if flags[at] & BY_SCORE:
            stops[at] = known[at] != nodes[at, 0]
            known[at] = nodes[at, 0]
        for side in range(2, 4):
            if nodes[at, side] >= 0:
                # Within a contest only one way leads to a split, and no score is that of two contests.
                known[nodes[at, side]] = known[at]


@borrowing_kernel
def load_scored(values: Any, first: Any, n_rows: Any, width: Any, centre: Any, rows: Any, centred: Any) -> Any:
    """Copy rows, with room for a score if there are any, once as they are and once centred; see `load`."""
    if centre.shape[0] == 0:
        return load(values, first * width, (first + n_rows) * width, rows)
    found = 0
    for i in range(n_rows):
        row = rows[i * (width + 1) : (i + 1) * (width + 1)]
        begin = (first + i) * width
        found |= load(values, begin, begin + width, row)
        centre_row(row, centre, centred[i * width : (i + 1) * width])
    return found


@borrowing_kernel
def answer_lanes(
    graph: Any, rows: Any, first: Any, apart: Any, centred: Any, first_centred: Any, centred_apart: Any, places: Any
) -> Any:
    """Walk from twelve places on, over rows that are so far `apart`, and turn the places into actions."""
    loops, end, stops, weights, n_columns = graph
    thresholds = loops.view(np.float32)
    first_stop = loops.shape[0] - 4 * stops.shape[0]
    while True:
        walk_lanes(loops, thresholds, np.uint64(end), rows, np.uint64(first), np.uint64(apart), places)
        waiting = False
        for lane in range(LANES):
            if places[lane] >= first_stop:
                waiting = True
                stop = (places[lane] - first_stop) >> 2
                at = first_centred + lane * centred_apart
                value = weigh(weights, stops[stop, 1] * n_columns, centred, at, n_columns)
                rows[first + lane * apart + n_columns] = value
                places[lane] = stops[stop, 0]
        if not waiting:
            break
    for lane in range(LANES):
        places[lane] = (places[lane] - end) >> 2
