"""Which of several estimates to trust: the choice, and what the chosen one is worth after having looked."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation import Estimate, Interval
from offsettree.evaluation import _diagnostics as diagnostics
from offsettree.evaluation._intervals import normal_intervals
from offsettree.evaluation._terms import Terms
from offsettree.exceptions import LogError, OffsetTreeWarning
from offsettree.selection._out_of_fold import Compared, Log
from offsettree.selection.results import SearchResults

__all__ = ["Groups", "Stack", "describe", "honest_choices", "honest_estimate"]

N_RESAMPLES = 100
MOST_GROUPS = 4000  # of rows, that are resampled as one: bounds the time on long logs, and costs nothing


@dataclass(frozen=True)
class Stack:
    """The terms of all candidates, of shape (n_candidates, n_rows), the simplest first."""

    numerator: NDArray[np.float64]
    counted: NDArray[np.float64]

    @classmethod
    def of(cls, terms: list[Terms]) -> Self:
        """Stack the terms of one estimator."""
        return cls(np.stack([each.numerator for each in terms]), np.stack([each.counted for each in terms]))

    def choose(self, within: float, weight: NDArray[np.float64]) -> int:
        """Return the first candidate that is at most `within` standard errors behind the best of all.

        Both are of the difference, row by row: what makes all candidates look better or worse cancels out. A row
        counts as often as its weight says.
        """
        value, gap, stderr = self.gaps(weight)
        best = int(np.argmax(value))
        return int(np.argmax(gap[: best + 1] <= within * stderr[: best + 1]))

    def gaps(self, weight: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Return the values, by how much each is behind the best, and the standard errors of that."""
        n_rows = float(weight.sum())
        above, below = self.numerator @ weight, self.counted @ weight
        known = below > 0  # without a row logged with what a candidate does, nothing speaks for it
        value = np.where(known, above / np.where(known, below, 1.0), -np.inf)
        best = int(np.argmax(value))
        # Linear in both sums: a number per row with the mean and the spread of the ratio.
        steps = (self.numerator - np.where(known, value, 0)[:, np.newaxis] * self.counted) / (
            np.where(known, below, 1.0)[:, np.newaxis] / n_rows
        )
        apart = steps[best] - steps
        stderr = np.sqrt((apart**2) @ weight / max(n_rows - 1, 1) / n_rows)
        with np.errstate(invalid="ignore"):
            gap = np.where(np.arange(len(value)) == best, 0.0, value[best] - value)
        return value, gap, stderr


