"""A value with its interval, as charts draw it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from offsettree.report._numbers import decimals_for, interval, number, signed


class Band(NamedTuple):
    """A value, with its interval if that is known."""

    value: float
    low: float | None
    high: float | None

    @property
    def ends(self) -> tuple[float, float]:
        """The interval's ends; the value twice if there is no interval."""
        return (self.value, self.value) if self.low is None or self.high is None else (self.low, self.high)

    @property
    def width(self) -> float:
        """Width of the interval."""
        low, high = self.ends
        return high - low

    def figures(self, places: int, *, sign: bool = False) -> tuple[str, str]:
        """Return the value and the interval as text; that is empty if there is none."""
        written = signed(self.value, places) if sign else number(self.value, places)
        return written, "" if self.low is None else interval(*self.ends, places, sign=sign)


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


def decimals_of(bands: Sequence[Band]) -> int:
    """Return the number of decimals for values with intervals, by the one of median width."""
    widths = sorted(found.width for found in bands if found.width > 0)
    return decimals_for([found.value for found in bands], widths[len(widths) // 2] if widths else None)
