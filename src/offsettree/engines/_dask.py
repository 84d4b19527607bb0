"""Dask as an engine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from typing import Any

from offsettree._optional import require
from offsettree.engines.engine import WorkerLostError
from offsettree.exceptions import EngineError

SECONDS = 10  # to reach the scheduler, or the first worker
PATIENCE = 5  # seconds after which to ask whether workers are still there


class DaskEngine:
    """A client of a Dask scheduler; tasks are never taken for one another, and Dask itself repeats none that failed."""

    def __init__(self, client: Any, *, owned: bool = False) -> None:
        self._distributed = require("distributed", extra="dask")
        self._client = client
        self._owned = owned
        self._places: list[str] = []  # of the workers
        self._asked = -math.inf
        self._homes: dict[int, str] = {}  # of each number, as long as it lives
        self._place_of: dict[str, str | None] = {}  # of each task that is best run in one
        self._stranded: set[str] = set()
        try:
            client.wait_for_workers(1, timeout=SECONDS)
        except self._distributed.TimeoutError:
            self.close()
            raise EngineError(
                f"the Dask scheduler at {client.scheduler.address} must have a worker; it had none within {SECONDS} s. "
                "Start workers, with dask worker for instance."
            ) from None

    @classmethod
    def at(cls, place: str) -> DaskEngine:
        """Reach a scheduler by host and port."""
        distributed = require("distributed", extra="dask")
        try:
            client = distributed.Client(f"tcp://{place}", timeout=SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise EngineError(
                f"a Dask scheduler must be reachable at {place}; {type(error).__name__}: {error}. Check host and port, "
                "such as dask://10.0.0.5:8786, and that the scheduler runs."
            ) from error
        return cls(client, owned=True)

    @property
    def n_workers(self) -> int:
        """How many threads all workers have."""
        return max(1, int(sum(self._client.nthreads().values())))

    @property
    def client(self) -> Any:
        """The client."""
        return self._client

    def submit(self, function: Callable[..., Any], *arguments: Any, near: int | None = None) -> Any:
        """Submit a task of its own."""
        if near is None:
            return self._client.submit(function, *arguments, pure=False)
        if time.monotonic() - self._asked > 1:
            self._places, self._asked = sorted(self._client.nthreads()), time.monotonic()
        place = self._home(near)
        task = self._client.submit(function, *arguments, pure=False, workers=place, allow_other_workers=True)
        self._place_of[task.key] = place
        return task

    def _home(self, number: int) -> str | None:
        """Return where the tasks of a number go: a worker that few others go to, if theirs has died."""
        if self._homes.get(number) not in self._places and self._places:
            others = list(self._homes.values())
            self._homes[number] = min(self._places, key=others.count)
        return self._homes.get(number)

    def wait(self, tasks: Collection[Any]) -> list[Any]:
        """Wait for the first. Dask never runs a task for a worker that died when there was no other: it is lost."""
        while True:
            try:
                done = self._distributed.wait(list(tasks), timeout=PATIENCE, return_when="FIRST_COMPLETED").done
                return list(done)
            except self._distributed.TimeoutError:
                alive = {None, *self._client.nthreads()}
                gone = [task for task in tasks if self._place_of.get(task.key) not in alive]
                self._stranded |= {task.key for task in gone}
                if gone:
                    return gone

    def gather(self, task: Any) -> Any:
        """Return the result."""
        place = self._place_of.pop(task.key, None)
        if task.key in self._stranded:
            self._stranded.remove(task.key)
            self._client.cancel([task])
            raise WorkerLostError(f"Dask's worker at {place} is gone")
        try:
            return task.result()
        except self._distributed.KilledWorker as error:
            raise WorkerLostError(f"Dask's worker died: {str(error).partition('. ')[0]}") from None
        except self._distributed.client.FutureCancelledError as error:
            raise WorkerLostError(f"Dask dropped the task: {error}") from None

    def cancel(self, tasks: Collection[Any]) -> None:
        """Cancel tasks."""
        self._client.cancel(list(tasks))

    def close(self) -> None:
        """Close a client that was made here."""
        if self._owned:
            self._client.close()
