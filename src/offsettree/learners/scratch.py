"""Room in memory that trees are grown in, made by NumPy: kernels that create no arrays compile in half the time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree.learners._kernels_counts import FEW_ROWS, Room, Settings, make_room

__all__ = ["Drawn", "Entries", "Scratch", "Settings", "Table", "make_drawn", "make_scratch", "make_table", "resized"]


class Entries(NamedTuple):
    """Room for the splits and leaves of one tree; entry 0 is the root and every entry comes after its parent."""

    begin: NDArray[np.int32]  # the rows of an entry are a slice
    end: NDArray[np.int32]
    depth: NDArray[np.int32]
    column: NDArray[np.int32]  # -1 at a leaf
    cut: NDArray[np.int32]  # the last bin that goes left; -1 for a split on categories
    goes_left: NDArray[np.uint64]  # one bit per bin
    left: NDArray[np.int32]  # the right child comes next
    vote: NDArray[np.float64]  # mean vote, from -1 to 1
    cost: NDArray[np.float64]
    histogram: NDArray[np.int32]  # its slot, or -1


class Table(NamedTuple):
    """Finished trees, one after the other; the fields of a `FlatTree`, with a set of categories as one word."""

    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    category_set: NDArray[np.int32]
    sets: NDArray[np.uint64]
    value: NDArray[np.float64]


class Scratch(NamedTuple):
    """Room that one tree after the other uses."""

    entries: Entries
    room: Room
    row: NDArray[np.int32]
    vote: NDArray[np.float32]
    side: NDArray[np.uint8]
    free: NDArray[np.int64]  # slots of histograms
    waiting: NDArray[np.int64]  # entries yet to be split


class Drawn(NamedTuple):
    """Room to judge settings: the rows that a tree is grown on, and the sum of the votes of all trees on each row."""

    is_drawn: NDArray[np.bool_]
    row: NDArray[np.int32]
    vote: NDArray[np.float32]
    side: NDArray[np.uint8]
    total_vote: NDArray[np.float64]


def make_scratch(n_rows: int, n_columns: int, settings: Settings) -> Scratch:
    """Make room for trees over at most so many rows."""
    n_entries = 2 * n_rows + 1
    if settings.max_depth < 20:
        n_entries = min(n_entries, 2 ** (settings.max_depth + 1))
    kinds = ("int32", "int32", "int32", "int32", "int32", "uint64", "int32", "float64", "float64", "int32")
    # Depth first, each level holds at most one histogram that waits.
    n_slots = settings.max_depth + 3 if settings.n_tried >= n_columns and n_rows > FEW_ROWS else 1
    n_slots = min(n_slots, 2 + n_rows // FEW_ROWS)
    return Scratch(
        Entries(*_arrays(n_entries, kinds)),
        make_room(n_slots, n_columns, settings),
        np.empty(n_rows, np.int32),
        np.empty(n_rows, np.float32),
        np.empty(n_rows, np.uint8),
        np.empty(n_slots, np.int64),
        np.empty(2 * settings.max_depth + 4, np.int64),
    )


def make_drawn(n_rows: int) -> Drawn:
    """Make room to judge settings on so many rows."""
    return Drawn(*_arrays(n_rows, ("bool", "int32", "float32", "uint8", "float64")))


def make_table(n_entries: int, n_sets: int) -> Table:
    """Make room for finished trees."""
    kinds = ("int32", "float32", "int32", "int32", "bool", "int32", "uint64", "float64")
    return Table(*_arrays(n_entries, kinds))._replace(sets=np.empty(n_sets, np.uint64))


def resized(table: Table, n_entries: int, n_sets: int) -> Table:
    """Copy a table into one of other sizes, as much as there is room for."""
    other = make_table(n_entries, n_sets)
    for field in Table._fields:
        new, old = getattr(other, field), getattr(table, field)
        n_kept = min(len(new), len(old))
        new[:n_kept] = old[:n_kept]
    return other


def _arrays(size: int, kinds: tuple[str, ...]) -> list[Any]:
    return [np.empty(size, kind) for kind in kinds]
