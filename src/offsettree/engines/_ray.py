"""Ray as an engine."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection
from typing import Any

from offsettree._optional import require
from offsettree.engines.engine import WorkerLostError
from offsettree.exceptions import EngineError


class RayEngine:
    """A Ray cluster; a task has one core, and Ray itself repeats none."""

    def __init__(self, ray: Any, *, owned: bool = False) -> None:
        self._ray = ray
        self._owned = owned
        self._call = ray.remote(max_retries=0, num_cpus=1)(call)
        self._hand = ray.remote(max_restarts=0, num_cpus=0)(Hand)
        self._hands: dict[int, Any] = {}
        self._given: dict[Any, tuple[int, Any]] = {}  # which hand has a task

    @classmethod
    def of_module(cls, ray: Any) -> RayEngine:
        """Take the cluster that `ray.init` has connected to."""
        if not ray.is_initialized():
            raise EngineError("ray must be connected; it is not. Call ray.init() first, or give client='ray://local'.")
        return cls(ray)

    @classmethod
    def at(cls, place: str) -> RayEngine:
        """Reach a cluster by host and port; "local" starts one here, for the time of the fit."""
        ray = require("ray", extra="ray")
        if ray.is_initialized():
            if place == "local":
                return cls(ray)
            raise EngineError(
                f"ray must not be connected where an address is given; it is, perhaps not to {place}. Give client=ray, "
                "the module, to use that connection, or call ray.shutdown() first."
            )
        settings = {"include_dashboard": False} if place == "local" else {"address": f"ray://{place}"}
        try:
            ray.init(log_to_driver=False, logging_level="ERROR", **settings)
        except Exception as error:  # Ray has no common error for what may be wrong with an address
            raise EngineError(
                f"a Ray cluster must be reachable at {place}; {type(error).__name__}: {error}. Check host and port of "
                "its client server, such as ray://10.0.0.5:10001."
            ) from error
        return cls(ray, owned=True)

    @property
    def n_workers(self) -> int:
        """How many cores the cluster has."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    @property
    def client(self) -> Any:
        """The module, connected."""
        return self._ray

    def submit(self, function: Callable[..., Any], *arguments: Any, near: int | None = None) -> Any:
        """Submit a task, or give it to an actor, which keeps what it worked on."""
        work = self._ray.cloudpickle.dumps((function, arguments))
        if near is None:
            return self._call.remote(work)
        number = near % self.n_workers
        if number not in self._hands:
            self._hands[number] = self._hand.remote()
        task = self._hands[number].call.remote(work)
        self._given[task] = number, self._hands[number]
        return task

    def wait(self, tasks: Collection[Any]) -> list[Any]:
        """Wait for the first."""
        done, _ = self._ray.wait(list(tasks), num_returns=1)
        return list(done)

    def gather(self, task: Any) -> Any:
        """Return the result."""
        errors = self._ray.exceptions
        lost = errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError, errors.ActorDiedError
        number, hand = self._given.pop(task, (-1, None))
        try:
            return pickle.loads(self._ray.get(task))  # noqa: S301 - written by our own workers
        except errors.RayTaskError as error:
            raise error.cause from None
        except lost as error:
            if hand is not None and self._hands.get(number) is hand:
                del self._hands[number]
            raise WorkerLostError(f"Ray's worker died: {str(error).partition(chr(10))[0]}") from None

    def cancel(self, tasks: Collection[Any]) -> None:
        """Cancel tasks."""
        for task in tasks:
            self._ray.cancel(task, force=False)

    def close(self) -> None:
        """End the actors; disconnect, if the connection was made here."""
        self._hands.clear()
        self._given.clear()
        if self._owned:
            self._ray.shutdown()


class Hand:
    """An actor: a process of its own, which keeps what it worked on."""

    def call(self, work: bytes) -> bytes:
        """Call a function."""
        return call(work)


def call(work: bytes) -> bytes:
    """Call a function in a worker. All is pickled here: arrays that Ray itself hands over cannot be written to."""
    function, arguments = pickle.loads(work)  # noqa: S301 - written by our own driver
    result: bytes = require("ray", extra="ray").cloudpickle.dumps(function(*arguments))
    return result
