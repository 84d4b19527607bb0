"""How to reach an engine: by its address, or by its own client."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from joblib import effective_n_jobs

from offsettree.engines._dask import DaskEngine
from offsettree.engines._local import LocalEngine
from offsettree.engines._ray import RayEngine
from offsettree.engines.engine import Engine
from offsettree.exceptions import ParameterError

__all__ = ["connected"]


@contextmanager
def connected(client: Any = None, n_jobs: int | None = None) -> Iterator[Engine]:
    """Reach an engine for a while.

    Parameters
    ----------
    client : optional
        None or "local" for processes of this machine ("local://4" for four), "dask://host:8786", "ray://host:10001",
        "ray://local"; a `distributed.Client`, the module `ray` after `ray.init()`, or an `Engine`.
    n_jobs : int, optional
        How many processes there are where None or "local" says no number; by default one per core.
    """
    engine = _reach(client, n_jobs)
    try:
        yield engine
    finally:
        if engine is not client:
            engine.close()


def _reach(client: Any, n_jobs: int | None) -> Engine:
    if client is None or isinstance(client, str):
        return _by_address(client or "local", n_jobs)
    if all(hasattr(client, name) for name in ("submit", "wait", "gather", "cancel", "n_workers", "close")) and not (
        hasattr(client, "scheduler")
    ):
        engine: Engine = client
        return engine
    module = type(client).__module__.partition(".")[0]
    if module == "distributed":
        return DaskEngine(client)
    if getattr(client, "__name__", None) == "ray":
        return RayEngine.of_module(client)
    raise _unknown(client)


def _by_address(address: str, n_jobs: int | None) -> Engine:
    scheme, _, place = address.partition("://")
    if scheme == "local" and (not place or (place.isdecimal() and int(place) > 0)):
        asked = os.cpu_count() or 1 if n_jobs is None else effective_n_jobs(n_jobs)
        return LocalEngine(int(place) if place else asked)
    if scheme == "dask" and place:
        return DaskEngine.at(place)
    if scheme == "ray" and place:
        return RayEngine.at(place)
    raise _unknown(address)


def _unknown(client: Any) -> ParameterError:
    return ParameterError(
        "client must be None, 'local', 'local://4', 'dask://host:8786', 'ray://host:10001', 'ray://local', a "
        f"distributed.Client or the module ray; got {client!r:.80}."
    )
