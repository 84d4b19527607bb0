"""Boosting of trees shared by all actions, with early stopping on held-out rows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree.reductions.boosting._room import IN_MEMORY, Room

# Gains are summed by share: a share is one action or, with more actions than this, a random group drawn for each tree.
MOST_SHARES = 512
FEWEST_SHARES = 128  # with many columns, groups are larger, so that sums stay small, but there are so many at least
MOST_SUMS = 1 << 24  # of one level, by column, bin and share
MOST_COLUMNS = 256  # tried by one tree
SUMMED = 1 << 16  # rows whose numbers are added up one after the other: sums of such blocks are added up exactly


class BoostedLog(NamedTuple):
    """A log prepared for boosting: binned columns for trees, standardised columns for linear models."""

    codes: NDArray[np.uint8]  # of shape (n_columns, n_rows)
    is_category: NDArray[np.bool_]
    design: NDArray[np.float64]  # 1, then the standardised columns
    action: NDArray[np.int32]
    reward: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    n_actions: int
    logistic: bool
    room: Room = IN_MEMORY

    blocks: NDArray[np.int64] | None = None  # where blocks of the whole log begin and end, if this is a part of it

    @property
    def bounds(self) -> NDArray[np.int64]:
        """Where blocks of rows begin and end: what they sum up to does not depend on who has which."""
        n_rows = len(self.reward)
        return np.append(np.arange(0, n_rows, SUMMED), n_rows) if self.blocks is None else self.blocks

    def take(self, rows: NDArray[np.intp]) -> BoostedLog:
        """Return the log of some rows, which ascend."""
        return self._replace(
            codes=self.room.take(self.codes, rows, axis=1),
            design=self.room.take(self.design, rows),
            action=self.action[rows],
            reward=self.reward[rows],
            weight=None if self.weight is None else self.weight[rows],
            blocks=np.searchsorted(rows, self.bounds),
        )


class BoostingSettings(NamedTuple):
    """How trees are grown, and when boosting stops."""

    n_trees: int
    rate: float
    depth: int
    action_prior: float
    leaf_prior: float
    min_rows: int
    columns: float  # share of the columns that a tree may split on
    patience: int


class BoostedModel(NamedTuple):
    """Boosted trees; a score is the sum of the values of the leaves that x reaches."""

    feature: NDArray[np.int32]  # of shape (n_trees, n_tests)
    lowest: NDArray[np.uint8]
    span: NDArray[np.uint8]
    values: NDArray[np.float32]  # of shape (n_trees, n_leaves, n_actions)
    linear: NDArray[np.float64] | None = None  # the linear models that the trees start from

    def projected(self, basis: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the leaf values projected onto the columns of a basis over the actions."""
        return np.asarray(self.values @ basis)


def loss_of(score: NDArray[Any], reward: NDArray[np.float64], logistic: bool) -> NDArray[np.float64]:
    """Return the loss of each row."""
    if logistic:
        return np.asarray(np.logaddexp(0, score) - reward * score)
    return np.asarray((reward - score) ** 2)


def count_tried(n_columns: int, settings: BoostingSettings) -> int:
    """Return how many columns one tree may split on."""
    return max(1, min(MOST_COLUMNS, n_columns, round(settings.columns * n_columns)))


