"""Which of several estimates to trust: the choice, and what the chosen one is worth after having looked."""

from __future__ import annotations

import warnings
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

__all__ = ["Stack", "describe", "honest_choices", "honest_estimate"]

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


def honest_choices(
    stack: Stack, fold: NDArray[np.intp], within: float, weight: NDArray[np.float64] | None = None
) -> list[int]:
    """Return, for each fold, who would have been chosen without it."""
    counts = np.ones(len(fold)) if weight is None else weight
    return [stack.choose(within, np.where(fold == each, 0.0, counts)) for each in range(int(fold.max()) + 1)]


def honest_estimate(
    compared: list[Compared],
    log: Log,
    fold: NDArray[np.intp],
    method: str,
    within: float,
    level: float,
    random: np.random.RandomState,
) -> tuple[Estimate, list[int]]:
    """Estimate what choosing is worth: in the rows of each fold, by who was chosen without it; and tell who that was.

    The standard error is that of the whole procedure, resampled: where the rows leave it open who is best, the choice
    varies as well, and the spread of the rows alone would promise too much.
    """
    stack = Stack.of([each.terms for each in compared])
    choices = honest_choices(stack, fold, within)
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
    spread, spread_of_difference = _resampled_spread(stack, log.reward, fold, within, random)
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
        **vars(_widened(value, spread)),
        level=float(level),
        method=method,
        interval="normal",
        n_rows=len(fold),
        n_matched=sums.n_matched,
        effective_rows=sums.effective_rows,
        max_weight=sums.largest,
        baseline=baseline,
        difference=_widened(difference, spread_of_difference),
        warnings=(*serious, *diagnostics.of_weights(weight, sums)),
    )
    return estimate, choices


def _resampled_spread(
    stack: Stack, reward: NDArray[np.float64], fold: NDArray[np.intp], within: float, random: np.random.RandomState
) -> tuple[float, float]:
    """Return the standard deviations of value and difference to the log, when rows are drawn and chosen by anew."""
    if len(stack.numerator) == 1:
        return 0.0, 0.0  # there is no choice
    if len(fold) > MOST_GROUPS:
        order = np.argsort(fold, kind="stable")
        # Rows of one fold each, and as many of them in every group as can be.
        per_fold = np.bincount(fold)
        sizes = [np.diff(np.linspace(0, n, MOST_GROUPS // len(per_fold) + 1).astype(int)) for n in per_fold]
        starts = np.cumsum(np.concatenate([[0], *sizes]))[:-1]
        stack = Stack(
            np.add.reduceat(stack.numerator[:, order], starts, axis=1),
            np.add.reduceat(stack.counted[:, order], starts, axis=1),
        )
        reward, n_in = np.add.reduceat(reward[order], starts), np.concatenate(sizes).astype(np.float64)
        fold = fold[order][starts]
    else:
        n_in = np.ones(len(fold))
    values, differences = [], []
    for _ in range(N_RESAMPLES):
        weight = random.multinomial(len(fold), np.full(len(fold), 1 / len(fold))).astype(np.float64)
        if len(np.unique(fold[weight > 0])) <= int(fold.max()):
            continue  # a fold of few rows was not drawn
        choices = honest_choices(stack, fold, within, weight)
        below = _spliced(stack.counted, fold, choices) @ weight
        if below > 0:
            values.append(_spliced(stack.numerator, fold, choices) @ weight / below)
            differences.append(values[-1] - reward @ weight / (n_in @ weight))
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
