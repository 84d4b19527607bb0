"""Walking a tree of linear contests: numba only, loaded when the first decision is taken.

`planes` is one long array, for each contest its weights and then its bias; `ways` has what comes next where the left
side wins, and where the right one does: a contest, or below zero ``~action``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import kernel, part
from offsettree.learners._kernels_scores import dot
from offsettree.models._kernels_rows import load

BLOCK = 64  # rows that take turns


@part
def _next(planes: Any, ways: Any, at: Any, rows: Any, first: Any, width: Any) -> Any:
    """Hold one contest, over the row that begins at `first` of a long array."""
    begin = at * (width + 1)
    margin = dot(planes, begin, rows, first, width) + planes[begin + width]
    return ways[at, 0] if margin > 0 else ways[at, 1]


@kernel
def choose_rows(planes: Any, ways: Any, root: Any, values: Any, out: Any, refused: Any) -> Any:
    """Walk every row of a table given as one long array of `values`; see `_kernels_graph.choose_rows`.

    The rows of a block take one step each, then the next: weights come from memory while others are multiplied.
    """
    width = values.shape[0] // out.shape[0]
    rows = np.empty(min(BLOCK, out.shape[0]) * width, np.float64)
    found = 0
    for first in range(0, out.shape[0], BLOCK):
        n_rows = min(BLOCK, out.shape[0] - first)
        found |= load(values, first * width, (first + n_rows) * width, rows)
        if found & refused:
            return found
        here = out[first : first + n_rows]
        here[:] = root
        n_walking = n_rows if root >= 0 else 0
        while n_walking > 0:
            n_walking = 0
            for i in range(n_rows):
                at = here[i]
                if at >= 0:
                    at = _next(planes, ways, at, rows, i * width, width)
                    here[i] = at
                    n_walking += at >= 0
        for i in range(n_rows):
            here[i] = ~here[i]
    return found


@kernel
def choose_one(planes: Any, ways: Any, root: Any, x: Any, refused: Any) -> Any:
    """Walk one row; -1 where it holds something that is refused."""
    row = np.empty(x.shape[0], np.float64)
    if load(x, 0, x.shape[0], row) & refused:
        return -1
    at = np.int64(root)
    while at >= 0:
        at = np.int64(_next(planes, ways, at, row, 0, x.shape[0]))
    return ~at


@kernel
def choose_csr(planes: Any, ways: Any, root: Any, data: Any, indices: Any, indptr: Any, out: Any) -> Any:
    """Walk the rows of a CSR matrix; margins are added up over its entries alone."""
    width = planes.shape[0] // max(1, ways.shape[0]) - 1
    for i in range(out.shape[0]):
        at = root
        while at >= 0:
            begin = at * (width + 1)
            margin = 0.0
            for j in range(indptr[i], indptr[i + 1]):
                margin += planes[begin + indices[j]] * data[j]
            at = ways[at, 0] if margin + planes[begin + width] > 0 else ways[at, 1]
        out[i] = ~at
    return 0
