"""The record of a node of a decision tree, of many trees in one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.models._tables import check_entries
from offsettree.models.graph import round_down
from offsettree.models.part import Part

__all__ = ["NO_SETS", "TreeTable"]

FIELDS: dict[str, Any] = {"feature": np.int32, "left": np.int32, "right": np.int32, "missing_left": np.bool_}
NO_SETS = np.empty((0, 8), dtype=np.uint32)


@dataclass(frozen=True, eq=False)
class TreeTable:
    """Tree t owns the entries ``start[t]`` to ``start[t + 1] - 1``, each a split or a leaf, after its parent.

    A row goes left where ``x[feature] <= threshold``; where `category_set` is not -1, if the value is in that row of
    `sets`, of 256 bits; where it is missing, or no category, if `missing_left`. Children count from the first entry of
    their tree. At a leaf, feature and children are -1; the two children of scikit-learn's leaves are below zero, too.
    """

    start: NDArray[np.int64]
    feature: NDArray[Any]
    threshold: NDArray[Any]
    left: NDArray[Any]
    right: NDArray[Any]
    missing_left: NDArray[np.bool_]
    category_set: NDArray[Any] | None = None  # None where no split is on categories
    sets: NDArray[np.uint32] | None = None

    @property
    def n_trees(self) -> int:
        """How many there are."""
        return len(self.start) - 1

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Which of the entries are leaves."""
        return np.asarray(self.left) < 0

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is written, by name."""
        return {name: array for name, array in self.__dict__.items() if array is not None}

    def for_sums(self) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
        """Return the fields and the starts as `_kernels_scores` takes them."""
        return (self.feature, self.threshold, self.left, self.right, self.missing_left), self.start

    @classmethod
    def read(cls, part: Part, n_trees: int, n_columns: int, threshold: Any, *, categories: bool = False) -> Self:
        """Read and check what was written; thresholds are of the type given."""
        start = part.starts("start", n_trees)
        types = FIELDS | {"threshold": threshold} | ({"category_set": np.int32} if categories else {})
        fields = {name: part.array(name, dtype, int(start[-1])) for name, dtype in types.items()}
        sets = part.array("sets", np.uint32, None, 8) if categories else None
        check_entries(part.where, start, fields, n_columns, 0 if sets is None else len(sets))
        return cls(start, **fields, sets=sets)

    @classmethod
    def joined(cls, tables: Sequence[TreeTable], threshold: Any, *, categories: bool = False) -> Self:
        """Put tables one after the other, in the types that are written; thresholds of float32 are rounded down."""

        def together(name: str, dtype: Any) -> NDArray[Any]:
            return np.concatenate([getattr(each, name) for each in tables] or [np.empty(0)]).astype(dtype, copy=False)

        n_before = np.cumsum([0] + [len(each.left) for each in tables])
        starts = [each.start[:-1] + before for each, before in zip(tables, n_before, strict=False)]
        leaf = together("left", np.int32) < 0
        cut = np.where(leaf, 0.0, together("threshold", np.float64))
        return cls(
            np.concatenate([*starts, n_before[-1:]]).astype(np.int64),
            np.where(leaf, np.int32(-1), together("feature", np.int32)),
            round_down(cut) if threshold == np.float32 else cut,
            np.where(leaf, np.int32(-1), together("left", np.int32)),
            np.where(leaf, np.int32(-1), together("right", np.int32)),
            together("missing_left", np.bool_),
            *(_joined_sets(tables) if categories else ()),
        )

    def only(self, first: int, last: int) -> Self:
        """Return the trees from `first` to `last` - 1, with the sets that they ask for."""
        begin, end = int(self.start[first]), int(self.start[last])
        fields = {name: array[begin:end] for name, array in self.arrays().items() if name not in ("start", "sets")}
        sets, own = self.sets, fields.get("category_set")
        if sets is not None and own is not None:
            used, place = np.unique(own, return_inverse=True)
            n_none = int(np.searchsorted(used, 0))  # entries without a set have -1
            fields["category_set"] = np.where(own >= 0, place - n_none, -1).astype(own.dtype)
            sets = sets[used[n_none:]]
        return type(self)(self.start[first : last + 1] - begin, **fields, sets=sets)


def _joined_sets(tables: Sequence[TreeTable]) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """Return which set each entry has, and all sets: they are numbered anew, as each table brings its own."""
    category: list[NDArray[Any]] = []
    sets: list[NDArray[np.uint32]] = [NO_SETS]
    n_before = 0
    for table in tables:
        own = np.full(len(table.left), -1) if table.category_set is None else table.category_set
        category.append(np.where(own >= 0, own + n_before, -1))
        if table.sets is not None:
            sets.append(table.sets)
            n_before += len(table.sets)
    return np.concatenate([*category, np.empty(0)]).astype(np.int32), np.concatenate(sets)
