"""How rows are split into training and test rows: at random, by group, or by time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree.evaluation.parts import check_group
from offsettree.exceptions import ParameterError
from offsettree.selection._race import Rung
from offsettree.selection._trials import stratified_folds

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class RowSplit:
    """The group code of each row, or its rank in time; with neither, rows are split at random."""

    group: Rows | None = None
    rank: Rows | None = None

    @classmethod
    def of(cls, group: ArrayLike | None, time: ArrayLike | None, n_rows: int) -> RowSplit:
        """Check the arguments of `fit`."""
        if group is not None and time is not None:
            raise ParameterError("give either group or time, not both: rows are split by one of them.")
        return cls(check_group(group, n_rows), None if time is None else _ranks(time, n_rows))

    def take(self, rows: Rows) -> RowSplit:
        """Return the split of some rows; groups and ranks are renumbered."""
        group, rank = (
            None if codes is None else np.unique(codes[rows], return_inverse=True)[1].astype(np.intp)
            for codes in (self.group, self.rank)
        )
        return RowSplit(group, rank)

    def folds(self, position: Rows, n_folds: int, random: np.random.RandomState) -> Rows:
        """Return the fold of each row. By time there are two: fold 0 has the latest rows, about 1 / n_folds of all."""
        if self.rank is not None:
            older = np.cumsum(np.bincount(self.rank))[:-1]
            cut = np.abs(older - len(position) * (1 - 1 / n_folds)).argmin() if len(older) else 0
            return np.asarray(self.rank <= cut, dtype=np.intp)
        if self.group is None:
            return stratified_folds(position, n_folds, random)
        sizes = np.bincount(self.group)
        if len(sizes) < n_folds:
            raise ParameterError(f"cv must be at most the number of groups, {len(sizes)}; got {n_folds}.")
        fold, filled = np.empty(len(sizes), dtype=np.intp), np.zeros(n_folds)
        drawn = random.permutation(len(sizes))
        for each in drawn[np.argsort(-sizes[drawn], kind="stable")]:  # largest first, into the emptiest fold
            fold[each] = filled.argmin()
            filled[fold[each]] += sizes[each]
        return fold[self.group]

    def separate(self, rungs: list[Rung], fold: Rows, random: np.random.RandomState) -> list[Rung]:
        """Adapt the rungs of a race: training and test rows share no group, or test rows are later."""
        if self.rank is not None:
            latest = np.flatnonzero(fold == 0)
            return [Rung((rung.part[0], latest), rung.fold) for rung in rungs if not rung.fold]
        if self.group is None:
            return rungs
        drawn = random.permutation(np.unique(self.group[fold != 0]))
        sizes = np.cumsum(np.bincount(self.group)[drawn])
        separated = []
        for rung in rungs:
            if rung.fold is None:  # whole groups, with about as many rows
                learned = np.isin(self.group, drawn[: int(np.searchsorted(sizes, rung.n_learned)) + 1])
                rung = Rung((np.flatnonzero(learned), np.flatnonzero(~learned)))
            separated.append(rung)
        return separated


def _ranks(time: Any, n_rows: int) -> Rows:
    values = np.asarray(time)
    if values.shape != (n_rows,) or values.dtype.kind not in "biufM":
        raise ParameterError(
            f"time must hold when each decision was taken, as numbers or dates of shape ({n_rows},); got "
            f"{values.dtype} of shape {values.shape}."
        )
    if (values != values).any():
        row = int((values != values).argmax())
        raise ParameterError(f"time must have a value in every row; it is missing in row {row}.")
    found, rank = np.unique(values, return_inverse=True)
    if len(found) < 2:
        raise ParameterError(f"time must have at least two different values; all {n_rows:,} rows have {found[0]}.")
    return np.asarray(rank, dtype=np.intp)