def count_shares(n_actions: int, n_columns: int, settings: BoostingSettings) -> int:
    """Return in how many groups actions are counted where gains are summed."""
    from offsettree.reductions.boosting._kernels_grow import N_BINS

    room = int(MOST_SUMS // (2 ** (settings.depth - 1) * count_tried(n_columns, settings) * N_BINS))
    return min(n_actions, MOST_SHARES, max(room, FEWEST_SHARES))


class Course:
    """The course of boosting: what each tree may split on, and when it is over."""

    def __init__(self, n_columns: int, n_actions: int, settings: BoostingSettings, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._n_columns, self._n_actions, self._settings = n_columns, n_actions, settings
        self._n_tried = count_tried(n_columns, settings)
        self._n_shares = count_shares(n_actions, n_columns, settings)
        self._least = math.inf
        self.n_grown = self.n_kept = 0

    def draw(self) -> tuple[NDArray[np.intp], NDArray[np.uint32]]:
        """Draw the columns of the next tree, and the share of each action."""
        columns = np.sort(self._random.permutation(self._n_columns)[: self._n_tried])
        if self._n_actions <= self._n_shares:
            return columns, np.arange(self._n_actions, dtype=np.uint32)
        return columns, self._random.permutation(self._n_actions).astype(np.uint32) % np.uint32(self._n_shares)

    def improves(self, loss: float) -> bool:
        """Tell whether the held-out loss, after another tree, is less than ever."""
        if loss < self._least - 1e-7:
            self._least, self.n_kept = loss, self.n_grown
            return True
        return False

    def goes_on(self) -> bool:
        """Tell whether another tree is to be grown, and count it."""
        if self.n_grown == self._settings.n_trees or self.n_grown - self.n_kept > self._settings.patience:
            return False
        self.n_grown += 1
        return True


class GrowingRows:
    """Rows on which trees are grown, all of them or a part, and those held out; both scores are updated in place."""

    def __init__(
        self,
        learned: BoostedLog,
        held_out: BoostedLog,
        score: NDArray[np.float64],
        outside: NDArray[np.float64],
        settings: BoostingSettings,
    ) -> None:
        from offsettree.reductions.boosting import _kernels_grow, _kernels_levels

        self._kernels, self._by_level = _kernels_grow, _kernels_levels
        self._learned, self._held_out = learned, held_out
        self._score, self.outside = np.ascontiguousarray(score), outside
        nothing = np.empty(0)
        self._weight, self._weight_out = (
            nothing if each.weight is None else each.weight for each in (learned, held_out)
        )
        self._settings = kernel_settings(settings)
        n_rows, n_actions = len(learned.reward), learned.n_actions
        self._gradient, self._curvature = learned.room.empty((2, n_rows), np.float32)
        self._packed = learned.room.empty(n_rows, np.int64)
        self._share, self._bounds = np.empty(0, dtype=np.uint32), np.array([0, n_rows])
        n_tried, n_shares = (
            count_tried(len(learned.codes), settings),
            count_shares(n_actions, len(learned.codes), settings),
        )
        self._work = new_work(n_rows, n_actions, n_shares, n_tried, settings.depth, learned.room)

    def gradient_sums(self) -> NDArray[np.float64]:
        """Find gradients and curvatures at the current scores; return the sums of their sizes, by block."""
        log, sums = self._learned, np.empty((len(self._learned.bounds) - 1, 2))
        self._kernels.find_gradients(
            self._score, log.reward, self._weight, log.logistic, log.bounds, self._gradient, self._curvature, sums
        )
        return sums

    def loss_sums(self) -> NDArray[np.float64]:
        """Return the sums of held-out losses and of weights, by block."""
        log, sums = self._held_out, np.empty((len(self._held_out.bounds) - 1, 2))
        self._kernels.sum_losses(self.outside, log.reward, self._weight_out, log.logistic, log.bounds, sums)
        return sums

    def grow(self, columns: NDArray[np.intp], share: NDArray[np.uint32], units: tuple[float, float, float]) -> Any:
        """Grow a tree on these rows, and add its values to their scores."""
        self._kernels.pack(self._gradient, self._curvature, units[0], units[1], self._packed)
        tree = empty_tree(self._settings.depth, self._learned.n_actions)
        self._kernels.grow(self._rows(share), self._work, columns, self._settings, units, tree, self._score)
        self._kernels.add_to_own(self._held_out.codes, self._held_out.action, tree, self.outside)
        return tree

    def begin(self, share: NDArray[np.uint32], units: tuple[float, float, float]) -> None:
        """Begin a tree that is grown level by level, on sums over several parts."""
        self._kernels.pack(self._gradient, self._curvature, units[0], units[1], self._packed)
        self._share, self._bounds = share, np.array([0, len(self._packed)])
        self._kernels.begin_tree(self._rows(share), self._work)

    def sum_level(self, columns: NDArray[np.intp], nodes: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the sums of some nodes of the present level, by column, bin and share."""
        n_sums = self._kernels.N_BINS * self._work.left.shape[1]
        sums = np.empty((len(nodes), len(columns), n_sums), dtype=np.int64)
        self._by_level.sum_level(self._rows(self._share), self._work, columns, self._bounds, nodes, sums)
        return sums

    @property
    def level(self) -> int:
        """The present level."""
        return (len(self._bounds) - 1).bit_length() - 1

    def divide(self, tree: Any) -> None:
        """Go on to the next level, by the tests of a tree."""
        n_nodes = len(self._bounds) - 1
        below = np.empty(2 * n_nodes + 1, np.int64)
        self._by_level.divide_level(self._rows(self._share), self._work, self._bounds, n_nodes - 1, tree, below)
        self._bounds = below

    def leaf_sums(self) -> NDArray[np.int64]:
        """Return the sums of every leaf by action."""
        sums = np.empty((len(self._bounds) - 1, self._learned.n_actions), dtype=np.int64)
        self._by_level.sum_leaves(self._rows(self._share), self._work, self._bounds, sums)
        return sums

    def add(self, tree: Any) -> None:
        """Add the values of a tree to the scores."""
        add_trees(self._learned, [tree], self._score)
        add_trees(self._held_out, [tree], self.outside)

    def _rows(self, share: NDArray[np.uint32]) -> Any:
        log = self._learned
        return self._kernels.Rows(log.codes, log.is_category, log.action, share, self._packed)


def boost(
    log: BoostedLog,
    held_out: BoostedLog,
    weights: NDArray[np.float64],
    score: NDArray[np.float64],
    settings: BoostingSettings,
    seed: int,
) -> tuple[BoostedModel, NDArray[np.float64]]:
    """Add trees to linear models until the held-out loss stops falling; return the trees and the held-out scores.

    `weights` are the linear models, of shape (n_actions, n_design); their scores of the training rows are updated in
    place. The seed draws the columns of each tree.
    """
    outside = held_out_scores(held_out, weights)
    rows = GrowingRows(log, held_out, score, outside, settings)
    course = Course(len(log.codes), log.n_actions, settings, seed)
    course.improves(mean_of(rows.loss_sums()))
    best, trees = outside.copy(), []
    while course.goes_on():
        columns, share = course.draw()
        trees.append(rows.grow(columns, share, units_of(rows.gradient_sums(), len(log.reward))))
        if course.improves(mean_of(rows.loss_sums())):
            best[:] = outside
    return stacked(trees[: course.n_kept], 2**settings.depth - 1, log.n_actions), best


def add_trees(log: BoostedLog, trees: list[Any], score: NDArray[np.float64]) -> None:
    """Add the values of trees for each row's own action to the scores."""
    from offsettree.reductions.boosting import _kernels_grow as kernels

    for tree in trees:
        kernels.add_to_own(log.codes, log.action, tree, score)


def held_out_scores(held_out: BoostedLog, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores of held-out rows by linear models."""
    return np.asarray(np.einsum("ip,ip->i", held_out.design, weights[held_out.action]))


def units_of(sums: NDArray[np.float64], n_rows: int) -> tuple[float, float, float]:
    """Return the units of gradients and curvatures as integers, and the mean curvature in its unit."""
    from offsettree.reductions.boosting._kernels_grow import LARGEST

    size, total = (math.fsum(column) for column in sums.T)
    return max(size / LARGEST, 1e-300), max(total / LARGEST, 1e-300), LARGEST / n_rows


def mean_of(sums: NDArray[np.float64]) -> float:
    """Return the mean loss from the sums of blocks."""
    loss, total = (math.fsum(column) for column in sums.T)
    return loss / total


def kernel_settings(settings: BoostingSettings) -> Any:
    """Return the settings as kernels take them."""
    from offsettree.reductions.boosting._kernels_grow import Settings

    least = float(settings.min_rows)
    return Settings(settings.depth, settings.action_prior, settings.leaf_prior, least, settings.rate)


def new_work(n_rows: int, n_actions: int, n_shares: int, n_tried: int, depth: int, room: Room = IN_MEMORY) -> Any:
    """Return buffers for so many rows."""
    from offsettree.reductions.boosting import _kernels_grow as kernels

    order, share, other_order, other_share = room.empty((4, n_rows), np.uint32)
    packed, other_packed = room.empty((2, n_rows), np.int64)
    left, whole = np.empty((2, 2, n_shares), dtype=np.float32)
    sums = np.empty((2, 2 ** (depth - 1), n_tried, kernels.N_BINS * n_shares), dtype=np.int64)
    by_action = np.empty(n_actions, dtype=np.int64)
    return kernels.Work(order, share, packed, other_order, other_share, other_packed, sums, left, whole, by_action)


def empty_tree(depth: int, n_actions: int) -> Any:
    """Return a tree whose tests and values are not set."""
    from offsettree.reductions.boosting._kernels_grow import Tree

    n_tests = 2**depth - 1
    tests = np.empty(n_tests, np.int32), np.empty(n_tests, np.uint8), np.empty(n_tests, np.uint8)
    return Tree(*tests, np.empty((n_tests + 1, n_actions), np.float32))


def stacked(trees: list[Any], n_tests: int, n_actions: int) -> BoostedModel:
    """Stack the arrays of several trees."""
    if not trees:
        none = np.zeros((0, n_tests), dtype=np.uint8)
        return BoostedModel(none.astype(np.int32), none, none, np.zeros((0, n_tests + 1, n_actions), dtype=np.float32))
    return BoostedModel(*(np.stack(parts) for parts in zip(*trees, strict=True)))
