"""Frames as numbers for learners that know numbers only: a zero-one column per nominal value, then the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features, as_floats, count_rows, numeric_columns, refuse_dates
from offsettree.exceptions import FeatureError

__all__ = ["FrameIndicators", "factorise"]


class FrameIndicators:
    """The nominal values of a frame, each of which gets a column; a missing value is one of them, if there was one.

    Parameters
    ----------
    frame : pandas or polars frame
        Whose columns and values are learned.
    imputer : transformer, optional
        Fitted on the numbers, and applied to them.

    Attributes
    ----------
    levels : dict of str to list
        The values of each nominal column, sorted; None, last, stands for what is missing.
    numeric : list of str
        The other columns.
    """

    def __init__(self, frame: Features, imputer: Any = None) -> None:
        self.numeric = numeric_columns(frame)
        known = set(self.numeric)
        nominal = [name for name in frame.columns if name not in known]
        refuse_dates(frame, nominal)
        self.levels = {name: _levels(frame, name) for name in nominal}
        self.imputer = imputer.fit(as_floats(frame[self.numeric])) if imputer is not None and self.numeric else None

    def transform(self, frame: Features) -> NDArray[np.float64]:
        """Return the numbers; a value that was not seen has zeros only."""
        n_indicators = sum(map(len, self.levels.values()))
        out = np.zeros((count_rows(frame), n_indicators + len(self.numeric)))
        start = 0
        for name, levels in self.levels.items():
            place_of = {level: start + place for place, level in enumerate(levels)}
            codes, values = factorise(frame[name])
            place = np.array([*(place_of.get(value, -1) for value in values), place_of.get(None, -1)])[codes]
            rows = np.flatnonzero(place >= 0)
            out[rows, place[rows]] = 1.0
            start += len(levels)
        if self.numeric:
            numbers = as_floats(frame[self.numeric])
            out[:, start:] = numbers if self.imputer is None else self.imputer.transform(numbers)
        return out


def factorise(column: Any) -> tuple[NDArray[np.intp], list[Any]]:
    """Return the place of each row's value among those that occur, in the order in which they do; -1 where missing."""
    if hasattr(column, "iloc"):  # pandas
        codes, found = column.factorize()
        return codes, list(found)
    place_of: dict[Any, int] = {}
    places = [
        -1 if value is None or value != value else place_of.setdefault(value, len(place_of))
        for value in column.to_list()
    ]
    return np.array(places, dtype=np.intp), list(place_of)


def _levels(frame: Features, name: Any) -> list[Any]:
    try:
        codes, values = factorise(frame[name])
        levels: list[Any] = sorted(values)
    except TypeError as error:
        raise FeatureError(
            f"the values of a nominal column must be of one kind, such as words; column {name!r} has others ({error}). "
            "Make words of them."
        ) from error
    return [*levels, None] if (codes < 0).any() else levels
