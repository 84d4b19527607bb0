"""Kernels of betting intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offsettree._jit import kernel


@kernel
def controlled_terms(
    u: NDArray[np.float64],
    reward: NDArray[np.float64],
    mean_u: float,
    low_u: float,
    high_u: float,
    fixed: float,
    sign: float,
    terms: NDArray[np.float64],
    floors: NDArray[np.float64],
) -> None:
    """Write the terms sign * (u (reward - c) + mean_u c), and the smallest value that each could have had.

    Their mean is that of sign * u * reward, as long as c depends on earlier rows only. If `fixed` is negative, c is the
    value that minimises the variance of the rows so far; else it is `fixed`.
    """
    prior = 1.0 + high_u - low_u
    above, below = 0.5 * prior, prior
    for row in range(len(u)):
        c = min(1.0, max(0.0, above / below)) if fixed < 0 else fixed
        terms[row] = sign * (u[row] * (reward[row] - c) + mean_u * c)
        # The product is smallest at an extreme of u and of the reward.
        least = np.inf
        if c > 0 or fixed < 0:  # bounds may be infinite, and infinity times 0 is NaN
            least = min(sign * -low_u * c, sign * -high_u * c)
        if c < 1 or fixed < 0:
            least = min(least, sign * low_u * (1 - c), sign * high_u * (1 - c))
        if c == 0 or c == 1:
            least = min(least, 0.0)
        floors[row] = least + sign * mean_u * c
        above += u[row] * (u[row] - mean_u) * reward[row]
        below += u[row] * u[row] - mean_u * mean_u


@kernel
def bet_sizes(
    terms: NDArray[np.float64],
    prior_mean: float,
    prior_variance: float,
    log_goal: float,
    is_anytime: bool,
    bets: NDArray[np.float64],
) -> None:
    """Write the bet on every row, from the variance of the rows before it.

    Bets are tuned for the last row or, with `is_anytime`, for all numbers of rows at once.
    """
    n_rows = len(terms)
    total, squares = prior_mean, prior_variance
    for row in range(n_rows):
        variance = squares / (row + 1)
        rows = (row + 1) * np.log(row + 2.0) if is_anytime else n_rows
        bets[row] = np.sqrt(2 * log_goal / (rows * max(variance, 1e-12)))
        total += terms[row]
        off = terms[row] - total / (row + 2)
        squares += off * off


@kernel
def log_wealth(
    terms: NDArray[np.float64], floors: NDArray[np.float64], bets: NDArray[np.float64], mean: float
) -> float:
    """Return the log of the largest wealth reached at any row by betting that the true mean is above `mean`.

    Every row of `terms`, `floors` and `bets` is one strategy; the wealth is split equally among them at the start. A
    strategy never stakes more than three quarters of its wealth.
    """
    n_strategies, n_rows = terms.shape
    logs = np.zeros(n_strategies)
    largest = 0.0
    for start in range(0, n_rows, 8):
        stop = min(start + 8, n_rows)
        for strategy in range(n_strategies):
            product = 1.0
            for row in range(start, stop):
                stake, gap = bets[strategy, row], mean - floors[strategy, row]
                if gap > 0:  # else the term cannot fall below the mean
                    stake = min(stake, 0.75 / gap)
                product *= 1.0 + stake * (terms[strategy, row] - mean)
            logs[strategy] += np.log(product)
        # As log(mean(exp(logs))), without overflow.
        top = logs.max()
        total = 0.0
        for strategy in range(n_strategies):
            total += np.exp(logs[strategy] - top)
        largest = max(largest, top + np.log(total / n_strategies))
    return largest
