"""A part of the manifest and the arrays that belong to it: taken by name, checked when taken."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.exceptions import OffsetTreeError, PolicyFileError

__all__ = ["Contents", "Part", "Stored", "is_text", "must_hold", "refusing"]

MOST_PARTS = 100_000
DEEPEST = 8
HALF = re.compile("[\ud800-\udfff]")  # of a character: JSON can name it, no file can hold it


def is_text(word: str) -> bool:
    """Tell whether a word can be written to a file: Python's own may hold halves of characters."""
    return HALF.search(word) is None


def must_hold(condition: Any, where: str, what: str) -> None:
    """Refuse the file unless the condition, or all of an array of them, is true."""
    if not np.all(condition):
        raise PolicyFileError(
            f"{where} must hold {what}; it does not. The file was not written by offsettree.save: get it again."
        )


@contextmanager
def refusing(where: str) -> Iterator[None]:
    """Turn any complaint about what was read into one about the file."""
    try:
        yield
    except PolicyFileError:
        raise
    except (OffsetTreeError, ValueError, TypeError, KeyError, IndexError, OverflowError, MemoryError) as error:
        raise PolicyFileError(f"{where} is not as it must be: {error}") from error


class Part:
    """One part of the manifest, called `where`, whose arrays are named after it."""

    def __init__(
        self, given: Any, where: str, arrays: Mapping[str, NDArray[Any]], used: set[str], depth: int = 0
    ) -> None:
        if not isinstance(given, dict):
            raise PolicyFileError(f"{where} must be described in the manifest by a mapping; got {given!r:.80}.")
        if depth > DEEPEST:
            raise PolicyFileError(f"{where}: the manifest must not nest policies more than {DEEPEST} deep.")
        self.where = where
        self.used = used
        self.said: dict[str, Any] = given  # not checked yet
        self._arrays = arrays
        self._depth = depth

    def choice(self, name: str, among: Sequence[str]) -> str:
        """Return one of a few words."""
        value = self.said.get(name)
        if not isinstance(value, str) or value not in among:
            raise PolicyFileError(
                f"{self.where}.{name} must be one of {', '.join(among)}; got {value!r:.80}. Nothing else can be "
                "loaded: the file is forged, or from a later version of offsettree."
            )
        return value

    def integer(self, name: str, low: int, high: int) -> int:
        """Return a whole number within bounds."""
        value = self.said.get(name)
        if type(value) is not int or not low <= value <= high:
            raise PolicyFileError(
                f"{self.where}.{name} must be a whole number from {low} to {high}; got {value!r:.80}."
            )
        return value

    def number(self, name: str, low: float, high: float) -> float:
        """Return a number within bounds."""
        value = self.said.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise PolicyFileError(f"{self.where}.{name} must be a number from {low:g} to {high:g}; got {value!r:.80}.")
        return float(value)

    def truth(self, name: str) -> bool:
        """Return true or false."""
        value = self.said.get(name)
        if not isinstance(value, bool):
            raise PolicyFileError(f"{self.where}.{name} must be true or false; got {value!r:.80}.")
        return value

    def part(self, name: str) -> Part:
        """Return a part of this part."""
        return Part(self.said.get(name), f"{self.where}.{name}", self._arrays, self.used, self._depth + 1)

    def parts(self, name: str) -> list[Part]:
        """Return the parts of a list, at least one."""
        given = self.said.get(name)
        if not isinstance(given, list) or not 0 < len(given) <= MOST_PARTS:
            raise PolicyFileError(f"{self.where}.{name} must be a list of parts; got {given!r:.80}.")
        return [
            Part(each, f"{self.where}.{name}.{place}", self._arrays, self.used, self._depth + 1)
            for place, each in enumerate(given)
        ]

    def has_array(self, name: str) -> bool:
        """Tell whether there is such an array."""
        return f"{self.where}.{name}" in self._arrays

    def array(self, name: str, dtype: Any, *shape: int | None) -> NDArray[Any]:
        """Return an array of a type and shape, where None stands for any length."""
        full = f"{self.where}.{name}"
        array = self._arrays.get(full)
        if array is None:
            raise PolicyFileError(f"{full}.npy must be in the file; it is not.")
        fits = array.ndim == len(shape) and all(n in (m, None) for m, n in zip(array.shape, shape, strict=True))
        if array.dtype != np.dtype(dtype) or not fits:
            wanted = ", ".join("any" if n is None else str(n) for n in shape)
            raise PolicyFileError(
                f"{full}.npy must be of type {np.dtype(dtype)} and shape ({wanted}); got {array.dtype} and "
                f"{array.shape}."
            )
        self.used.add(full)
        return array

    def finite(self, name: str, dtype: Any, *shape: int | None) -> NDArray[Any]:
        """Do as `array`, for numbers that must be finite."""
        array = self.array(name, dtype, *shape)
        must_hold(np.isfinite(array), f"{self.where}.{name}.npy", "finite numbers")
        return array

    def positions(self, name: str, dtype: Any, end: int, *shape: int | None) -> NDArray[Any]:
        """Do as `array`, for whole numbers from 0 to `end` - 1."""
        array = self.array(name, dtype, *shape)
        must_hold((array >= 0) & (array < end), f"{self.where}.{name}.npy", f"numbers from 0 to {end - 1}")
        return array

    def starts(self, name: str, n_groups: int, n_members: int | None = None) -> NDArray[np.int64]:
        """Return where each group begins among consecutive members, and where the last one ends."""
        array = self.array(name, np.int64, n_groups + 1)
        # Neighbours are compared: their difference would wrap around where one is near the largest number.
        must_hold(
            bool(array[0] == 0) and (array[:-1] <= array[1:]).all() and n_members in (None, int(array[-1])),
            f"{self.where}.{name}.npy",
            f"ascending numbers from 0{'' if n_members is None else f' to {n_members}'}",
        )
        return array


class Contents(NamedTuple):
    """What is written of a part of a policy: what the manifest says besides its kind, arrays, and the parts within.

    A part within is one or a list.
    """

    settings: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    parts: dict[str, Any] = {}  # noqa: RUF012 - of a tuple, and never changed


class Stored(ABC):
    """A part of a policy that a policy file holds."""

    kind: ClassVar[str]

    @abstractmethod
    def contents(self) -> Contents:
        """Return what is written of it."""

    @classmethod
    @abstractmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        """Read and check what was written."""
