"""Many compiled trees over the same actions, voting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.models._batches import Walk, is_csr, over_csr, over_tables
from offsettree.models._by_numpy import by_most_walks, goes_without
from offsettree.models._lanes import lanes_of
from offsettree.models._small_trees import small_trees
from offsettree.models.graph import KINDS, SplitGraph
from offsettree.models.layout import BY_CATEGORY, BY_SCORE, CompiledTree, OneRow, renamed

__all__ = ["CompiledForest"]

ROWS_AT_ONCE = 65_536
FEW_ROWS = 16  # are walked: fewer than a block is worth, and the kernel of blocks need not be loaded
NO_VOTES = np.empty(0)


class CompiledForest(CompiledTree):
    """The action that most trees choose; of equals the one of lowest position.

    Graphs of splits are joined into one with many roots, walked in one call; trees of other kinds are asked in turn.
    """

    def __init__(self, trees: Sequence[CompiledTree], n_actions: int) -> None:
        if not trees:
            raise ValueError("a forest needs at least one tree; got none.")
        self.n_actions = n_actions
        graphs = [tree for tree in trees if isinstance(tree, SplitGraph)]
        # All count their scores from one centre, which is their first row; a graph with another one stays alone.
        joined = [graph for graph in graphs if np.array_equal(graph.scores[:1], graphs[0].scores[:1])]
        self._graph, self._roots = _join(joined, n_actions)
        alike = set(map(id, joined))
        self._others = [tree for tree in trees if id(tree) not in alike]
        self.takes_missing = all(tree.takes_missing for tree in trees)

    def with_actions(self, positions: NDArray[Any], n_actions: int) -> CompiledForest | None:
        """See `CompiledTree`; ties go to the lowest position, so that these must be ascending."""
        others = [tree.with_actions(positions, n_actions) for tree in self._others]
        whole = [tree for tree in others if tree is not None]
        if len(whole) < len(others):
            return None
        other = CompiledForest.__new__(CompiledForest)
        other.n_actions, other._others, other.takes_missing = n_actions, whole, self.takes_missing
        other._graph, other._roots = self._graph.with_actions(positions, n_actions), renamed(self._roots, positions)
        return other

    def votes(self, X: Any) -> NDArray[np.int32]:
        """Count the trees that choose each action, for each row: an array of shape (n_rows, n_actions)."""
        counts = np.zeros((X.shape[0], self.n_actions), dtype=np.int32)
        self._vote(X, counts, refused=0)
        rows = np.arange(X.shape[0])
        for tree in self._others:
            counts[rows, tree.choose(X)] += 1
        return counts

    def choose_screening(self, X: Any, refused: int) -> NDArray[np.intp] | None:
        if not self._others:
            return self._vote(X, np.empty((0, 0), dtype=np.int32), refused)
        # In pieces, so that there are never n_rows times n_trees answers.
        out = np.empty(X.shape[0], dtype=np.intp)
        for first in range(0, X.shape[0], ROWS_AT_ONCE):
            piece = X[first : first + ROWS_AT_ONCE]
            answers = [tree.choose_screening(piece, refused) for tree in (*self._single_graphs(), *self._others)]
            if any(answer is None for answer in answers):
                return None
            out[first : first + ROWS_AT_ONCE] = _most_common(np.array(answers))
        return out

    def one_row_by_numpy(self, refused: int) -> OneRow | None:
        if self._others or not goes_without("_kernels_forest"):
            return None
        return by_most_walks(self._graph, self._roots, refused)

    def one_row(self, refused: int) -> OneRow:
        from offsettree.models._kernels_forest import vote_one

        graph, roots, n_actions = self._graph, self._roots, self.n_actions
        if not self._others:
            parts, (lanes, starts) = graph.parts, self._for_lanes
            return lambda x: vote_one(parts, lanes, roots, starts, x, NO_VOTES, n_actions, refused)
        ask = [tree.one_row(refused) for tree in (*self._single_graphs(), *self._others)]

        def most_voted(x: NDArray[Any]) -> int:
            answers = [one(x) for one in ask]
            return -1 if min(answers) < 0 else max(sorted(set(answers)), key=answers.count)

        return most_voted

    def count_one(self) -> Callable[[NDArray[Any], NDArray[np.float64]], int]:
        """Return the function that adds the votes for one row to an array; of graphs of splits only."""
        from offsettree.models._kernels_forest import vote_one

        parts, roots, n_actions, (lanes, starts) = self._graph.parts, self._roots, self.n_actions, self._for_lanes
        return lambda x, votes: vote_one(parts, lanes, roots, starts, x, votes, n_actions, 0)

    @property
    def graph_and_roots(self) -> tuple[SplitGraph, NDArray[np.int32]]:
        """The graph of all splits, and where each tree begins."""
        return self._graph, self._roots

    def _vote(self, X: Any, counts: NDArray[np.int32], refused: int) -> NDArray[np.intp] | None:
        from offsettree.models import _kernels_forest as kernels

        out = np.zeros(X.shape[0], dtype=np.intp)
        if len(self._roots) == 0:
            return out
        parts, roots, n_actions = self._graph.parts, self._roots, self.n_actions
        if is_csr(X):
            over_csr(
                lambda data, indices, indptr, first, last: kernels.vote_csr(
                    parts, roots, data, indices, indptr, X.shape[1], out[first:last], counts[first:last], n_actions
                ),
                X,
                KINDS,
                n_walks=len(roots),
            )
            return out
        found = over_tables(self._walk(kernels, out, counts, refused), X, KINDS, n_walks=len(roots))
        return None if found & refused else out

    def _walk(self, kernels: Any, out: NDArray[np.intp], counts: NDArray[np.int32], refused: int) -> Walk:
        """Return the function that decides on some rows of a table."""
        parts, roots, n_actions, (lanes, starts) = self._graph.parts, self._roots, self.n_actions, self._for_lanes
        small = self._small

        def walk(values: NDArray[Any], first: int, last: int) -> int:
            here, votes = out[first:last], counts[first:last]
            if small is not None and last - first >= FEW_ROWS:
                from offsettree.models._kernels_blocks import vote_blocks

                return int(vote_blocks(small, values, here, votes.reshape(-1), n_actions, refused))
            return kernels.vote_rows(  # type: ignore[no-any-return]
                parts, lanes, roots, starts, values, here, votes, n_actions, refused
            )

        return walk

    @cached_property
    def _for_lanes(self) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
        """The graph, and the places where each tree begins, as kernels take them that walk trees or rows in turn."""
        return lanes_of(self._graph, self._roots)

    @cached_property
    def _small(self) -> Any:
        """The trees as a kernel takes them that does not walk, where that is faster; else None."""
        return small_trees(self._graph, self._roots)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_for_lanes", "_small")}

    def _single_graphs(self) -> list[SplitGraph]:
        return [replace(self._graph, root=int(root)) for root in self._roots.tolist()]


def _join(graphs: Sequence[SplitGraph], n_actions: int) -> tuple[SplitGraph, NDArray[np.int32]]:
    if not graphs:
        nothing = np.empty((0, 4), dtype=np.int32), np.empty(0, dtype=np.uint8), np.empty((0, 8), dtype=np.uint32)
        return SplitGraph(*nothing, -1, n_actions), np.empty(0, dtype=np.int32)
    n_before = np.cumsum([0] + [len(graph.nodes) for graph in graphs])
    sets_before = np.cumsum([0] + [len(graph.sets) for graph in graphs])
    scores_before = np.cumsum([0] + [max(0, len(graph.scores) - 1) for graph in graphs])
    parts = []
    shifts = zip(n_before[:-1], sets_before[:-1], scores_before[:-1], strict=True)
    for graph, (shift, set_shift, score_shift) in zip(graphs, shifts, strict=True):
        nodes = graph.nodes.copy()
        nodes[:, 0] += np.where(graph.flags & BY_SCORE, score_shift, 0).astype(np.int32)
        nodes[:, 2:] += np.where(nodes[:, 2:] >= 0, shift, 0).astype(np.int32)
        nodes[:, 1] += np.where(graph.flags & BY_CATEGORY, set_shift, 0).astype(np.int32)
        parts.append(nodes)
    roots = [graph.root + (shift if graph.root >= 0 else 0) for graph, shift in zip(graphs, n_before[:-1], strict=True)]
    joined = SplitGraph(
        np.concatenate(parts),
        np.concatenate([graph.flags for graph in graphs]),
        np.concatenate([graph.sets for graph in graphs]),
        -1,
        n_actions,
        np.concatenate([graphs[0].scores[:1], *(graph.scores[1:] for graph in graphs)]),
    )
    return joined, np.array(roots, dtype=np.int32)


def _most_common(answers: NDArray[Any]) -> NDArray[np.intp]:
    """Return the most common number of each column, of equals the lowest; no table as wide as there are actions."""
    answers = np.sort(answers, axis=0)
    best: NDArray[np.intp] = answers[0].astype(np.intp)
    run = np.ones(answers.shape[1], dtype=np.intp)
    longest = run.copy()
    for before, now in pairwise(answers):
        run = np.where(before == now, run + 1, 1)
        best[run > longest] = now[run > longest]
        longest = np.maximum(longest, run)
    return best
