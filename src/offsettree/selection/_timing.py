"""How much time there is, how much work will take, and how far it is."""

from __future__ import annotations

from time import monotonic

from numba.core import event

__all__ = ["Budget", "now"]

SPARE = 1.15  # by which estimates of time are multiplied: they are never exact


class Compilation(event.Listener):
    """Adds up the time in which kernels are compiled: once on every machine, and so no measure of a candidate."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._since = 0.0
        self._depth = 0  # kernels are compiled within others

    def on_start(self, event: object) -> None:
        """Begin to count, unless that was begun."""
        self._since = self._since if self._depth else monotonic()
        self._depth += 1

    def on_end(self, event: object) -> None:
        """Count what the outermost took."""
        self._depth -= 1
        if not self._depth:
            self.seconds += monotonic() - self._since


COMPILATION = Compilation()
event.register("numba:compile", COMPILATION)  # type: ignore[no-untyped-call]


def now() -> float:
    """Return the seconds of a clock that only goes forward, and stands still while kernels are compiled."""
    return monotonic() - COMPILATION.seconds


class Budget:
    """The seconds that a search may take, from now on; None is as many as it needs."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._end = float("inf") if seconds is None else now() + seconds
        self._rates: dict[int, tuple[float, int]] = {}

    @property
    def left(self) -> float:
        """The seconds that are left; below 0 where too many were used."""
        return self._end - now()

    def note(self, place: int, seconds: float, n_rows: int) -> None:
        """Remember how long a candidate took to learn from so many rows."""
        self._rates[place] = (seconds, n_rows)

    def expected(self, place: int, n_rows: int) -> float:
        """Return how long a candidate will take with so many rows, if as long per row as before; 0 if unknown."""
        seconds, known = self._rates.get(place, (0.0, 1))
        return SPARE * seconds * max(n_rows / known, 1.0)
