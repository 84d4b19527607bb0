"""What the chosen one is worth after having looked: an honest estimate of the whole procedure."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation import DEFAULT_INTERVAL, Estimate, Interval
from offsettree.evaluation import _diagnostics as diagnostics
from offsettree.evaluation._claims import Known
from offsettree.evaluation._groups import sum_by_group
from offsettree.evaluation._intervals import normal_intervals
from offsettree.evaluation._mid_p import mid_p_intervals, widened_by
from offsettree.evaluation._terms import Terms
from offsettree.evaluation._ways import within
from offsettree.exceptions import LogError, OffsetTreeWarning
from offsettree.selection._rule import Rule, Stack
from offsettree.selection._trials import Log

__all__ = ["Groups", "Valued", "honest_choices", "honest_estimate"]

N_RESAMPLES = 100
MOST_GROUPS = 4000  # of rows, that are resampled as one: bounds the time on long logs, and costs nothing


@dataclass(frozen=True)
class Valued:
    """The terms and weights of candidates in the rows of a log, and the folds to value a choice in, from 0 on.

    Those of `chooser` are chosen by, where there are no better ones.
    """

    stack: Stack
    chooser: Stack
    weight: NDArray[np.float64]
    fold: NDArray[np.intp]
    log: Log
    left_out: NDArray[np.bool_] | None = None  # as `Terms` has it, of shape (n_candidates, n_rows)
    group: NDArray[np.intp] | None = None  # of each row, where rows are not independent

    @property
    def n_folds(self) -> int:
        """How many folds there are."""
        return int(self.fold.max()) + 1


@dataclass(frozen=True)
class Groups:
    """Rows of one fold each, summed and resampled as one where there are many."""

    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    fold: NDArray[np.intp]
    n_in: NDArray[np.float64]

    @classmethod
    def of(cls, fold: NDArray[np.intp], group: NDArray[np.intp] | None = None) -> Self:
        """Part the rows into at most about MOST_GROUPS groups, with as many in every group of a fold as can be.

        Or into the groups given.
        """
        n_rows = len(fold)
        if group is not None:
            order, n_in = np.argsort(group, kind="stable"), np.bincount(group)
            starts = np.cumsum(n_in) - n_in
            return cls(order, starts, fold[order][starts], n_in.astype(np.float64))
        if n_rows <= MOST_GROUPS:
            return cls(np.arange(n_rows), np.arange(n_rows), fold, np.ones(n_rows))
        order = np.argsort(fold, kind="stable")
        _, per_fold = np.unique(fold, return_counts=True)
        sizes = [np.diff(np.linspace(0, n, MOST_GROUPS // len(per_fold) + 1).astype(int)) for n in per_fold]
        n_in = np.concatenate(sizes)
        starts = np.cumsum(np.concatenate([[0], n_in]))[:-1]
        kept = n_in > 0
        return cls(order, starts[kept], fold[order][starts[kept]], n_in[kept].astype(np.float64))

    def sum(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum over the rows of each group, along the last axis."""
        return np.asarray(np.add.reduceat(column[..., self.order], self.starts, axis=-1))

    def sum_terms(self, stack: Stack) -> Stack:
        """Sum the terms of all candidates."""
        return replace(stack, numerator=self.sum(stack.numerator), counted=self.sum(stack.counted))


def honest_choices(choosers: list[Stack], fold: NDArray[np.intp], rule: Rule, weight: NDArray[np.float64]) -> list[int]:
    """Return, for each fold, who is chosen without its rows; by the terms that are there for that choice."""
    choices = []
    for each, stack in enumerate(choosers):
        others = np.where(fold == each, 0.0, weight)
        choices.append(rule.choose(stack, others if others.any() else weight))
    return choices


