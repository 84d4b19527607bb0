"""An offset forest from a log that need not fit into memory: rows go to disk once, every tree reads them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._progress import Progress
from offsettree._validation import as_random_state
from offsettree.logs import LoggedData
from offsettree.reductions._binned_log import seeds_of
from offsettree.reductions._depth_first import climb_all, rows_below
from offsettree.reductions._leaf_scale import COMMITTEE
from offsettree.reductions._native import is_native
from offsettree.reductions._nodes import NodeLearner
from offsettree.reductions._offset import warn_if_one_sided, warn_of_unlogged
from offsettree.reductions._out_of_core import (
    Plan,
    check_in_sample,
    plan_native,
    reward_models,
    routed,
    settle_offset,
)
from offsettree.reductions._partial import needs_whole_log
from offsettree.reductions._routed_contests import RoutedContests
from offsettree.reductions._routed_statistics import LogStatistics
from offsettree.topology import ActionTree, tree_from


def fit_forest_out_of_core(forest: Any, chunks: Iterable[LoggedData], folder: Any, verbose: bool | None) -> None:
    """Fit an `OffsetForest`; see its `fit_log`."""
    check_forest_out_of_core(forest)
    with routed(forest, chunks, folder, verbose) as (log, finite, is_shown):
        plan = plan_forest(forest, LogStatistics(log), finite=finite)
        fitted = []
        with Progress(len(plan.trees), asked_for=is_shown) as progress:
            for number in range(len(plan.trees)):
                fitted.append(plan.train(number, forest.n_jobs))
                progress.advance(1, "training")
        plan.finish(forest, fitted)


@dataclass(frozen=True)
class ForestPlan:
    """The trees of a forest, settled: each is trained from its plan by itself."""

    first: Plan  # of which the trees differ in the tree over the actions and in the seeds only
    trees: list[ActionTree]
    seeds: NDArray[np.int64]
    leaf_scale: float | None

    def of_tree(self, number: int) -> Plan:
        """Return the plan of one tree."""
        tree = self.trees[number]
        seeds = np.random.RandomState(self.seeds[number]).randint(np.iinfo(np.int32).max, size=tree.n_nodes)
        own = seeds_of(self.first.learner, seeds) if self.first.is_native else seeds
        return replace(self.first, contests=replace(self.first.contests, tree=tree, seeds=own), seeds=seeds)

    def train(self, number: int, n_jobs: int | None = 1) -> tuple[Any, NDArray[np.int64]]:
        """Train one tree; return its contests, and how many rows reached each."""
        plan = self.of_tree(number)
        below = rows_below(plan.contests.tree, plan.contests.log.counts)
        contests, n_rows, _ = plan.joined(climb_all(plan.contests, below, n_jobs, lambda _: None))
        return contests, n_rows

    def finish(self, forest: Any, fitted: list[Any]) -> None:
        """Hand the trees to an `OffsetForest`."""
        from offsettree.reductions.offset_tree import OffsetTree

        forest.leaf_scale_, forest.oob_value_ = self.leaf_scale, None
        forest.estimators_ = [
            OffsetTree.assembled(forest, tree, contests, n_rows)
            for tree, (contests, n_rows) in zip(self.trees, fitted, strict=True)
        ]


def plan_forest(forest: Any, statistics: LogStatistics, *, finite: bool) -> ForestPlan:
    """Settle the offset, the trees over the actions and all else, in the order of `OffsetForest._fit`."""
    random, log = as_random_state(forest.random_state), statistics.log
    learner = NodeLearner(forest._learner())
    native = is_native(learner.estimator, forest.path_filter)
    offset = forest.offset_ = settle_offset(forest.offset, statistics, random)
    warn_if_one_sided(statistics.tally(offset))
    warn_of_unlogged(np.flatnonzero(log.counts), forest.actions_)
    models = cache(partial(reward_models, statistics, random))  # fitted once, by the first who needs them
    scored = models() if native and forest.linear_scores else None
    trees = [
        tree_from(forest.tree, forest.actions_, statistics.mean_rewards, models, random, forest.randomize)
        for _ in range(forest.n_trees)
    ]
    seeds = random.randint(np.iinfo(np.int32).max, size=forest.n_trees)
    none = np.empty(0, dtype=np.int64)
    if not native:
        contests = RoutedContests(log, trees[0], learner, offset, none, finite)
        return ForestPlan(Plan(contests, none, learner.estimator), trees, seeds, None)
    native_contests = plan_native(statistics, trees[0], learner.estimator, offset, none, random, scored, COMMITTEE)
    return ForestPlan(Plan(native_contests, none, learner.estimator), trees, seeds, native_contests.leaf_scale)


def check_forest_out_of_core(forest: Any) -> None:
    """Refuse what needs the whole log at once."""
    forest._check_parameters()
    if forest.bootstrap:
        raise needs_whole_log("bootstrap", False, True, "rows are drawn from the whole log")
    check_in_sample(forest)
