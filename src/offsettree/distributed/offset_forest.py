"""Offset forest on an engine: files are sorted by action once, then every tree is a task."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from offsettree.distributed._fit import Job
from offsettree.distributed._policy import Distributed
from offsettree.distributed._statistics import SpreadStatistics, fetch
from offsettree.distributed.store import Blob, Store
from offsettree.reductions import OffsetForest
from offsettree.reductions.parts import ForestPlan, check_forest_out_of_core, plan_forest

__all__ = ["DistributedOffsetForest"]


class DistributedOffsetForest(Distributed, OffsetForest):
    """`OffsetForest`, fitted on Dask, Ray or processes of this machine: the same forest, to the bit.

    Files are sorted by action into the store, as for `DistributedOffsetTree`; then every tree is a task, trained depth
    first from the rows there. As many workers have work as there are trees.

    Parameters
    ----------
    estimator, n_trees, tree, randomize, linear_scores, reward_range, actions, random_state
        As in `OffsetForest`.
    bootstrap : bool, default=False
        As in `OffsetForest`; True is refused.
    offset : float, "mean" or "median", default="mean"
        As in `OffsetForest`; none that depends on x.
    path_filter : {"in_sample"}, default="in_sample"
        As in `OffsetForest`; others are refused.
    n_jobs, client, storage
        As in `DistributedOffsetTree`.

    Notes
    -----
    The policy is that of `OffsetForest.fit_log` on the files in the order of their names.
    """

    _local_class = OffsetForest

    def _check(self, local: Any) -> None:
        check_forest_out_of_core(local)

    def _train(self, job: Job, statistics: SpreadStatistics, finite: bool) -> None:
        plan = plan_forest(job.policy, statistics, finite=finite)
        shared = job.runner.store.put("plan", plan)
        given = {f"tree-{job.digest}-{int(seed)}-{number}": (shared, number) for number, seed in enumerate(plan.seeds)}
        plan.finish(job.policy, [_with_settings(each, plan) for each in job.runner.run_each(train_tree, given)])


def train_tree(store: Store, shared: Blob, number: int) -> Any:
    """Train one tree of the forest."""
    plan: ForestPlan = fetch(store, shared)
    return plan.train(number)


def _with_settings(fitted: Any, plan: ForestPlan) -> Any:
    """Let all trees share the bins and the learner that every task returned a copy of."""
    contests, n_rows = fitted
    if plan.first.is_native:
        contests = replace(contests, bins=plan.first.contests.bins, learner=plan.first.learner)
    return contests, n_rows
