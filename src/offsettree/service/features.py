"""Contexts and actions as hashed features: any JSON object, flattened as our reader of decision logs does it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FeatureValueError", "check_features", "hashed", "listed", "pairs", "token", "walk"]

MOST_FEATURES = 5000
LARGEST = 1e15
PLAIN = frozenset((str, float, int))

Hashed = tuple[NDArray[np.uint64], NDArray[np.float32]]
Listed = tuple[list[int], list[float]]


class FeatureValueError(ValueError):
    """A context or an action that cannot be decided on: too deep, too wide, or too large a number."""


@lru_cache(maxsize=1 << 16)
def token(text: str) -> int:
    """Return the hash of a feature's name, the same in every process."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def walk(value: Any, deepest: int, name: str = "", *, refuse: bool = False) -> Iterator[tuple[str, float | str]]:
    """Yield the features of a JSON value: dotted names, with numbers or words.

    What is nested deeper is left out, or refused.
    """
    if deepest == 0 and isinstance(value, dict | list):
        if refuse:
            raise FeatureValueError("objects and lists must not be nested deeper than the settings allow (max_nesting)")
    elif isinstance(value, dict):
        for key, inner in value.items():
            kind = type(inner)
            inner_name = f"{name}.{key}" if name else key
            if kind is str or kind is float or (kind is int):
                yield inner_name, inner
            else:
                yield from walk(inner, deepest - 1, inner_name, refuse=refuse)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            if isinstance(inner, str):
                yield f"{name}={inner}", 1.0
            else:
                inner_name = name if len(value) == 1 or not name else f"{name}.{place}"
                yield from walk(inner, deepest - 1, inner_name, refuse=refuse)
    elif isinstance(value, str):
        yield name, value
    elif value is True or value is False:
        yield name, "true" if value else "false"
    elif value is not None:
        yield name, value


def pairs(value: Any, deepest: int, *, refuse: bool = False) -> Iterable[tuple[str, float | str]]:
    """Return the features as `walk` does: at once where all are words and numbers by their names."""
    if deepest > 0 and type(value) is dict and PLAIN.issuperset(map(type, value.values())):
        return value.items()
    return walk(value, deepest, refuse=refuse)


def check_features(value: Any, deepest: int) -> int:
    """Return how many features there are; refuse what is nested too deep, too wide, or too large to learn from."""
    n_features = 0
    for name, each in pairs(value, deepest, refuse=True):
        n_features += 1
        if not isinstance(each, str) and not -LARGEST <= each <= LARGEST:
            raise FeatureValueError(f"numbers must be between -1e15 and 1e15; {name!r:.60} is not")
    if n_features >= MOST_FEATURES:
        raise FeatureValueError(f"a context or an action must have fewer than {MOST_FEATURES:,} features")
    return n_features


def hashed(value: Any, deepest: int = 16, first: str | None = None) -> Hashed:
    """Return hashes and values of the features; `first` is one more, of value 1, before them.

    Examples
    --------
    >>> hashes, values = hashed({"age": 3, "user": {"city": "Rome"}}, first="bias")
    >>> values.tolist(), bool(hashes[2] == token("user.city=Rome"))
    ([1.0, 3.0, 1.0], True)
    """
    hashes, values = listed(value, deepest, first)
    return np.array(hashes, dtype=np.uint64), np.array(values, dtype=np.float32)


def listed(value: Any, deepest: int = 16, first: str | None = None) -> Listed:
    """Return the same as lists: those of many rows are made arrays at once."""
    hashes, values = ([token(first)], [1.0]) if first is not None else ([], [])
    for name, each in pairs(value, deepest):
        if type(each) is str:
            if each:
                hashes.append(token(f"{name}={each}"))
                values.append(1.0)
            continue
        try:
            number = float(each)
        except OverflowError:
            number = float("inf")
        if not -LARGEST <= number <= LARGEST:
            raise FeatureValueError(f"numbers must be between -1e15 and 1e15; {name!r:.60} is not")
        hashes.append(token(name))
        values.append(number)
    if len(hashes) > MOST_FEATURES:
        raise FeatureValueError(f"a context or an action must have at most {MOST_FEATURES:,} features")
    return hashes, values
