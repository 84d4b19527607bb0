"""Settings of all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# Before NumPy is imported. Tests run side by side, one per core: threads and processes of their own, where nothing says
# how many, would wait for each other. Tests of threads and processes name a number, or use `all_cores`.
ONE_CORE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
for name in ONE_CORE:
    os.environ.setdefault(name, "1")

# Times on shared machines mean nothing; a build server must not fail by the luck of the draw.
settings.register_profile("offsettree", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("offsettree")

# To import it registers what it has: tests.toys does so, and undoes it.
collect_ignore = ["outside"]


@pytest.fixture
def all_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ONE_CORE:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def outside() -> Iterator[None]:
    """Have the reduction, the format and the learner of tests/outside registered."""
    from tests.toys import registered

    with registered():
        yield
