"""The value of the selected candidate, corrected for the optimism of selection (the winner's curse)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree._validation import warn_caller
from offsettree.evaluation import DEFAULT_INTERVAL, Estimate, Interval
from offsettree.evaluation.parts import (
    RewardLimits,
    Terms,
    diagnostics,
    mid_p_intervals,
    normal_intervals,
    sum_by_group,
    widened_by,
    within,
)
from offsettree.exceptions import LogError
from offsettree.selection._rule import Rule, Stack
from offsettree.selection._trials import Log

N_RESAMPLES = 100
MOST_GROUPS = 4000  # groups of rows that are resampled together: bounds the time on long logs


@dataclass(frozen=True)
class CandidateValues:
    """The terms and importance weights of candidates in the rows of a log, and the fold of each row.

    `stack` has the terms to estimate values by, `choice_terms` the terms to choose by (outliers clipped).
    """

    stack: Stack
    choice_terms: Stack
    weight: NDArray[np.float64]
    fold: NDArray[np.intp]
    log: Log
    left_out: NDArray[np.bool_] | None = None  # as `Terms` has it, of shape (n_candidates, n_rows)
    group: NDArray[np.intp] | None = None  # of each row, where rows are not independent

    @property
    def n_folds(self) -> int:
        """The number of folds."""
        return int(self.fold.max()) + 1


@dataclass(frozen=True)
class Groups:
    """Groups of rows, each within one fold, that are summed and resampled together."""

    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    fold: NDArray[np.intp]
    n_in: NDArray[np.float64]

    @classmethod
    def of(cls, fold: NDArray[np.intp], group: NDArray[np.intp] | None = None) -> Self:
        """Use the groups given, or split the rows into about MOST_GROUPS groups of nearly equal size within a fold."""
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


def honest_choices(
    choice_terms: list[Stack], fold: NDArray[np.intp], rule: Rule, weight: NDArray[np.float64]
) -> list[int]:
    """Return the candidate chosen without each fold's rows, by the terms for that fold."""
    choices = []
    for each, stack in enumerate(choice_terms):
        others = np.where(fold == each, 0.0, weight)
        choices.append(rule.choose(stack, others if others.any() else weight))
    return choices


def honest_estimate(
    valued: CandidateValues,
    rule: Rule,
    method: str,
    level: float,
    random: np.random.RandomState,
    choice_terms: list[Stack] | None = None,
    notes: tuple[str, ...] = (),
) -> tuple[Estimate, list[int]]:
    """Estimate the value of the selection procedure, and return the candidate chosen for each fold.

    In the rows of a fold, the candidate counts that was chosen without the fold. `choice_terms` has the terms to choose
    by for each fold. By default they are those of `valued`, whose policies may have learned from this fold: the choice
    then depends on it a little.

    The standard error is that of the whole procedure, by the bootstrap: if candidates are close, the choice varies,
    too, and the variance between rows alone would be too small.
    """
    stack, fold, log = valued.stack, valued.fold, valued.log
    choice_terms = [valued.choice_terms] * valued.n_folds if choice_terms is None else choice_terms
    choices = honest_choices(choice_terms, fold, rule, np.ones(len(fold)))
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
            "that the candidate chosen without that row's fold takes. Use scoring='doubly_robust', or more rows."
        )
    sums, limits = diagnostics.WeightSums.of(weight), log.reward_range
    value, baseline, difference = _intervals(mixed, log, method, level, valued.group)
    groups = Groups.of(fold, valued.group)
    spreads = _resampled_spreads(groups, valued, [groups.sum_terms(each) for each in choice_terms], rule, random)
    serious = _doubts(log, sums)
    for text in serious:
        warn_caller(text)
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
    """Return the intervals of the choice, of the logging policy and of the difference, as `evaluate` does."""
    logged, weight = Terms(log.reward), np.asarray(mixed.weight)
    terms = [mixed, logged]
    without_model = [Terms(weight * log.reward, weight, weight=weight), logged] if method == "doubly_robust" else []
    if group is not None:
        terms, without_model = ([sum_by_group(each, group) for each in some] for some in (terms, without_model))
    size = diagnostics.WeightSums.of(np.asarray(terms[0].weight)).effective_rows
    plain = within(normal_intervals(terms, level, [size, float(len(terms[1].numerator))]), log.reward_range)
    known = RewardLimits.of(log.reward, log.reward_range, group)
    found = mid_p_intervals(plain, terms, known, level)
    first, second, gap = widened_by(found, without_model, known, level) if without_model else found
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
    groups: Groups, valued: CandidateValues, choice_terms: list[Stack], rule: Rule, random: np.random.RandomState
) -> tuple[float, float]:
    """Return bootstrap standard errors of the value and of the difference; each resample chooses anew."""
    if len(valued.stack.numerator) == 1:
        return 0.0, 0.0  # there is no choice
    stack, reward = groups.sum_terms(valued.stack), groups.sum(valued.log.reward)
    fold, n_groups = groups.fold, len(groups.fold)
    values, differences = [], []
    for _ in range(N_RESAMPLES):
        weight = random.multinomial(n_groups, np.full(n_groups, 1 / n_groups)).astype(np.float64)
        if len(np.unique(fold[weight > 0])) < valued.n_folds:
            continue  # a fold of few rows was not drawn
        choices = honest_choices(choice_terms, fold, rule, weight)
        below = _spliced(stack.counted, fold, choices) @ weight
        if below > 0:
            values.append(_spliced(stack.numerator, fold, choices) @ weight / below)
            differences.append(values[-1] - reward @ weight / (groups.n_in @ weight))
    return (float(np.std(values)), float(np.std(differences))) if len(values) > 1 else (0.0, 0.0)


def _widened(interval: Interval, stderr: float, limits: tuple[float, float]) -> Interval:
    """Return the interval, scaled to the standard error if that is larger."""
    if not stderr > interval.stderr > 0:
        return interval
    factor, value = stderr / interval.stderr, interval.value
    low, high = value - factor * (value - interval.low), value + factor * (interval.high - value)
    return Interval(value, stderr, max(low, limits[0]), min(high, limits[1]))


def _spliced(columns: NDArray[Any], fold: NDArray[np.intp], choices: list[int]) -> NDArray[Any]:
    """Return a column that takes each fold's rows from the candidate chosen without the fold."""
    return np.asarray(columns[np.asarray(choices)[fold], np.arange(len(fold))])
