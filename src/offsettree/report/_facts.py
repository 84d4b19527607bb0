"""Lenient access to facts: a value that is missing, empty or of the wrong type becomes None and is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Band", "band", "entries", "mapping", "text", "texts", "value"]

_LARGEST = 1e100


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


def mapping(facts: Any, key: str) -> Mapping[str, Any]:
    """Return the mapping under a key; an empty one if there is none."""
    found = facts.get(key)
    return found if isinstance(found, Mapping) else {}


def entries(facts: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return the mappings in the list under a key."""
    return [entry for entry in _sequence(facts.get(key)) if isinstance(entry, Mapping)]


def texts(facts: Mapping[str, Any], key: str) -> list[str]:
    """Return the texts in the list under a key, without empty ones."""
    return [str(entry).strip() for entry in _sequence(facts.get(key)) if entry is not None and str(entry).strip()]


def text(facts: Mapping[str, Any], key: str) -> str | None:
    """Return the text under a key; None if it is empty."""
    found = facts.get(key)
    return (str(found).strip() or None) if found is not None else None


def value(facts: Mapping[str, Any], key: str) -> float | None:
    """Return the number under a key; None if it is no number, not finite, or too large to calculate with."""
    found = facts.get(key)
    if isinstance(found, str) or found is None:
        return None
    try:
        as_float = float(found)
    except (TypeError, ValueError, OverflowError):
        return None
    return as_float if abs(as_float) <= _LARGEST else None


def band(facts: Mapping[str, Any], key: str = "value") -> Band | None:
    """Return the number under a key with the interval from ``low`` to ``high``; None if there is no number."""
    middle, low, high = value(facts, key), value(facts, "low"), value(facts, "high")
    if middle is None:
        return None
    if low is None or high is None or low > high:
        low = high = None
    return Band(middle, low, high)


def _sequence(found: Any) -> Sequence[Any]:
    return found if isinstance(found, Sequence) and not isinstance(found, str | bytes) else ()
