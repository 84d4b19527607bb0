"""Forests of offset trees, each without one fold of a log: their votes on held-out rows, and all trees joined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import delayed

from offsettree._features import take_rows
from offsettree._validation import as_random_state
from offsettree._workers import parallel
from offsettree.learners import HistogramTree, forest_classifier
from offsettree.logs import CheckedLog
from offsettree.models import Tournaments
from offsettree.reductions._binned_log import BinnedLog
from offsettree.reductions._leaf_scale import COMMITTEE, choose_leaf_scale
from offsettree.reductions._native import NativeContests, flatten_native
from offsettree.reductions._offset import Votes, resolve_offset
from offsettree.topology import ActionTree, RewardModels

N_TREES = 8  # per fold: 25 gained no more, and three times as many trees take three times as long to decide
RANDOMIZE = 0.5


class FoldForests:
    """For each fold, offset trees trained on the other rows as in an `OffsetForest`; masks are not used."""

    def __init__(self, log: CheckedLog, n_jobs: int | None, random: np.random.RandomState) -> None:
        self._log = log
        self._n_jobs = n_jobs
        self._seed = int(random.randint(np.iinfo(np.int32).max))
        self._trees: list[ActionTree] = []
        self._contests: list[NativeContests] = []

    def vote(self, fold: NDArray[np.intp]) -> NDArray[np.float64]:
        """Grow the trees; return the share of votes for each action in each row, by the trees without its fold."""
        log, random, n_folds = self._log, as_random_state(self._seed), int(fold.max()) + 1
        learner = forest_classifier()
        votes = Votes.cast(
            log.scaled, log.propensity, resolve_offset("mean", log.X, log.scaled, random, log.propensity)
        )
        models = self._reward_models(np.arange(len(fold)), random)
        binned = BinnedLog.make(log.X, log.position, votes.signed(), models)
        leaf_scale = choose_leaf_scale(binned, learner, random, COMMITTEE)
        jobs = []
        for f in range(n_folds):
            without = binned.drawn(fold != f)
            models = self._reward_models(np.flatnonzero(fold != f), random)
            if without.linear is not None and models.slopes is not None:
                # Columns are centred alike everywhere, so that trees of all folds can be joined.
                without = replace(without, linear=without.linear._replace(slopes=models.slopes))
            for _ in range(N_TREES):
                tree = ActionTree(*models.children(random, RANDOMIZE))
                seeds = random.randint(np.iinfo(np.int32).max, size=tree.n_nodes)
                jobs.append((without, tree, seeds))
        self._trees = [tree for _, tree, _ in jobs]
        self._contests = parallel(n_jobs=self._n_jobs, prefer="threads")(
            delayed(_train)(without, learner, leaf_scale, tree, seeds) for without, tree, seeds in jobs
        )
        numbers = binned.bins.numbers(log.X)
        shares = np.empty((len(fold), len(log.actions)))
        for f in range(n_folds):
            rows, own = np.flatnonzero(fold == f), slice(f * N_TREES, (f + 1) * N_TREES)
            shares[rows] = self._forest(own).probabilities(take_rows(numbers, rows), None)
        return shares

    def joined(self) -> Tournaments:
        """Return the trees of all folds as one forest."""
        return self._forest(slice(None))

    def _forest(self, which: slice) -> Tournaments:
        return Tournaments(self._trees[which], flatten_native(self._contests[which]), voting=True)

    def _reward_models(self, rows: NDArray[np.intp], random: np.random.RandomState) -> RewardModels:
        log = self._log
        return RewardModels.fit(
            take_rows(log.X, rows),
            log.position[rows],
            log.scaled[rows],
            len(log.actions),
            propensity=log.propensity[rows],
            random_state=random,
        )


def _train(
    log: BinnedLog, learner: HistogramTree, leaf_scale: float, tree: ActionTree, seeds: NDArray[np.int64]
) -> NativeContests:
    return log.training(tree, learner, leaf_scale, seeds).grow().joined()[0]
