"""Contests that are decision trees: together, one directed graph of threshold tests whose ends are actions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from offsettree.models._batches import is_csr, over_csr, over_tables
from offsettree.models._by_numpy import are_loaded, by_most_walks, goes_without
from offsettree.models._lanes import loops_of
from offsettree.models._merge import merge_trees
from offsettree.models.layout import BY_CATEGORY, BY_SCORE, MISSING_LEFT, CompiledTree, OneRow, renamed

if TYPE_CHECKING:
    from offsettree.topology import ActionTree

__all__ = ["KINDS", "SplitGraph", "as_words", "graph_from_tables", "round_down"]

# What kernels are compiled for; other numbers become the last of these.
KINDS = (np.dtype(np.float64), np.dtype(np.float32))
FEW_ENTRIES = 10_000  # of decision trees: to merge them as they are takes less than to load compiled code


@cache
def _kernels() -> Any:
    """Load what is slow to load, when first needed; to ask the import system every time takes a microsecond."""
    from offsettree.models import _kernels_graph

    return _kernels_graph


@dataclass(frozen=True, eq=False)
class SplitGraph(CompiledTree):
    """Splits of 16 bytes; a leaf of one contest's tree is an edge to the root of the next contest, or an action."""

    nodes: NDArray[np.int32]  # of shape (n_splits, 4): feature, threshold as float32, left and right; below 0, ~action
    flags: NDArray[np.uint8]
    sets: NDArray[np.uint32]
    root: int
    n_actions: int
    scores: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))

    @property
    def parts(self) -> tuple[Any, ...]:
        """The arrays alone."""
        return self.nodes, self.flags, self.sets, self.scores

    @property
    def is_plain(self) -> bool:
        """Whether all splits are thresholds on columns."""
        return len(self.sets) == 0 and len(self.scores) == 0

    @cached_property
    def for_rows(self) -> tuple[Any, ...]:
        """The graph as kernels take it that walk many rows.

        The splits once more as `_lanes` has them.
        """
        loops, end = loops_of(self.nodes, self.n_actions)
        return *self.parts, loops.reshape(-1), 4 * end

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "for_rows"}

    def choose_screening(self, X: Any, refused: int) -> NDArray[np.intp] | None:
        kernels = _kernels()
        out = np.empty(X.shape[0], dtype=np.intp)
        parts = (self.nodes, self.flags, self.sets, self.scores, self.root)
        if is_csr(X):
            over_csr(
                lambda data, indices, indptr, first, last: kernels.choose_csr(
                    *parts, data, indices, indptr, X.shape[1], out[first:last]
                ),
                X,
                KINDS,
            )
            return out
        plain = self.is_plain
        graph, root = self.for_rows, self.root

        def walk(values: NDArray[Any], first: int, last: int) -> int:
            here = out[first:last]
            if plain and values.dtype == np.float32 and last - first >= kernels.LANES:
                loops, end = graph[4:]
                if kernels.choose_finite(loops, root, end, values, here) == 0:
                    return 0
            return int(kernels.choose_rows(graph, root, values, here, plain, refused))

        found = over_tables(walk, X, KINDS)
        return None if found & refused else out

    def with_actions(self, positions: NDArray[Any], n_actions: int) -> SplitGraph:
        nodes = np.column_stack([self.nodes[:, :2], renamed(self.nodes[:, 2:], positions)])
        root = int(renamed(np.array(self.root, dtype=np.int32), positions))
        return replace(self, nodes=nodes, root=root, n_actions=n_actions)

    def one_row_by_numpy(self, refused: int) -> OneRow | None:
        if not goes_without("_kernels_graph"):
            return None
        return by_most_walks(self, np.array([self.root], dtype=np.int32), refused)

    def one_row(self, refused: int) -> OneRow:
        from offsettree.models._kernels_graph import choose_one

        nodes, flags, sets, scores, root = self.nodes, self.flags, self.sets, self.scores, self.root
        return lambda x: choose_one(nodes, flags, sets, scores, root, x, refused)


