"""Walking a graph of splits from many roots, and counting where the walks end: numba only, loaded when needed.

`nodes`, `flags`, `sets` and `scores` are those of `_kernels_graph`; `lanes` and `starts` are the same graph and its
roots as `_kernels_scored` takes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import borrowing_kernel, kernel
from offsettree.learners._kernels_scores import centre_row
from offsettree.models._kernels_graph import LANES, walk
from offsettree.models._kernels_scored import answer_lanes, load_scored
from offsettree.models.layout import HAS_NAN

BLOCK = 32 * LANES  # rows at a time: a tree comes from far off, and once for all of them


@borrowing_kernel
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
def _centre(scores: Any) -> Any:
    return scores[0] if scores.shape[0] > 0 else np.empty(0, np.float32)


@kernel
def vote_rows(
    graph: Any,
    lanes: Any,
    roots: Any,
    starts: Any,
    values: Any,
    out: Any,
    votes: Any,
    n_actions: Any,
    refused: Any,
) -> Any:
    """Walk every row from every root. The winners go to `out`; to `votes`, if it has rows, the count of each action."""
    nodes, flags, sets, scores = graph
    centre = _centre(scores)
    n_centred = centre.shape[0]
    width = values.shape[0] // out.shape[0]
    apart = width + 1 if n_centred > 0 else width
    n_trees = roots.shape[0]
    block = min(BLOCK, (out.shape[0] + LANES - 1) // LANES * LANES)
    thresholds = nodes.view(np.float32)
    rows = np.zeros(block * apart, np.float32)
    centred = np.zeros(block * n_centred, np.float32)
    answers = np.empty((n_trees, block), np.int64)
    of_row = np.empty(n_trees, np.int64)
    counts = np.zeros(n_actions, np.int32)
    found = 0
    for first in range(0, out.shape[0], block):
        n_rows = min(block, out.shape[0] - first)
        here = load_scored(values, first, n_rows, width, centre, rows, centred)
        found |= here
        if found & refused:
            return found
        # Tree by tree, so that one's splits stay in the cache for all rows of the block.
        for tree in range(n_trees):
            if sets.shape[0] == 0 and not here & HAS_NAN:
                for begin in range(0, n_rows, LANES):  # after the last row, whatever stands there walks along
                    places = answers[tree, begin : begin + LANES]
                    for lane in range(LANES):
                        places[lane] = starts[tree]
                    answer_lanes(lanes, rows, begin * apart, apart, centred, begin * n_centred, n_centred, places)
            else:
                for i in range(n_rows):
                    row = rows[i * apart : i * apart + width]
                    of_centre = centred[i * n_centred : (i + 1) * n_centred]
                    answers[tree, i] = walk(nodes, thresholds, flags, sets, scores, roots[tree], row, of_centre)
        for i in range(n_rows):
            for tree in range(n_trees):
                of_row[tree] = answers[tree, i]
                if votes.shape[0] > 0:
                    votes[first + i, of_row[tree]] += 1
            out[first + i] = _most_voted(of_row, counts)
    return found


@kernel
def vote_csr(
    graph: Any,
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
    nodes, flags, sets, scores = graph
    thresholds = nodes.view(np.float32)
    row = np.zeros(n_features, np.float32)
    centre = _centre(scores)
    centred = np.empty(centre.shape[0], np.float32)
    of_row = np.empty(roots.shape[0], np.int64)
    counts = np.zeros(n_actions, np.int32)
    for i in range(out.shape[0]):
        for j in range(indptr[i], indptr[i + 1]):
            row[indices[j]] = data[j]
        centre_row(row, centre, centred)
        for tree in range(roots.shape[0]):
            of_row[tree] = walk(nodes, thresholds, flags, sets, scores, roots[tree], row, centred)
            if votes.shape[0] > 0:
                votes[i, of_row[tree]] += 1
        out[i] = _most_voted(of_row, counts)
        for j in range(indptr[i], indptr[i + 1]):
            row[indices[j]] = 0
    return 0


@kernel
def vote_one(graph: Any, lanes: Any, roots: Any, starts: Any, x: Any, votes: Any, n_actions: Any, refused: Any) -> Any:
    """Return the action with most votes for one row; -1 where it holds something that is refused.

    To `votes`, if it has entries, the count of each action is added.
    """
    nodes, flags, sets, scores = graph
    centre = _centre(scores)
    width = x.shape[0]
    # Twelve trees walk in turn, each over a row of its own where it has a score of its own.
    apart = width + 1 if centre.shape[0] > 0 else 0
    rows = np.empty(width + LANES * apart, np.float32)
    centred = np.empty(centre.shape[0], np.float32)
    found = load_scored(x, 0, 1, width, centre, rows, centred)
    if found & refused:
        return -1
    answers = np.empty(starts.shape[0], np.int64)
    if sets.shape[0] == 0 and not found & HAS_NAN:
        for lane in range(1, LANES if apart > 0 else 1):
            for j in range(width):
                rows[lane * apart + j] = rows[j]
        for tree in range(starts.shape[0]):
            answers[tree] = starts[tree]
        for begin in range(0, starts.shape[0], LANES):
            answer_lanes(lanes, rows, 0, apart, centred, 0, 0, answers[begin : begin + LANES])
    else:
        thresholds = nodes.view(np.float32)
        for tree in range(roots.shape[0]):
            answers[tree] = walk(nodes, thresholds, flags, sets, scores, roots[tree], rows[:width], centred)
    counts = np.empty(n_actions, np.int64)
    for action in range(n_actions):
        counts[action] = 0
    if votes.shape[0] > 0:
        for tree in range(roots.shape[0]):
            votes[answers[tree]] += 1
    return _most_voted(answers[: roots.shape[0]], counts)
