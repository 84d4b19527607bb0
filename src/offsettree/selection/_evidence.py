"""What is known of candidates, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation import Interval
from offsettree.evaluation._claims import Known
from offsettree.evaluation._diagnostics import WeightSums
from offsettree.evaluation._intervals import normal_intervals
from offsettree.evaluation._mid_p import mid_p_values
from offsettree.evaluation._terms import Terms
from offsettree.selection._comparison import Valued
from offsettree.selection._rule import Stack
from offsettree.selection._trials import Log, Trial

__all__ = ["Evidence"]


class Evidence:
    """The terms of every candidate's value, row by row, as last decided by a policy that had not learned from the row.

    All that are still in a race were tried on the same parts of the log, and so have been valued in the same rows.
    """

    def __init__(self, is_constant: NDArray[np.bool_], log: Log, method: str) -> None:
        self.log, self.is_constant, self.method = log, is_constant, method
        self.numerator, self.tamed, self.counted, self.weight = np.zeros((4, len(is_constant), len(log.reward)))
        self.is_valued = np.zeros(len(log.reward), dtype=bool)
        self.home: int | None = None  # the place of the favourite
        self.is_sure = False
        self.left_out = np.zeros((len(is_constant), len(log.reward)), dtype=bool)

    def add(self, place: int, rows: NDArray[np.intp], trial: Trial) -> None:
        """Take over what a trial found; what was known of its rows before is forgotten."""
        if trial.terms is not None:
            self.numerator[place, rows], self.counted[place, rows] = trial.terms.numerator, trial.terms.counted
            self.tamed[place, rows], self.weight[place, rows] = trial.tamed, trial.weight
            self.left_out[place, rows] = False if trial.terms.left_out is None else trial.terms.left_out
            self.is_valued[rows] = True

    def forget(self) -> None:
        """Count no row any more until it is valued again."""
        self.is_valued[:] = False

    @property
    def counts(self) -> NDArray[np.float64]:
        """1 for every row that candidates were valued in, else 0."""
        return self.is_valued.astype(np.float64)

    def stack(self, places: Sequence[int]) -> Stack:
        """Return the terms to choose among some candidates by."""
        chosen = list(places)
        return self.mark(Stack(self.tamed[chosen], self.counted[chosen], self.is_constant[chosen]), chosen)

    def mark(self, stack: Stack, places: Sequence[int]) -> Stack:
        """Add what the rule must know of some candidates beside their terms."""
        home = -1 if self.home is None or self.home not in places else list(places).index(self.home)
        return replace(stack, reach=self.log.reach, home=home, is_sure=self.is_sure)

    def intervals(self, places: Sequence[int], level: float) -> list[Interval]:
        """Return what some candidates are worth."""
        rows = self.is_valued
        terms = [
            Terms(
                self.numerator[place, rows],
                self.counted[place, rows],
                weight=self.weight[place, rows],
                from_zero=self.method == "ips",
            )
            for place in places
        ]
        sizes = [WeightSums.of(self.weight[place, rows]).effective_rows for place in places]
        plain = [normal_intervals([each], level, [size])[0] for each, size in zip(terms, sizes, strict=True)]
        low, high = self.log.reward_range
        plain = [each.moved(min(max(each.value, low), high)) for each in plain]
        known = Known.of(self.log.reward[rows], self.log.reward_range)
        return mid_p_values(plain, terms, known, level) if terms else []

    def valued(self, places: Sequence[int], fold: NDArray[np.intp], folds: Sequence[int]) -> Valued:
        """Return what is known of some candidates in the rows of some folds; without any, all rows valued are one."""
        label = np.zeros(len(fold), dtype=np.intp)
        for new, old in enumerate(folds):
            label[fold == old] = new
        rows, chosen = np.flatnonzero(self.is_valued), list(places)
        counted, is_constant = self.counted[chosen][:, rows], self.is_constant[chosen]
        return Valued(
            Stack(self.numerator[chosen][:, rows], counted, is_constant),
            self.mark(Stack(self.tamed[chosen][:, rows], counted, is_constant), chosen),
            self.weight[chosen][:, rows],
            label[rows],
            self.log.take(rows),
            self.left_out[chosen][:, rows],
        )
