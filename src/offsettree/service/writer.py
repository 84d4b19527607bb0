"""Group commit: one thread writes, and each of its transactions takes all changes that came while the last one ran."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from functools import partial
from typing import Any

from offsettree.service.store import Store, StoreError

__all__ = ["GroupWriter"]

MOST_AT_ONCE = 256
Told = Callable[[Any], None]  # called with the answer, which may be an exception
Handed = tuple[Any, Told, asyncio.AbstractEventLoop | None]  # a change, who is told, and in which event loop
log = logging.getLogger("offsettree.service")


class GroupWriter:
    """Hands changes to the one thread that writes; an answer is given once the change is on the disk.

    Parameters
    ----------
    store : Store
        Where to.

    Examples
    --------
    >>> import tempfile
    >>> from offsettree.service.records import EnsureLoop
    >>> from offsettree.service.sqlite_store import SqliteStore
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     writer = GroupWriter(SqliteStore(f"{folder}/decisions.db"))
    ...     writer.write(EnsureLoop("shop", b"secret", 0.0)).name
    ...     writer.close()
    'shop'
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.n_commits = 0
        self.last_error: str | None = None
        self._queue: queue.SimpleQueue[list[Handed] | None] = queue.SimpleQueue()
        self._handed: dict[asyncio.AbstractEventLoop, list[Handed]] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="offsettree-writer", daemon=True)
        self._thread.start()

    def submit(self, change: Any) -> asyncio.Future[Any]:
        """Hand over a change from an event loop; await the result."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.submit_then(change, partial(_resolve, future))
        return future

    def submit_then(self, change: Any, told: Told) -> None:
        """Hand over a change from an event loop, in which `told` is called with the answer, or with an exception.

        Changes of one turn of the loop are handed over together: the thread that writes is woken up once for all.
        """
        loop = asyncio.get_running_loop()
        handed = self._handed.get(loop)
        if handed is None:
            handed = self._handed[loop] = []
            loop.call_soon(self._hand_over, loop)
        handed.append((change, told, loop))

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        handed = self._handed.pop(loop)
        try:
            self._put(handed)
        except StoreError as error:
            _tell([(told, error) for _, told, _ in handed])

    def write(self, change: Any, timeout: float | None = 60.0) -> Any:
        """Hand over a change from any other thread, and wait for its answer."""
        future: Future[Any] = Future()
        self._put([(change, partial(_resolve, future), None)])
        return future.result(timeout)

    def write_all(self, changes: Sequence[Any], timeout: float | None = 60.0) -> list[Any]:
        """Hand over several changes at once, and wait for all answers; an error is among them, not raised."""
        futures: list[Future[Any]] = [Future() for _ in changes]
        if changes:
            self._put(
                [(change, partial(_resolve, future), None) for change, future in zip(changes, futures, strict=True)]
            )
        wait(futures, timeout)
        return [future.exception(0) or future.result(0) for future in futures]

    def close(self) -> None:
        """Write what was handed over, then close the store."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._queue.put(None)
        self._thread.join()
        self.store.close()

    def _put(self, handed: list[Handed]) -> None:
        with self._lock:
            if self._closed:
                raise StoreError("the store is closed: the service is stopping. Nothing was written.")
            self._queue.put(handed)

    def _work(self) -> None:
        last = False
        while not last:
            batch: list[Handed] = []
            item = self._queue.get()
            while item is not None:
                batch += item
                if len(batch) >= MOST_AT_ONCE:
                    break
                try:
                    item = self._queue.get_nowait()
                except queue.Empty:
                    break
            last = item is None
            for first in range(0, len(batch), MOST_AT_ONCE):
                self._commit(batch[first : first + MOST_AT_ONCE])

    def _commit(self, batch: list[Handed]) -> None:
        answers = self._answers([change for change, _, _ in batch])
        for_loop: dict[asyncio.AbstractEventLoop, list[tuple[Told, Any]]] = {}
        for (_, told, loop), answer in zip(batch, answers, strict=True):
            if loop is None:
                _tell([(told, answer)])
            else:
                for_loop.setdefault(loop, []).append((told, answer))
        for loop, answered in for_loop.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_tell, answered)

    def _answers(self, changes: list[Any]) -> list[Any]:
        try:
            answers = self.store.apply(changes)
        except StoreError as error:
            self.last_error = str(error)
            return [error] * len(changes)
        except Exception as error:  # one change of the group is at fault: the others must not suffer
            if len(changes) == 1:
                return [error]
            return [answer for change in changes for answer in self._answers([change])]
        self.n_commits += 1
        self.last_error = None
        return answers


def _tell(answered: list[tuple[Told, Any]]) -> None:
    for told, answer in answered:
        try:
            told(answer)
        except Exception:  # the others must hear of theirs
            log.exception("an answer of the store could not be passed on")


def _resolve(future: Any, answer: Any) -> None:
    if future.done():  # whoever waited has gone
        return
    if isinstance(answer, BaseException):
        future.set_exception(answer)
    else:
        future.set_result(answer)
