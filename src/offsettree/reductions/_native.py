"""All contests of an offset tree at once, by our own tree learner: X is binned once, contests are slices of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from offsettree._available import Available
from offsettree._features import is_sparse
from offsettree.compiled import over_tables
from offsettree.compiled.graph import SplitGraph, graph_from_tables
from offsettree.learners import HistogramTree
from offsettree.learners._binning import KINDS, Bins, tables
from offsettree.learners._flat_tree import FIELDS, FlatTree, sets_of_words
from offsettree.learners.histogram_tree import LEAF_SCALES
from offsettree.reductions._sides import LeafRanges
from offsettree.topology import ActionTree, RewardModels

__all__ = ["BinnedLog", "NativeContests", "is_native"]

PILOT_ROUNDS = 2
PILOT_ACTIONS = 16
PILOT_ROWS = 20_000


def is_native(estimator: Any, path_filter: Any) -> bool:
    """Tell whether all contests can be trained at once: with our own learner and the paper's filter, also called 0."""
    in_sample = path_filter == "in_sample" if isinstance(path_filter, str) else path_filter == 0
    return type(estimator) is HistogramTree and in_sample


@dataclass(frozen=True, eq=False)
class NativeContests(Sequence[HistogramTree]):
    """The trees of all contests in flat arrays, read as a sequence of fitted learners, one per node."""

    tables: FlatTree  # child entries count from the contest's first
    start: NDArray[np.int64]  # of the entries of each node, and one more
    bins: Bins
    learner: HistogramTree
    leaf_scale: float
    scores: NDArray[np.float32] | None = None  # weights of the columns per node, after the centre they count from

    def compiled(self, tree: ActionTree) -> SplitGraph:
        """Return all contests as one graph of splits."""
        tables = self.tables
        return graph_from_tables(tree, self.start, *(*tables.arrays(), tables.answer, self.scores))

    def choose_within(self, tree: ActionTree, X: Any, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Choose among the actions that the mask of each row leaves."""
        from offsettree.reductions._kernels_within import choose_within

        out = np.empty(X.shape[0], dtype=np.intp)
        scores = np.empty((0, 0), dtype=np.float32) if self.scores is None else self.scores
        shape = (tree.left.astype(np.int32), tree.right.astype(np.int32), tree.leaves.astype(np.int32))
        nodes = (*shape, *LeafRanges.of(tree))
        contests = (self.start, *self.tables.arrays(), self.tables.answer, scores)
        n_features = X.shape[1]

        def walk(values: NDArray[Any], first: int, last: int) -> int:
            table = values.reshape(-1, n_features)
            choose_within(nodes, contests, table, mask[first:last], out[first:last])
            return 0

        numbers = self.bins.numbers(X)
        if not is_sparse(numbers):
            over_tables(walk, numbers, KINDS[::-1])
            return out
        for part, table in tables(numbers):
            walk(table, part.start, part.start + len(table))
        return out

    def __len__(self) -> int:
        return len(self.start) - 1

    @overload
    def __getitem__(self, node: int) -> HistogramTree: ...
    @overload
    def __getitem__(self, node: slice) -> list[HistogramTree]: ...
    def __getitem__(self, node: int | slice) -> HistogramTree | list[HistogramTree]:
        if isinstance(node, slice):
            return [self[position] for position in range(len(self))[node]]
        node = range(len(self))[node]
        tree = self.tables.part(self.start[node], self.start[node + 1])
        score = None if self.scores is None else (self.scores[node + 1], self.scores[0])
        return self.learner.fitted(tree, self.bins, self.leaf_scale, score)


class Linear(NamedTuple):
    """Linear models of the reward of each action, and the numbers that they take."""

    numbers: NDArray[Any]  # X
    slopes: NDArray[np.float64]
    centre: NDArray[np.float32]


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
        rows = _heard(own_vote)  # before there are codes: this takes some room of its own
        bins = Bins.fit(X)
        numbers = bins.numbers(X)
        mask = None if available is None else available.dense()
        log = cls(bins.codes(numbers), bins, position.astype(np.int32), own_vote, rows, mask=mask)
        if models is None or models.slopes is None or models.centre is None or is_sparse(numbers):
            return log
        if numbers.dtype not in KINDS or not numbers.dtype.isnative:
            numbers = numbers.astype(np.float32)
        return replace(log, linear=Linear(numbers, models.slopes, models.centre.astype(np.float32)))

    def drawn(self, times: NDArray[np.int64]) -> BinnedLog:
        """Return the log with each row counted so many times."""
        own_vote = self.own_vote * times.astype(np.float32)
        return replace(self, own_vote=own_vote, rows=_heard(own_vote))

    def train(
        self, tree: ActionTree, learner: HistogramTree, leaf_scale: float, seeds: NDArray[np.int64], n_threads: int = 1
    ) -> tuple[NativeContests, NDArray[np.int64]]:
        """Train every contest of a tree; return them, and how many rows reached each."""
        from offsettree.reductions._kernels_contests import train

        if learner.random_state is not None:  # its own seed counts, in every contest, as with any learner
            seeds = np.full(tree.n_nodes, check_random_state(learner.random_state).randint(np.iinfo(np.int32).max))
        climb = self._climb(tree, self.rows)
        scores, choice = self._scores(tree), self._open(tree)
        is_category, edges = self._columns()
        settings = learner.settings(len(is_category), leaf_scale)

        def train_group(nodes: NDArray[np.int32]) -> Any:
            # The last row of edges is written to: every group has its own.
            return nodes, train(
                self.codes, is_category, edges.copy(), self.own_vote, climb, nodes, seeds, settings, scores, choice
            )

        groups, top = _groups(tree, 8 * n_threads)
        if n_threads == 1:
            done = [train_group(group) for group in groups]
        else:
            with ThreadPoolExecutor(n_threads) as threads:
                done = list(threads.map(train_group, groups))
        done.extend(train_group(group) for group in top)
        tables, start = _join(done, tree.n_nodes)
        joined = None if self.linear is None else np.vstack([scores.centre[np.newaxis], scores.weights])
        contests = NativeContests(tables, start, self.bins, learner, leaf_scale, joined)
        return contests, climb.reached.astype(np.int64)

    def leaf_scale(self, learner: HistogramTree, random: np.random.RandomState, n_trees: int = 1) -> float:
        """Return the learner's own leaf scale, or for "auto" the best of a few, judged on rows held out.

        Contests are given to committees of `n_trees`. A forest takes half of what is best for them: its trees, over
        different orders of the actions, average away more. At most 16 actions and 20,000 rows take part, so that the
        search is short however long the log is; which actions were available makes no difference to it.
        """
        learner.check_parameters()
        if learner.leaf_scale != "auto":
            return float(learner.leaf_scale)
        from offsettree.reductions._kernels_contests import held_out_error

        n_actions = max(2, int(self.position.max()) + 1)
        wrong, whole = np.zeros(len(LEAF_SCALES)), np.zeros(len(LEAF_SCALES))
        for _ in range(PILOT_ROUNDS):
            part, rows = self._pilot(n_actions, random)
            tree = ActionTree.random(len(part), random)
            linear = self.linear and self.linear._replace(slopes=self.linear.slopes[part])
            log = replace(self, position=_renumbered(self.position, part, n_actions), rows=rows, linear=linear)
            is_category, edges = self._columns()
            scores = log._scores(tree)
            nodes = np.fromiter(tree.bottom_up(), dtype=np.int32)
            seed = int(random.randint(np.iinfo(np.int32).max))
            for place, scale in enumerate(LEAF_SCALES):
                climb = log._climb(tree, rows)
                settings = learner.settings(len(is_category), scale)
                errors = held_out_error(
                    self.codes, is_category, edges, self.own_vote, climb, nodes, seed, settings, scores, n_trees
                )
                wrong[place] += errors[0]
                whole[place] += errors[1]
        best = LEAF_SCALES[int(np.argmin(wrong / np.maximum(whole, 1e-12)))]
        return best if n_trees == 1 else best / 2

    def _pilot(self, n_actions: int, random: np.random.RandomState) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        n_rows = np.bincount(self.position[self.rows], minlength=n_actions)
        order = random.permutation(n_actions)
        order = order[np.argsort(n_rows[order] == 0, kind="stable")]  # actions that were logged come first
        within = np.cumsum(n_rows[order]) <= PILOT_ROWS
        part = np.sort(order[: max(2, min(PILOT_ACTIONS, int(np.count_nonzero(within))))])
        rows = self.rows[np.isin(self.position[self.rows], part)]
        if len(rows) > PILOT_ROWS:
            rows = np.sort(random.choice(rows, PILOT_ROWS, replace=False))
        return part, rows

    def _columns(self) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Return which columns are categories, and the edges of bins; with scores, those of one more column."""
        extra = int(self.linear is not None)
        edges = np.full((len(self.bins.edges) + extra, self.bins.edges.shape[1]), np.inf, dtype=np.float32)
        edges[: len(self.bins.edges)] = self.bins.edges
        return np.append(self.bins.is_category, [False] * extra), edges

    def _scores(self, tree: ActionTree) -> Any:
        from offsettree.reductions._kernels_contests import Scores, directions

        if self.linear is None:
            nothing = np.empty((0, 0), dtype=np.float32)
            return Scores(nothing, nothing, np.empty(0, dtype=np.float32))
        weights = directions(tree.left.astype(np.int32), tree.right.astype(np.int32), self.linear.slopes)
        return Scores(self.linear.numbers, weights, self.linear.centre)

    def _open(self, tree: ActionTree) -> Any:
        from offsettree.reductions._kernels_contests import Open

        mask = np.empty((0, 0), dtype=bool) if self.mask is None else self.mask
        return Open(mask, tree.leaves.astype(np.int32), *LeafRanges.of(tree))

    def _climb(self, tree: ActionTree, rows: NDArray[np.int32]) -> Any:
        from offsettree.reductions._kernels_contests import Climb, order_by_leaf

        place = np.empty(tree.n_actions, dtype=np.int32)  # from left to right
        place[tree.leaves] = np.arange(tree.n_actions, dtype=np.int32)
        row, leaf_begin = order_by_leaf(rows, self.position, place)
        return Climb(
            row,
            _by_place(tree.left, place),
            _by_place(tree.right, place),
            leaf_begin,
            *(np.zeros(tree.n_nodes, dtype=np.int32) for _ in range(3)),
        )


def _by_place(child: NDArray[np.intp], place: NDArray[np.int32]) -> NDArray[np.int32]:
    is_leaf = child < 0
    return np.where(is_leaf, ~place[np.where(is_leaf, ~child, 0)], child).astype(np.int32)


def _heard(own_vote: NDArray[np.float32]) -> NDArray[np.int32]:
    return np.flatnonzero(own_vote).astype(np.int32)


def _renumbered(position: NDArray[np.int32], part: NDArray[np.intp], n_actions: int) -> NDArray[np.int32]:
    new = np.zeros(n_actions, dtype=np.int32)
    new[part] = np.arange(len(part))
    return np.asarray(new[position])


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


def _join(done: Sequence[Any], n_nodes: int) -> tuple[FlatTree, NDArray[np.int64]]:
    """Put the tables of all groups into one, in the order of the nodes."""
    n_entries = np.zeros(n_nodes, dtype=np.int64)
    source = np.zeros(n_nodes, dtype=np.int64)
    before = 0
    for nodes, (_, start, total, _) in done:
        n_entries[nodes] = np.diff(start)
        source[nodes] = before + start[:-1]
        before += total
    start = np.zeros(n_nodes + 1, dtype=np.int64)
    np.cumsum(n_entries, out=start[1:])
    take = np.repeat(source - start[:-1], n_entries) + np.arange(start[-1])

    def joined(field: str) -> NDArray[Any]:
        parts = [getattr(table, field)[:total] for _, (table, _, total, _) in done]
        return np.asarray(np.concatenate(parts)[take])

    category_set = np.concatenate(list(_shifted_sets(done)))[take]
    words = np.concatenate([table.sets[:n_sets] for _, (table, _, _, n_sets) in done])
    fields = {field: joined(field) for field in (*FIELDS, "value")} | {"category_set": category_set}
    return FlatTree(sets=sets_of_words(words), **fields), start


def _shifted_sets(done: Sequence[Any]) -> Iterator[NDArray[np.int32]]:
    before = 0
    for _, (table, _, total, n_sets) in done:
        here = table.category_set[:total]
        yield np.where(here >= 0, here + np.int32(before), here)
        before += n_sets
