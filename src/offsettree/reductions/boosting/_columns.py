"""X prepared for boosting: bins for trees, standardised columns for linear models."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features, is_sparse
from offsettree.learners import Bins
from offsettree.models.boosted import FLAG, VALUE
from offsettree.reductions.boosting._room import BLOCK, IN_MEMORY, Room
from offsettree.topology import BLOCK_ROWS, Design


class Columns(NamedTuple):
    """How X is turned into bins and into the columns of linear models."""

    bins: Bins
    source: NDArray[np.int32]
    what: NDArray[np.int32]  # VALUE, FLAG (is it missing), or the code of a one-hot category
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    directions: NDArray[np.float64]

    @classmethod
    def fit(
        cls, X: Features, random: np.random.RandomState, room: Room = IN_MEMORY
    ) -> tuple[Columns, NDArray[np.uint8], NDArray[np.float64]]:
        """Return the columns, the bins of shape (n_columns, n_rows), and the design of linear models, 1 first."""
        bins = Bins.fit(X)
        numbers = bins.numbers(X)
        codes = room.empty(numbers.shape[::-1], np.uint8)
        for begin in range(0, len(codes.T), BLOCK):
            codes[:, begin : begin + BLOCK] = bins.codes(numbers[begin : begin + BLOCK]).T
        spelled, source, what = _spell_out(numbers, bins)
        made = Design(spelled, random)
        place, is_flag, centre, scale, directions = made.recipe()
        design = room.empty((codes.shape[1], 1 + made.n_columns), np.float64)
        design[:, 0] = 1
        for begin in range(0, len(design), BLOCK_ROWS):
            rows = np.arange(begin, min(begin + BLOCK_ROWS, len(design)))
            design[rows, 1:] = made.rows(rows)
        columns = cls(
            bins,
            source[place],
            np.where(is_flag, FLAG, what[place]).astype(np.int32),
            centre,
            scale,
            np.empty((0, 0)) if directions is None else np.ascontiguousarray(directions),
        )
        return columns, codes, design


def _spell_out(numbers: Any, bins: Bins) -> tuple[Any, NDArray[np.int32], NDArray[np.int32]]:
    """Return the numbers with nominal columns one-hot encoded, and each result's source column and meaning."""
    if is_sparse(numbers) or not bins.is_category.any():
        n_columns = numbers.shape[1]
        return numbers, np.arange(n_columns, dtype=np.int32), np.full(n_columns, VALUE, dtype=np.int32)
    parts: list[NDArray[Any]] = []
    source: list[int] = []
    what: list[int] = []
    for column, is_category in enumerate(bins.is_category):
        own = numbers[:, column : column + 1]
        codes = range(len(bins.categories[column])) if is_category else [VALUE]
        parts.append(own == np.arange(len(codes)) if is_category else own)
        source += [column] * len(codes)
        what += codes
    return np.hstack(parts).astype(np.float64), np.array(source, dtype=np.int32), np.array(what, dtype=np.int32)
