"""All contests of a tree: rows climb it in training, fall through it in prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from offsettree._features import Features, count_rows, take_rows
from offsettree.reductions._nodes import (
    NodeLearner,
    may_assume_finite,
    node_settings,
    prefers_left,
    train_and_ask,
)
from offsettree.reductions._offset import Votes
from offsettree.topology import ActionTree

__all__ = ["Contest", "climb", "descend", "train_separately"]


@dataclass(frozen=True)
class Contest:
    """A node, the rows that reached it (in the order of the log), and whether each came from the left."""

    node: int
    rows: NDArray[np.intp]
    from_left: NDArray[np.bool_]


def climb(
    tree: ActionTree,
    action: NDArray[np.intp],
    rows: NDArray[np.intp],
    hold: Callable[[list[Contest]], Sequence[NDArray[np.bool_] | None]],
) -> None:
    """Lead rows from their action's leaf upwards, level by level, as long as their action wins.

    `hold` is given the contests of a level, all independent of each other, and answers for each which rows it
    sends left; None lets all rows through. A row is touched only at the nodes it reaches.
    """
    waiting: dict[int, NDArray[np.intp]] = {}
    # Sorted by leaf once, a leaf's rows are a slice. Small keys sort by radix, several times as fast.
    leaf = action[rows]
    order = np.argsort(leaf.astype(np.uint16) if tree.n_actions <= 1 << 16 else leaf, kind="stable")
    ends = np.cumsum(np.bincount(leaf, minlength=tree.n_actions))
    for position, here in enumerate(np.split(rows[order], ends[:-1])):
        waiting[~position] = here
    for level in tree.levels():
        contests = [
            _contest(node, waiting.pop(int(tree.left[node])), waiting.pop(int(tree.right[node])))
            for node in level.tolist()
        ]
        for contest, sent_left in zip(contests, hold(contests), strict=True):
            won = slice(None) if sent_left is None else sent_left == contest.from_left
            waiting[contest.node] = contest.rows[won]


def _contest(node: int, left: NDArray[np.intp], right: NDArray[np.intp]) -> Contest:
    rows = np.concatenate([left, right])
    order = np.argsort(rows)
    return Contest(node, rows[order], order < len(left))


def train_separately(
    tree: ActionTree,
    learner: NodeLearner,
    X: Features,
    action: NDArray[np.intp],
    votes: Votes,
    seeds: NDArray[np.int64],
    n_jobs: int | None,
) -> tuple[list[Any], NDArray[np.int64]]:
    """Train one classifier per node, children first: a parent learns from the rows they let through (Algorithm 2)."""
    classifiers: list[Any] = [None] * tree.n_nodes
    n_rows = np.zeros(tree.n_nodes, dtype=np.int64)

    def tasks(contests: list[Contest]) -> Iterator[tuple[Any, ...]]:
        for contest in contests:
            # A contest that all rows reach, as with two actions, needs no copy of them.
            X_node = X if len(contest.rows) == count_rows(X) else take_rows(X, contest.rows)
            weight = votes.loudness(contest.rows)
            yield (
                learner,
                X_node,
                votes.for_left(contest.rows, contest.from_left),
                weight,
                int(seeds[contest.node]),
                f"in the contest at node {contest.node} of the tree",
            )

    def hold(contests: list[Contest]) -> Sequence[NDArray[np.bool_]]:
        if n_workers == 1 or len(contests) == 1:
            results = [train_and_ask(*task) for task in tasks(contests)]
        else:
            results = parallel(delayed(_train_in_worker)(finite, *task) for task in tasks(contests))
        for contest, (classifier, _) in zip(contests, results, strict=True):
            classifiers[contest.node] = classifier
            n_rows[contest.node] = len(contest.rows)
        return [sent_left for _, sent_left in results]

    n_workers = effective_n_jobs(n_jobs)
    finite = may_assume_finite(learner.estimator, X)
    with Parallel(n_jobs=n_jobs) as parallel, node_settings(assume_finite=finite):
        climb(tree, action, votes.audible(), hold)
    return classifiers, n_rows


def _train_in_worker(finite: bool, *task: Any) -> tuple[Any, NDArray[np.bool_]]:
    with node_settings(assume_finite=finite):
        return train_and_ask(*task)


def descend(tree: ActionTree, classifiers: Sequence[Any], X: Features) -> NDArray[np.intp]:
    """Send each row from the root to the leaf that every contest on its way prefers (Algorithm 3)."""
    action = np.empty(count_rows(X), dtype=np.intp)
    pending: list[tuple[int, NDArray[np.intp] | None]] = [(0, None)]
    while pending:
        node, rows = pending.pop()
        sent_left = prefers_left(classifiers[node], X if rows is None else take_rows(X, rows))
        here = np.arange(len(action)) if rows is None else rows
        for child, moved in ((tree.left[node], here[sent_left]), (tree.right[node], here[~sent_left])):
            if child < 0:
                action[moved] = ~child
            elif len(moved) > 0:
                pending.append((int(child), moved))
    return action
