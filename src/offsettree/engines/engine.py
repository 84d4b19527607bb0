"""Engines that run tasks on workers: a narrow interface."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

from offsettree.exceptions import EngineError

__all__ = ["ATTEMPTS", "Engine", "WorkerLostError", "dies_again", "run_all"]

ATTEMPTS = 3  # of a task whose workers die


class WorkerLostError(Exception):
    """The worker of a task died: the task may be run again. Never leaves this folder."""


class Engine(Protocol):
    """What a fit asks of an engine. Tasks are functions of a module, with arguments that can be pickled."""

    @property
    def n_workers(self) -> int:
        """How many tasks run at once."""

    @property
    def client(self) -> Any:
        """The engine's own client."""

    def submit(self, function: Callable[..., Any], *arguments: Any, near: int | None = None) -> Any:
        """Have a worker call a function; return a handle, which can be hashed.

        Tasks that are given the same number in `near` go to the same worker as long as it lives: it may have kept what
        it worked on. No result may depend on it.
        """

    def wait(self, tasks: Collection[Any]) -> list[Any]:
        """Wait until at least one of some tasks is done; return those that are."""

    def gather(self, task: Any) -> Any:
        """Return the result of a task that is done, or raise its error; `WorkerLostError` if its worker died."""

    def cancel(self, tasks: Collection[Any]) -> None:
        """Drop tasks, as far as they have not begun."""

    def close(self) -> None:
        """End what was started for this engine; a client that was given stays as it is."""


def run_all(engine: Engine, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Call a function with each of several arguments on an engine; return the results in their order.

    A task whose worker died is run again, a few times.
    """
    results: list[Any] = [None] * len(jobs)
    running = {engine.submit(function, *job): (place, 1) for place, job in enumerate(jobs)}
    try:
        while running:
            for task in engine.wait(running):
                place, attempt = running.pop(task)
                try:
                    results[place] = engine.gather(task)
                except WorkerLostError as error:
                    if attempt == ATTEMPTS:
                        raise dies_again(function.__name__, error) from error
                    running[engine.submit(function, *jobs[place])] = place, attempt + 1
    except BaseException:
        engine.cancel(list(running))
        raise
    return results


def dies_again(name: str, error: WorkerLostError) -> EngineError:
    """Return the error of a task that has cost several workers their lives."""
    return EngineError(
        f"workers must survive their tasks; {ATTEMPTS} died on the task {name!r} ({error}). Most often they lack "
        "memory: give workers more, or split the log into more and smaller files. Run again: it goes on from here."
    )
