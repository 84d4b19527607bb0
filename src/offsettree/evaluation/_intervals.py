"""Asymptotic intervals, for long logs: by the central limit theorem, and by the bootstrap."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from offsettree.evaluation._terms import Terms
from offsettree.evaluation.estimate import Interval

N_RESAMPLES = 1000
BLOCK = 2048  # rows of four numbers: 64 kB
N_TASKS = 8
TINY = 1e-280  # smaller sums of squares have lost digits to underflow


def normal_intervals(terms: list[Terms], level: float, effective_rows: list[float]) -> list[Interval]:
    """Return the normal intervals of one estimate; or of two, and of their difference.

    The variance of a ratio is by the delta method: a row's residual is numerator - value * denominator. The quantile is
    Student's, with the effective sample size less 1 as degrees of freedom.
    """
    columns = [(term.numerator, term.counted) for term in terms]
    means = [(above.mean(), below.mean()) for above, below in columns]
    values = [float(above / below) for above, below in means]
    stderrs = _stderrs(columns, values, [float(below) for _, below in means])
    sizes = list(effective_rows)
    if len(terms) == 2:
        values.append(values[0] - values[1])
        sizes.append(min(sizes))
    return [_around(*each, level) for each in zip(values, stderrs, sizes, strict=True)]


def _around(value: float, stderr: float, effective_rows: float, level: float) -> Interval:
    if effective_rows <= 1 + 1e-9:  # a single row has no variance
        return Interval(value, np.inf, -np.inf, np.inf)
    # Bessel's correction; for equal weights it divides by n - 1 in place of n.
    stderr /= float(np.sqrt(1 - 1 / effective_rows))
    margin = float(stdtrit(max(effective_rows - 1, 1), (1 + level) / 2)) * stderr
    return Interval(value, stderr, value - margin, value + margin)


def _stderrs(
    columns: list[tuple[NDArray[np.float64], NDArray[np.float64]]], values: list[float], means: list[float]
) -> list[float]:
    """Return the standard errors of one ratio; or of two, and of their difference. `means` are of denominators."""
    from offsettree.evaluation._kernels_sums import squared_residuals

    n_rows, (first, second) = len(columns[0][0]), (columns[0], columns[-1])
    squares, unit = np.empty(3), 1.0
    for _ in range(2):
        # Residuals, not raw moments, which lose digits to cancellation if rewards have a large common part.
        squared_residuals(*first, *second, np.resize(values, 2), 1 / np.resize(means, 2) / unit, squares)
        if np.isfinite(squares).all() and squares.max() > TINY:
            break
        # Squares overflowed or underflowed: repeat in units of the largest residual.
        off = [np.abs(above - v * below).max() / m for (above, below), v, m in zip(columns, values, means, strict=True)]
        unit = float(max(off)) or 1.0
    return [unit * float(np.sqrt(square) / n_rows) for square in squares[: 2 * len(columns) - 1]]


def bootstrap_values(
    terms: list[Terms], random: np.random.RandomState, n_resamples: int = N_RESAMPLES
) -> list[NDArray[np.float64]]:
    """Return the values of one or two estimates on bootstrap resamples of the log, the same resamples for both.

    A resample without any weight has the value NaN. Memory does not grow with the number of rows times resamples.
    """
    from offsettree.evaluation._kernels_bootstrap import add_draws

    n_rows = len(terms[0].numerator)
    columns = np.zeros((n_rows, 4))
    for i, term in enumerate(terms):
        columns[:, 2 * i] = term.numerator
        columns[:, 2 * i + 1] = term.counted
    starts = np.append(np.arange(0, n_rows, BLOCK), n_rows)
    sizes = np.diff(starts)
    generator = np.random.default_rng(random.randint(np.iinfo(np.int32).max, size=4))
    counts = generator.multinomial(n_rows, sizes / n_rows, size=n_resamples)
    seeds = generator.integers(0, np.iinfo(np.uint64).max, size=len(sizes), dtype=np.uint64)
    # The number of tasks is fixed, so that the order of summation, and the last digit, is the same on every machine.
    cuts = np.linspace(0, len(sizes), N_TASKS + 1).astype(int).tolist()
    sums = np.zeros((N_TASKS, n_resamples, 4))

    def draw(task: int) -> None:
        add_draws(columns, counts, starts, seeds, cuts[task], cuts[task + 1], sums[task])

    with ThreadPoolExecutor(min(N_TASKS, os.cpu_count() or 1)) as pool:
        list(pool.map(draw, range(N_TASKS)))
    total = sums.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return [
            np.where(total[:, 2 * i + 1] > 0, total[:, 2 * i] / total[:, 2 * i + 1], np.nan) for i in range(len(terms))
        ]


def bootstrapped(plain: list[Interval], values: list[NDArray[np.float64]], level: float) -> list[Interval]:
    """Replace ends and standard errors by bootstrap quantiles and deviations; with two estimates also the difference.

    An infinite standard error stays: the resamples would only repeat the single matched row.
    """
    if len(values) == 2:
        values = [*values, values[0] - values[1]]
    replaced = []
    for old, resampled in zip(plain, values, strict=True):
        if not np.isfinite(old.stderr):
            replaced.append(old)
            continue
        known = resampled[~np.isnan(resampled)]
        low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
        replaced.append(Interval(old.value, float(known.std()), float(low), float(high)))
    return replaced
