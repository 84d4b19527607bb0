"""A log made ready for our own tree learner: X is binned once, contests are slices of rows."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree._available import Available
from offsettree._features import is_sparse
from offsettree._validation import as_random_state
from offsettree.learners import KINDS, Bins, HistogramTree
from offsettree.reductions._native import Grown
from offsettree.topology import ActionTree, RewardModels


def read_only(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return a view of X that cannot be written to, as some that we are given: kernels are compiled for one kind."""
    numbers = numbers.view()
    numbers.flags.writeable = False
    return numbers


NARROW, WIDE = (read_only(np.empty((0, 0), dtype=kind)) for kind in (np.float32, np.float64))


class Linear(NamedTuple):
    """Linear models of the reward of each action, and the numbers that they take."""

    numbers: NDArray[Any]  # X
    slopes: NDArray[np.float64]
    centre: NDArray[np.float32]
    directions: NDArray[np.float32] | None = None  # by node; by default made of the slopes


@dataclass(frozen=True, eq=False)
class BinnedLog:
    """A log that trees of contests can be trained on, one after the other or at once: nothing in it changes."""

    codes: NDArray[np.uint8]
    bins: Bins
    position: NDArray[np.int32]  # of the action
    own_vote: NDArray[np.float32]  # for (above 0) or against its own side, by weight
    rows: NDArray[np.int32]  # those with any weight
    linear: Linear | None = None  # where contests have scores
    mask: NDArray[np.bool_] | None = None  # where rows may not choose every action

    @classmethod
    def make(
        cls,
        X: Any,
        position: NDArray[np.intp],
        own_vote: NDArray[np.float32],
        models: RewardModels | None = None,
        available: Available | None = None,
    ) -> BinnedLog:
        """Bin X; without `models` X itself is not needed any more.

        With them every contest has one more column: by how much the rewards that linear models predict for the actions
        on its left exceed those on its right, in the mean.
        """
        rows = np.flatnonzero(own_vote).astype(np.int32)  # before there are codes: this takes some room of its own
        bins = Bins.fit(X)
        numbers = bins.numbers(X)
        mask = None if available is None else available.dense()
        log = cls(bins.codes(numbers), bins, position.astype(np.int32), own_vote, rows, mask=mask)
        if models is None or models.slopes is None or models.centre is None or is_sparse(numbers):
            return log
        if numbers.dtype not in KINDS or not numbers.dtype.isnative or not numbers.flags.c_contiguous:
            with np.errstate(over="ignore"):
                numbers = np.ascontiguousarray(numbers, dtype=np.float32)
        numbers = read_only(numbers)
        return replace(log, linear=Linear(numbers, models.slopes, models.centre.astype(np.float32)))

    def drawn(self, times: NDArray[np.int64]) -> BinnedLog:
        """Return the log with each row counted so many times."""
        own_vote = self.own_vote * times.astype(np.float32)
        return replace(self, own_vote=own_vote, rows=np.flatnonzero(own_vote).astype(np.int32))

    def training(
        self, tree: ActionTree, learner: HistogramTree, leaf_scale: float, seeds: NDArray[np.int64]
    ) -> Training:
        """Return what it takes to train every contest of a tree."""
        return Training(self.contests(tree), self.bins, tree, learner, leaf_scale, seeds_of(learner, seeds))

    def contests(self, tree: ActionTree) -> Any:
        """Return what the contests of a tree are trained from, as kernels take it."""
        from offsettree.reductions._contest_room import Contests, Open

        extra = int(self.linear is not None)  # a column of scores
        is_category = np.append(self.bins.is_category, np.zeros(extra, dtype=bool))
        edges = np.pad(self.bins.edges, ((0, extra), (0, 0)), constant_values=np.inf)
        mask = np.empty((0, 0), dtype=bool) if self.mask is None else self.mask
        choice = Open(mask, tree.leaves.astype(np.int32), *tree.leaf_ranges)
        return Contests(self.codes, is_category, edges, self.own_vote, self.climb(tree), self.scores(tree), choice)

    def scores(self, tree: ActionTree) -> Any:
        """Return what it takes to give every contest its own column; nothing where there are no models."""
        from offsettree.reductions._contest_room import Scores
        from offsettree.reductions._kernels_contests import directions

        if self.linear is None:
            return Scores(NARROW, WIDE, *np.empty((2, 0), dtype=np.float32))
        weights = self.linear.directions
        if weights is None:
            weights = directions(tree.left.astype(np.int32), tree.right.astype(np.int32), self.linear.slopes)
        numbers = self.linear.numbers
        by_kind = (numbers, WIDE) if numbers.dtype == np.float32 else (NARROW, numbers)
        return Scores(*by_kind, weights.reshape(-1), self.linear.centre)

    def climb(self, tree: ActionTree) -> Any:
        """Place the rows at the leaves of a tree."""
        from offsettree.reductions._contest_room import Climb
        from offsettree.reductions._kernels_contests import order_by_leaf

        place = np.empty(tree.n_actions, dtype=np.int32)  # from left to right
        place[tree.leaves] = np.arange(tree.n_actions, dtype=np.int32)
        row, leaf_begin = order_by_leaf(self.rows, self.position, place)
        return Climb(
            row,
            _by_place(tree.left, place),
            _by_place(tree.right, place),
            leaf_begin,
            *(np.zeros(tree.n_nodes, dtype=np.int32) for _ in range(3)),
        )


