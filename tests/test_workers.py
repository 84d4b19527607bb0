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
    import offsettree
    os.write(1, f"{os.getpid()}\\n".encode())
    time.sleep(60)

Parallel(n_jobs=2)(delayed(work)(i) for i in range(2))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_workers_end_when_their_parent_is_killed() -> None:
    command = [sys.executable, "-c", PARENT]
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
