"""Rows on their way up a tree of actions, in one array: those that wait at a child are a slice of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree._available import Available
from offsettree._validation import is_number
from offsettree.exceptions import ParameterError
from offsettree.reductions._sides import Sides
from offsettree.topology import ActionTree

PIECE = 1 << 16  # rows of a long log sorted at once


@dataclass(frozen=True)
class Contest:
    """A node, the rows that reached it (in the order of the log), and whether each came from the left.

    `standing` is what the contests below have left of each row's weight; None where all rows here have won them all.
    `passing` rows find nothing available on the other side: they do not count here, and climb on as they are.
    """

    node: int
    rows: NDArray[np.intp]
    from_left: NDArray[np.bool_]
    standing: NDArray[np.float64] | None = None
    passing: NDArray[np.intp] | None = None
    passing_standing: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Ladder:
    """Rows sorted by leaf, from left to right, so that the rows of a subtree are a slice.

    Those that climb move to the front of the slice of the node they have won, in the order of the log. `begin` and
    `count` are by child as in `ActionTree`: a node's number, or ``~action``, which counts from the end. Where
    `standing` is kept, all rows climb, and a row that loses keeps the part `share` of its standing. `sides` tell where
    rows may not choose every action.
    """

    tree: ActionTree
    rows: NDArray[np.signedinteger]  # of 4 bytes, unless the log is too long for them
    begin: NDArray[np.intp]
    count: NDArray[np.intp]
    share: float = 0.0
    standing: NDArray[np.float64] | None = None
    sides: Sides | None = None

    @classmethod
    def at_leaves(
        cls,
        tree: ActionTree,
        action: NDArray[np.intp],
        weighted: NDArray[np.bool_],
        share: float = 0.0,
        available: Available | None = None,
    ) -> Self:
        """Place the weighted rows of a log at their actions."""
        place = np.empty(tree.n_actions, dtype=np.uint16 if tree.n_actions < 1 << 16 else np.int64)
        place[tree.leaves] = np.arange(tree.n_actions)
        rows, ends = _sorted_by_leaf(place, action, weighted)
        count = np.zeros(tree.n_nodes + tree.n_actions, dtype=np.intp)
        begin = np.zeros_like(count)
        count[~tree.leaves] = np.diff(ends, prepend=0)
        begin[~tree.leaves] = ends - count[~tree.leaves]
        for node in range(tree.n_nodes - 1, -1, -1):
            begin[node] = begin[tree.left[node]]
        sides = None if available is None else Sides.of(tree, available)
        return cls(tree, rows, begin, count, share, np.ones(len(rows)) if share else None, sides)

    def contest(self, node: int) -> Contest:
        """Bring the rows that wait at the two children of a node together."""
        left, right = self._waiting(int(self.tree.left[node])), self._waiting(int(self.tree.right[node]))
        rows = np.concatenate([self.rows[left], self.rows[right]], dtype=np.intp)
        order = np.argsort(rows, kind="stable")  # merges two runs that are sorted already
        standing = None
        if self.standing is not None:
            standing = np.concatenate([self.standing[left], self.standing[right]])[order]
        rows, from_left = rows.take(order), order < left.stop - left.start
        if self.sides is None or (meets := self.sides.meet(node, rows, from_left)).all():
            return Contest(node, rows, from_left, standing)
        parts = [None, None] if standing is None else [standing[meets], standing[~meets]]
        return Contest(node, rows[meets], from_left[meets], parts[0], rows[~meets], parts[1])

    def settle(self, contest: Contest, sent_left: NDArray[np.bool_] | None) -> None:
        """Let those rows climb that the contest sends to the side they came from; all, where it is None."""
        rows, standing = contest.rows, contest.standing
        if sent_left is not None:
            won = sent_left == contest.from_left
            if standing is None:
                rows = rows.compress(won)
            else:
                standing = np.where(won, standing, self.share * standing)
        if contest.passing is not None:
            rows = np.concatenate([rows, contest.passing])
            order = np.argsort(rows, kind="stable")
            rows = rows.take(order)
            if standing is not None and contest.passing_standing is not None:
                standing = np.concatenate([standing, contest.passing_standing])[order]
        self.wait_at(contest.node, rows, standing)

    def wait_at(self, node: int, rows: NDArray[np.signedinteger], standing: NDArray[np.float64] | None) -> None:
        """Place rows at a node: no more than are below it, and in the order of the log."""
        begin = int(self.begin[node])
        self.count[node] = len(rows)
        self.rows[begin : begin + len(rows)] = rows
        if self.standing is not None:
            self.standing[begin : begin + len(rows)] = standing

    def waiting_at(self, node: int) -> tuple[NDArray[np.signedinteger], NDArray[np.float64] | None]:
        """Return the rows that wait at a node, and their standing."""
        here = self._waiting(node)
        return self.rows[here], None if self.standing is None else self.standing[here]

    def below(self, node: int) -> Ladder:
        """Copy what is below a node, to be climbed elsewhere."""
        begin = int(self.begin[node])
        here = slice(begin, begin + self.n_rows_below(node))
        standing = None if self.standing is None else self.standing[here].copy()
        return replace(
            self, rows=self.rows[here].copy(), begin=self.begin - begin, count=self.count.copy(), standing=standing
        )

    def n_rows_below(self, node: int) -> int:
        """Count the rows at the leaves below a node, before any has climbed."""
        return int(self.count[[child for child in children_below(self.tree, node) if child < 0]].sum())

    def nodes_below(self, node: int) -> list[int]:
        """List a node and those below it, children first."""
        return sorted((child for child in children_below(self.tree, node) if child >= 0), reverse=True)

    def _waiting(self, child: int) -> slice:
        begin = int(self.begin[child])
        return slice(begin, begin + int(self.count[child]))


def children_below(tree: ActionTree, node: int) -> Iterator[int]:
    """Yield a node, those below it, and the leaves, as ~action."""
    pending = [node]
    while pending:
        child = pending.pop()
        yield child
        if child >= 0:
            pending += [int(tree.left[child]), int(tree.right[child])]


def _sorted_by_leaf(
    place: NDArray[Any], action: NDArray[np.intp], weighted: NDArray[np.bool_]
) -> tuple[NDArray[np.signedinteger], NDArray[np.intp]]:
    """Return the weighted rows by the place of their leaf, in the order of the log within each, and where each ends.

    Piece by piece: to sort all at once takes 16 bytes a row beside the result.
    """
    n_rows, n_places = len(action), len(place)
    key = place[action]
    key[~weighted] = n_places  # behind all leaves, to be cut off
    step = PIECE if n_rows > 2 * PIECE else max(1, n_rows)
    pieces = [slice(first, first + step) for first in range(0, max(1, n_rows), step)]
    counts = [np.bincount(key[piece], minlength=n_places)[:n_places] for piece in pieces]
    ends = np.cumsum(np.sum(counts, axis=0, dtype=np.intp))
    rows = np.empty(ends[-1], dtype=np.int32 if n_rows < 1 << 31 else np.int64)
    free = ends - np.sum(counts, axis=0, dtype=np.intp)
    for piece, count in zip(pieces, counts, strict=True):
        order = np.argsort(key[piece], kind="stable")[: count.sum()]  # small keys sort by radix, several times as fast
        order += piece.start
        if len(pieces) == 1:
            rows[:] = order
            break
        # The n-th of its leaf in this piece goes n places after the first that is free.
        target = np.repeat(free - np.cumsum(count) + count, count)
        target += np.arange(len(target))
        rows[target] = order
        free += count
    return rows, ends


def climb(
    ladder: Ladder, hold: Callable[[Contest], NDArray[np.bool_] | None], nodes: Iterable[int] | None = None
) -> None:
    """Lead rows upwards, contest by contest, as long as their action wins.

    `hold` is given a contest and answers which of its rows it sends left; None lets all rows through. `nodes`, by
    default all of the tree, come children first. A row is touched only at the nodes it reaches.
    """
    for node in range(ladder.tree.n_nodes - 1, -1, -1) if nodes is None else nodes:
        contest = ladder.contest(node)
        ladder.settle(contest, hold(contest))


def share_kept(path_filter: Any) -> float:
    """Return what a lost contest leaves of a row's weight, for a `path_filter` parameter."""
    if isinstance(path_filter, str) and path_filter in ("in_sample", "out_of_fold"):
        return 0.0
    if is_number(path_filter) and 0 <= path_filter <= 1:
        return float(path_filter)
    raise ParameterError(
        "path_filter must be 'in_sample', 'out_of_fold', or from 0 to 1, the part of its weight that a row keeps where "
        f"it lost; got {path_filter!r}."
    )