@dataclass(frozen=True, eq=False)
class Training:
    """All contests of one tree, about to be trained: what else is in the log need not be held meanwhile."""

    contests: Any
    bins: Bins
    tree: ActionTree
    learner: HistogramTree
    leaf_scale: float
    seeds: NDArray[np.int64]

    def grow(self, n_threads: int = 1) -> Grown:
        """Train every contest."""
        settings = self.learner.settings(len(self.contests.is_category), self.leaf_scale)

        room = _Room()

        def train_group(nodes: NDArray[np.int32]) -> Any:
            # The last row of edges is written to: every group has its own.
            contests = self.contests._replace(edges=self.contests.edges.copy())
            return nodes, _trained(contests, nodes, self.seeds, settings, room)

        # Many, as the one at work has a table with room to spare, and the others have none.
        groups, top = _groups(self.tree, 32 * n_threads)
        if n_threads == 1:
            parts = [train_group(group) for group in groups]
        else:
            with ThreadPoolExecutor(n_threads) as threads:
                parts = list(threads.map(train_group, groups))
        parts.extend(train_group(group) for group in top)
        centre, weights = self.contests.scores.centre, self.contests.scores.weights
        scores = np.concatenate([centre, weights]).reshape(-1, len(centre)) if len(weights) else None
        return Grown(parts, self.contests.climb.reached, self.bins, self.learner, self.leaf_scale, scores)


class _Room(threading.local):
    """The workspace of a thread, for one group of contests after the other."""

    work: Any = None

    def of(self, n_rows: int, contests: Any, settings: Any) -> Any:
        from offsettree.reductions._contest_room import make_workspace

        has_room = 0 if self.work is None else len(self.work.vote)
        if self.work is None or has_room < n_rows:
            self.work = None  # before there is another
            self.work = make_workspace(max(n_rows, 2 * has_room), contests, settings)
        return self.work


def _trained(contests: Any, nodes: NDArray[np.int32], seeds: NDArray[np.int64], settings: Any, room: _Room) -> Any:
    """Train some contests, children first; return the table of their trees, where each begins, and what it holds."""
    from offsettree.learners.scratch import make_table, resized
    from offsettree.reductions._kernels_contests import train

    start, done = np.zeros(len(nodes) + 1, dtype=np.int64), np.zeros(3, dtype=np.int64)
    table = make_table(256, 256)
    while done[0] < len(nodes):
        work = room.of(_n_standing(contests.climb, int(nodes[done[0]])), contests, settings)
        if done[1] + len(work.order) > len(table.left):
            n_entries = max(2 * len(table.left), int(done[1]) + len(work.order))
            table = resized(table, n_entries, n_entries)
        train(contests, nodes, seeds, settings, work, table, start, done)
    table = resized(table, int(done[1]), int(done[2]))  # no room left unused
    return table, start, int(done[1]), int(done[2])


def _n_standing(climb: Any, node: int) -> int:
    """Return how many rows come to a node, of which the children are done."""
    children = int(climb.left[node]), int(climb.right[node])
    return sum(
        int(climb.n_kept[child] if child >= 0 else climb.leaf_begin[~child + 1] - climb.leaf_begin[~child])
        for child in children
    )


def seeds_of(learner: HistogramTree, seeds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the seeds of contests; the learner's own counts, in every contest, as with any learner."""
    if learner.random_state is None:
        return seeds
    return np.full(len(seeds), as_random_state(learner.random_state).randint(np.iinfo(np.int32).max))


def _by_place(child: NDArray[np.intp], place: NDArray[np.int32]) -> NDArray[np.int32]:
    is_leaf = child < 0
    return np.where(is_leaf, ~place[np.where(is_leaf, ~child, 0)], child).astype(np.int32)


def _groups(tree: ActionTree, n_groups: int) -> tuple[list[NDArray[np.int32]], list[NDArray[np.int32]]]:
    """Divide the nodes into subtrees that can be trained side by side, and what is above them, each children first."""
    size = np.ones(tree.n_nodes, dtype=np.int64)
    for node in range(tree.n_nodes - 1, 0, -1):
        size[tree.parent[node]] += size[node]
    most = max(1, tree.n_nodes // n_groups)
    owner = np.full(tree.n_nodes, -1)
    for node in range(tree.n_nodes):
        above = tree.parent[node]
        if above >= 0 and owner[above] >= 0:
            owner[node] = owner[above]
        elif size[node] <= most:
            owner[node] = node
    order = np.arange(tree.n_nodes - 1, -1, -1)  # every node comes after its parent, so backwards is children first
    by_owner = order[np.argsort(owner[order], kind="stable")].astype(np.int32)
    parts = np.split(by_owner, np.flatnonzero(np.diff(owner[by_owner])) + 1)
    n_top = int(owner[parts[0][0]] < 0)
    # Node by node at the top, where contests may be long, so that an interrupt is heard.
    return parts[n_top:], [node for part in parts[:n_top] for node in np.split(part, len(part))]
