"""Walking a graph of splits from many roots, and counting where the walks end: numba only, loaded when needed.

`graph` and its parts are those of `_kernels_graph`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import kernel
from offsettree.compiled._kernels_graph import BLOCK, walk, walk_all
from offsettree.compiled._kernels_rows import load
from offsettree.compiled.layout import HAS_NAN

__all__ = ["vote_csr", "vote_one", "vote_rows"]


@kernel
def _most_voted(answers: Any, counts: Any) -> Any:
    """Return the answer given most often, of equals the lowest; `counts` is all zero before and after."""
    best = answers[0]
    for answer in answers:
        counts[answer] += 1
    for answer in answers:
        if counts[answer] > counts[best] or (counts[answer] == counts[best] and answer < best):
            best = answer
    for answer in answers:
        counts[answer] = 0
    return best


@kernel
def vote_rows(
    graph: Any, roots: Any, values: Any, out: Any, votes: Any, n_actions: Any, plain: Any, refused: Any
) -> Any:
    """Walk every row from every root. The winners go to `out`; to `votes`, if it has rows, the count of each action."""
    width = values.shape[0] // out.shape[0]
    n_trees = roots.shape[0]
    rows = np.empty(BLOCK * width, np.float32)
    answers = np.empty((n_trees, BLOCK), np.int64)
    of_row = np.empty(n_trees, np.int64)
    counts = np.zeros(n_actions, np.int32)
    found = 0
    for first in range(0, out.shape[0], BLOCK):
        n_rows = min(BLOCK, out.shape[0] - first)
        here = load(values, first * width, (first + n_rows) * width, rows)
        found |= here
        if found & refused:
            return found
        # Tree by tree, so that one's splits stay in the cache for all rows of the block.
        for tree in range(n_trees):
            walk_all(graph, roots[tree], rows, n_rows, width, plain and not here & HAS_NAN, answers[tree])
        for lane in range(n_rows):
            for tree in range(n_trees):
                of_row[tree] = answers[tree, lane]
                if votes.shape[0] > 0:
                    votes[first + lane, of_row[tree]] += 1
            out[first + lane] = _most_voted(of_row, counts)
    return found


@kernel
def vote_csr(
    nodes: Any,
    flags: Any,
    sets: Any,
    scores: Any,
    roots: Any,
    data: Any,
    indices: Any,
    indptr: Any,
    n_features: Any,
    out: Any,
    votes: Any,
    n_actions: Any,
) -> Any:
    """Do as `vote_rows`, for a CSR matrix."""
    thresholds = nodes.view(np.float32)
    row = np.zeros(n_features, np.float32)
    of_row = np.empty(roots.shape[0], np.int64)
    counts = np.zeros(n_actions, np.int32)
    for i in range(out.shape[0]):
        for j in range(indptr[i], indptr[i + 1]):
            row[indices[j]] = data[j]
        for tree in range(roots.shape[0]):
            of_row[tree] = walk(nodes, thresholds, flags, sets, scores, roots[tree], row)
            if votes.shape[0] > 0:
                votes[i, of_row[tree]] += 1
        out[i] = _most_voted(of_row, counts)
        for j in range(indptr[i], indptr[i + 1]):
            row[indices[j]] = 0
    return 0


@kernel
def vote_one(nodes: Any, flags: Any, sets: Any, scores: Any, roots: Any, x: Any, n_actions: Any, refused: Any) -> Any:
    """Return the action with most votes for one row; -1 where it holds something that is refused."""
    row = np.empty(x.shape[0], np.float32)
    if load(x, 0, x.shape[0], row) & refused:
        return -1
    thresholds = nodes.view(np.float32)
    answers = np.empty(roots.shape[0], np.int64)
    for tree in range(roots.shape[0]):
        answers[tree] = walk(nodes, thresholds, flags, sets, scores, roots[tree], row)
    return _most_voted(answers, np.zeros(n_actions, np.int32))
