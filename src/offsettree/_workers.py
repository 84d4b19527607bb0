"""Worker processes end when the process that started them ends."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.utils.parallel import Parallel

SECONDS = 1.0


def parallel(**settings: Any) -> Parallel:
    """Return scikit-learn's `Parallel`, all of whose worker processes end with this one."""
    from sklearn.utils.parallel import Parallel

    watch_from_the_start()
    return Parallel(**settings)


def end_with_parent() -> None:
    """End a joblib worker process when its parent has ended, even if that was killed.

    A thread polls for it. Linux's parent-death signal is no substitute: it is sent when the parent's thread ends that
    started the worker, which may be long before the process does.
    """
    parent = multiprocessing.parent_process()  # by its own word: it may have ended before we came to ask
    if parent is not None and multiprocessing.current_process().name.startswith("LokyProcess"):
        threading.Thread(target=_watch, args=(parent.pid,), daemon=True, name="end with parent").start()


def watch_from_the_start() -> None:
    """Have all worker processes that joblib starts from now on end with this process.

    Without it a worker watches once it has imported the package, with its first task. If this process is killed while
    it sends that task, the worker waits for the rest for ever: it holds the other end of the pipe as well.
    """
    from joblib import register_parallel_backend
    from joblib.parallel import BACKENDS

    loky: Any = BACKENDS.get("loky")
    if loky is None or hasattr(loky, "watches"):  # where processes cannot share a lock, joblib has threads only
        return

    class Watched(loky):
        watches = True

        def configure(self, *args: Any, **kwargs: Any) -> Any:
            own = getattr(self, "backend_kwargs", {}).get("initializer", end_with_parent)
            return super().configure(*args, **{"initializer": own, **kwargs})

    register_parallel_backend("loky", Watched)


def _watch(parent: int | None) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS)
    os._exit(1)
