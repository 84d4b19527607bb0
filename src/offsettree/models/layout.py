"""What a compiled policy is: flat arrays and a way to walk them. Knows nothing of learners, nor of scikit-learn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BY_CATEGORY",
    "BY_LEAF",
    "BY_LOGISTIC",
    "BY_MARGIN",
    "BY_SCORE",
    "BY_SPLITS",
    "HAS_INFINITY",
    "HAS_NAN",
    "MISSING_LEFT",
    "CompiledTree",
    "OneRow",
    "renamed",
]

# Flags of a split: where NaN goes, whether the threshold is a set of categories, and whether what is compared is
# a score, a weighted sum of the columns.
MISSING_LEFT = 1
BY_CATEGORY = 2
BY_SCORE = 4

# How a member of a committee answers: with fixed shares, with those of the leaf a row ends at, with the side of a plane
# that it lies on, or with the logistic function of its distance.
BY_LEAF = 0
BY_SPLITS = 1
BY_MARGIN = 2
BY_LOGISTIC = 3

# What a kernel found in X that is not finite, and what it is told to refuse.
HAS_NAN = 1
HAS_INFINITY = 2

# From one row to the position of its action, or -1 where the row must be looked at more closely.
OneRow = Callable[[NDArray[Any]], int]


def renamed(children: NDArray[np.int32], positions: NDArray[Any]) -> NDArray[np.int32]:
    """Give other positions to the actions among children, which are ``~action``, below zero."""
    return np.where(children >= 0, children, ~positions[~np.minimum(children, -1)]).astype(np.int32)


ONE_ROW_TYPES = (np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.int64))  # in the machine's own byte order


class CompiledTree(ABC):
    """A fitted tree of contests in flat arrays, with the same decisions as its classifiers asked one by one."""

    n_actions: int
    takes_missing = True  # whether it knows what to do with NaN

    def choose(self, X: Any) -> NDArray[np.intp]:
        """Return the position of each row's action, for a checked array or CSR matrix."""
        if type(X) is np.ndarray and len(X) == 1 and X.dtype in ONE_ROW_TYPES and X.flags.c_contiguous:
            # A new process that decides on one row compiles no more than that takes.
            return np.array([self.one_row(0)(X[0])], dtype=np.intp)
        position = self.choose_screening(X, refused=0)
        if position is None:
            raise RuntimeError("nothing was to be refused, and yet no action was chosen.")
        return position

    def choose_one(self, x: NDArray[Any]) -> int:
        """Return the position of the action for one checked row: the same as `choose` on a table of that row."""
        return int(self.choose(np.asarray(x)[np.newaxis])[0])

    @abstractmethod
    def choose_screening(self, X: Any, refused: int) -> NDArray[np.intp] | None:
        """Do as `choose`, or return None where X, being an array, holds what is refused (`HAS_NAN`, `HAS_INFINITY`)."""

    def with_actions(self, positions: NDArray[Any], n_actions: int) -> CompiledTree | None:
        """Return the same with other actions: what was action a is now ``positions[a]``; None where it cannot be."""
        return None

    def one_row_by_numpy(self, refused: int) -> OneRow | None:
        """Return the same function as `one_row`, slow but without compiled code; None where that is to be used."""
        return None

    @abstractmethod
    def one_row(self, refused: int) -> OneRow:
        """Return the function that decides on one contiguous row of float32, float64 or int64, with all else at hand.

        It answers -1 where the row holds what is refused.
        """
