"""A fit on an engine: the files are sorted into the store, statistics settle the rest, tasks train."""

from __future__ import annotations

import hashlib
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import offsettree
from offsettree._messages import Parameter
from offsettree.distributed._graph import Runner
from offsettree.distributed._route import Looked, Routed, look_at, route
from offsettree.distributed._statistics import SpreadStatistics
from offsettree.distributed.files import Columns, LogPart
from offsettree.distributed.store import Store
from offsettree.engines import Engine, LocalEngine, connected
from offsettree.exceptions import EmptyLogError, LogError, ParameterError, ScratchError
from offsettree.learners import rows_looked_at
from offsettree.reductions.parts import RoutedLog, Seen, rows_sampled


@dataclass(frozen=True)
class Job:
    """A fit that has begun: its engine, its part of the store, and the policy to be."""

    policy: Any  # of one machine
    runner: Runner
    digest: str

    def routed(self, files: list[LogPart], columns: Columns) -> tuple[SpreadStatistics, bool]:
        """Sort the rows of all files into the store; return the statistics of the log, and whether X is finite."""
        looked = self._look_at(files, columns)
        files = [file for file, each in zip(files, looked, strict=True) if each.n_rows]
        looked = [each for each in looked if each.n_rows]
        parts = self._route(files, columns, looked)
        self._check_alike(files, parts)
        policy = self.policy
        positions = Seen.settle([part.seen for part in parts], policy)
        first, runs = 0, []
        for source, part in enumerate(parts):
            runs += [run._replace(first_row=first + run.first_row, source=source) for run in part.runs]
            first += part.seen.n_rows
        seen = parts[0].seen
        policy.n_features_in_ = seen.n_features
        if seen.names is not None:
            policy.feature_names_in_ = seen.names
        log = RoutedLog(self.runner.store, seen.n_features, tuple(runs), tuple(positions), len(policy.actions_))
        return SpreadStatistics(log, parts, self.runner, self.digest), all(part.seen.finite for part in parts)

    def _look_at(self, files: list[LogPart], columns: Columns) -> list[Looked]:
        """Look at all files; the first with rows also tells what their columns are."""
        given = {
            f"look-{self.digest}-{number}": (part, columns, self.policy, not number)
            for number, part in enumerate(files)
        }
        looked = self.runner.run_each(look_at, given)
        first = next((number for number, each in enumerate(looked) if each.n_rows), None)
        if first is None:
            raise EmptyLogError(f"a log must have rows to learn from; none of its {len(files):,} files has any.")
        if first:
            again = {f"look-{self.digest}-{first}-again": (files[first], columns, self.policy, True)}
            looked[first] = self.runner.run_each(look_at, again)[0]
        return looked

    def _route(self, files: list[LogPart], columns: Columns, looked: list[Looked]) -> list[Routed]:
        n_rows = [each.n_rows for each in looked]
        total, fingerprint = sum(n_rows), looked[0].fingerprint
        wanted = np.union1d(rows_looked_at(total), rows_sampled(total, looked[0].n_features))
        begin = np.concatenate([[0], np.cumsum(n_rows)])
        cut = np.searchsorted(wanted, begin)
        given = {}
        for number, file in enumerate(files):
            own = wanted[cut[number] : cut[number + 1]] - begin[number]
            given[f"route-{self.digest}-{number}"] = file, columns, self.policy, fingerprint, n_rows[number], own
        return self.runner.run_each(route, given)

    def _check_alike(self, files: list[LogPart], parts: list[Routed]) -> None:
        """Refuse files with other columns, or other kinds of labels, than the first."""
        first = parts[0].seen
        for file, part in zip(files, parts, strict=True):
            seen = part.seen
            same_names = (seen.names is None) == (first.names is None) and np.array_equal(
                [] if seen.names is None else seen.names, [] if first.names is None else first.names
            )
            if seen.n_features != first.n_features or not same_names:
                raise LogError(
                    f"all files of a log must have the same columns; {file.path} has {_listed(seen)}, and "
                    f"{files[0].path} has {_listed(first)}. Name those to learn from: ",
                    Parameter("features"),
                )
            if (seen.labels.dtype.kind in "US" or seen.labels.dtype.kind == "O") != (
                first.labels.dtype.kind in "US" or first.labels.dtype.kind == "O"
            ):
                raise LogError(
                    f"actions must be all numbers or all text; those of {file.path} are {seen.labels.dtype}, those of "
                    f"{files[0].path} {first.labels.dtype}."
                )


def _listed(seen: Seen) -> str:
    return f"{seen.n_features} columns" + (
        "" if seen.names is None else f" ({', '.join(map(str, seen.names[:5]))}, ...)"
    )


@contextmanager
def started(policy: Any, client: Any, storage: Any, files: list[LogPart], columns: Columns) -> Iterator[Job]:
    """Begin a fit: reach the engine and open the store, which is emptied after success only."""
    with ExitStack() as stack:
        engine = stack.enter_context(connected(client, policy.n_jobs))
        root = _storage(storage, engine, stack)
        digest = _digest(policy, files, columns)
        store = Store(root).part(f"offsettree-{digest}")
        _probe(store, engine)
        yield Job(policy, Runner(engine, store), digest)
        store.clear()


def _storage(storage: Any, engine: Engine, stack: ExitStack) -> str:
    if storage is not None:
        return str(storage)
    if isinstance(engine, LocalEngine):
        return stack.enter_context(tempfile.TemporaryDirectory(prefix="offsettree-", ignore_cleanup_errors=True))
    raise ParameterError(
        "storage must be given where the engine is not 'local': a folder that all workers see, or an address of "
        "fsspec such as s3://bucket/folder. Rows pass from worker to worker through it."
    )


def _probe(store: Store, engine: Engine) -> None:
    """Make sure that we can write, and that workers see what we write."""
    blob = store.put("probe", store.url)
    store.check_owner()
    task = engine.submit(sees, store, blob)
    while not engine.wait([task]):
        pass
    if not engine.gather(task):
        raise ScratchError(
            f"storage must be seen by all workers; {store.url} is there on this machine only. Give a folder that is "
            "mounted everywhere, or an address of fsspec such as s3://bucket/folder."
        )
    store.remove(blob.name)


def sees(store: Store, blob: Any) -> bool:
    """Tell whether a worker sees a blob."""
    return store.has(blob)


def _digest(policy: Any, files: list[LogPart], columns: Columns) -> str:
    """Return what tells this fit from any other: a rerun has the same, and goes on from what the store has."""
    parameters = {
        name: value for name, value in policy.get_params().items() if name not in ("client", "storage", "n_jobs")
    }
    text = pickle.dumps((offsettree.__version__, type(policy).__name__, parameters, files, columns))
    return hashlib.sha256(text).hexdigest()[:16]
