"""The columns that a saved model sees, gathered while the policy is flattened."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.models import CODE, MISSING, NUMBER, PLAIN, NominalColumns, is_missing, level_key
from offsettree.reading.cannot_flatten import CannotFlatten

__all__ = ["ColumnSpace"]


class ColumnSpace:
    """Columns of X as they are; or, of a frame with nominal ones, whatever the learners make of them."""

    def __init__(self, n_features: int, names: list[str] | None, nominal: list[str]) -> None:
        self.n_features = n_features
        self._names = names
        self._nominal = [] if names is None else [names.index(name) for name in nominal]
        self._levels: dict[int, dict[Any, Any]] = {column: {} for column in self._nominal}
        self._place: dict[tuple[int, int], int] = {}
        self._more: list[str] = []

    @property
    def n_columns(self) -> int:
        """How many there are so far."""
        return len(self._place) if self._nominal else self.n_features

    @property
    def numbers(self) -> NDArray[np.intp]:
        """The columns of an X that is all numbers."""
        if self._nominal:
            raise CannotFlatten("a learner that encodes nominal columns in a way of its own")
        return np.arange(self.n_features + len(self._more))

    def with_more(self, n_more: int, name: str) -> ColumnSpace:
        """Return the same columns, followed by indicators that tell an action or a contest, as a learner of all saw.

        Where they are is known once all others have been found: what is read twice is right the second time.
        """
        other = copy(self)
        other._more = [f"{name}={value}" for value in range(n_more)]
        return other

    def numbers_of(self, names: list[str]) -> NDArray[np.intp]:
        """Return the places of numeric columns of a frame."""
        self._refuse_nameless()
        own, more = list(self._names or []), {name: place for place, name in enumerate(self._more)}
        places = []
        for name in names:
            if name in more:
                places.append(self.n_columns + more[name])
            elif self._nominal:
                places.append(self._at(own.index(name), NUMBER))
            else:
                places.append(own.index(name))
        return np.array(places, dtype=np.intp)

    def indicators(self, names: list[str], categories: Any) -> NDArray[np.intp]:
        """Return the places of the zero-one columns that a one-hot encoder makes."""
        self._refuse_nameless()
        places = []
        for name, values in zip(names, categories, strict=True):
            column = (self._names or []).index(name)
            for value in values.tolist():
                what = MISSING if is_missing(value) else self._level(column, value)
                places.append(self._at(column, what))
        return np.array(places, dtype=np.intp)

    def codes(self, categories: dict[int, dict[Any, int]]) -> NDArray[np.intp]:
        """Return the places of all columns, nominal ones as the codes that a histogram tree has given their values."""
        for column, code_of in categories.items():
            for value, _ in sorted(code_of.items(), key=lambda item: item[1]):
                self._level(column, value)
            if list(code_of.values()) != list(range(len(code_of))) or len(code_of) != len(self._levels[column]):
                raise CannotFlatten("nominal columns whose codes differ from contest to contest")
        return np.array(
            [self._at(column, CODE if column in categories else NUMBER) for column in range(self.n_features)],
            dtype=np.intp,
        )

    def keep_all(self) -> None:
        """Keep every column, with no known value of those that are nominal."""
        self.codes({column: {} for column in self._nominal})

    def encoding(self) -> NominalColumns | None:
        """Return how a frame becomes these columns; None where X is all numbers."""
        if not self._nominal:
            return None
        if not self._place:  # nobody looks at any: rows are still judged by them
            self.keep_all()
        levels = {column: tuple(values.values()) for column, values in self._levels.items()}
        return NominalColumns(tuple(self._names or ()), levels, tuple(self._place))

    def _refuse_nameless(self) -> None:
        if self._names is None:
            raise CannotFlatten("a frame whose columns have names that are not text")

    def _level(self, column: int, value: Any) -> int:
        value = value.item() if isinstance(value, np.generic) else value
        if type(value) not in PLAIN:
            raise CannotFlatten(f"a nominal column whose values are neither text nor numbers ({type(value).__name__})")
        known = self._levels.setdefault(column, {})
        key = level_key(value)
        known.setdefault(key, value)
        return list(known).index(key)

    def _at(self, column: int, what: int) -> int:
        return self._place.setdefault((column, what), len(self._place))
