"""Engines that run tasks on workers: Dask, Ray, or processes of this machine."""

from offsettree.engines._local import LocalEngine
from offsettree.engines.engine import Engine, WorkerLostError, run_all
from offsettree.engines.reach import connected

__all__ = ["Engine", "LocalEngine", "WorkerLostError", "connected", "run_all"]
