"""Reward boosting on an engine: files are sorted into the store; boosting is a task per fold, or spread over rows."""

from __future__ import annotations

import tempfile
from copy import deepcopy
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from offsettree.distributed._fit import Job
from offsettree.distributed._graph import Runner, Steps, Task
from offsettree.distributed._histograms import (
    Begun,
    Boosted,
    LaidOut,
    begin_fit,
    boost_on_parts,
    lay_out,
    shares_of,
)
from offsettree.distributed._policy import Distributed
from offsettree.distributed._statistics import SpreadStatistics, fetch
from offsettree.distributed.store import Blob, Store
from offsettree.logs import CheckedLog
from offsettree.reductions import RewardBoosting
from offsettree.reductions.parts import STARTS, FoldFits, Room, RoutedLog, RunJobs, one_blas_thread

__all__ = ["DistributedRewardBoosting"]

FEWEST_ROWS = 1 << 22  # whose histograms are spread: with fewer, handing out tasks takes longer than they do

Jobs = list[tuple[int, int]]  # fold and start


class DistributedRewardBoosting(Distributed, RewardBoosting):
    """`RewardBoosting`, fitted on Dask, Ray or processes of this machine: the same policy, to the bit.

    Boosting from each start without each fold is a task of its own, and so is the final regression. A task copies the
    rows from the store to files of its machine and maps them, as `RewardBoosting.fit_log` does. If there are more
    workers than such tasks, workers hold shares of the rows instead: for every level of a tree they sum histograms,
    the sums are added up in a tree of tasks, and the tests chosen from the totals are sent to all.

    Parameters
    ----------
    n_trees, learning_rate, max_depth, max_features, loss, n_folds, importance_weighted, patience, reward_range, actions
        As in `RewardBoosting`.
    random_state : int, RandomState instance or None, default=None
        As in `RewardBoosting`; must be a number on an engine, as every task draws the same folds.
    n_jobs, client, storage
        As in `DistributedOffsetTree`.

    Notes
    -----
    Histograms are spread from four million rows on. Linear models that trees start from are fitted in a task per fold,
    and the final regression, on at most 2 million rows, in one: a machine with such a task needs disk for all rows.
    """

    _local_class = RewardBoosting
    _n_shares: int | None = None  # of the rows of each fit, if not by the number of workers

    def _check(self, local: Any) -> None:
        local._check_parameters(1)
        if local.random_state is None:  # every task must draw the same folds
            local.random_state = int(np.random.default_rng().integers(np.iinfo(np.int32).max))

    def _train(self, job: Job, statistics: SpreadStatistics, finite: bool) -> None:
        runner, n_rows = job.runner, statistics.log.n_rows
        shared = runner.store.put("plan", (job.policy, statistics.log, finite))
        digest = f"boost-{job.digest}-{job.policy.random_state}"
        known: dict[tuple[int, int], Blob] = {}
        laid: LaidOut | None = None
        while True:
            now = dict(known)
            reached = _run_one(runner, f"{digest}-after-{len(known)}", advance, (shared, now))
            if not reached.missing:
                break
            n_shares = self._n_shares or _shares_of(runner.engine.n_workers, reached.missing, n_rows)
            if laid is None and n_shares > 1:
                laid = _run_one(runner, f"{digest}-laid-out", lay_out_log, (shared,))
            steps = [
                _boost(runner, digest, shared, fit, range(number * n_shares, (number + 1) * n_shares), laid)
                for number, fit in enumerate(reached.missing)
            ]
            known |= dict(zip(reached.missing, runner.run_courses(steps), strict=True))
        if reached.fitted is not None:
            job.policy.__dict__.update(runner.store.get(reached.fitted))


def _run_one(runner: Runner, key: str, function: Any, given: tuple[Any, ...]) -> Any:
    return runner.run([Task(key, function, given, near=0)])[key]


def _shares_of(n_workers: int, fits: Jobs, n_rows: int) -> int:
    return shares_of(n_workers, len(fits), n_rows) if n_rows >= FEWEST_ROWS else 1


def _boost(runner: Runner, digest: str, shared: Blob, fit: tuple[int, int], near: range, laid: LaidOut | None) -> Steps:
    """Boost from one start without one fold: in one task, or on as many shares of the rows as there are numbers."""
    key = f"{digest}-fold-{fit[0]}-start-{fit[1]}"
    found: Boosted | None = runner.found(key)
    if found is not None:
        return found.model
    if laid is None or len(near) == 1 or fit[1] >= len(STARTS):
        results = yield [Task(key, boost_without_fold, (shared, fit))]
        return results[key].model
    begun = (yield [Task(f"{key}-begun", begin, (shared, fit), near=near.start)])[f"{key}-begun"]
    return (yield from boost_on_parts(runner, key, laid, begun, fit, near))


class Reached(NamedTuple):
    """How far a fit came: which fits without a fold it still waits for, or what it found."""

    missing: Jobs
    fitted: Blob | None


class _Stop(Exception):  # noqa: N818 - no error: the fit has done what this task is for
    """Ends a fit early."""

    def __init__(self, value: Any) -> None:
        self.value = value


def advance(store: Store, shared: Blob, known: dict[tuple[int, int], Blob]) -> Reached:
    """Go on with a fit as far as the models known allow."""

    def look_up(fits: FoldFits, jobs: Jobs) -> list[Any]:
        missing = [job for job in jobs if job not in known]
        if missing:
            raise _Stop(Reached(missing, None))
        return [store.get(known[job]) for job in jobs]

    policy = _unfitted(store, shared)
    before = set(vars(policy))
    try:
        _fit(store, shared, policy, look_up)
    except _Stop as stop:
        reached: Reached = stop.value
        return reached
    return Reached([], store.put("fitted", {name: each for name, each in vars(policy).items() if name not in before}))


def boost_without_fold(store: Store, shared: Blob, fit: tuple[int, int]) -> Boosted:
    """Boost from one start without one fold."""
    with one_blas_thread():
        return Boosted(store.put("boosted", _fits(store, shared)(*fit)))


def lay_out_log(store: Store, shared: Blob) -> LaidOut:
    """Write the rows to the store, in parts for boosting."""
    return lay_out(store, _fits(store, shared))


def begin(store: Store, shared: Blob, fit: tuple[int, int]) -> Begun:
    """Fit what boosting begins from."""
    with one_blas_thread():
        return begin_fit(store, _fits(store, shared), *fit)


def _fits(store: Store, shared: Blob) -> FoldFits:
    """Return the fits without a fold."""

    def stop(fits: FoldFits, jobs: Jobs) -> list[Any]:
        raise _Stop(fits)

    try:
        _fit(store, shared, _unfitted(store, shared), stop)
    except _Stop as reached:
        fits: FoldFits = reached.value
        return fits
    raise AssertionError("this fit has no folds")


def _fit(store: Store, shared: Blob, policy: Any, run: RunJobs) -> None:
    prepared = _prepared(store, shared)
    anew = prepared._replace(random=deepcopy(prepared.random))
    policy._fit_mapped(_mapped(store, shared), tempfile.gettempdir(), run, anew)


def _unfitted(store: Store, shared: Blob) -> Any:
    policy, _, _ = fetch(store, shared)
    return deepcopy(policy)


@lru_cache(maxsize=1)
def _prepared(store: Store, shared: Blob) -> Any:
    """Prepare the log; a worker keeps it for its next task."""
    return _unfitted(store, shared)._prepare_mapped(_mapped(store, shared), tempfile.gettempdir())


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
