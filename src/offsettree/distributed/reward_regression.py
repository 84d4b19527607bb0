"""Reward regression on an engine: files are sorted by action, then every action's regression is trained by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from offsettree._validation import check_truth
from offsettree.distributed._fit import Job
from offsettree.distributed._graph import Task
from offsettree.distributed._policy import Distributed
from offsettree.distributed._statistics import SpreadStatistics, fetch
from offsettree.distributed.store import Blob, Store
from offsettree.exceptions import ParameterError
from offsettree.reductions import RewardRegression

__all__ = ["DistributedRewardRegression"]

TASK_ROWS = 1 << 18  # actions of few rows share a task


class DistributedRewardRegression(Distributed, RewardRegression):
    """`RewardRegression`, fitted on Dask, Ray or processes of this machine: the same regressions, to the bit.

    Parameters
    ----------
    estimator : regressor, optional
        As in `RewardRegression`.
    per_action : bool, default=True
        As in `RewardRegression`; False is refused.
    reward_range : (float, float), default=(0.0, 1.0)
        As in `RewardRegression`.
    actions : array of shape (n_actions,), optional
        As in `RewardRegression`.
    n_jobs : int, optional
        How many processes the engine "local" has; by default one per core.
    random_state : int, RandomState instance or None, default=None
        As in `RewardRegression`.
    client : optional
        The engine, as in `DistributedOffsetTree`.
    storage : str or path, optional
        A folder that all workers see, or an address of fsspec, as in `DistributedOffsetTree`.
    """

    _local_class = RewardRegression

    def __init__(
        self,
        estimator: Any = None,
        *,
        per_action: bool = True,
        reward_range: Sequence[float] = (0.0, 1.0),
        actions: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        client: Any = None,
        storage: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            per_action=per_action,
            reward_range=reward_range,
            actions=actions,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.client = client
        self.storage = storage

    def _check(self, local: Any) -> None:
        check_truth("per_action", local.per_action)
        if not local.per_action:
            raise ParameterError(
                "per_action must be True on an engine, as one regression of all actions has all rows; got False. Use "
                "RewardRegression on a log in memory, or per_action=True."
            )

    def _train(self, job: Job, statistics: SpreadStatistics, finite: bool) -> None:
        policy = job.policy
        plan = policy._plan(statistics, finite=finite)
        shared = job.runner.store.put("plan", plan)
        groups = _groups(statistics.log.counts)
        keys = [f"regression-{job.digest}-{plan.seeds[group[0]]}-{group[0]}-{group[-1]}" for group in groups]
        tasks = [
            Task(key, train_group, lambda _, group=group: (shared, group))  # type: ignore[misc]
            for key, group in zip(keys, groups, strict=True)
        ]
        results = job.runner.run(tasks)
        policy.estimators_ = [model for key in keys for model in results[key]]


def _groups(counts: Any) -> list[list[int]]:
    """Share actions out to tasks: neighbours, until they have enough rows."""
    groups: list[list[int]] = [[]]
    n_rows = 0
    for action, count in enumerate(counts.tolist()):
        if groups[-1] and n_rows + count > TASK_ROWS:
            groups.append([])
            n_rows = 0
        groups[-1].append(action)
        n_rows += count
    return groups


def train_group(store: Store, shared: Blob, group: list[int]) -> list[Any]:
    """Train the regressions of some actions."""
    plan = fetch(store, shared)
    return [plan.train(action) for action in group]
