"""How values are written as words: what stands for nothing, for truth and for a time, wherever it comes from."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any

import numpy as np

from offsettree._validation import as_float

__all__ = ["MISSING", "OFFSET", "TRUTH", "as_stamp", "as_text", "is_numeral", "read_number", "read_stamp"]

# In columns of numbers; in text they may be names ("NA" is a country, "None" an action), and only "" is missing.
MISSING = [
    "", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "<NA>", "NaT", "\\N", "?",
]  # fmt: skip
TRUTH = {"true": 1.0, "1": 1.0, "false": 0.0, "0": 0.0}
# Of a time: what is left without it is what the clock on the wall showed.
OFFSET = r"([T ]\d\d(?::?\d\d){0,2}(?:\.\d*)?) ?(?:Z|[+-]\d\d(?::?\d\d)?)$"
_MISSING = frozenset(MISSING)
_OFFSET = re.compile(OFFSET)


def as_text(value: Any) -> str:
    """Write a value out as a word: True, 1 and 1.0 are the same one, as a gap makes floats of whole numbers.

    Numbers are written as if each were a float, as they are where a table has nothing but numbers.
    """
    if isinstance(value, bool | np.bool_ | int | float | np.number):
        number = as_float(value)
        return str(int(number)) if number.is_integer() else str(number)
    if isinstance(value, date | np.datetime64):
        stamp = as_stamp(value)
        for unit in ("D", "s"):
            if stamp.astype(f"datetime64[{unit}]") == stamp:
                return str(stamp.astype(f"datetime64[{unit}]"))
        return str(stamp)
    return str(value)


def is_numeral(value: Any) -> bool:
    """Tell whether a value is a number, or a text that reads as one."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def as_stamp(value: Any) -> np.datetime64:
    """Return a date or a time as its own clock shows it."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.replace(tzinfo=None)
    return np.datetime64(value, "us")


def read_number(word: str) -> float:
    """Read a number, a truth value or what stands for nothing; whatever else is a ValueError."""
    if word in _MISSING or word.strip() in _MISSING:
        return np.nan
    try:
        return float(word)
    except ValueError:
        truth = TRUTH.get(word.strip().casefold())
        if truth is None:
            raise
        return truth


def read_stamp(word: str) -> np.datetime64:
    """Read a date or a time as written, whatever its offset; what is none is a ValueError."""
    word = word.strip()
    return np.datetime64("NaT", "us") if word in _MISSING else np.datetime64(_OFFSET.sub(r"\1", word), "us")