def honest_estimate(
    valued: Valued,
    rule: Rule,
    method: str,
    level: float,
    random: np.random.RandomState,
    choosers: list[Stack] | None = None,
    notes: tuple[str, ...] = (),
) -> tuple[Estimate, list[int]]:
    """Estimate what choosing is worth: in the rows of each fold, by who was chosen without it; and tell who that was.

    `choosers` are the terms by which to choose without each fold. By default they are those of the candidates, whose
    decisions in other folds may have been learned from this one: the choice then knows the fold a little.

    The standard error is that of the whole procedure, resampled: where the rows leave it open who is best, the choice
    varies as well, and the spread of the rows alone would promise too much.
    """
    stack, fold, log = valued.stack, valued.fold, valued.log
    choosers = [valued.chooser] * valued.n_folds if choosers is None else choosers
    choices = honest_choices(choosers, fold, rule, np.ones(len(fold)))
    weight = _spliced(valued.weight, fold, choices)
    mixed = Terms(
        _spliced(stack.numerator, fold, choices),
        _spliced(stack.counted, fold, choices),
        weight=weight,
        from_zero=method == "ips",
    )
    left_out = valued.left_out
    n_left_out = 0 if left_out is None else int(_spliced(left_out, fold, choices).sum())
    if not mixed.counted.any():
        raise LogError(
            f"the value of the choice cannot be estimated: in none of the {len(fold):,} rows was an action logged "
            "that the candidate chosen without them takes. Use scoring='doubly_robust', or more rows."
        )
    sums, limits = diagnostics.WeightSums.of(weight), log.reward_range
    value, baseline, difference = _intervals(mixed, log, method, level, valued.group)
    groups = Groups.of(fold, valued.group)
    spreads = _resampled_spreads(groups, valued, [groups.sum_terms(each) for each in choosers], rule, random)
    serious = _doubts(log, sums)
    for text in serious:
        warnings.warn(text, OffsetTreeWarning, stacklevel=4)
    estimate = Estimate(
        **vars(_widened(value, spreads[0], limits)),
        level=float(level),
        method=method,
        interval=DEFAULT_INTERVAL,
        n_rows=len(fold),
        n_matched=sums.n_matched,
        effective_rows=sums.effective_rows,
        max_weight=sums.largest,
        baseline=baseline,
        difference=_widened(difference, spreads[1], (limits[0] - limits[1], limits[1] - limits[0])),
        warnings=(
            *notes,
            *serious,
            *diagnostics.of_weights(weight, sums, "choice", DEFAULT_INTERVAL),
            *diagnostics.of_method(method, n_left_out, "choice"),
        ),
        serious=tuple(serious),
        n_groups=None if valued.group is None else len(groups.starts),
    )
    return estimate, choices


def _intervals(
    mixed: Terms, log: Log, method: str, level: float, group: NDArray[np.intp] | None
) -> tuple[Interval, Interval, Interval]:
    """Return the intervals of the choice, of what was logged and of the difference, as `evaluate` makes them."""
    logged, weight = Terms(log.reward), np.asarray(mixed.weight)
    terms = [mixed, logged]
    plainer = [Terms(weight * log.reward, weight, weight=weight), logged] if method == "doubly_robust" else []
    if group is not None:
        terms, plainer = ([sum_by_group(each, group) for each in some] for some in (terms, plainer))
    size = diagnostics.WeightSums.of(np.asarray(terms[0].weight)).effective_rows
    plain = within(normal_intervals(terms, level, [size, float(len(terms[1].numerator))]), log.reward_range)
    known = Known.of(log.reward, log.reward_range)
    found = mid_p_intervals(plain, terms, known, level)
    first, second, gap = widened_by(found, plainer, known, level) if plainer else found
    return first, second, gap


def _doubts(log: Log, sums: diagnostics.WeightSums) -> list[str]:
    count = np.bincount(log.position, minlength=len(log.actions))
    return diagnostics.of_propensities(
        sums,
        log.position,
        count,
        log.propensity,
        log.actions,
        covered=bool(count.all()),
        available=log.available,
    )


def _resampled_spreads(
    groups: Groups, valued: Valued, choosers: list[Stack], rule: Rule, random: np.random.RandomState
) -> tuple[float, float]:
    """Return the standard deviations of value and difference to the log, when groups are drawn and chosen by anew."""
    if len(valued.stack.numerator) == 1:
        return 0.0, 0.0  # there is no choice
    stack, reward = groups.sum_terms(valued.stack), groups.sum(valued.log.reward)
    fold, n_groups = groups.fold, len(groups.fold)
    values, differences = [], []
    for _ in range(N_RESAMPLES):
        weight = random.multinomial(n_groups, np.full(n_groups, 1 / n_groups)).astype(np.float64)
        if len(np.unique(fold[weight > 0])) < valued.n_folds:
            continue  # a fold of few rows was not drawn
        choices = honest_choices(choosers, fold, rule, weight)
        below = _spliced(stack.counted, fold, choices) @ weight
        if below > 0:
            values.append(_spliced(stack.numerator, fold, choices) @ weight / below)
            differences.append(values[-1] - reward @ weight / (groups.n_in @ weight))
    return (float(np.std(values)), float(np.std(differences))) if len(values) > 1 else (0.0, 0.0)


def _widened(interval: Interval, stderr: float, limits: tuple[float, float]) -> Interval:
    """Return the interval for a larger standard error."""
    if not stderr > interval.stderr > 0:
        return interval
    factor, value = stderr / interval.stderr, interval.value
    low, high = value - factor * (value - interval.low), value + factor * (interval.high - value)
    return Interval(value, stderr, max(low, limits[0]), min(high, limits[1]))


def _spliced(columns: NDArray[Any], fold: NDArray[np.intp], choices: list[int]) -> NDArray[Any]:
    """Return a column that holds in the rows of each fold those of the candidate chosen without it."""
    return np.asarray(columns[np.asarray(choices)[fold], np.arange(len(fold))])
