"""Contests that every row has a say in, by its doubly robust estimate of what the two winners would have earned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from offsettree._available import Available
from offsettree._features import Features, count_rows, take_rows
from offsettree.exceptions import ParameterError
from offsettree.reductions._nodes import (
    NodeLearner,
    TrainingSet,
    ask_out_of_fold,
    may_assume_finite,
    node_settings,
    train_and_ask,
)
from offsettree.reductions._offset import ROUNDING
from offsettree.reductions._sides import Sides
from offsettree.topology import ActionTree

ACTIONS_AT_ONCE = 16


class RowEstimates(Protocol):
    """What every action would earn in every row of X, asked for some actions at a time."""

    @property
    def X(self) -> Features:  # noqa: N802 - as everywhere
        """The rows."""

    def rewards(self, actions: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the estimates of some actions for all rows, of shape (n_rows, len(actions))."""


@dataclass(frozen=True)
class RobustTrainer:
    """What it takes to train any contest. With `folds`, winners are told by those who did not learn from the row."""

    learner: NodeLearner
    X: Features
    seeds: NDArray[np.int64]
    folds: NDArray[np.uint8] | None

    def train(
        self, node: int, ahead: NDArray[np.float64], rows: NDArray[np.intp]
    ) -> tuple[Any, NDArray[np.bool_], int]:
        """Train a contest on rows by how far the left is ahead.

        Return the classifier, which of the rows it sends left, and how many it was trained on.
        """
        seed, where = int(self.seeds[node]), f"in the contest at node {node} of the tree"
        weight = np.abs(ahead[rows])
        weight[weight < ROUNDING] = 0.0
        counted = np.flatnonzero(weight)
        asked = self._take(rows)
        if node == 0 or self.folds is not None:  # about one row only, as some learners fail no sooner
            asked = take_rows(asked, np.arange(len(rows))[:1])
        given = TrainingSet(
            self._take(rows[counted]), ahead[rows[counted]] > 0, _at_mean_1(weight[counted]), seed, where
        )
        classifier, sent_left = train_and_ask(self.learner, given, asked)
        if node != 0 and self.folds is not None:
            sent_left = np.zeros(len(rows), dtype=bool)
            sent_left[counted] = ask_out_of_fold(self.learner, given, self.folds[rows[counted]])
        return classifier, sent_left, len(counted)

    def _take(self, rows: NDArray[np.intp]) -> Features:
        return self.X if len(rows) == count_rows(self.X) else take_rows(self.X, rows)


def train_robustly(
    tree: ActionTree,
    learner: NodeLearner,
    estimates: RowEstimates,
    seeds: NDArray[np.int64],
    *,
    folds: NDArray[np.uint8] | None = None,
    available: Available | None = None,
) -> tuple[list[Any], NDArray[np.int64]]:
    """Train one classifier per node on all rows, children first; return them, and how many rows had a say in each.

    A subtree is done before the next is begun, so that the estimates of about as many winners are held at once as
    the tree is deep, and never those of all actions.
    """
    X, n_rows = estimates.X, count_rows(estimates.X)
    trainer = RobustTrainer(learner, X, seeds, folds)
    sides = None if available is None else Sides.of(tree, available)
    everyone = np.arange(n_rows)
    classifiers: list[Any] = [None] * tree.n_nodes
    n_rows_of = np.zeros(tree.n_nodes, dtype=np.int64)
    leaves = _leaf_estimates(tree, estimates)
    done: list[NDArray[np.float64]] = []  # estimates of the winners of subtrees that wait for their other side
    finite = may_assume_finite(learner.estimator, X)
    with node_settings(assume_finite=finite, parameters_checked=learner.parameters_checked):
        for child in _subtrees_first(tree):
            if child < 0:
                done.append(next(leaves))
                continue
            right, left = done.pop(), done.pop()
            wins_left = np.ones(n_rows, dtype=bool)
            rows = everyone
            if sides is not None:
                wins_left, right_open = sides.offers(child, everyone)
                rows = np.flatnonzero(wins_left & right_open)
            classifiers[child], sent_left, n_rows_of[child] = trainer.train(child, left - right, rows)
            if child != 0:
                wins_left[rows] = sent_left
                done.append(np.where(wins_left, left, right))
    return classifiers, n_rows_of


def _subtrees_first(tree: ActionTree) -> Iterator[int]:
    """Yield leaves, as ~action, and nodes, from left to right and each node right after its two subtrees."""
    pending = [(0, False)]
    while pending:
        child, is_ready = pending.pop()
        if child < 0 or is_ready:
            yield child
        else:
            pending += [(child, True), (int(tree.right[child]), False), (int(tree.left[child]), False)]


def _leaf_estimates(tree: ActionTree, estimates: RowEstimates) -> Iterator[NDArray[np.float64]]:
    """Yield what each action would have earned in every row, in the order of the leaves."""
    for begin in range(0, tree.n_actions, ACTIONS_AT_ONCE):
        block = estimates.rewards(tree.leaves[begin : begin + ACTIONS_AT_ONCE])
        yield from np.ascontiguousarray(block.T)


def _at_mean_1(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    return weight / weight.mean() if len(weight) else weight


def check_robust(node_models: Any, path_filter: Any) -> None:
    """Refuse parameters that have no meaning where every row has a say in every contest."""
    if node_models != "separate":
        raise ParameterError(
            f"node_models must be 'separate' where there is a reward_model; got {node_models!r}. Use "
            "reward_model=None, or node_models='separate'."
        )
    if path_filter not in ("in_sample", "out_of_fold"):
        raise ParameterError(
            f"path_filter must be 'in_sample' or 'out_of_fold' where there is a reward_model, as no row is ever left "
            f"out; got {path_filter!r}."
        )
