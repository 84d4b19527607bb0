"""Intervals that hold for long logs: by the central limit theorem, and by resampling."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from offsettree.evaluation._terms import Terms
from offsettree.evaluation.estimate import Interval

__all__ = ["bootstrap_values", "bootstrapped", "normal_intervals"]

N_RESAMPLES = 1000
BLOCK = 2048  # rows of four numbers: 64 kB
N_TASKS = 8


def normal_intervals(terms: list[Terms], level: float, effective_rows: list[float]) -> list[Interval]:
    """Return the intervals of the central limit theorem of one estimate; or of two, and of their difference.

    A ratio is linear in its two sums where they vary little, so that the covariances of all sums tell the spread.
    With Student's quantile for the rows that count: at an effective size of many rows the normal one.
    """
    means, covariance = _moments(terms)
    n_rows = len(terms[0].numerator)
    values, slopes = [], []
    for i in range(len(terms)):
        above, below = means[2 * i], means[2 * i + 1]
        values.append(float(above / below))
        slopes.append(np.zeros(4))
        slopes[i][2 * i : 2 * i + 2] = 1 / below, -above / below**2
    sizes = list(effective_rows)
    if len(terms) == 2:
        values.append(values[0] - values[1])
        slopes.append(slopes[0] - slopes[1])
        sizes.append(min(sizes))
    variances = [max(float(slope @ covariance @ slope), 0.0) / n_rows for slope in slopes]
    return [_around(*each, level) for each in zip(values, variances, sizes, strict=True)]


def _around(value: float, variance: float, effective_rows: float, level: float) -> Interval:
    if effective_rows <= 1 + 1e-9:  # of a single row no spread is known
        return Interval(value, np.inf, -np.inf, np.inf)
    # As n - 1 is for equal weights: few rows show too little of their own spread.
    stderr = float(np.sqrt(variance / (1 - 1 / effective_rows)))
    margin = float(stdtrit(max(effective_rows - 1, 1), (1 + level) / 2)) * stderr
    return Interval(value, stderr, value - margin, value + margin)


def _moments(terms: list[Terms]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and covariances of numerators and denominators."""
    from offsettree.evaluation._kernels_sums import joint_moments

    columns = [column for term in terms for column in (term.numerator, term.counted)]
    columns += columns[: 4 - len(columns)]
    # Around what the first rows are like, so that large numbers that vary little lose no digits.
    around = np.array([column[:100].mean() for column in columns])
    means, products = np.empty(4), np.empty((4, 4))
    first, second, third, fourth = columns
    joint_moments(first, second, third, fourth, around, means, products)
    return means + around, products - np.outer(means, means)


def bootstrap_values(
    terms: list[Terms], random: np.random.RandomState, n_resamples: int = N_RESAMPLES
) -> list[NDArray[np.float64]]:
    """Return the values of one or two estimates on logs drawn from the log with replacement, the same for both.

    A resample without any weight has no value: NaN. Memory does not grow with the number of rows times resamples.
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
    # As many tasks on every machine: the order of sums, and so the last digit, does not depend on it.
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
    """Replace ends and standard errors by those of the values on resampled logs; of two also for the difference."""
    if len(values) == 2:
        values = [*values, values[0] - values[1]]
    replaced = []
    for old, resampled in zip(plain, values, strict=True):
        known = resampled[~np.isnan(resampled)]
        low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
        replaced.append(Interval(old.value, float(known.std()), float(low), float(high)))
    return replaced
