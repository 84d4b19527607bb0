"""One classifier for the contests of many nodes, with the node as an extra feature: the device of section 4.2."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offsettree._available import Available
from offsettree._features import Features, append_indicator, take_rows
from offsettree.learners import ConstantClassifier
from offsettree.learners.shared_contest import SharedContest
from offsettree.reductions._ladder import Contest, Ladder
from offsettree.reductions._nodes import NodeLearner, may_assume_finite, node_settings, prefers_left
from offsettree.reductions._offset import Votes
from offsettree.topology import ActionTree

View = SharedContest | ConstantClassifier


def train_shared(
    tree: ActionTree,
    learner: NodeLearner,
    X: Features,
    action: NDArray[np.intp],
    votes: Votes,
    seed: int,
    available: Available | None = None,
) -> tuple[list[View], NDArray[np.int64], int]:
    """Train level by level, from the leaves up: one fit per level, on the contests of all nodes up to it.

    Which rows reach a node depends on the classifiers below it only. So the nodes of a level can be trained at once,
    together with those below, whose rows are known by then; and its classifier answers for the nodes of its level for
    good. One classifier for all levels would have to decide which rows it is trained on, and need not settle.
    """
    views: list[View] = [ConstantClassifier()] * tree.n_nodes
    n_rows = np.zeros(tree.n_nodes, dtype=np.int64)
    ladder = Ladder.at_leaves(tree, action, votes.weight > 0, available=available)
    known: list[Contest] = []
    with node_settings(assume_finite=may_assume_finite(learner.estimator, X)):
        for level in tree.levels():
            new = [ladder.contest(node) for node in level.tolist()]
            known += new
            for view, contest in zip(_train_level(learner, X, votes, known, new, tree.n_nodes, seed), new, strict=True):
                views[contest.node], n_rows[contest.node] = view, len(contest.rows)
                sent_left = prefers_left(view, take_rows(X, contest.rows)) if len(contest.rows) else contest.from_left
                ladder.settle(contest, sent_left)
    return views, n_rows, tree.depth


def _train_level(
    learner: NodeLearner, X: Features, votes: Votes, known: list[Contest], new: list[Contest], n_nodes: int, seed: int
) -> list[View]:
    """Train on all contests that are known; return how the classifier is seen by the new ones."""
    rows = np.concatenate([contest.rows for contest in known])
    node = np.repeat([contest.node for contest in known], [len(contest.rows) for contest in known])
    label = np.concatenate([votes.for_left(contest.rows, contest.from_left) for contest in known])
    union = append_indicator(take_rows(X, rows), node, n_nodes, "node")
    classifier = learner.fit(union, label, votes.scaled_weights(rows)[0], seed)
    n_rows = np.bincount(node, minlength=n_nodes)
    n_left = np.bincount(node, weights=label, minlength=n_nodes)
    # As with separate classifiers, a contest without rows, or with one label only, gets a constant answer.
    return [
        SharedContest(classifier, contest.node, n_nodes)
        if 0 < n_left[contest.node] < n_rows[contest.node]
        else ConstantClassifier(int(n_left[contest.node] == n_rows[contest.node]))
        for contest in new
    ]
