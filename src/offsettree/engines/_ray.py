"""Ray as an engine."""

from __future__ import annotations

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
            return cls(ray)
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

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Submit a task."""
        return self._call.remote(function, *arguments)

    def wait(self, tasks: Collection[Any]) -> list[Any]:
        """Wait for the first."""
        done, _ = self._ray.wait(list(tasks), num_returns=1)
        return list(done)

    def gather(self, task: Any) -> Any:
        """Return the result."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(task)
        except errors.RayTaskError as error:
            raise error.cause from None
        except (errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError) as error:
            raise WorkerLostError(f"Ray's worker died: {str(error).partition(chr(10))[0]}") from None

    def cancel(self, tasks: Collection[Any]) -> None:
        """Cancel tasks."""
        for task in tasks:
            self._ray.cancel(task, force=False)

    def close(self) -> None:
        """Disconnect, if the connection was made here."""
        if self._owned:
            self._ray.shutdown()


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a worker: Ray itself takes no built-in ones."""
    return function(*arguments)
