"""What is known of candidates, row by row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation import Interval
from offsettree.evaluation._diagnostics import WeightSums
from offsettree.evaluation._intervals import normal_intervals
from offsettree.evaluation._terms import Terms
from offsettree.selection._comparison import UNUSED, Valued
from offsettree.selection._rule import Stack
from offsettree.selection._trials import Log, Trial

__all__ = ["Evidence"]


class Evidence:
    """The terms of every candidate's value, as decided by the policy that had learned from most rows but that one.

    All that are still in a race were tried on the same parts of the log, and so have been valued in the same rows.
    """

    def __init__(self, is_constant: NDArray[np.bool_], log: Log) -> None:
        self.log, self.is_constant = log, is_constant
        self.numerator, self.counted, self.weight = np.zeros((3, len(is_constant), len(log.reward)))
        self.is_valued = np.zeros(len(log.reward), dtype=bool)
        self.n_left_out = np.zeros(len(is_constant), dtype=int)

    def add(self, place: int, rows: NDArray[np.intp], trial: Trial) -> None:
        """Take over what a trial found; what was known of its rows before is forgotten."""
        if trial.terms is not None:
            self.numerator[place, rows], self.counted[place, rows] = trial.terms.numerator, trial.terms.counted
            self.weight[place, rows] = trial.weight
            self.n_left_out[place] += trial.terms.n_left_out
            self.is_valued[rows] = True

    @property
    def counts(self) -> NDArray[np.float64]:
        """1 for every row that candidates were valued in, else 0."""
        return self.is_valued.astype(np.float64)

    def stack(self, places: Sequence[int]) -> Stack:
        """Return the terms of some candidates."""
        chosen = list(places)
        return Stack(self.numerator[chosen], self.counted[chosen], self.is_constant[chosen])

    def interval(self, place: int, level: float) -> Interval:
        """Return what one is worth."""
        rows = self.is_valued
        size = WeightSums.of(self.weight[place, rows]).effective_rows
        return normal_intervals([Terms(self.numerator[place, rows], self.counted[place, rows])], level, [size])[0]

    def valued(self, places: Sequence[int], fold: NDArray[np.intp], folds: Sequence[int]) -> Valued:
        """Return what is known of some candidates in the rows of some folds, and what helps to choose in others.

        Where no fold was tried, all rows that were valued are one.
        """
        label = np.full(len(fold), UNUSED)
        for new, old in enumerate(folds):
            label[fold == old] = new
        if not folds:
            label[self.is_valued] = 0
        rows, chosen = np.flatnonzero(self.is_valued), list(places)
        stack = self.stack(chosen)
        return Valued(
            Stack(stack.numerator[:, rows], stack.counted[:, rows], stack.is_constant),
            self.weight[np.ix_(chosen, rows)],
            label[rows],
            self.log.take(rows),
            int(self.n_left_out[chosen].max()),
        )
