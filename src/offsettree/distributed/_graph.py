"""Tasks with results that others wait for: run on an engine, each at most a few times, and never twice if recorded."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from offsettree.distributed.store import Blob, Store
from offsettree.engines import Engine, WorkerLostError
from offsettree.engines.engine import ATTEMPTS, dies_again

QUEUED = 2  # tasks per worker that an engine is given at once

Results = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A function to call once other tasks are done, with arguments that may be made of their results.

    The key says what the result depends on: a task with the same key gives the same. What is not recorded is done
    anew when a fit is run again. Tasks that are given the same number in `near` best go to the same worker.
    """

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] | Callable[[Results], tuple[Any, ...]]
    after: tuple[str, ...] = ()
    near: int | None = None
    is_recorded: bool = True


Steps = Generator[list[Task], Results, Any]  # yields tasks that are to be run together, and is sent their results


@dataclass
class _Batch:
    """Tasks that run together."""

    course: int
    results: Results = field(default_factory=dict)
    n_left: int = 0
    n_missing: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, list[Task]] = field(default_factory=dict)


@dataclass
class Runner:
    """Runs tasks on an engine. A result that the store has a record of is taken from there."""

    engine: Engine
    store: Store
    n_run: int = field(default=0, init=False)
    n_found: int = field(default=0, init=False)
    n_lost: int = field(default=0, init=False)
    seconds: dict[str, float] = field(default_factory=dict, init=False)  # of the processor, by function
    task_seconds: dict[str, float] = field(default_factory=dict, init=False)  # by key

    def __post_init__(self) -> None:
        self._recorded = self.store.recorded()

    def run(self, tasks: Iterable[Task]) -> Results:
        """Run tasks in their order, as far as those that they wait for are done; return all results by key."""

        def once() -> Steps:
            return (yield list(tasks))

        results: Results = self.run_courses([once()])[0]
        return results

    def run_each(self, function: Callable[..., Any], given: Mapping[str, tuple[Any, ...]]) -> list[Any]:
        """Call a function once per key, each time with arguments of its own; return the results in their order."""
        results = self.run(Task(key, function, arguments) for key, arguments in given.items())
        return [results[key] for key in given]

    def run_courses(self, courses: Sequence[Steps]) -> list[Any]:
        """Run several courses of tasks side by side; return what each of them returns.

        A task that becomes ready comes before those that have not begun: what it reads is then soon used up.
        """
        returned: list[Any] = [None] * len(courses)
        ready: deque[tuple[Task, _Batch]] = deque()
        running: dict[Any, tuple[Task, _Batch, int]] = {}

        def go_on(number: int, results: Results | None) -> None:
            """Have a course say what comes next, until there is something to run."""
            while True:
                try:
                    tasks = next(courses[number]) if results is None else courses[number].send(results)
                except StopIteration as stop:
                    returned[number] = stop.value
                    return
                batch = self._batch(number, tasks)
                ready.extend((task, batch) for task in batch.waiting.pop("", ()))
                if batch.n_left:
                    return
                results = batch.results

        try:
            for number in range(len(courses)):
                go_on(number, None)
            while ready or running:
                while ready and len(running) < QUEUED * self.engine.n_workers:
                    task, batch = ready.popleft()
                    running[self._submit(task, batch.results, task.near)] = task, batch, 1
                for handle in self.engine.wait(running):
                    task, batch, attempt = running.pop(handle)
                    try:
                        batch.results[task.key], seconds = self.engine.gather(handle)
                    except WorkerLostError as error:
                        self.n_lost += 1
                        if attempt == ATTEMPTS:
                            raise dies_again(task.key, error) from error
                        running[self._submit(task, batch.results, near=None)] = task, batch, attempt + 1
                        continue
                    self.n_run += 1
                    kind = task.function.__name__
                    self.seconds[kind] = self.seconds.get(kind, 0.0) + seconds
                    self.task_seconds[task.key] = seconds
                    batch.n_left -= 1
                    for next_one in batch.waiting.pop(task.key, ()):
                        batch.n_missing[next_one.key] -= 1
                        if not batch.n_missing[next_one.key]:
                            ready.appendleft((next_one, batch))
                    if not batch.n_left:
                        go_on(batch.course, batch.results)
        except BaseException:
            self.engine.cancel(list(running))
            raise
        return returned

    def _batch(self, course: int, tasks: list[Task]) -> _Batch:
        """Return tasks that are to be run, but for those of which there is a record; "" waits for nothing."""
        batch = _Batch(course)
        left = []
        for task in tasks:
            found = self.found(task.key)
            if found is None:
                left.append(task)
            else:
                batch.results[task.key] = found
                self.n_found += 1
        batch.n_left = len(left)
        for task in left:
            missing = [key for key in task.after if key not in batch.results]
            batch.n_missing[task.key] = len(missing)
            for key in missing or [""]:
                batch.waiting.setdefault(key, []).append(task)
        return batch

    def _submit(self, task: Task, results: Results, near: int | None) -> Any:
        arguments = task.arguments if isinstance(task.arguments, tuple) else task.arguments(results)
        key = task.key if task.is_recorded else None
        return self.engine.submit(perform, self.store, key, task.function, arguments, near=near)

    def found(self, key: str) -> Any:
        """Return the recorded result of a task, if all that it wrote is still there."""
        for name in self._recorded.get(key, ()):
            result = self.store.read_record(name)
            if result is not None and all(self.store.has(blob) for blob in _blobs_of(result)):
                return result
        return None


def perform(
    store: Store, key: str | None, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> tuple[Any, float]:
    """Call the function of a task in a worker, and note the result; return it, and the processor seconds that took."""
    started = time.process_time()
    result = function(store, *arguments)
    if key is not None:
        with store.discarding(_blobs_of(result)):
            store.record(key, result)
    return result, time.process_time() - started


def _blobs_of(result: Any) -> list[Blob]:
    if isinstance(result, Blob):
        return [result]
    return [blob for each in result for blob in _blobs_of(each)] if isinstance(result, tuple) else []
