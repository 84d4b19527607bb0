"""Processes of this machine as an engine, each in a pool of its own: one that dies takes no other with it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from joblib.externals.loky.process_executor import ProcessPoolExecutor

from offsettree._workers import end_with_parent
from offsettree.engines.engine import WorkerLostError


class _Task:
    """A task that waits for a worker, or has one."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], near: int | None) -> None:
        self.function, self.arguments, self.near = function, arguments, near
        self.future: Future[Any] | None = None


class LocalEngine:
    """So many processes, started when there is work for them."""

    def __init__(self, n_workers: int) -> None:
        self._n_workers = n_workers
        self._pools: list[Any] = [None] * n_workers
        self._busy: dict[int, _Task] = {}  # by the number of the worker
        self._waiting: deque[_Task] = deque()

    @property
    def n_workers(self) -> int:
        """How many processes there are."""
        return self._n_workers

    @property
    def client(self) -> LocalEngine:
        """The engine itself."""
        return self

    def submit(self, function: Callable[..., Any], *arguments: Any, near: int | None = None) -> _Task:
        """Queue a task."""
        task = _Task(function, arguments, None if near is None else near % self._n_workers)
        self._waiting.append(task)
        self._assign()
        return task

    def wait(self, tasks: Collection[Any]) -> list[Any]:
        """Wait for the first."""
        while True:
            self._assign()
            running = [task.future for task in self._busy.values() if task.future is not None]
            done = [task for task in tasks if task.future is not None and task.future.done()]
            if done or not running:
                return done
            wait(running, return_when=FIRST_COMPLETED)
            self._release()

    def gather(self, task: Any) -> Any:
        """Return the result."""
        try:
            return task.future.result()
        except BrokenProcessPool as error:
            raise WorkerLostError(str(error).partition("\n")[0]) from None

    def cancel(self, tasks: Collection[Any]) -> None:
        """Take tasks from the queue."""
        dropped = set(map(id, tasks))
        self._waiting = deque(task for task in self._waiting if id(task) not in dropped)

    def close(self) -> None:
        """End the processes."""
        self._waiting.clear()
        for pool in self._pools:
            if pool is not None:
                pool.shutdown(wait=True, kill_workers=True)
        self._pools = [None] * self._n_workers

    def _assign(self) -> None:
        self._release()
        for number in range(self._n_workers):
            task = next((each for each in self._waiting if each.near in (None, number)), None)
            if number in self._busy or task is None:
                continue
            self._waiting.remove(task)
            self._busy[number] = task
            try:
                task.future = self._pool(number).submit(task.function, *task.arguments)
            except BrokenProcessPool:  # it died while idle
                self._renew(number)
                task.future = self._pool(number).submit(task.function, *task.arguments)

    def _release(self) -> None:
        for number, task in list(self._busy.items()):
            if task.future is not None and task.future.done():
                del self._busy[number]
                if isinstance(task.future.exception(), BrokenProcessPool):
                    self._renew(number)

    def _renew(self, number: int) -> None:
        self._pools[number].shutdown(wait=False)
        self._pools[number] = None

    def _pool(self, number: int) -> Any:
        if self._pools[number] is None:
            self._pools[number] = ProcessPoolExecutor(
                max_workers=1, initializer=end_with_parent, env={"OMP_NUM_THREADS": "1"}
            )
        return self._pools[number]
