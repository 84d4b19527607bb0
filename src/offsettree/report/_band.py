"""A value with its interval, as charts draw it."""

from __future__ import annotations

from typing import Any, NamedTuple


class Band(NamedTuple):
    """A value, with its interval if that is known."""

    value: float
    low: float | None
    high: float | None

    @property
    def ends(self) -> tuple[float, float]:
        """The interval's ends; the value twice if there is no interval."""
        return (
            self.value if self.low is None else self.low,
            self.value if self.high is None else self.high,
        )

    @property
    def width(self) -> float:
        """Width of the interval."""
        low, high = self.ends
        return high - low


def band(value: float | None, low: float | None, high: float | None) -> Band | None:
    """Return a number with its interval, if that has both ends; None if there is no number."""
    if value is None:
        return None
    if low is None or high is None or low > high:
        low = high = None
    return Band(value, low, high)


def band_of(facts: Any) -> Band | None:
    """Return the `value` of a record with the interval from `low` to `high`; None if there is no record or no value."""
    return None if facts is None else band(facts.value, facts.low, facts.high)
