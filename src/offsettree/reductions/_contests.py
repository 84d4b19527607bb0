"""All contests of a tree: rows climb it in training, fall through it in prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.parallel import delayed

from offsettree._features import Features, take_rows
from offsettree._workers import parallel
from offsettree.reductions._ladder import Contest, Ladder, climb
from offsettree.reductions._nodes import (
    NodeLearner,
    TrainingSet,
    ask_out_of_fold,
    may_assume_finite,
    node_settings,
    releases_the_interpreter,
    train_and_ask,
)
from offsettree.reductions._offset import Votes
from offsettree.topology import ActionTree

Trained: TypeAlias = tuple[int, Any, int, float]  # a node, its classifier, its rows, and what these weighed

TASKS_PER_WORKER = 4  # subtrees differ in their rows and in the time these take


@dataclass(frozen=True)
class Trainer:
    """What it takes to train any contest of a log. With `folds`, rows are judged by those who did not learn from them.

    Sent to the workers with every task: joblib writes large arrays such as X to a file once, which all of them map.
    """

    learner: NodeLearner
    X: Features
    votes: Votes
    seeds: NDArray[np.int64]
    folds: NDArray[np.uint8] | None
    finite: bool

    def train(self, contest: Contest) -> tuple[Trained, NDArray[np.bool_] | None]:
        """Train one contest; return what is kept of it, and which rows it sends left, for the filter (root: None)."""
        rows, seed = contest.rows, int(self.seeds[contest.node])
        where = f"in the contest at node {contest.node} of the tree"
        # A contest that all rows reach, as with two actions, needs no copy of them.
        X = self.X if len(rows) == len(self.votes.weight) else take_rows(self.X, rows)
        label = self.votes.for_left(rows, contest.from_left)
        weight, total = self.votes.scaled_weights(rows, contest.standing)
        given = TrainingSet(X, label, weight, seed, where)
        is_root = contest.node == 0  # from where nobody climbs further
        sent_left: NDArray[np.bool_] | None
        if self.folds is None and not is_root:
            classifier, sent_left = train_and_ask(self.learner, given)
        else:
            # About one row only, as some learners fail no sooner than they are asked.
            one_row = take_rows(X, np.arange(len(rows))[:1])
            classifier, _ = train_and_ask(self.learner, given, one_row)
            sent_left = None
            if self.folds is not None and not is_root:
                sent_left = ask_out_of_fold(self.learner, given, self.folds[rows])
        return (contest.node, classifier, len(rows), total), sent_left


def train_separately(
    ladder: Ladder,
    learner: NodeLearner,
    X: Features,
    votes: Votes,
    seeds: NDArray[np.int64],
    n_jobs: int | None,
    *,
    folds: NDArray[np.uint8] | None = None,
) -> tuple[list[Any], NDArray[np.int64], NDArray[np.float64]]:
    """Train one classifier per node, children first: a parent learns from the rows they let through (Algorithm 2).

    Return the classifiers, how many rows trained each, and how much these weighed in all.

    `folds` of the rows make the filter ask classifiers that were trained without the row's fold.
    """
    tree = ladder.tree
    trainer = Trainer(learner, X, votes, seeds, folds, may_assume_finite(learner.estimator, X))
    classifiers: list[Any] = [None] * tree.n_nodes
    n_rows = np.zeros(tree.n_nodes, dtype=np.int64)
    weight = np.zeros(tree.n_nodes)

    def note(trained: list[Trained]) -> None:
        for node, classifier, n, total in trained:
            classifiers[node], n_rows[node], weight[node] = classifier, n, total

    n_workers = effective_n_jobs(n_jobs)
    if n_workers == 1 or tree.n_nodes == 1:
        note(train_nodes(trainer, ladder, range(tree.n_nodes - 1, -1, -1)))
        return classifiers, n_rows, weight
    subtrees, levels = share_out(tree, ladder.n_rows_below, TASKS_PER_WORKER * n_workers)
    prefer = "threads" if releases_the_interpreter(learner.estimator) else "processes"
    # Set here too: a thread that is done sets BLAS back to what it found, which must be one thread for the others.
    settings = node_settings(assume_finite=trainer.finite, parameters_checked=learner.parameters_checked)
    with settings, parallel(n_jobs=n_jobs, prefer=prefer) as workers:
        done = workers(delayed(_train_subtree)(trainer, ladder.below(node), node) for node in subtrees)
        for node, (trained, climbing) in zip(subtrees, done, strict=True):
            note(trained)
            ladder.wait_at(node, *climbing)
        for level in levels:
            contests = [ladder.contest(node) for node in level]
            if len(contests) == 1:
                results = [_train_contest(trainer, contests[0])]
            else:
                results = workers(delayed(_train_contest)(trainer, contest) for contest in contests)
            for contest, (trained_here, sent_left) in zip(contests, results, strict=True):
                note([trained_here])
                ladder.settle(contest, sent_left)
    return classifiers, n_rows, weight


def share_out(tree: ActionTree, n_rows_below: Callable[[int], int], n_parts: int) -> tuple[list[int], list[list[int]]]:
    """Cut a tree into subtrees of similar numbers of rows, and the levels of nodes above them, lowest first."""
    parts = [(-n_rows_below(0), 0, 0)]  # the largest first, of equals the one that came first
    above: list[int] = []
    n_seen = 1
    while len(parts) < n_parts:
        largest = parts[0][2]
        children = [int(child) for child in (tree.left[largest], tree.right[largest]) if child >= 0]
        if not children:
            break
        above.append(largest)
        heappop(parts)
        for child in children:
            heappush(parts, (-n_rows_below(child), n_seen, child))
            n_seen += 1
    height: dict[int, int] = {}
    for node in sorted(above, reverse=True):
        height[node] = 1 + max(height.get(int(child), 0) for child in (tree.left[node], tree.right[node]))
    levels = [[node for node in above if height[node] == here] for here in range(1, height.get(0, 0) + 1)]
    # Those with most rows first, so that no worker is left with a large one at the end.
    return [node for _, _, node in sorted(parts)], levels


def train_nodes(trainer: Trainer, ladder: Ladder, nodes: Sequence[int]) -> list[Trained]:
    trained: list[Trained] = []

    def hold(contest: Contest) -> NDArray[np.bool_] | None:
        trained_here, sent_left = trainer.train(contest)
        trained.append(trained_here)
        return sent_left

    with node_settings(assume_finite=trainer.finite, parameters_checked=trainer.learner.parameters_checked):
        climb(ladder, hold, nodes)
    return trained


def _train_subtree(trainer: Trainer, ladder: Ladder, root: int) -> tuple[list[Trained], Any]:
    trained = train_nodes(trainer, ladder, ladder.nodes_below(root))
    return trained, ladder.waiting_at(root)


def _train_contest(trainer: Trainer, contest: Contest) -> tuple[Trained, NDArray[np.bool_] | None]:
    with node_settings(assume_finite=trainer.finite, parameters_checked=trainer.learner.parameters_checked):
        return trainer.train(contest)
