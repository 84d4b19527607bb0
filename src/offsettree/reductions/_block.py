"""The rows of X that one contest learns from, gathered for one contest after another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features, take_rows

__all__ = ["Block"]


class Block:
    """A place for the rows of one contest at a time.

    Most of the time of a gather goes into pages that the system hands out anew for every contest. Where X is an array
    and no learner holds on to its rows (`shared`), all contests are given the same memory: what was gathered before
    is lost with the next.
    """

    def __init__(self, X: Features, *, shared: bool) -> None:
        self._X = X
        self._is_shared = shared and isinstance(X, np.ndarray) and X.flags.c_contiguous
        self._room: NDArray[np.generic] | None = None

    def take(self, rows: NDArray[np.intp]) -> Features:
        """Return the rows of the given positions, in the given order."""
        if not self._is_shared:
            return take_rows(self._X, rows)
        if self._room is None or len(self._room) < len(rows):
            self._room = None  # freed before it is made anew
            self._room = np.empty((len(rows), *self._X.shape[1:]), dtype=self._X.dtype)
        # The positions are known to be good: to raise where one is not, numpy would gather into a copy first.
        return np.take(self._X, rows, axis=0, out=self._room[: len(rows)], mode="clip")
