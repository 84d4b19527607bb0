"""Policies that may take long are asked in threads, with a time-out: they hold up nobody but themselves."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from offsettree.service.deciders import Decider
from offsettree.service.requests import Action

__all__ = ["Asker", "TimedOutError"]

THREADS = 4
IN_A_ROW = 5  # time-outs, after which a policy is left alone for a while
LEFT_ALONE = 5.0  # seconds

Chosen = tuple[int, list[float] | None]


class TimedOutError(Exception):
    """A policy did not answer in time, or was not asked because it did not before."""


class Asker:
    """Asks one loop's policies. After several time-outs in a row, it asks nothing for a while: a circuit breaker.

    A call that takes longer than the `timeout`, in seconds, is not ended, but nobody waits for it.

    Examples
    --------
    >>> class Fixed:
    ...     is_bounded = False
    ...     def choose(self, context, actions):
    ...         return 1, None
    >>> asker = Asker(5.0)
    >>> asker.ask(Fixed(), {}, [])
    (1, None)
    >>> asker.close()
    """

    def __init__(self, timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.timeout = min(timeout, threading.TIMEOUT_MAX)
        self._clock = clock
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="offsettree-ask")  # starts none until one is needed
        self._late = 0  # in a row
        self._until = -1.0

    def ask(self, decider: Decider, context: dict[str, Any], actions: list[Action]) -> Chosen:
        """Ask, and wait for the answer or the time-out."""
        asked = self._submit(decider, context, actions)
        try:
            return self._in_time(asked.result(self.timeout))
        except TimeoutError:
            asked.cancel()
            raise self._timed_out() from None

    async def ask_soon(self, decider: Decider, context: dict[str, Any], actions: list[Action]) -> Chosen:
        """Ask in an event loop."""
        asked = self._submit(decider, context, actions)
        try:
            return self._in_time(await asyncio.wait_for(asyncio.wrap_future(asked), self.timeout))
        except TimeoutError:
            raise self._timed_out() from None

    def close(self) -> None:
        """Let the threads end; calls that are under way are not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _submit(self, decider: Decider, context: dict[str, Any], actions: list[Action]) -> Future[Chosen]:
        if self._clock() < self._until:
            raise TimedOutError(f"time-out {IN_A_ROW} times in a row: not asked for {LEFT_ALONE:.0f} s")
        return self._pool.submit(decider.choose, context, actions)

    def _in_time(self, chosen: Chosen) -> Chosen:
        self._late = 0
        return chosen

    def _timed_out(self) -> TimedOutError:
        self._late += 1
        if self._late >= IN_A_ROW:
            self._late, self._until = 0, self._clock() + LEFT_ALONE
        return TimedOutError("time-out")
