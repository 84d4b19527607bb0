"""Worker processes end with the process that started them, however that ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import pytest

# Each of the two workers says who it is, and then has work for a minute.
PARENT = """
import os, sys, time
from joblib import Parallel, delayed

def work(_):
    if "early" in sys.argv:
        import offsettree
    os.write(1, f"{os.getpid()}\\n".encode())
    while "early" not in sys.argv and os.getppid() == int(os.environ["PARENT"]):
        time.sleep(0.01)
    import offsettree
    time.sleep(60)

os.environ["PARENT"] = str(os.getpid())

Parallel(n_jobs=2)(delayed(work)(i) for i in range(2))
"""


# The first task is longer than a pipe holds, and the parent ends while its workers are still being started.
SENDING = """
from joblib import Parallel, delayed
from offsettree._workers import watch_from_the_start

watch_from_the_start()
Parallel(n_jobs=2)(delayed(len)(b"." * 50_000_000) for i in range(2))
"""


# The same in a process of the user's own: no command has prepared it.
FITTING = """
import numpy as np
from sklearn.linear_model import Lasso
from offsettree import RewardRegression

class Heavy(Lasso):
    def __init__(self, ballast=b""):
        super().__init__()
        self.ballast = ballast

X, action = np.arange(40.0).reshape(20, 2), ["a", "b"] * 10
RewardRegression(Heavy(b"." * 50_000_000), n_jobs=2).fit(X, action, reward=X[:, 0] / 40, propensity=0.5)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children of a process are listed there")
@pytest.mark.parametrize("words", [SENDING, FITTING], ids=["a command", "a process of the user's own"])
def test_workers_end_when_their_parent_is_killed_while_it_sends_their_first_task(words: str) -> None:
    with subprocess.Popen([sys.executable, "-c", words], stderr=subprocess.DEVNULL) as parent:  # noqa: S603 - our own words
        children: set[int] = set()
        while len(children) < 2 and parent.poll() is None:
            children = {child for child in children_of(parent.pid) if "LokyProcess" in command_of(child)}
        parent.kill()
    assert len(children) == 2
    assert not left_after(30, children)


def test_all_workers_of_the_package_are_started_by_it() -> None:
    source = Path(__file__).parent.parent / "src" / "offsettree"
    files = {file.name for file in source.rglob("*.py") if re.search(r"\bParallel\(", file.read_text())}
    assert files == {"_workers.py", "banditron.py"}  # the latter has threads


def test_a_command_runs_where_joblib_has_no_processes() -> None:
    words = "from offsettree._workers import watch_from_the_start; watch_from_the_start()"
    without = os.environ | {"JOBLIB_MULTIPROCESSING": "0"}
    subprocess.run([sys.executable, "-c", words], env=without, check=True)  # noqa: S603 - our own words


INITIALIZING = """
import os
from joblib import Parallel, delayed, parallel_config
from offsettree._workers import watch_from_the_start

def mine():
    os.environ["MINE"] = "yes"

def ask(_):
    return os.environ.get("MINE")

watch_from_the_start()
with parallel_config("loky", n_jobs=2, initializer=mine):
    print(Parallel()(delayed(ask)(i) for i in range(2)))
print(Parallel(n_jobs=2, initializer=mine)(delayed(ask)(i) for i in range(2)))
"""


def test_an_initializer_of_the_users_own_is_run() -> None:
    run = subprocess.run([sys.executable, "-c", INITIALIZING], check=True, capture_output=True, text=True)  # noqa: S603
    assert run.stdout.split("\n")[:2] == ["['yes', 'yes']"] * 2


def children_of(process: int) -> list[int]:
    """Return the processes that any thread of a process has started."""
    lists = Path(f"/proc/{process}/task").glob("*/children")
    with suppress(OSError):
        return [int(child) for each in lists for child in each.read_text().split()]
    return []


def command_of(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text()
    return ""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
@pytest.mark.parametrize("when", ["early", "late"])
def test_workers_end_when_their_parent_is_killed(when: str) -> None:
    """Also those that import the package only after that: they were just started."""
    command = [sys.executable, "-c", PARENT.replace("sys.argv", repr([when]))]
    with subprocess.Popen(  # noqa: S603 - our own words
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        assert parent.stdout is not None
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        assert all(map(is_there, workers))
        parent.kill()
    assert not left_after(30, workers)


def left_after(seconds: float, workers: Collection[int]) -> list[int]:
    """Wait until all have ended, at most for some seconds; return those that are still there, and end them."""
    end = time.monotonic() + seconds
    while any(map(is_there, workers)) and time.monotonic() < end:
        time.sleep(0.2)
    left = [worker for worker in workers if is_there(worker)]
    for worker in left:
        with suppress(OSError):
            os.kill(worker, signal.SIGKILL)
    return left


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
