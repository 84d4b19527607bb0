"""Sums over a log's rows from which mid-P intervals are computed.

A claim is a hypothesised number: a policy's value, or the difference of two values. The interval holds the claims that
the rows do not reject. "First" and "second" are the two estimates compared, such as a policy and its baseline.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation._diagnostics import WeightSums
from offsettree.evaluation._reward_limits import RewardLimits
from offsettree.evaluation._terms import Terms

Numbers = NDArray[np.float64]
BY_CHANCE = 2.0  # standard errors by which the mean weight may fall below 1 by chance
# Of a larger shortfall, this many standard errors still count as chance. Fewer with `Terms.from_zero`: there the
# shortfall lowers the estimate itself, whatever the rewards.
FORGIVEN = {False: 2.0, True: 1.0}
ROUNDING = 1e-9  # of the range of rewards: smaller residuals are errors of rounding


def _places(order: int) -> NDArray[np.intp]:
    """Return the kernel's index of the sum of each product of `order` of its four columns."""
    kept = {each: place for place, each in enumerate(combinations_with_replacement(range(4), order))}
    places = [kept[tuple(sorted(each))] for each in np.ndindex(*(4,) * order)]
    return np.array(places, dtype=np.intp).reshape((4,) * order)


_SQUARES, _CUBES = 4 + _places(2), 14 + _places(3)
# A row's score for a claim is linear: residual - (first - its estimate) * x + (second - its estimate) * y. These
# matrices pick residual, x and y from the kernel's columns (a, b, x, y), for first value, second value and difference.
_PICKS = np.array(
    [
        [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]],
        [[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]],
        [[1, -1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
    ],
    dtype=np.float64,
)


@dataclass(frozen=True)
class LogSums:
    """Sums over the rows of each log, for one or two estimates. Every array has one entry, or one row, per log.

    `size` is the effective sample size. `missing` is the weight of rows not seen: weights should have the mean 1, and
    a shortfall beyond chance (`missing_weight`) is missing. Its four columns are the first and the second estimate,
    over all rows, then over rows in which the two policies differ. Weights are divided by `unit`, so that cubes do not
    overflow.
    """

    moments: Numbers
    size: Numbers
    missing: Numbers
    unit: Numbers
    from_zero: NDArray[np.bool_]

    @classmethod
    def joined(cls, parts: list[LogSums]) -> LogSums:
        """Stack the sums of several logs, or of several estimates on one log."""
        return cls(*(np.concatenate(column) for column in zip(*(vars(part).values() for part in parts), strict=True)))


def sums_of(terms: list[Terms], differing: NDArray[np.bool_] | None = None) -> LogSums:
    """Sum the rows of one or two estimates. `differing` is as in `mid_p_intervals`."""
    from offsettree.evaluation._kernels_moments import N_SUMS, add_moments

    n_rows = len(terms[0].numerator)
    size, mean, factor, largest, missing = np.full(2, float(n_rows)), *np.zeros((3, 2)), np.zeros(4)
    below = [each.counted for each in terms]
    weight = [np.ones(n_rows) if each.weight is None else each.weight for each in terms]
    for i, each in enumerate(terms):
        sums, total = WeightSums.of(weight[i]), float(below[i].sum())
        mean[i], factor[i] = each.numerator.sum() / total, n_rows / total
        size[i], largest[i] = sums.effective_rows, sums.largest * factor[i]
        missing[i::2] = _missing(weight[i], each.from_zero) * factor[i]
        if differing is not None:
            missing[2 + i] = _missing(weight[i][differing], each.from_zero) * factor[i]
    unit = float(largest.max()) or 1.0
    moments = np.empty(N_SUMS)
    # With a single estimate, the second one has the factor 0.
    add_moments(
        terms[0].numerator,
        below[0],
        weight[0],
        terms[-1].numerator,
        below[-1],
        weight[-1],
        mean,
        factor / unit,
        moments,
    )
    from_zero = np.array([[terms[0].from_zero, terms[-1].from_zero]])
    return LogSums(moments[np.newaxis], size[np.newaxis], missing[np.newaxis] / unit, np.array([unit]), from_zero)


def _missing(weight: Numbers, from_zero: bool) -> float:
    """Return the total weight missing from these rows, beyond chance."""
    if len(weight) == 0:
        return 0.0
    sums = WeightSums.of(weight)
    return len(weight) * float(missing_weight(1 - sums.mean, sums.stderr, from_zero))


def missing_weight(short: Any, stderr: Any, from_zero: bool) -> Any:
    """Return the part of the mean weight's shortfall that belongs to rows not seen; 0 if chance explains it."""
    return np.where(short > BY_CHANCE * stderr, short - FORGIVEN[from_zero] * stderr, 0.0)


@dataclass(frozen=True)
class Claims:
    """Quantities to bound, one per entry of each array: values, or differences of two values.

    `sums`, `squares` and `cubes` are moments of the three columns of `_PICKS`. `above` and `below` are the weights
    assumed for an unseen row, as heavy as the heavy ones seen. When a claimed difference moves, `part` of the move goes
    to the first value. `is_open` marks quantities of which no logged row has weight.
    """

    sums: Numbers
    squares: Numbers
    cubes: Numbers
    first: Numbers
    second: Numbers
    is_difference: NDArray[np.bool_]
    is_open: NDArray[np.bool_]
    part: Numbers
    above: Numbers
    below: Numbers
    missing_first: Numbers
    missing_second: Numbers
    from_zero: NDArray[np.bool_]
    unit: Numbers
    known: RewardLimits

    @property
    def value(self) -> Numbers:
        """The estimates."""
        return self.first - self.second

    @property
    def limits(self) -> Numbers:
        """Smallest and largest possible number: values lie in the range of rewards."""
        known, gap = self.known, self.is_difference
        return np.stack([known.low - gap * known.high, known.high - gap * known.low])

    @property
    def n_informative(self) -> Numbers:
        """The number of equal nonzero rows that would be as skewed: about the number of rare rewards seen."""
        # Matched rewards that are all equal differ from their mean by rounding only: no row is informative.
        smallest = ROUNDING * (self.known.high - self.known.low)
        is_seen = self.squares[:, 0, 0] > smallest**2 * (self.squares[:, 1, 1] + self.squares[:, 2, 2])
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(is_seen, self.squares[:, 0, 0] ** 3 / self.cubes[:, 0, 0, 0] ** 2, 0.0)

    def taken(self, which: NDArray[np.intp]) -> Claims:
        """Return the claims at these indices."""
        parts = {name: each[which] for name, each in vars(self).items() if name != "known"}
        return Claims(**parts, known=self.known.of_logs(which))


def claims_of(sums: LogSums, values: Numbers, known: RewardLimits, which: tuple[int, ...] = (0, 1, 2)) -> Claims:
    """Return the claims on first values (0), second values (1) and differences (2), as listed in `which`.

    `values` are the estimates, of shape (n_logs, 2).
    """
    n_logs, kind = len(values), np.repeat(which, len(values))
    log = np.tile(np.arange(n_logs), len(which))
    picks = _PICKS[kind]
    moments, weights = sums.moments[log], sums.moments[log, 34:].reshape(-1, 3, 2, 2)[np.arange(len(kind)), kind]
    second, gap = kind == 1, kind == 2
    with np.errstate(invalid="ignore", divide="ignore"):
        heavy = np.where(weights[..., 0] > 0, weights[..., 1] / weights[..., 0], 0.0)
    size, missing = sums.size[log], sums.missing[log]
    return Claims(
        sums=np.einsum("mpi,mi->mp", picks, moments[:, :4]),
        squares=np.einsum("mpi,mqj,mij->mpq", picks, picks, moments[:, _SQUARES], optimize=True),
        cubes=np.einsum("mpi,mqj,mrk,mijk->mpqr", picks, picks, picks, moments[:, _CUBES], optimize=True),
        first=np.where(second, values[log, 1], values[log, 0]),
        second=np.where(gap, values[log, 1], 0.0),
        is_difference=gap,
        is_open=np.where(gap, size.min(axis=1), np.where(second, size[:, 1], size[:, 0])) == 0,
        # The value with the smaller effective sample size moves more.
        part=np.where(gap, size[:, 1] / np.maximum(size.sum(axis=1), 1e-300), 1.0),
        above=heavy[:, 0],
        below=-heavy[:, 1],
        missing_first=missing[np.arange(len(kind)), kind],
        missing_second=np.where(gap, missing[:, 3], 0.0),
        from_zero=np.where(second, sums.from_zero[log, 1], sums.from_zero[log, 0]),
        unit=sums.unit[log],
        known=known.of_logs(log),
    )
