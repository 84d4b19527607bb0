"""Offset forest on an engine: files are sorted by action once, then every tree is a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from offsettree.distributed._fit import Job
from offsettree.distributed._graph import Task
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
    estimator : classifier, optional
        As in `OffsetForest`.
    n_trees : int, default=100
        How many trees vote.
    tree : {"learned", "random", "similar", "balanced"}, ActionTree or nested pairs, default="learned"
        As in `OffsetForest`.
    randomize : float, default=0.5
        As in `OffsetForest`.
    bootstrap : bool, default=False
        As in `OffsetForest`; True is refused.
    linear_scores : bool, default=True
        As in `OffsetForest`.
    offset : float, "mean" or "median", default="mean"
        As in `OffsetForest`; none that depends on x.
    reward_range : (float, float), default=(0.0, 1.0)
        As in `OffsetForest`.
    path_filter : {"in_sample"}, default="in_sample"
        As in `OffsetForest`; others are refused.
    actions : array of shape (n_actions,), optional
        As in `OffsetForest`.
    n_jobs : int, optional
        How many processes the engine "local" has; by default one per core.
    random_state : int, RandomState instance or None, default=None
        As in `OffsetForest`.
    client : optional
        The engine, as in `DistributedOffsetTree`.
    storage : str or path, optional
        A folder that all workers see, or an address of fsspec, as in `DistributedOffsetTree`.

    Notes
    -----
    The policy is that of `OffsetForest.fit_log` on the files in the order of their names.
    """

    _local_class = OffsetForest

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_trees: int = 100,
        tree: Any = "learned",
        randomize: float = 0.5,
        bootstrap: bool = False,
        linear_scores: bool = True,
        offset: Any = "mean",
        reward_range: Sequence[float] = (0.0, 1.0),
        path_filter: Literal["in_sample", "out_of_fold"] | float = "in_sample",
        actions: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        client: Any = None,
        storage: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            n_trees=n_trees,
            tree=tree,
            randomize=randomize,
            bootstrap=bootstrap,
            linear_scores=linear_scores,
            offset=offset,
            reward_range=reward_range,
            path_filter=path_filter,
            actions=actions,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.client = client
        self.storage = storage

    def _check(self, local: Any) -> None:
        check_forest_out_of_core(local)

    def _train(self, job: Job, statistics: SpreadStatistics, finite: bool) -> None:
        plan = plan_forest(job.policy, statistics, finite=finite)
        shared = job.runner.store.put("plan", plan)
        keys = [f"tree-{job.digest}-{int(seed)}-{number}" for number, seed in enumerate(plan.seeds)]
        tasks = [
            Task(key, train_tree, lambda _, number=number: (shared, number))  # type: ignore[misc]
            for number, key in enumerate(keys)
        ]
        results = job.runner.run(tasks)
        plan.finish(job.policy, [_with_settings(results[key], plan) for key in keys])


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
