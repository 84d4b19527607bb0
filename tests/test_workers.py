"""Worker processes end with the process that started them, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

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
    end = time.monotonic() + 30
    while any(map(is_there, workers)) and time.monotonic() < end:
        time.sleep(0.2)
    left = [worker for worker in workers if is_there(worker)]
    for worker in left:
        with suppress(OSError):
            os.kill(worker, signal.SIGKILL)
    assert not left


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
