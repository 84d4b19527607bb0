"""Contests trained on rows that are read from disk when their turn comes, with the classifiers of `_contests`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree._features import take_rows
from offsettree.reductions._contests import Trained, Trainer, train_nodes
from offsettree.reductions._ladder import Contest, Ladder
from offsettree.reductions._nodes import NodeLearner, node_settings, releases_the_interpreter
from offsettree.reductions._offset import Votes
from offsettree.reductions._routed_log import RoutedLog
from offsettree.topology import ActionTree


class Standing(NamedTuple):
    """Rows that have won every contest so far, in the order of the log."""

    number: NDArray[np.int64]
    X: NDArray[np.float32]
    votes: Votes

    def take(self, which: NDArray[Any]) -> Standing:
        """Copy some of the rows."""
        votes = Votes(self.votes.for_own_side[which], self.votes.weight[which])
        return Standing(self.number[which], take_rows(self.X, which), votes)


@dataclass(frozen=True)
class RoutedContests:
    """One classifier per node, as `train_separately` trains them: on the same rows, in the same order."""

    log: RoutedLog
    tree: ActionTree
    learner: NodeLearner
    offset: float
    seeds: NDArray[np.int64]
    finite: bool

    @property
    def prefer(self) -> str:
        """What joblib is to run workers as."""
        return "threads" if releases_the_interpreter(self.learner.estimator) else "processes"

    def settings(self) -> AbstractContextManager[None]:
        """Set up for the fits: BLAS has one thread, and so on."""
        return node_settings(assume_finite=self.finite, parameters_checked=self.learner.parameters_checked)

    def of_part(self, child: int) -> tuple[list[Trained], Standing]:
        """Read the rows below a child and train all contests there, as one log of its own."""
        rows = self.log.rows_of(leaves_below(self.tree, child))
        votes = Votes.cast(rows.reward, rows.propensity, self.offset)
        standing, weighted = Standing(rows.number, rows.X, votes), votes.weighted()
        if child < 0:  # in the order of the log already
            return [], standing if len(weighted) == len(rows.number) else standing.take(weighted)
        order = weighted[np.argsort(rows.number[weighted])]
        action, standing = rows.action[order], standing.take(order)
        del rows, votes
        ladder = Ladder.at_leaves(self.tree, action, np.ones(len(action), dtype=bool))
        trained = train_nodes(self._trainer(standing), ladder, ladder.nodes_below(child))
        return trained, standing.take(ladder.waiting_at(child)[0] if child else np.arange(0))

    def between(self, node: int, sides: list[Standing]) -> tuple[list[Trained], Standing]:
        """Train one contest between those who stand at its two sides; the list is emptied, so that none is held."""
        standing, from_left = _merged(sides)
        trained, sent_left = self._trainer(standing).train(Contest(node, np.arange(len(from_left)), from_left))
        return [trained], standing.take(np.flatnonzero(sent_left == from_left) if node else np.arange(0))

    def _trainer(self, standing: Standing) -> Trainer:
        return Trainer(self.learner, standing.X, standing.votes, self.seeds, None, self.finite)


def _merged(sides: list[Standing]) -> tuple[Standing, NDArray[np.bool_]]:
    """Put the rows of two sides in the order of the log; tell which came from the left. The list is emptied."""
    left, right = sides
    sides.clear()
    number = np.concatenate([left.number, right.number])
    order = np.argsort(number, kind="stable")  # merges two runs that are sorted already
    from_left = order < len(left.number)
    X = np.empty((len(number), left.X.shape[1]), dtype=np.float32)
    X[from_left], X[~from_left] = left.X, right.X  # not by way of a third array as large as X
    votes = Votes(
        np.concatenate([left.votes.for_own_side, right.votes.for_own_side])[order],
        np.concatenate([left.votes.weight, right.votes.weight])[order],
    )
    return Standing(number[order], X, votes), from_left


def leaves_below(tree: ActionTree, child: int) -> NDArray[np.intp]:
    """Return the actions below a child, from left to right: a node's, or that of the leaf ``~action``."""
    return np.array([~child]) if child < 0 else np.concatenate(tree.actions_below(child))
