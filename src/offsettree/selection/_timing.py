"""The time budget of a search, and estimates of the time that training will take."""

from __future__ import annotations

from time import monotonic

from numba.core import event

SPARE = 1.15  # safety factor on estimates of time
# Up to so many rows fixed costs prevail (folds, forests on short logs): time grows with a power of the rows.
# Measured up to 20,000 rows: at most .68 from 500 rows on, .81 from 1,500 on.
FEW, SOME = 1_000, 1_500
GROWTH_OF_FEW, GROWTH_OF_SOME = 0.6, 0.75


class Compilation(event.Listener):
    """Total time spent compiling kernels. It occurs once per machine, so it is no cost of a candidate."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._since = 0.0
        self._depth = 0  # kernels are compiled within others

    def on_start(self, event: object) -> None:
        """Start the clock, unless it is running."""
        self._since = self._since if self._depth else monotonic()
        self._depth += 1

    def on_end(self, event: object) -> None:
        """Stop the clock when the outermost compilation ends."""
        self._depth -= 1
        if not self._depth:
            self.seconds += monotonic() - self._since


COMPILATION = Compilation()
event.register("numba:compile", COMPILATION)  # type: ignore[no-untyped-call]


def now() -> float:
    """Return the seconds of a monotonic clock that excludes compilation."""
    return monotonic() - COMPILATION.seconds


class Budget:
    """The seconds that a search may take, from now on; None is no limit."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._end = float("inf") if seconds is None else now() + seconds
        self._rates: dict[int, tuple[float, int]] = {}

    @property
    def left(self) -> float:
        """The seconds left; negative if overdrawn."""
        return self._end - now()

    def note(self, place: int, seconds: float, n_rows: int) -> None:
        """Record how long a candidate took to train on `n_rows` rows."""
        self._rates[place] = (seconds, n_rows)

    def expected(self, place: int, n_rows: int) -> float:
        """Return the expected seconds for `n_rows` rows, from the last time recorded; 0 if nothing is recorded."""
        seconds, known = self._rates.get(place, (0.0, 1))
        growth = GROWTH_OF_FEW if known <= FEW else GROWTH_OF_SOME if known <= SOME else 1.0
        return float(SPARE * seconds * max(n_rows / known, 1.0) ** growth)
