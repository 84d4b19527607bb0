"""A binary decision tree in flat arrays: what our own tree learner leaves behind, and what compiled policies read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FIELDS = ("feature", "threshold", "left", "right", "missing_left", "category_set")  # one value per entry


@dataclass(frozen=True, eq=False)
class FlatTree:
    """Splits and leaves of one tree over float32 rows; entry 0 is the root and every entry comes after its parent.

    A row goes left where ``x[feature] <= threshold``; at a split on categories (``category_set`` >= 0), where the bit
    of the value, a whole number from 0 to 255, is set in that row of `sets`. NaN, and a value that cannot be a
    category, goes where `missing_left` says.
    """

    feature: NDArray[np.int32]  # -1 at a leaf
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]  # -1 at a leaf
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    category_set: NDArray[np.int32]  # -1 where the split is a threshold
    sets: NDArray[np.uint32]  # of shape (n_sets, 8): 256 bits
    value: NDArray[np.float64]  # share of the weight that belongs to the label 1

    def arrays(self) -> tuple[Any, ...]:
        """Return all but the values, for compiled code."""
        return (*(getattr(self, name) for name in FIELDS), self.sets)

    def part(self, begin: int, end: int) -> FlatTree:
        """Return the tree at some of the entries, where this is a table of many."""
        fields = {name: getattr(self, name)[begin:end] for name in (*FIELDS, "value")}
        return FlatTree(sets=self.sets, **fields)

    @property
    def answer(self) -> NDArray[np.bool_]:
        """The label of each entry: 1 where it has more than half of the weight, as a tie goes to the lower label."""
        return self.value > 0.5


def sets_of_words(words: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Spread sets of up to 64 codes, one word each, to 256 bits."""
    sets = np.zeros((len(words), 8), dtype=np.uint32)
    sets[:, 0], sets[:, 1] = words & np.uint64(0xFFFFFFFF), words >> np.uint64(32)
    return sets
