"""Boosting of trees shared by all actions, with early stopping on held-out rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree.reductions.boosting._room import IN_MEMORY, Room

# Gains are summed by share: a share is one action or, with more actions than this, a random group drawn for each tree.
MOST_SHARES = 128
MOST_COLUMNS = 256  # tried by one tree


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

    def take(self, rows: NDArray[np.intp]) -> BoostedLog:
        """Return the log of some rows."""
        return self._replace(
            codes=self.room.take(self.codes, rows, axis=1),
            design=self.room.take(self.design, rows),
            action=self.action[rows],
            reward=self.reward[rows],
            weight=None if self.weight is None else self.weight[rows],
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


def boost(
    log: BoostedLog,
    held_out: BoostedLog,
    weights: NDArray[np.float64],
    score: NDArray[np.float64],
    settings: BoostingSettings,
    seed: int,
) -> tuple[BoostedModel, NDArray[np.float64]]:
    """Add trees to linear models until the held-out loss stops falling; return the trees and the held-out scores.

    Parameters
    ----------
    log, held_out : BoostedLog
        The training rows and the rows for early stopping.
    weights : array of shape (n_actions, n_design)
        The linear models to start from.
    score : array of shape (n_rows,)
        Their scores of the training rows; updated in place.
    settings : BoostingSettings
        How trees are grown.
    seed : int
        Draws the columns of each tree.
    """
    from offsettree.reductions.boosting import _kernels_grow as kernels

    random = np.random.default_rng(seed)
    n_actions, n_columns = log.n_actions, log.codes.shape[0]
    n_tried = max(1, min(MOST_COLUMNS, n_columns, round(settings.columns * n_columns)))
    n_shares = min(n_actions, MOST_SHARES)
    work = _new_work(len(log.reward), n_actions, n_shares, n_tried, settings.depth, log.room)
    n_tests = 2**settings.depth - 1
    kernel_settings = kernels.Settings(
        settings.depth, settings.action_prior, settings.leaf_prior, float(settings.min_rows), settings.rate
    )
    packed = log.room.empty(len(log.reward), np.int64)
    share = np.arange(n_actions, dtype=np.uint32)
    nothing = np.empty(0)
    weight, weight_out = (nothing if each.weight is None else each.weight for each in (log, held_out))
    score = np.ascontiguousarray(score)
    outside = np.einsum("ip,ip->i", held_out.design, weights[held_out.action])
    least, n_kept = kernels.mean_loss(outside, held_out.reward, weight_out, log.logistic), 0
    best, trees = outside.copy(), []
    for n_grown in range(1, settings.n_trees + 1):
        columns = np.sort(random.permutation(n_columns)[:n_tried])
        if n_actions > n_shares:
            share = random.permutation(n_actions).astype(np.uint32) % np.uint32(n_shares)
        units = kernels.set_gradients(score, log.reward, weight, log.logistic, packed)
        tree = kernels.Tree(
            np.empty(n_tests, dtype=np.int32),
            np.empty(n_tests, dtype=np.uint8),
            np.empty(n_tests, dtype=np.uint8),
            np.empty((n_tests + 1, n_actions), dtype=np.float32),
        )
        rows = kernels.Rows(log.codes, log.is_category, log.action, share, packed)
        kernels.grow(rows, work, columns, kernel_settings, units, tree, score)
        trees.append(tree)
        kernels.add_to_own(held_out.codes, held_out.action, tree, outside)
        loss = kernels.mean_loss(outside, held_out.reward, weight_out, log.logistic)
        if loss < least - 1e-7:
            least, n_kept, best = loss, n_grown, outside.copy()
        elif n_grown - n_kept > settings.patience:
            break
    return stacked(trees[:n_kept], n_tests, n_actions), best


def _new_work(n_rows: int, n_actions: int, n_shares: int, n_tried: int, depth: int, room: Room = IN_MEMORY) -> Any:
    from offsettree.reductions.boosting import _kernels_grow as kernels

    order, share, other_order, other_share = room.empty((4, n_rows), np.uint32)
    packed, other_packed = room.empty((2, n_rows), np.int64)
    left, whole = np.empty((2, 2, n_shares), dtype=np.float32)
    sums = np.empty((2, 2 ** (depth - 1), n_tried, kernels.N_BINS * n_shares), dtype=np.int64)
    by_action = np.empty(n_actions, dtype=np.int64)
    return kernels.Work(order, share, packed, other_order, other_share, other_packed, sums, left, whole, by_action)


def stacked(trees: list[Any], n_tests: int, n_actions: int) -> BoostedModel:
    """Stack the arrays of several trees."""
    if not trees:
        return BoostedModel(
            np.zeros((0, n_tests), dtype=np.int32),
            np.zeros((0, n_tests), dtype=np.uint8),
            np.zeros((0, n_tests), dtype=np.uint8),
            np.zeros((0, n_tests + 1, n_actions), dtype=np.float32),
        )
    return BoostedModel(*(np.stack(parts) for parts in zip(*trees, strict=True)))
