"""Search for the best tree of one or two levels, given a score of every action in every row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import delayed

from offsettree._workers import parallel
from offsettree.learners import MISSING, N_BINS, Bins
from offsettree.reductions.rules._kernels_rules import best_pairs, best_splits

SPLIT_COST = 1e-10  # as a share of the sum of absolute scores: breaks ties in favour of smaller trees


class Split(NamedTuple):
    """A test on one column, with another test, or None for a leaf, on either side.

    In a numeric column, codes of at most `cut` go left; in a nominal one, the code `cut` alone. Rows with a missing
    value go left if `missing_left`.
    """

    column: int
    cut: int
    missing_left: bool
    left: Split | None = None
    right: Split | None = None


class Limits(NamedTuple):
    """Limits of the search: smallest number of rows in a leaf, largest number of columns."""

    min_rows: int
    max_columns: int


class Table(NamedTuple):
    """Binned columns of a log, of shape (n_columns, n_rows), and their numbers of bins without the missing one."""

    codes: NDArray[np.uint8]
    n_bins: NDArray[np.int64]
    is_category: NDArray[np.bool_]

    @classmethod
    def of(cls, bins: Bins, codes: NDArray[np.uint8]) -> Table:
        """Build the table from bins and their codes, of shape (n_rows, n_columns)."""
        n_bins = [
            len(bins.categories[column]) if is_category else int(np.isfinite(bins.edges[column]).sum()) + 1
            for column, is_category in enumerate(bins.is_category)
        ]
        return cls(np.ascontiguousarray(codes.T), np.array(n_bins, dtype=np.int64), bins.is_category)

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Return the table of some rows."""
        return self._replace(codes=np.ascontiguousarray(self.codes[:, rows]))

    def goes_left(self, split: Split) -> NDArray[np.bool_]:
        """Return a mask of the rows that a split sends left."""
        code = self.codes[split.column]
        if self.is_category[split.column]:
            return np.asarray(code == split.cut)
        return np.where(code == MISSING, split.missing_left, code <= split.cut)


def find_tree(
    table: Table, score: NDArray[np.float64], depth: int, limits: Limits, n_jobs: int | None = None
) -> Split | None:
    """Return the tree of at most `depth` levels, 1 or 2, of the largest value; None if no split increases the value.

    The value of a tree is the sum over all rows of the score of the action that it takes. If there are more columns
    than `limits` allows, those with the best single splits are searched.
    """
    counted = np.column_stack([score, np.ones(len(score))])
    n_columns = len(table.codes)
    value, splits = np.empty(n_columns), np.empty((n_columns, 2), dtype=np.int64)
    least = float(limits.min_rows), SPLIT_COST * float(np.abs(score).sum())
    best_splits(table.codes, counted, table.n_bins, table.is_category, least, value, splits)
    if depth == 1:
        column = int(value.argmax())
        return _split(table, column, *splits[column].tolist())
    searched = np.sort(np.argsort(-value, kind="stable")[: limits.max_columns])
    part = Table(np.ascontiguousarray(table.codes[searched]), table.n_bins[searched], table.is_category[searched])
    has_missing = (part.codes == MISSING).any(axis=1)

    def search(first: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        values, below = np.full((2 * N_BINS, 2), -np.inf), np.full((2 * N_BINS, 2, 3), -1, dtype=np.int64)
        best_pairs(first, part.codes, counted, part.n_bins, part.is_category, has_missing, least, values, below)
        return values, below

    found = parallel(n_jobs=n_jobs, prefer="threads")(delayed(search)(first) for first in range(len(searched)))
    totals = np.array([values.sum(axis=1) for values, _ in found])
    first, root = (int(place) for place in np.unravel_index(int(totals.argmax()), totals.shape))
    if not totals[first, root] - least[1] > score.sum(axis=0).max():
        return None
    left, right = (
        _split(table, int(searched[column]), cut, missing_left)
        for column, cut, missing_left in found[first][1][root].tolist()
    )
    top = _split(table, int(searched[first]), root // 2, root % 2)
    return None if top is None else top._replace(left=left, right=right)


def _split(table: Table, column: int, cut: int, missing_left: int) -> Split | None:
    if cut < 0:
        return None
    split = Split(column, cut, missing_left == 1)
    if table.is_category[column]:
        return split._replace(missing_left=cut == MISSING)
    if not (table.codes[column] == MISSING).any():  # later missing values go where most rows go
        return split._replace(missing_left=bool(2 * table.goes_left(split).sum() > table.codes.shape[1]))
    return split


def decisions(
    split: Split | None, table: Table, score: NDArray[np.float64], asked: Table, n_asked: int
) -> NDArray[np.intp]:
    """Return the positions of the actions that a tree, found on `table`, takes in the rows of `asked`."""
    if split is None:
        return np.full(n_asked, score.sum(axis=0).argmax(), dtype=np.intp)
    position = np.empty(n_asked, dtype=np.intp)
    goes_left, asked_left = table.goes_left(split), asked.goes_left(split)
    for below, side, asked_side in ((split.left, goes_left, asked_left), (split.right, ~goes_left, ~asked_left)):
        rows, here = np.flatnonzero(side), np.flatnonzero(asked_side)
        position[here] = decisions(below, table.take(rows), score[rows], asked.take(here), len(here))
    return position


def find_depth(
    table: Table,
    score: NDArray[np.float64],
    depth: int,
    folds: NDArray[np.uint8],
    limits: Limits,
    n_jobs: int | None = None,
) -> int:
    """Return the number of levels, from 0 to `depth`, of the largest value by cross-validation."""
    value = np.zeros(depth + 1)
    for fold in np.unique(folds):
        rows, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        if len(others) == 0:
            return depth
        known, asked, own = table.take(others), table.take(rows), score[others]
        fewer = limits._replace(min_rows=max(1, limits.min_rows * len(others) // len(score)))
        for level in range(depth + 1):
            tree = find_tree(known, own, level, fewer, n_jobs) if level else None
            value[level] += score[rows, decisions(tree, known, own, asked, len(rows))].sum()
    return int(value.argmax())
