"""How far, and how long still: one line on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

__all__ = ["Progress"]


class Progress:
    """Counts work done against work to do, both in the same unit, and estimates the time left.

    Parameters
    ----------
    total : float
        All the work, in any unit in which tasks can be compared.
    stream : text file, optional
        Where to write; standard error if not given.
    interval : float, default=30.0
        Seconds between lines where the stream is not a terminal.
    """

    def __init__(self, total: float, *, stream: TextIO | None = None, interval: float = 30.0) -> None:
        self._total = total
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._interval = interval
        self._started = self._shown = time.monotonic()
        self._done = 0.0
        if total:
            self._show(self._line(self._started, "starting"))

    def advance(self, work: float, what: str) -> None:
        """Count work as done, and say so."""
        self._done += work
        now = time.monotonic()
        if self._live or now - self._shown >= self._interval:
            self._shown = now
            self._show(self._line(now, what))

    def _show(self, line: str) -> None:
        self._stream.write(f"\r\x1b[K{line}" if self._live else f"{line}\n")
        self._stream.flush()

    def close(self) -> None:
        """Clear the line of a terminal."""
        if self._live:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _line(self, now: float, what: str) -> str:
        share = self._done / self._total if self._total else 1.0
        elapsed = now - self._started
        left = elapsed / share - elapsed if share > 0 else 0.0
        return f"{100 * share:3.0f} %  {clock(elapsed)} gone, about {clock(left)} left  ({what})"


def clock(seconds: float) -> str:
    """Write seconds as a person would."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
