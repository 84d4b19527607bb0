"""The best tree of one or two levels over scores of every row and action."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from offsettree.learners._binning import Bins
from offsettree.learners._kernels_counts import MISSING, N_BINS

__all__ = ["Limits", "Split", "Table", "decisions", "find_depth", "find_tree"]

NEXT_TO_NOTHING = 1e-10  # that a split costs, as a share of the sum of all scores


class Split(NamedTuple):
    """A test on one column, and what follows on either side: another test, or None for a leaf.

    A column of numbers sends codes of at most `cut` left, a nominal one the code `cut` alone. Rows whose value is
    missing go left where `missing_left` is set.
    """

    column: int
    cut: int
    missing_left: bool
    left: Split | None = None
    right: Split | None = None


class Limits(NamedTuple):
    """What is searched: trees whose leaves have at least so many rows, over so many columns at most."""

    min_rows: int
    max_columns: int


class Table(NamedTuple):
    """The columns of a log in bins, by column, with how many bins each has beside that of what is missing."""

    codes: NDArray[np.uint8]
    n_bins: NDArray[np.int64]
    is_category: NDArray[np.bool_]

    @classmethod
    def of(cls, bins: Bins, codes: NDArray[np.uint8]) -> Table:
        """Take the columns over from what made the bins."""
        n_bins = [
            len(bins.categories[column]) if is_category else int(np.isfinite(bins.edges[column]).sum()) + 1
            for column, is_category in enumerate(bins.is_category)
        ]
        return cls(np.ascontiguousarray(codes.T), np.array(n_bins, dtype=np.int64), bins.is_category)

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Return some rows."""
        return self._replace(codes=np.ascontiguousarray(self.codes[:, rows]))

    def goes_left(self, split: Split) -> NDArray[np.bool_]:
        """Tell which rows a split sends left."""
        code = self.codes[split.column]
        if self.is_category[split.column]:
            return np.asarray(code == split.cut)
        return np.where(code == MISSING, split.missing_left, code <= split.cut)


def find_tree(
    table: Table, score: NDArray[np.float64], depth: int, limits: Limits, n_jobs: int | None = None
) -> Split | None:
    """Return the tree of at most `depth` levels, 1 or 2, that is worth most; None where no split is worth anything.

    A tree is worth the sum over all rows of the score of the action that its leaf takes. Where there are more columns
    than are searched, those are whose best single split is worth most.
    """
    from offsettree.reductions.rules._kernels_rules import best_pairs, best_splits

    counted = np.column_stack([score, np.ones(len(score))])
    n_columns = len(table.codes)
    worth, splits = np.empty(n_columns), np.empty((n_columns, 2), dtype=np.int64)
    least = float(limits.min_rows), NEXT_TO_NOTHING * float(np.abs(score).sum())
    best_splits(table.codes, counted, table.n_bins, table.is_category, least, worth, splits)
    if depth == 1:
        column = int(worth.argmax())
        return _split(table, column, *splits[column].tolist())
    searched = np.sort(np.argsort(-worth, kind="stable")[: limits.max_columns])
    part = Table(np.ascontiguousarray(table.codes[searched]), table.n_bins[searched], table.is_category[searched])
    has_missing = (part.codes == MISSING).any(axis=1)

    def search(first: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        worths, below = np.full((2 * N_BINS, 2), -np.inf), np.full((2 * N_BINS, 2, 3), -1, dtype=np.int64)
        best_pairs(first, part.codes, counted, part.n_bins, part.is_category, has_missing, least, worths, below)
        return worths, below

    found = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(search)(first) for first in range(len(searched)))
    totals = np.array([worths.sum(axis=1) for worths, _ in found])
    first, root = (int(place) for place in np.unravel_index(int(totals.argmax()), totals.shape))
    if not totals[first, root] - least[1] > score.sum(axis=0).max():
        return None
    left, right = (
        _split(table, int(searched[column]), cut, way) for column, cut, way in found[first][1][root].tolist()
    )
    top = _split(table, int(searched[first]), root // 2, root % 2)
    return None if top is None else top._replace(left=left, right=right)


def _split(table: Table, column: int, cut: int, way: int) -> Split | None:
    if cut < 0:
        return None
    split = Split(column, cut, way == 1)
    if table.is_category[column]:
        return split._replace(missing_left=cut == MISSING)
    if not (table.codes[column] == MISSING).any():  # what is missing only later goes where most rows go
        return split._replace(missing_left=bool(2 * table.goes_left(split).sum() > table.codes.shape[1]))
    return split


def decisions(
    split: Split | None, table: Table, score: NDArray[np.float64], asked: Table, n_asked: int
) -> NDArray[np.intp]:
    """Return the positions of the actions that a tree found on one table takes in the rows of another."""
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
    """Return how many levels, from 0 to `depth`, are worth most in rows that the trees were not found on."""
    worth = np.zeros(depth + 1)
    for fold in np.unique(folds):
        rows, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        if len(others) == 0:
            return depth
        known, asked, own = table.take(others), table.take(rows), score[others]
        fewer = limits._replace(min_rows=max(1, limits.min_rows * len(others) // len(score)))
        for level in range(depth + 1):
            tree = find_tree(known, own, level, fewer, n_jobs) if level else None
            worth[level] += score[rows, decisions(tree, known, own, asked, len(rows))].sum()
    return int(worth.argmax())
