"""Intervals that hold for long logs: by the central limit theorem, and by resampling."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from offsettree.evaluation._terms import Terms
from offsettree.evaluation.estimate import Interval

__all__ = ["bootstrap_values", "bootstrapped", "normal_interval"]

N_RESAMPLES = 1000
BLOCK = 2048  # rows of four numbers: 64 kB
N_TASKS = 8


def normal_interval(value: float, influence: NDArray[np.float64], level: float, effective_rows: float) -> Interval:
    """Return the interval of the central limit theorem, with Student's quantile for the rows that count.

    At an effective size of many rows that is the normal one. Of a single row no spread is known.
    """
    n_rows = len(influence)
    if n_rows < 2 or effective_rows <= 1 + 1e-9:
        return Interval(value, np.inf, -np.inf, np.inf)
    # As n - 1 is for equal weights: what few rows say of their own spread is too little.
    shrunk = 1 - 1 / effective_rows
    stderr = float(influence.std() / np.sqrt(n_rows * shrunk))
    margin = float(stats.t.ppf((1 + level) / 2, max(effective_rows - 1, 1))) * stderr
    return Interval(value, stderr, value - margin, value + margin)


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
        columns[:, 2 * i + 1] = 1.0 if term.denominator is None else term.denominator
    starts = np.append(np.arange(0, n_rows, BLOCK), n_rows)
    sizes = np.diff(starts)
    generator = np.random.default_rng(random.randint(np.iinfo(np.int32).max, size=4))
    counts = generator.multinomial(n_rows, sizes / n_rows, size=n_resamples)
    seeds = generator.integers(0, np.iinfo(np.uint64).max, size=len(sizes), dtype=np.uint64)
    # As many tasks on every machine: the order of sums, and so the last digit, does not depend on it.
    cuts = np.linspace(0, len(sizes), N_TASKS + 1).astype(int)
    sums = np.zeros((N_TASKS, n_resamples, 4))
    with ThreadPoolExecutor(min(N_TASKS, os.cpu_count() or 1)) as pool:
        list(
            pool.map(
                lambda task: add_draws(columns, counts, starts, seeds, cuts[task], cuts[task + 1], sums[task]),
                range(N_TASKS),
            )
        )
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
