"""One classifier for all contests, with the node as an extra feature: the device of the paper's section 4.2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from offsettree._available import Available
from offsettree._features import Features, append_indicator, take_rows
from offsettree._validation import warn_caller
from offsettree.learners import ConstantClassifier
from offsettree.learners.shared_contest import SharedContest
from offsettree.reductions._contests import descend
from offsettree.reductions._ladder import Contest, Ladder, climb
from offsettree.reductions._nodes import NodeLearner, may_assume_finite, node_settings, prefers_left
from offsettree.reductions._offset import Votes
from offsettree.reductions._sides import descend_within
from offsettree.topology import ActionTree

__all__ = ["train_shared"]


def train_shared(
    tree: ActionTree,
    learner: NodeLearner,
    X: Features,
    action: NDArray[np.intp],
    votes: Votes,
    seed: int,
    max_rounds: int,
    available: Available | None = None,
) -> tuple[list[SharedContest | ConstantClassifier], NDArray[np.int64], int]:
    """Train the shared classifier over and over, each time on the rows that the one before lets through.

    Which rows reach a node depends on the classifier, and the classifier on which rows reach a node. The first round
    lets every row climb to the root; rounds go on until the policy no longer changes on the rows of the log, or for
    `max_rounds`. A round costs one fit on all contests at once.
    """
    views: list[SharedContest | ConstantClassifier] = []
    policy = np.empty(0, dtype=np.intp)
    n_rounds = 0
    with node_settings(assume_finite=may_assume_finite(learner.estimator, X)):
        while n_rounds < max_rounds:
            n_rounds += 1
            contests = _contests_reached(tree, X, action, votes, views, available)
            rows = np.concatenate([contest.rows for contest in contests])
            node = np.repeat([contest.node for contest in contests], [len(contest.rows) for contest in contests])
            label = np.concatenate([votes.for_left(contest.rows, contest.from_left) for contest in contests])
            union = append_indicator(take_rows(X, rows), node, tree.n_nodes, "node")
            classifier = learner.fit(union, label, votes.loudness(rows)[0], seed)
            n_rows = np.bincount(node, minlength=tree.n_nodes)
            n_left = np.bincount(node, weights=label, minlength=tree.n_nodes)
            # As with separate classifiers, who heard one side or nobody has no opinion of its own.
            views = [
                SharedContest(classifier, node, tree.n_nodes)
                if 0 < n_left[node] < n_rows[node]
                else ConstantClassifier(int(n_left[node] == n_rows[node]))
                for node in range(tree.n_nodes)
            ]
            before, policy = policy, _decisions(tree, views, X, available)
            if np.array_equal(before, policy):
                break
        else:
            warn_caller(
                f"the shared classifier still changed the policy after max_rounds={max_rounds} rounds. "
                "Raise max_rounds, or use node_models='separate', which needs no rounds.",
                ConvergenceWarning,
            )
    return views, n_rows, n_rounds


def _decisions(tree: ActionTree, views: Sequence[Any], X: Features, available: Available | None) -> NDArray[np.intp]:
    if available is None:
        return descend(tree, views, X)
    return descend_within(tree, views, X, available)


def _contests_reached(
    tree: ActionTree,
    X: Features,
    action: NDArray[np.intp],
    votes: Votes,
    views: Sequence[Any],
    available: Available | None,
) -> list[Contest]:
    reached: list[Contest] = []

    def hold(contest: Contest) -> NDArray[np.bool_] | None:
        reached.append(contest)
        if not views:
            return None
        if not len(contest.rows):
            return contest.from_left
        return prefers_left(views[contest.node], take_rows(X, contest.rows))

    climb(Ladder.at_leaves(tree, action, votes.weight > 0, available=available), hold, tree.bottom_up())
    return reached