def graph_from_tables(
    tree: ActionTree,
    start: NDArray[Any],
    feature: NDArray[Any],
    threshold: NDArray[Any],
    left: NDArray[Any],
    right: NDArray[Any],
    missing_left: NDArray[np.bool_],
    category_set: NDArray[Any] | None,
    sets: NDArray[np.uint32] | None,
    answer_left: NDArray[np.bool_],
    scores: NDArray[np.float32] | None = None,
) -> SplitGraph:
    """Join the decision trees of all contests, given as one long table.

    Contest v of the action tree owns the entries ``start[v]:start[v + 1]``, each after its parent and with children
    counted from ``start[v]``; -1 marks a leaf, whose `answer_left` tells which side wins there. No entries at all are
    a contest that the left side always wins. The layout is that of `learners._flat_tree.FlatTree`.

    With `scores`, of shape (n_contests + 1, n_features), a contest has one column more than X: the sum of the columns,
    each less its value in row 0, weighted by row v + 1.
    """
    words, flags = as_words(threshold, missing_left, category_set)
    if scores is not None:
        by_score = np.asarray(feature) == scores.shape[1]
        flags = np.where(by_score, flags | BY_SCORE, flags).astype(np.uint8)
        feature = np.where(by_score, np.repeat(np.arange(len(start) - 1), np.diff(start)) + 1, feature)
    leaf = np.asarray(left) < 0
    room = int(len(leaf) - np.count_nonzero(leaf))
    nodes = np.empty((room, 4), dtype=np.int32)
    node_flags = np.empty(room, dtype=np.uint8)
    merge = merge_trees if len(leaf) < FEW_ENTRIES and not are_loaded("_kernels_graph") else _kernels().merge
    root, n_splits = merge(
        tree.left.astype(np.int32),
        tree.right.astype(np.int32),
        np.asarray(start, dtype=np.int64),
        np.asarray(feature, dtype=np.int32),
        words,
        np.asarray(left, dtype=np.int32),
        np.asarray(right, dtype=np.int32),
        flags,
        np.asarray(answer_left, dtype=np.bool_),
        nodes,
        node_flags,
        np.empty(tree.n_nodes + len(leaf), dtype=np.int32),
    )
    if n_splits < 0:
        raise ValueError("every entry of a decision tree must come after its parent and within its own contest.")
    unused = room - n_splits
    nodes, node_flags = nodes[unused:].copy(), node_flags[unused:].copy()
    nodes[:, 2:] -= np.where(nodes[:, 2:] >= 0, unused, 0).astype(np.int32)
    has_sets = sets is not None and bool((node_flags & BY_CATEGORY).any())
    return SplitGraph(
        nodes,
        node_flags,
        np.ascontiguousarray(sets, dtype=np.uint32) if has_sets else np.empty((0, 8), dtype=np.uint32),
        int(root) - unused if root >= 0 else int(root),
        tree.n_actions,
        np.empty((0, 0), dtype=np.float32) if scores is None else np.ascontiguousarray(scores, dtype=np.float32),
    )


def as_words(
    threshold: NDArray[Any], missing_left: NDArray[np.bool_], category_set: NDArray[Any] | None
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return the second word of each split, a float32 or the number of a set, and its flags."""
    words = round_down(threshold).view(np.int32)
    flags = np.where(missing_left, np.uint8(MISSING_LEFT), np.uint8(0))
    if category_set is not None:
        by_category = np.asarray(category_set) >= 0
        words = np.where(by_category, category_set, words).astype(np.int32)
        flags = flags | np.where(by_category, np.uint8(BY_CATEGORY), np.uint8(0))
    return words, flags.astype(np.uint8)


def round_down(threshold: NDArray[Any]) -> NDArray[np.float32]:
    """Round to the float32 not above: ``x <= threshold`` then stays the same for every float32 x."""
    threshold = np.asarray(threshold)
    with np.errstate(over="ignore"):
        rounded = threshold.astype(np.float32)
        return np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)
