"""The estimated values of candidates, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation import Interval
from offsettree.evaluation.parts import RewardLimits, Terms, WeightSums, normal_intervals, separate_mid_p_intervals
from offsettree.selection._honest_estimate import CandidateValues
from offsettree.selection._rule import Stack
from offsettree.selection._trials import Log, Trial


class Evidence:
    """The latest out-of-sample terms of every candidate's value, row by row.

    All candidates still in the race were tried on the same parts of the log, so their terms are of the same rows.
    """

    def __init__(self, is_constant: NDArray[np.bool_], log: Log, method: str) -> None:
        self.log, self.is_constant, self.method = log, is_constant, method
        self.numerator, self.clipped, self.counted, self.weight = np.zeros((4, len(is_constant), len(log.reward)))
        self.is_valued = np.zeros(len(log.reward), dtype=bool)
        self.favourite: int | None = None  # index of the candidate that is chosen unless another is clearly better
        self.is_proven = False  # see `Stack`
        self.left_out = np.zeros((len(is_constant), len(log.reward)), dtype=bool)

    def add(self, place: int, rows: NDArray[np.intp], trial: Trial) -> None:
        """Store the result of a trial, replacing earlier terms of its rows."""
        if trial.terms is not None:
            self.numerator[place, rows], self.counted[place, rows] = trial.terms.numerator, trial.terms.counted
            self.clipped[place, rows], self.weight[place, rows] = trial.clipped, trial.weight
            self.left_out[place, rows] = False if trial.terms.left_out is None else trial.terms.left_out
            self.is_valued[rows] = True

    def forget(self) -> None:
        """Ignore all terms stored so far."""
        self.is_valued[:] = False

    @property
    def counts(self) -> NDArray[np.float64]:
        """1 for every row with terms, else 0."""
        return self.is_valued.astype(np.float64)

    def stack(self, places: Sequence[int]) -> Stack:
        """Return the terms to choose by, of some candidates."""
        chosen = list(places)
        return self.mark(Stack(self.clipped[chosen], self.counted[chosen], self.is_constant[chosen]), chosen)

    def mark(self, stack: Stack, places: Sequence[int]) -> Stack:
        """Add what the rule needs beside the terms."""
        favourite = -1 if self.favourite is None or self.favourite not in places else list(places).index(self.favourite)
        return replace(stack, unseen_effect=self.log.unseen_effect, favourite=favourite, is_proven=self.is_proven)

    def intervals(self, places: Sequence[int], level: float) -> list[Interval]:
        """Return the estimated values of some candidates, with intervals."""
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
        known = RewardLimits.of(self.log.reward[rows], self.log.reward_range)
        return separate_mid_p_intervals(plain, terms, known, level) if terms else []

    def valued(self, places: Sequence[int], fold: NDArray[np.intp], folds: Sequence[int]) -> CandidateValues:
        """Return the terms of some candidates in the rows of some folds; without folds, all rows are one fold."""
        label = np.zeros(len(fold), dtype=np.intp)
        for new, old in enumerate(folds):
            label[fold == old] = new
        rows, chosen = np.flatnonzero(self.is_valued), list(places)
        counted, is_constant = self.counted[chosen][:, rows], self.is_constant[chosen]
        return CandidateValues(
            Stack(self.numerator[chosen][:, rows], counted, is_constant),
            self.mark(Stack(self.clipped[chosen][:, rows], counted, is_constant), chosen),
            self.weight[chosen][:, rows],
            label[rows],
            self.log.take(rows),
            self.left_out[chosen][:, rows],
        )
