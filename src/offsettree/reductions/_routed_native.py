"""Contests of our own tree learner, trained on rows that are read from disk and binned when their turn comes."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from offsettree.learners import Bins, HistogramTree
from offsettree.reductions._binned_log import BinnedLog, Linear, read_only
from offsettree.reductions._ladder import children_below
from offsettree.reductions._native import Grown, NativeContests
from offsettree.reductions._offset import Votes
from offsettree.reductions._routed_contests import leaves_below
from offsettree.reductions._routed_log import RoutedLog, Rows
from offsettree.topology import ActionTree, RewardModels


class Standing(NamedTuple):
    """Rows that have won every contest so far, in the order in which the last one left them."""

    codes: NDArray[np.uint8]
    own_vote: NDArray[np.float32]
    X: NDArray[np.float32]  # without rows where contests have no scores


@dataclass(frozen=True, eq=False)
class RoutedNative:
    """All contests as `BinnedLog` trains them: over the same bins, on the same rows, in the same order."""

    log: RoutedLog
    tree: ActionTree
    bins: Bins
    learner: HistogramTree  # without a seed of its own
    leaf_scale: float
    offset: float
    mean_weight: float
    seeds: NDArray[np.int64]
    models: RewardModels | None = None  # where contests have scores
    prefer: str = "threads"

    @cached_property
    def directions(self) -> NDArray[np.float32] | None:
        """The slopes of every contest's scores."""
        if not _has_slopes(self.models):
            return None
        from offsettree.reductions._kernels_contests import directions

        tree = self.tree
        return np.asarray(directions(tree.left.astype(np.int32), tree.right.astype(np.int32), self.models.slopes))

    def settings(self) -> AbstractContextManager[None]:
        """Set nothing up: compiled code has no settings."""
        return nullcontext()

    def of_part(self, child: int) -> tuple[list[Any], Standing]:
        """Read and bin the rows below a child, and train all contests there."""
        leaves = leaves_below(self.tree, child)
        log = self.binned(self.log.rows_of(leaves), leaves)
        if child < 0:
            return [], _standing(log, log.rows)
        nodes = np.sort([node for node in children_below(self.tree, child) if node >= 0])
        return self._train(log, nodes, _part_of(self.tree, nodes))

    def between(self, node: int, sides: list[Standing]) -> tuple[list[Any], Standing]:
        """Train one contest between those who stand at its two sides; the list is emptied, so that none is held."""
        codes, own_vote, X = (np.concatenate(parts) for parts in zip(*sides, strict=True))
        position = np.repeat(np.arange(2, dtype=np.int32), [len(side.own_vote) for side in sides])
        sides.clear()
        rows = np.arange(len(position), dtype=np.int32)
        log = BinnedLog(codes, self.bins, position, own_vote, rows, self._linear(X))
        return self._train(log, np.array([node]), ActionTree([~0], [~1]))

    def binned(self, rows: Rows, leaves: NDArray[np.intp]) -> BinnedLog:
        """Return rows as a log whose actions are the places of theirs among the leaves."""
        place = np.zeros(self.tree.n_actions, dtype=np.int32)
        place[leaves] = np.arange(len(leaves))
        own_vote = Votes.cast(rows.reward, rows.propensity, self.offset).signed(self.mean_weight)
        weighted = np.flatnonzero(own_vote).astype(np.int32)
        linear = self._linear(rows.X)
        return BinnedLog(self.bins.codes(rows.X), self.bins, place[rows.action], own_vote, weighted, linear)

    def _linear(self, X: NDArray[np.float32]) -> Linear | None:
        if not _has_slopes(self.models):
            return None
        return Linear(read_only(X), self.models.slopes, self.models.centre.astype(np.float32))

    def _train(self, log: BinnedLog, nodes: NDArray[np.intp], tree: ActionTree) -> tuple[list[Any], Standing]:
        if log.linear is not None and self.directions is not None:
            log = replace(log, linear=log.linear._replace(directions=self.directions[nodes]))
        training = log.training(tree, self.learner, self.leaf_scale, self.seeds[nodes])
        grown = training.grow()
        parts = [(nodes[part].astype(np.int32), table) for part, table in grown.parts]
        climb = training.contests.climb
        begin, n_kept = int(climb.begin[0]), int(climb.n_kept[0])
        standing = _standing(log, climb.row[begin : begin + n_kept] if nodes[0] else climb.row[:0])
        return [(nodes, grown.reached, parts)], standing


def _standing(log: BinnedLog, rows: NDArray[np.int32]) -> Standing:
    X = np.empty((0, 0), dtype=np.float32) if log.linear is None else log.linear.numbers[rows]
    return Standing(log.codes[rows], log.own_vote[rows], X)


def _has_slopes(models: RewardModels | None) -> TypeGuard[Any]:
    return models is not None and models.slopes is not None and models.centre is not None


def _part_of(tree: ActionTree, nodes: NDArray[np.intp]) -> ActionTree:
    """Return a subtree on its own; its leaves are numbered from left to right."""
    place = np.zeros(tree.n_actions, dtype=np.intp)
    leaves = leaves_below(tree, int(nodes[0]))
    place[leaves] = np.arange(len(leaves))

    def renumbered(child: NDArray[np.intp]) -> NDArray[np.intp]:
        is_leaf = child < 0
        return np.where(is_leaf, ~place[np.where(is_leaf, ~child, 0)], np.searchsorted(nodes, child))

    return ActionTree(renumbered(tree.left[nodes]), renumbered(tree.right[nodes]))


def joined(
    trained: list[Any], contests: RoutedNative, learner: HistogramTree
) -> tuple[NativeContests, NDArray[np.int64]]:
    """Put the trees of all contests into one table; return also how many rows reached each node."""
    reached = np.zeros(contests.tree.n_nodes, dtype=np.int32)
    parts: list[Any] = []
    while trained:
        nodes, n_rows, new = trained.pop()
        reached[nodes] = n_rows
        parts += new
    scores = None
    if contests.directions is not None and contests.models is not None and contests.models.centre is not None:
        scores = np.concatenate([contests.models.centre.astype(np.float32)[np.newaxis], contests.directions])
    return Grown(parts, reached, contests.bins, learner, contests.leaf_scale, scores).joined()
