"""What the rows of a log say of a number claimed, in sums: of a value, or of the difference of two."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation._diagnostics import WeightSums
from offsettree.evaluation._terms import Terms

__all__ = ["Claims", "Known", "LogSums", "claims_of", "missing_weight", "reach", "sums_of"]

Numbers = NDArray[np.float64]
BY_CHANCE = 2.0  # standard errors by which weights may be short of their mean
# Of what is short by more, standard errors that are put down to chance all the same; fewer where rewards count from 0:
# what is short is then missing from the estimate, whatever the rewards.
FORGIVEN = {False: 2.0, True: 1.0}


def _places(order: int) -> NDArray[np.intp]:
    """Return where the kernel keeps the sum of each product of `order` of four columns."""
    kept = {each: place for place, each in enumerate(combinations_with_replacement(range(4), order))}
    places = [kept[tuple(sorted(each))] for each in np.ndindex(*(4,) * order)]
    return np.array(places, dtype=np.intp).reshape((4,) * order)


_SQUARES, _CUBES = 4 + _places(2), 14 + _places(3)
# A row speaks of a claim by what it is off by, less a multiple that grows with the first value claimed, plus one that
# grows with the second: which of the kernel's columns these three are, for the first value, the second, the difference.
_PICKS = np.array(
    [
        [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]],
        [[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]],
        [[1, -1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
    ],
    dtype=np.float64,
)


@dataclass(frozen=True)
class Known:
    """What is known of the rewards of each log: their range, and how far that of a row not seen may reach.

    Without a range the extremes of the log stand for it. A further row reaches as far as large rewards of the log do,
    and on towards the ends of the range if few rewards differ: see `reach`.
    """

    low: Numbers
    high: Numbers
    least: Numbers
    most: Numbers
    is_range: bool

    @classmethod
    def of(cls, reward: Numbers, reward_range: tuple[float, float] | None) -> Self:
        """Look at all rewards of a log."""
        smallest, largest = float(reward.min()), float(reward.max())
        low, high = (smallest, largest) if reward_range is None else reward_range
        off = reward - reward.mean()
        unit = float(np.abs(off).max()) or 1.0  # cubes must not overflow
        off /= unit
        sides = [np.maximum(-off, 0.0), np.maximum(off, 0.0)]
        squares, cubes = [float(side @ side) for side in sides], [float((side * side) @ side) for side in sides]
        differing = (np.count_nonzero(reward < largest), np.count_nonzero(reward > smallest))
        least, most = (
            reach(end, reward.mean(), sign * unit * cube / (square or 1.0), n)
            for end, sign, square, cube, n in zip((low, high), (-1, 1), squares, cubes, differing, strict=True)
        )
        low_, high_, least_, most_ = np.array([[low], [high], [least], [most]])
        return cls(low_, high_, least_, most_, reward_range is not None)

    def of_logs(self, log: NDArray[np.intp]) -> Known:
        """Return what is known of each of the logs named; one that is alone stands for all."""
        low, high, least, most = (
            (each[log] if len(each) > 1 else np.broadcast_to(each, len(log)))
            for each in (self.low, self.high, self.least, self.most)
        )
        return Known(low, high, least, most, self.is_range)

    @property
    def has_width(self) -> bool:
        """Whether rewards could differ: else nothing tells what a further row might earn."""
        return bool((self.high > self.low).all())


def reach(end: Any, mean: Any, off: Any, n_differing: Any) -> Any:
    """Return the reward of a further row: large as those seen, and nearer to the end of the range if few differ.

    `off` is how far rewards on this side are off their mean, each counted by its square: a jump of that size corrects
    an end for skewness. Rewards of two kinds reach to the end of what was seen.
    """
    return mean + off + (end - mean - off) / (1 + n_differing)


@dataclass(frozen=True)
class LogSums:
    """What the rows of each log add up to, for one estimate or two. Every array has an entry, or a row, per log.

    `size` is what the weights are worth in rows of equal weight; `missing` is the weight that the log lacks: weights
    have the mean 1, and what is short of that beyond chance (`missing_weight`) belongs to rows not seen: of the first
    estimate, of the second, and of both where only rows count in which two policies differ. Sums are
    of weights in units of `unit`, so that cubes do not overflow.
    """

    moments: Numbers
    size: Numbers
    missing: Numbers
    unit: Numbers
    from_zero: NDArray[np.bool_]

    @classmethod
    def joined(cls, parts: list[LogSums]) -> LogSums:
        """Put the sums of several logs, or of several estimates on one log, below each other."""
        return cls(*(np.concatenate(column) for column in zip(*(vars(part).values() for part in parts), strict=True)))


def sums_of(terms: list[Terms], apart: NDArray[np.bool_] | None = None) -> LogSums:
    """Add up the rows of one estimate or of two, in one pass beside that for their means; see `mid_p_intervals`."""
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
        if apart is not None:
            missing[2 + i] = _missing(weight[i][apart], each.from_zero) * factor[i]
    unit = float(largest.max()) or 1.0
    moments = np.empty(N_SUMS)
    # Of a single estimate the second has the factor 0.
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
    """Return the weight that rows are short of by more than chance."""
    if len(weight) == 0:
        return 0.0
    sums = WeightSums.of(weight)
    return len(weight) * float(missing_weight(1 - sums.mean, sums.stderr, from_zero))


def missing_weight(short: Any, stderr: Any, from_zero: bool) -> Any:
    """Return how much of the weight that is short, on average, belongs to rows not seen: none if it may be chance."""
    return np.where(short > BY_CHANCE * stderr, short - FORGIVEN[from_zero] * stderr, 0.0)


@dataclass(frozen=True)
class Claims:
    """Numbers to be bounded, one per entry of each array: values, or differences of two values.

    Moments are of the three columns by which a row speaks. `above` and `below` are weights that a further row may have:
    heavy ones, as seen. `part` is how much of a change of a difference goes to the first value. `is_open` is where no
    row was logged that could speak.
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
    known: Known

    @property
    def value(self) -> Numbers:
        """The numbers as estimated."""
        return self.first - self.second

    @property
    def limits(self) -> Numbers:
        """What is possible at all: values lie in the range of rewards."""
        known, gap = self.known, self.is_difference
        return np.stack([known.low - gap * known.high, known.high - gap * known.low])

    @property
    def n_telling(self) -> Numbers:
        """How many rows alike, the rest being nothing, would be as skewed: the rare rewards seen, if they are few."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.squares[:, 0, 0] ** 3 / self.cubes[:, 0, 0, 0] ** 2)

    def taken(self, which: NDArray[np.intp]) -> Claims:
        """Return some of the claims."""
        parts = {name: each[which] for name, each in vars(self).items() if name != "known"}
        return Claims(**parts, known=self.known.of_logs(which))


def claims_of(sums: LogSums, values: Numbers, known: Known, which: tuple[int, ...] = (0, 1, 2)) -> Claims:
    """Return claims on first values, then on second ones, then on differences: those of the three that are asked for.

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
        # Where two values move apart, the one less known moves more.
        part=np.where(gap, size[:, 1] / np.maximum(size.sum(axis=1), 1e-300), 1.0),
        above=heavy[:, 0],
        below=-heavy[:, 1],
        missing_first=missing[np.arange(len(kind)), kind],
        missing_second=np.where(gap, missing[:, 3], 0.0),
        from_zero=np.where(second, sums.from_zero[log, 1], sums.from_zero[log, 0]),
        unit=sums.unit[log],
        known=known.of_logs(log),
    )
