"""Tasks with results that others wait for: run on an engine, each at most a few times, and never twice if recorded."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from offsettree.distributed.store import Blob, Store
from offsettree.engines import Engine, WorkerLostError
from offsettree.engines.engine import ATTEMPTS, dies_again

QUEUED = 2  # tasks per worker that an engine is given at once

Results = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A function to call once other tasks are done, with arguments made of their results.

    The key says what the result depends on: a task with the same key gives the same.
    """

    key: str
    function: Callable[..., Any]
    arguments: Callable[[Results], tuple[Any, ...]]
    after: tuple[str, ...] = ()


@dataclass
class Runner:
    """Runs tasks on an engine. A result that the store has a record of is taken from there."""

    engine: Engine
    store: Store
    n_run: int = field(default=0, init=False)
    n_found: int = field(default=0, init=False)
    n_lost: int = field(default=0, init=False)
    seconds: dict[str, float] = field(default_factory=dict, init=False)  # of the processor, by function

    def __post_init__(self) -> None:
        self._recorded = self.store.recorded()

    def run(self, tasks: Iterable[Task], told: Callable[[Task], None] = lambda _: None) -> Results:
        """Run tasks in their order, as far as those that they wait for are done; return all results by key.

        A task that becomes ready comes before those that have not begun: what it reads is then soon used up.
        """
        results: Results = {}
        left: list[Task] = []
        for task in tasks:
            if (found := self._found(task.key)) is not None:
                results[task.key] = found
                self.n_found += 1
                told(task)
            else:
                left.append(task)
        n_missing = {task.key: sum(key not in results for key in task.after) for task in left}
        waiting: dict[str, list[Task]] = {}
        for task in left:
            for key in task.after:
                waiting.setdefault(key, []).append(task)
        ready = deque(task for task in left if not n_missing[task.key])
        running: dict[Any, tuple[Task, int]] = {}
        try:
            while ready or running:
                while ready and len(running) < QUEUED * self.engine.n_workers:
                    task = ready.popleft()
                    running[self._submit(task, results)] = task, 1
                for handle in self.engine.wait(running):
                    task, attempt = running.pop(handle)
                    try:
                        results[task.key], seconds = self.engine.gather(handle)
                    except WorkerLostError as error:
                        self.n_lost += 1
                        if attempt == ATTEMPTS:
                            raise dies_again(task.key, error) from error
                        running[self._submit(task, results)] = task, attempt + 1
                        continue
                    self.n_run += 1
                    kind = task.function.__name__
                    self.seconds[kind] = self.seconds.get(kind, 0.0) + seconds
                    told(task)
                    for next_one in waiting.pop(task.key, ()):
                        n_missing[next_one.key] -= 1
                        if not n_missing[next_one.key]:
                            ready.appendleft(next_one)
        except BaseException:
            self.engine.cancel(list(running))
            raise
        return results

    def _submit(self, task: Task, results: Results) -> Any:
        return self.engine.submit(perform, self.store, task.key, task.function, task.arguments(results))

    def _found(self, key: str) -> Any:
        """Return the recorded result of a task, if all that it wrote is still there."""
        for name in self._recorded.get(key, ()):
            result = self.store.read_record(name)
            if result is not None and all(self.store.has(blob) for blob in _blobs_of(result)):
                return result
        return None


def perform(store: Store, key: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float]:
    """Call the function of a task in a worker, and note the result; return it, and the processor seconds that took."""
    started = time.process_time()
    result = function(store, *arguments)
    store.record(key, result)
    return result, time.process_time() - started


def _blobs_of(result: Any) -> list[Blob]:
    return [value for value in result if isinstance(value, Blob)] if isinstance(result, tuple) else []
