"""What every action is worth if it is always taken: self-normalised estimates, pulled together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NO_NOISE = 1e-12  # the least variance, of rewards within 0 and 1


def shrunken_values(
    action: NDArray[np.intp], reward: NDArray[np.float64], propensity: NDArray[np.float64], n_actions: int
) -> NDArray[np.float64]:
    """Estimate the mean reward of always taking each action; one that was never logged gets the common mean.

    The self-normalised estimate m_a of an action, the mean of its rewards weighted by w = 1 / propensity, is taken to
    be normal around a true value with variance s_a^2 / n_a, where n_a = (sum w)^2 / sum w^2 are its effective rows.
    True values are taken to be normal around a common mean m with variance t^2. What is returned is the mean of the
    true value given the log, m + t^2 / (t^2 + s_a^2 / n_a) (m_a - m).

    s_a^2 is the variance of the action's own rewards, or of the rewards within all actions if that is larger: of two
    rows that earned the same nobody knows the variance, and a row that earned a hundred times the usual must not pass
    for certain. t^2 is found by the method of moments (DerSimonian and Laird 1986), and is at least the squared
    standard error of m: where the log cannot tell actions apart, the order is that of the evidence, not a tie.
    """
    weight = 1 / propensity
    total = np.asarray(np.bincount(action, weight, n_actions), dtype=np.float64)
    logged = np.flatnonzero(total > 0)
    total = total[logged]
    rows = total**2 / np.bincount(action, weight**2, n_actions)[logged]
    mean = np.bincount(action, weight * reward, n_actions)[logged] / total
    where = np.searchsorted(logged, action)
    squares = np.bincount(where, weight * (reward - mean[where]) ** 2, len(logged)).astype(np.float64)
    centre, pulled = shrunken_from_sums(total, rows, mean, squares)
    values = np.full(n_actions, centre)
    values[logged] = pulled
    return values


def shrunken_from_sums(
    total: NDArray[np.float64], rows: NDArray[np.float64], mean: NDArray[np.float64], squares: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return the common mean, and the estimates of actions that were logged, from sums over the rows of each.

    `total` is that of the weights, `rows` are the effective ones, `mean` is the self-normalised estimate, and `squares`
    the sum of weight * (reward - mean)^2.
    """
    free = total * np.maximum(1 - 1 / rows, 0)  # what squares are expected to be, in units of the variance
    pooled = squares.sum() / free.sum() if rows.max() > 1 + 1e-9 else 1.0  # one row each says nothing of noise
    own = np.divide(squares, free, out=np.zeros(len(mean)), where=rows > 1 + 1e-9)
    variance = np.maximum(np.maximum(own, pooled), NO_NOISE) / rows
    between = _between(mean, variance)
    share = 1 / (variance + between)
    centre = float((share / share.sum()) @ mean)
    return centre, centre + between / (between + variance) * (mean - centre)


def _between(mean: NDArray[np.float64], variance: NDArray[np.float64]) -> float:
    """Return the variance of true values of which estimates of known variances are given."""
    share = 1 / variance
    total = share.sum()
    excess = share @ (mean - share @ mean / total) ** 2 - (len(mean) - 1)
    spread = total - share @ share / total
    return float(max(excess / spread if spread > 1e-9 * total else 0.0, 1 / total))