@dataclass(frozen=True)
class Groups:
    """Rows of one fold each, summed and resampled as one where there are many."""

    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    fold: NDArray[np.intp]
    n_in: NDArray[np.float64]

    @classmethod
    def of(cls, fold: NDArray[np.intp]) -> Self:
        """Part the rows into at most about MOST_GROUPS groups, with as many in every group of a fold as can be."""
        n_rows = len(fold)
        if n_rows <= MOST_GROUPS:
            return cls(np.arange(n_rows), np.arange(n_rows), fold, np.ones(n_rows))
        order = np.argsort(fold, kind="stable")
        per_fold = np.bincount(fold)
        sizes = [np.diff(np.linspace(0, n, MOST_GROUPS // len(per_fold) + 1).astype(int)) for n in per_fold]
        n_in = np.concatenate(sizes)
        starts = np.cumsum(np.concatenate([[0], n_in]))[:-1]
        return cls(order, starts, fold[order][starts], n_in.astype(np.float64))

    def sum(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum over the rows of each group, along the last axis."""
        return np.asarray(np.add.reduceat(column[..., self.order], self.starts, axis=-1))

    def sum_terms(self, stack: Stack) -> Stack:
        """Sum the terms of all candidates."""
        return Stack(self.sum(stack.numerator), self.sum(stack.counted))


def honest_choices(
    choosers: Iterable[Stack], fold: NDArray[np.intp], within: float, weight: NDArray[np.float64] | None = None
) -> list[int]:
    """Return, for each fold, who is chosen without its rows; by the terms that are there for that choice."""
    counts = np.ones(len(fold)) if weight is None else weight
    return [stack.choose(within, np.where(fold == each, 0.0, counts)) for each, stack in enumerate(choosers)]


def honest_estimate(
    compared: list[Compared],
    log: Log,
    fold: NDArray[np.intp],
    method: str,
    within: float,
    level: float,
    random: np.random.RandomState,
    choosers: Iterable[Stack] | None = None,
    notes: tuple[str, ...] = (),
) -> tuple[Estimate, list[int]]:
    """Estimate what choosing is worth: in the rows of each fold, by who was chosen without it; and tell who that was.

    `choosers` are the terms by which to choose without each fold. By default they are those of the candidates, whose
    decisions in other folds were learned from this one: the choice then knows the fold a little.

    The standard error is that of the whole procedure, resampled: where the rows leave it open who is best, the choice
    varies as well, and the spread of the rows alone would promise too much.
    """
    stack = Stack.of([each.terms for each in compared])
    groups = Groups.of(fold)
    choices, summed = [], []
    for each, chooser in enumerate([stack] * (int(fold.max()) + 1) if choosers is None else choosers):
        choices.append(chooser.choose(within, (fold != each).astype(np.float64)))
        summed.append(groups.sum_terms(chooser))
    weight = _spliced(np.stack([each.weight for each in compared]), fold, choices)
    mixed = Terms(_spliced(stack.numerator, fold, choices), _spliced(stack.counted, fold, choices))
    if not mixed.counted.any():
        raise LogError(
            f"the value of the choice cannot be estimated: in none of the {len(fold):,} rows was an action logged "
            "that the candidate chosen without them takes. Use scoring='doubly_robust', or more rows."
        )
    sums = diagnostics.WeightSums.of(weight)
    sizes = [sums.effective_rows, float(len(fold))]
    value, baseline, difference = normal_intervals([mixed, Terms(log.reward)], level, sizes)
    spreads = _resampled_spreads(groups, groups.sum_terms(stack), summed, groups.sum(log.reward), within, random)
    count = np.bincount(log.position, minlength=len(log.actions))
    serious = diagnostics.of_propensities(
        sums,
        log.position,
        count,
        log.propensity,
        log.actions,
        covered=bool(count.all()),
        available=log.available,
    )
    for text in serious:
        warnings.warn(text, OffsetTreeWarning, stacklevel=4)
    estimate = Estimate(
        **vars(_widened(value, spreads[0])),
        level=float(level),
        method=method,
        interval="normal",
        n_rows=len(fold),
        n_matched=sums.n_matched,
        effective_rows=sums.effective_rows,
        max_weight=sums.largest,
        baseline=baseline,
        difference=_widened(difference, spreads[1]),
        warnings=(
            *notes,
            *serious,
            *diagnostics.of_weights(weight, sums),
            *diagnostics.of_method(method, max(compared[choice].terms.n_left_out for choice in choices), "choice"),
        ),
    )
    return estimate, choices


def _resampled_spreads(
    groups: Groups,
    stack: Stack,
    choosers: list[Stack],
    reward: NDArray[np.float64],
    within: float,
    random: np.random.RandomState,
) -> tuple[float, float]:
    """Return the standard deviations of value and difference to the log, when groups are drawn and chosen by anew."""
    if len(stack.numerator) == 1:
        return 0.0, 0.0  # there is no choice
    fold, n_groups = groups.fold, len(groups.fold)
    values, differences = [], []
    for _ in range(N_RESAMPLES):
        weight = random.multinomial(n_groups, np.full(n_groups, 1 / n_groups)).astype(np.float64)
        if len(np.unique(fold[weight > 0])) <= int(fold.max()):
            continue  # a fold of few rows was not drawn
        choices = honest_choices(choosers, fold, within, weight)
        below = _spliced(stack.counted, fold, choices) @ weight
        if below > 0:
            values.append(_spliced(stack.numerator, fold, choices) @ weight / below)
            differences.append(values[-1] - reward @ weight / (groups.n_in @ weight))
    return (float(np.std(values)), float(np.std(differences))) if len(values) > 1 else (0.0, 0.0)


def _widened(interval: Interval, stderr: float) -> Interval:
    """Return the interval for a larger standard error."""
    if not stderr > interval.stderr > 0:
        return interval
    factor, value = stderr / interval.stderr, interval.value
    return Interval(value, stderr, value - factor * (value - interval.low), value + factor * (interval.high - value))


def describe(compared: list[Compared], results: SearchResults, level: float) -> None:
    """Write what each candidate is worth into its row of the table."""
    _, gap, stderr = Stack.of([each.terms for each in compared]).gaps(np.ones(len(compared[0].weight)))
    for i, each in enumerate(compared):
        interval = normal_intervals([each.terms], level, [each.effective_rows])[0]
        results[each.place].update(vars(interval), behind=float(gap[i]), behind_stderr=float(stderr[i]))


def _spliced(columns: NDArray[np.float64], fold: NDArray[np.intp], choices: list[int]) -> NDArray[np.float64]:
    """Return a column that holds in the rows of each fold those of the candidate chosen without it."""
    return np.asarray(columns[np.asarray(choices)[fold], np.arange(len(fold))])
