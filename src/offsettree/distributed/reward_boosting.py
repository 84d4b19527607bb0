"""Reward boosting on an engine: files are sorted into the store, then boosting without each fold is a task."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from offsettree.distributed._fit import Job
from offsettree.distributed._graph import Task
from offsettree.distributed._policy import Distributed
from offsettree.distributed._statistics import SpreadStatistics, fetch
from offsettree.distributed.store import Blob, Store
from offsettree.logs import CheckedLog
from offsettree.reductions import RewardBoosting
from offsettree.reductions.parts import Room, RoutedLog

__all__ = ["DistributedRewardBoosting"]

Jobs = list[tuple[int, int]]  # fold and start


class DistributedRewardBoosting(Distributed, RewardBoosting):
    """`RewardBoosting`, fitted on Dask, Ray or processes of this machine: the same policy, to the bit.

    Boosting from each start without each fold is a task of its own, and so is the final regression. A task copies the
    rows from the store to files of its machine and maps them, as `RewardBoosting.fit_log` does.

    Parameters
    ----------
    n_trees : int, default=300
        As in `RewardBoosting`.
    learning_rate : float, default=0.15
        As in `RewardBoosting`.
    max_depth : int, default=4
        As in `RewardBoosting`.
    max_features : float, default=0.5
        As in `RewardBoosting`.
    loss : {"auto", "logistic", "squared"}, default="auto"
        As in `RewardBoosting`.
    n_folds : int or "auto", default="auto"
        As in `RewardBoosting`.
    importance_weighted : bool, default=False
        As in `RewardBoosting`.
    patience : int, default=20
        As in `RewardBoosting`.
    reward_range : (float, float), default=(0.0, 1.0)
        As in `RewardBoosting`.
    actions : array of shape (n_actions,), optional
        As in `RewardBoosting`.
    n_jobs : int, optional
        How many processes the engine "local" has; by default one per core.
    random_state : int, RandomState instance or None, default=None
        As in `RewardBoosting`; must be a number on an engine, as every task draws the same folds.
    client : optional
        The engine, as in `DistributedOffsetTree`.
    storage : str or path, optional
        A folder that all workers see, or an address of fsspec, as in `DistributedOffsetTree`.

    Notes
    -----
    At most two times the number of folds of workers have work: histograms of one tree are not spread. A machine needs
    disk for the rows that its workers map, and memory for the final regression on at most 2 million rows.
    """

    _local_class = RewardBoosting

    def __init__(
        self,
        *,
        n_trees: int = 300,
        learning_rate: float = 0.15,
        max_depth: int = 4,
        max_features: float = 0.5,
        loss: str = "auto",
        n_folds: int | str = "auto",
        importance_weighted: bool = False,
        patience: int = 20,
        reward_range: Sequence[float] = (0.0, 1.0),
        actions: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        client: Any = None,
        storage: Any = None,
    ) -> None:
        super().__init__(
            n_trees=n_trees,
            learning_rate=learning_rate,
            max_depth=max_depth,
            max_features=max_features,
            loss=loss,
            n_folds=n_folds,
            importance_weighted=importance_weighted,
            patience=patience,
            reward_range=reward_range,
            actions=actions,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.client = client
        self.storage = storage

    def _check(self, local: Any) -> None:
        local._check_parameters(1)
        if local.random_state is None:  # every task must draw the same folds
            local.random_state = int(np.random.default_rng().integers(np.iinfo(np.int32).max))

    def _train(self, job: Job, statistics: SpreadStatistics, finite: bool) -> None:
        shared = job.runner.store.put("plan", (job.policy, statistics.log, finite))
        digest = f"{job.digest}-{job.policy.random_state}"
        known: dict[tuple[int, int], Blob] = {}
        while True:
            key = f"boost-{digest}-after-{len(known)}"
            now = dict(known)
            reached = job.runner.run([Task(key, advance, lambda _, now=now: (shared, now))])[key]  # type: ignore[misc]
            if not reached.missing:
                break
            keys = {each: f"boost-{digest}-fold-{each[0]}-start-{each[1]}" for each in reached.missing}
            tasks = [
                Task(name, boost_without_fold, lambda _, each=each, now=now: (shared, now, each))  # type: ignore[misc]
                for each, name in keys.items()
            ]
            results = job.runner.run(tasks)
            known |= {each: results[name].model for each, name in keys.items()}
        if reached.fitted is not None:
            job.policy.__dict__.update(job.runner.store.get(reached.fitted))


class Reached(NamedTuple):
    """How far a fit came: which fits without a fold it still waits for, or what it found."""

    missing: Jobs
    fitted: Blob | None


class Boosted(NamedTuple):
    """Trees and their losses, in the store."""

    model: Blob


class _Stop(Exception):  # noqa: N818 - no error: the fit has done what this task is for
    """Ends a fit early."""

    def __init__(self, value: Any) -> None:
        self.value = value


def advance(store: Store, shared: Blob, known: dict[tuple[int, int], Blob]) -> Reached:
    """Go on with a fit as far as the models known allow."""

    def look_up(fitted: Callable[..., Any], jobs: Jobs) -> list[Any]:
        missing = [job for job in jobs if job not in known]
        if missing:
            raise _Stop(Reached(missing, None))
        return [store.get(known[job]) for job in jobs]

    policy, log = _as_learned(store, shared)
    before = set(vars(policy))
    try:
        with tempfile.TemporaryDirectory(prefix="offsettree-") as folder:
            policy._fit_mapped(log, folder, look_up)
    except _Stop as stop:
        reached: Reached = stop.value
        return reached
    return Reached([], store.put("fitted", {name: each for name, each in vars(policy).items() if name not in before}))


def boost_without_fold(
    store: Store, shared: Blob, known: dict[tuple[int, int], Blob], wanted: tuple[int, int]
) -> Boosted:
    """Boost from one start without one fold."""

    def only_this(fitted: Callable[..., Any], jobs: Jobs) -> list[Any]:
        if wanted in jobs:
            raise _Stop(fitted(*wanted))
        return [store.get(known[job]) for job in jobs]

    policy, log = _as_learned(store, shared)
    with tempfile.TemporaryDirectory(prefix="offsettree-") as folder:
        try:
            policy._fit_mapped(log, folder, only_this)
        except _Stop as stop:
            return Boosted(store.put("boosted", stop.value))
    raise AssertionError(f"fold and start {wanted} are not of this fit")


def _as_learned(store: Store, shared: Blob) -> tuple[Any, CheckedLog]:
    """Return the policy, unfitted, and the log in the order of its rows, mapped from a file."""
    policy, _, _ = fetch(store, shared)
    return deepcopy(policy), _mapped(store, shared)


@lru_cache(maxsize=1)
def _mapped(store: Store, shared: Blob) -> CheckedLog:
    """Copy the rows to a file without a name, run by run; a worker keeps it for its next task."""
    policy, log, finite = fetch(store, shared)
    routed: RoutedLog = log
    X = Room(tempfile.gettempdir()).empty((routed.n_rows, routed.n_columns), np.float32)
    action, reward, propensity = np.empty(routed.n_rows, np.intp), np.empty(routed.n_rows), np.empty(routed.n_rows)
    for run in routed.runs:
        here = slice(run.first_row, run.first_row + run.n_rows)
        rows = routed.rows_at(np.arange(here.start, here.stop))
        X[here], action[here], reward[here], propensity[here] = rows.X, rows.action, rows.reward, rows.propensity
    # Rewards in the store are scaled already.
    return CheckedLog(X, action, reward, propensity, policy.actions_, None, (0.0, 1.0), finite)
