"""Worker processes: none outlives the process that started it."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time

__all__ = ["end_with_parent"]

SECONDS = 1.0


def end_with_parent() -> None:
    """In a worker process of joblib, end when its parent has ended: if that was killed, it could not tell its workers.

    A thread looks for it. The signal that Linux can send comes at the end of the thread that started the worker, which
    may be long before that of the process.
    """
    if multiprocessing.current_process().name.startswith("LokyProcess"):
        threading.Thread(target=_watch, args=(os.getppid(),), daemon=True, name="end with parent").start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS)
    os._exit(1)
