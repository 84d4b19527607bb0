"""Rows with a set of eligible actions each, as they come out of files, and what errors call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features, numeric_columns
from offsettree.exceptions import FeatureError
from offsettree.logs.action_sets import ActionSets
from offsettree.logs.checked_log import Columns


class SetBlock(NamedTuple):
    """Consecutive rows of a file or of several.

    Parameters
    ----------
    X : Features
        The contexts.
    sets : ActionSets
        The eligible actions of each row.
    columns : Columns or None
        What was taken; None of rows that are still to be decided.
    beside : dict
        Further columns that were requested, by name.
    """

    X: Features
    sets: ActionSets
    columns: Columns | None
    beside: dict[str, Any]


class FileRows:
    """Names rows by their place in files, for errors. A class, so that it can be sent to another process."""

    def __init__(self, where: list[str], number: NDArray[np.intp], part: NDArray[np.intp], unit: str = "row") -> None:
        self.where, self.number, self.part, self.unit = where, number, part, unit

    @classmethod
    def of_chunks(cls, chunks: list[Any]) -> FileRows:
        """Name the rows of tables, one after the other."""
        sizes = [len(chunk.table) for chunk in chunks]
        number = [[chunk.row(place) for place in range(size)] for chunk, size in zip(chunks, sizes, strict=True)]
        part = np.repeat(np.arange(len(chunks)), sizes)
        return cls([str(chunk.source) for chunk in chunks], np.concatenate(number).astype(np.intp), part)

    def __call__(self, row: int) -> str:
        """Return what to call a row."""
        return f"{self.unit} {int(self.number[row])} of {self.where[int(self.part[row])]}"


def refuse_infinite(frame: Any, what: str, row_name: Callable[[int], str]) -> None:
    """Refuse infinity among the numbers of a frame.

    Parameters
    ----------
    frame : pandas frame
        Features.
    what : str
        What they are.
    row_name : function of a position
        What to call a row of the frame.
    """
    for name in numeric_columns(frame):
        values = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
        if (odd := np.isinf(values)).any():
            row = int(odd.argmax())
            raise FeatureError(
                f"{what} must be finite; {name!r} of {row_name(row)} is {values[row]} ({int(odd.sum()):,} in all). "
                "Leave missing values empty."
            )
