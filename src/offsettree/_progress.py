"""How far, and how long still: one line on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from threading import Event, Lock, Thread
from typing import Self, TextIO

__all__ = ["Progress"]

INTERVAL = 10.0  # seconds between lines where they are kept
TELLING = 0.05  # the share of the work from which on it tells how long the rest takes: first calls compile, and read


class Progress:
    """Counts work done against work to do, both in the same unit, and estimates the time left.

    A terminal shows one line that changes. A pipe or a file gets a line after every `interval`, also while a single
    task takes longer than that; work that is done before gets none, unless progress was asked for.

    Parameters
    ----------
    total : float
        All the work, in any unit in which tasks can be compared.
    stream : text file, optional
        Where to write; standard error if not given.
    interval : float, optional
        Seconds between lines where the stream is not a terminal; 10 if not given.
    asked_for : bool, default=False
        Write the first line at once.
    """

    def __init__(
        self, total: float, *, stream: TextIO | None = None, interval: float | None = None, asked_for: bool = False
    ) -> None:
        self.total = total
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._interval = INTERVAL if interval is None else interval
        self._started = time.monotonic()
        self.done = 0.0
        self._what = "starting"
        self._lock = Lock()
        self._closed = Event()
        if total and (self._live or asked_for):
            self._show()
        if total:
            Thread(target=self._show_now_and_then, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self, what: str) -> None:
        """Say what is being done."""
        self.advance(0.0, what)

    def advance(self, work: float, what: str) -> None:
        """Count work as done, and say so."""
        self.done += work
        self._what = what
        if self._live:
            self._show()

    def close(self) -> None:
        """Say nothing more; clear the line of a terminal."""
        self._closed.set()
        if self._live:
            self._write("\r\x1b[K")

    def _show_now_and_then(self) -> None:
        while not self._closed.wait(self._interval):
            self._show()

    def _show(self) -> None:
        line = self._line(time.monotonic())
        self._write(f"\r\x1b[K{line}" if self._live else f"{line}\n")

    def _write(self, text: str) -> None:
        with self._lock:
            self._stream.write(text)
            self._stream.flush()

    def _line(self, now: float) -> str:
        share = min(self.done / self.total, 1.0) if self.total else 1.0
        elapsed = now - self._started
        left = f", about {clock(elapsed / share - elapsed)} left" if share >= TELLING else ""
        done = "under 1 %" if share < 0.01 else f"{100 * share:3.0f} %"
        return f"{done}  {clock(elapsed)} gone{left}  ({self._what})"


def clock(seconds: float) -> str:
    """Write seconds as a person would."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
