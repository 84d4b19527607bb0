"""Engines with real worker processes, and a log in files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from offsettree import LoggedData
from tests.policy_files import many_actions

ROOT = Path(__file__).parent.parent.parent
AT_LENGTH = os.environ.get("OFFSETTREE_TEST_ENGINES") == "1"
ENGINES = ["local", "dask", "ray"]


@contextmanager
def running(name: str, n_workers: int = 2) -> Iterator[Any]:
    """Start an engine of real processes; give what `client` takes."""
    if name == "local":
        from offsettree.engines._local import LocalEngine

        engine = LocalEngine(n_workers)
        yield engine
        engine.close()
    elif name == "dask":
        distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
        limits: dict[str, Any] = {"processes": True, "dashboard_address": None, "memory_limit": "600MB"}
        import dask

        with (
            dask.config.set({"distributed.scheduler.allowed-failures": 0}),  # we ourselves run tasks again
            distributed.LocalCluster(n_workers=n_workers, threads_per_worker=1, **limits) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
    else:
        if not AT_LENGTH:
            pytest.skip("Ray takes long to start: make test-engines runs it")
        ray = pytest.importorskip("ray", reason="the extra ray is not installed")
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        os.environ.setdefault("RAY_worker_niceness", "0")  # else workers wait for whatever else runs on the machine
        settings: dict[str, Any] = {"include_dashboard": False, "log_to_driver": False, "object_store_memory": 80 << 20}
        ray.init(num_cpus=n_workers, runtime_env={"env_vars": {"PYTHONPATH": path}}, **settings)
        yield ray
        ray.shutdown()


@pytest.fixture(scope="module", params=ENGINES)
def client(request: pytest.FixtureRequest) -> Iterator[Any]:
    """An engine of two workers, for all tests of a file."""
    if request.param == "local":
        yield request.getfixturevalue("local")
        return
    with running(request.param) as started:
        yield started


@pytest.fixture(scope="session")
def local() -> Iterator[Any]:
    """Two processes of this machine."""
    with running("local") as started:
        yield started


@pytest.fixture(scope="session")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of five files."""
    folder = tmp_path_factory.mktemp("logs")
    write_log(folder, many_actions(3_000))
    return folder


def write_log(folder: Path, log: LoggedData, n_files: int = 5) -> None:
    """Write a log to several files."""
    for number in range(n_files):
        part = log[number * len(log) // n_files : (number + 1) * len(log) // n_files]
        columns = {"action": part.action, "reward": part.reward, "propensity": part.propensity}
        frame = pd.DataFrame(part.X).add_prefix("x").assign(**columns)
        frame.to_parquet(folder / f"part-{number}.parquet")
