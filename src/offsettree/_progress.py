"""Progress with an estimate of the time left: a changing line on a terminal, a bar in a notebook, else lines."""

from __future__ import annotations

import html
import sys
import time
from threading import Event, Lock, Thread
from typing import Any, Self, TextIO

INTERVAL = 10.0  # seconds between lines if the stream is not a terminal
FIRST_ESTIMATE = 0.05  # share of the work done before a time left is shown: first calls compile and read files


class Progress:
    """Shows the share of work done, and estimates the time left.

    A terminal shows one changing line, a notebook a bar that goes when the work is done. A pipe or a file gets a line
    after every `interval`, also during a single long task; work that ends before the first interval gets none, unless
    progress was asked for.

    Parameters
    ----------
    total : float
        The total work, in any unit.
    stream : text file, optional
        Where to write; standard error if not given.
    interval : float, optional
        Seconds between lines if the stream is not a terminal; 10 if not given.
    asked_for : bool, default=False
        Write the first line at once.
    """

    def __init__(
        self, total: float, *, stream: TextIO | None = None, interval: float | None = None, asked_for: bool = False
    ) -> None:
        self.total = total
        self._stream = sys.stderr if stream is None else stream
        self._bar = notebook_bar() if stream is None and total else None
        self._live = self._bar is not None or self._stream.isatty()
        self._interval = INTERVAL if interval is None else interval
        self._started = time.monotonic()
        self.done = 0.0
        self._what = "starting"
        self._lock = Lock()
        self._closed = Event()
        if total and (self._live or asked_for):
            self._show()
        if total:
            Thread(target=self._show_at_intervals, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self, what: str) -> None:
        """Show the task that begins."""
        self.advance(0.0, what)

    def advance(self, work: float, what: str) -> None:
        """Add to the work done, and show the current task."""
        self.done += work
        self._what = what
        if self._live:
            self._show()

    def close(self) -> None:
        """Stop, and clear the line of a terminal."""
        self._closed.set()
        if self._bar is not None:
            with self._lock:
                self._bar.update({"text/html": "", "text/plain": ""}, raw=True)
        elif self._live:
            self._write("\r\x1b[K")

    def _show_at_intervals(self) -> None:
        while not self._closed.wait(self._interval):
            self._show()

    def _show(self) -> None:
        line = self._line(time.monotonic())
        if self._bar is not None:
            share = min(self.done / self.total, 1.0)
            text = f"<progress max='1' value='{share:.4f}'></progress> {html.escape(line)}"
            with self._lock:
                if not self._closed.is_set():
                    self._bar.update({"text/html": text, "text/plain": line}, raw=True)
            return
        self._write(f"\r\x1b[K{line}" if self._live else f"{line}\n")

    def _write(self, text: str) -> None:
        with self._lock:
            self._stream.write(text)
            self._stream.flush()

    def _line(self, now: float) -> str:
        share = min(self.done / self.total, 1.0) if self.total else 1.0
        elapsed = now - self._started
        left = f", about {clock(elapsed / share - elapsed)} left" if share >= FIRST_ESTIMATE else ""
        done = "under 1 %" if share < 0.01 else f"{100 * share:3.0f} %"
        return f"{done}  {clock(elapsed)} gone{left}  ({self._what})"


def notebook_bar() -> Any:
    """Return a display of the notebook that this runs in, to be updated; None elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not getattr(shell, "kernel", None):
        return None
    from IPython.display import display

    return display({"text/html": "", "text/plain": ""}, raw=True, display_id=True)


def clock(seconds: float) -> str:
    """Write a duration in hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
