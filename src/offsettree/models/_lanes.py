"""Graphs of splits laid out for walks in turn: whoever has arrived goes round in a loop until the last has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from offsettree.models.layout import BY_SCORE

if TYPE_CHECKING:
    from offsettree.models.graph import SplitGraph


def loops_of(nodes: NDArray[np.int32], n_ends: int) -> tuple[NDArray[np.uint32], int]:
    """Return the splits followed, from a power of two on, by entries that lead to themselves; and that power.

    Children are places in the long array of all words. What is between splits and ends is never touched, and takes no
    memory.
    """
    n_splits = len(nodes)
    end = 1 << (max(n_splits, n_ends) - 1).bit_length()
    loops = np.zeros((end + n_ends, 4), dtype=np.uint32)
    children = nodes[:, 2:].astype(np.int64)
    loops[:n_splits, :2] = nodes[:, :2].view(np.uint32)
    loops[:n_splits, 2:] = 4 * np.where(children >= 0, children, end + ~children)
    loops[end:, 2:] = 4 * np.arange(end, end + n_ends)[:, np.newaxis]
    return loops, end


def lanes_of(graph: SplitGraph, roots: NDArray[np.int32]) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
    """Return a graph and the places of its roots as `_kernels_scored` takes them.

    Stops are ends that come after the actions; each knows the split behind it and whose score that needs.
    """
    from offsettree.models._kernels_graph import LANES
    from offsettree.models._kernels_scored import find_stops

    nodes = graph.nodes.copy()
    by_score = (graph.flags & BY_SCORE) != 0
    needs_stop = np.zeros(len(nodes), dtype=bool)
    find_stops(nodes, graph.flags, np.full(len(nodes), -1, dtype=np.int32), needs_stop)
    behind = np.flatnonzero(needs_stop)
    stops = np.stack([4 * behind, nodes[behind, 0]], axis=1).astype(np.int64)
    way = np.arange(len(nodes), dtype=np.int32)
    way[behind] = ~np.arange(graph.n_actions, graph.n_actions + len(behind), dtype=np.int32)
    nodes[by_score, 0] = graph.scores.shape[1]
    children = nodes[:, 2:]
    children[children >= 0] = way[children[children >= 0]]
    loops, end = loops_of(nodes, graph.n_actions + len(behind))
    starts = np.full(-(-len(roots) // LANES) * LANES, 4 * end, dtype=np.int64)
    first = roots.astype(np.int64)
    first[first >= 0] = way[first[first >= 0]]
    starts[: len(roots)] = 4 * np.where(first >= 0, first, end + ~first)
    return (loops.reshape(-1), 4 * end, stops, graph.scores.reshape(-1), graph.scores.shape[1]), starts
