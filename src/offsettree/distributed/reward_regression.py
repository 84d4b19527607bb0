"""Reward regression on an engine: files are sorted by action, then every action's regression is trained by itself."""

from __future__ import annotations

from typing import Any

from offsettree._validation import check_truth
from offsettree.distributed._fit import Job
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
    estimator, reward_range, actions, random_state
        As in `RewardRegression`.
    per_action : bool, default=True
        As in `RewardRegression`; False is refused.
    n_jobs, client, storage
        As in `DistributedOffsetTree`.
    """

    _local_class = RewardRegression

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
        given = {
            f"regression-{job.digest}-{plan.seeds[group[0]]}-{group[0]}-{group[-1]}": (shared, group)
            for group in groups
        }
        policy.estimators_ = [model for models in job.runner.run_each(train_group, given) for model in models]


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
