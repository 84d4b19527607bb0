"""Formatting of numbers: only significant digits, thousands separators, shares in percent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from offsettree._messages import decimals_of_difference

THIN = "\u202f"  # narrow no-break space, between a number and its unit
MINUS = "\u2212"
_MOST_DECIMALS = 6


def number(value: float, decimals: int | None = None) -> str:
    """Write a number with `decimals` decimals; by default with three significant digits."""
    size = abs(value)
    places = decimals_for([value]) if decimals is None else decimals
    if size >= 1e12 or 0 < size < 10.0**-_MOST_DECIMALS:
        text = f"{value:.2e}"
    else:
        text = f"{value:,.{places}f}"
        if not text.strip("-0.,"):
            text = text.lstrip("-")
    return text.replace("-", MINUS)


def signed(value: float, decimals: int | None = None) -> str:
    """Write a number with its sign, also a plus."""
    text = number(value, decimals)
    return text if text.startswith(MINUS) or not text.strip("0.,") else f"+{text}"


def interval(low: float, high: float, decimals: int, *, sign: bool = False) -> str:
    """Write an interval."""
    if sign:
        decimals = decimals_of_difference(low, high, decimals)
    write = signed if sign else number
    return f"[{write(low, decimals)}, {write(high, decimals)}]"


def decimals_for(values: Iterable[float], width: float | None = None) -> int:
    """Return the number of significant decimals.

    The last decimal is the first digit of a quarter of the interval's width, which is near the standard error.
    Numbers between 1 and 1,000, such as money, get at least two decimals if the interval is no wider than a hundred.
    Without an interval, three digits of the largest number are shown.
    """
    largest = max((abs(value) for value in values), default=0.0)
    if width is not None and width > 0:
        places = -math.floor(math.log10(width) - math.log10(4) + 1e-9)
        if width <= 100 and max(largest, width) >= 1 and largest < 1000:
            places = max(places, 2)
    else:
        places = 2 - math.floor(math.log10(largest)) if largest > 0 else 0
        if largest == round(largest):
            places = 0
    return min(max(places, 0), _MOST_DECIMALS)


def count(value: float) -> str:
    """Write a whole number."""
    return number(round(value), 0)


def plural(n: int, one: str, many: str | None = None) -> str:
    """Write a whole number with its noun."""
    return f"{count(n)} {one if n == 1 else many or one + 's'}"


def percent(share: float) -> str:
    """Write a share between 0 and 1 in percent, with one decimal below 10 %."""
    value = 100 * share
    if 0 < abs(value) < 0.1:
        return f"<{THIN}0.1{THIN}%" if value > 0 else f">{THIN}{MINUS}0.1{THIN}%"
    if 99.5 <= abs(value) < 100:
        return f"{number(math.floor(value * 10) / 10, 1)}{THIN}%"
    places = 0 if abs(value) >= 9.95 or value == 0 else 1
    return f"{number(value, places)}{THIN}%"


def duration(seconds: float) -> str:
    """Write a duration in seconds, minutes or hours."""
    if seconds < 0.1:
        return f"under 0.1{THIN}s"
    if seconds < 9.95:
        return f"{seconds:.1f}{THIN}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{count(hours)}{THIN}h {minutes}{THIN}min"
    return f"{minutes}{THIN}min {rest}{THIN}s" if minutes else f"{rest}{THIN}s"


def ticks(low: float, high: float, most: int = 5) -> Sequence[float]:
    """Return at most `most` round numbers between two numbers."""
    span = high - low
    if not (math.isfinite(span) and span > 1e-300):  # below, steps would underflow
        return []
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10, 20) if span / (factor * power) <= most)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [step * position for position in range(first, last + 1)]
