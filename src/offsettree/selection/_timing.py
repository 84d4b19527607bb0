"""How much time there is, how much work will take, and how far it is."""

from __future__ import annotations

from time import monotonic

__all__ = ["Budget", "now"]

SPARE = 1.15  # by which estimates of time are multiplied: they are never exact


def now() -> float:
    """Return the seconds of a clock that only goes forward."""
    return monotonic()


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
