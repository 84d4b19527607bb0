"""Ends of intervals that hold for every number of rows, of means of bounded terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Controlled", "Way", "bernstein_ends", "betting_ends"]


@dataclass(frozen=True)
class Controlled:
    """A mean of u * reward to be bounded, of which it is known that u has the mean `mean_u` and lies in an interval.

    For a policy's value u is the weight, whose mean is 1; for a difference it is that of two weights, with mean 0. So
    c may be subtracted from the rewards, which makes the spread smaller, and given back. Rewards are in [0, 1].
    """

    u: NDArray[np.float64]
    reward: NDArray[np.float64]
    mean_u: float
    low_u: float
    high_u: float

    @property
    def reach(self) -> float:
        """The largest size that u may have."""
        return max(abs(self.low_u), abs(self.high_u))

    @property
    def least(self) -> float:
        """The least that the mean may be: a value is in [0, 1], a difference in [-1, 1]."""
        return 0.0 if self.mean_u > 0 else -1.0

    def minus(self, other: Self) -> Controlled:
        """Return the difference of two values on the same rows."""
        return Controlled(self.u - other.u, self.reward, 0.0, self.low_u - other.high_u, self.high_u - other.low_u)


def bernstein_ends(mean: Controlled, level: float) -> tuple[float, float]:
    """Return the empirical Bernstein interval (Maurer and Pontil, 2009, theorem 4) of u (reward - 1/2) + mean_u / 2."""
    terms = mean.u * (mean.reward - 0.5) + 0.5 * mean.mean_u
    n_rows = len(terms)
    if n_rows < 2:
        return mean.least, 1.0
    log_share = np.log(4 / (1 - level))  # two sides
    margin = np.sqrt(2 * terms.var(ddof=1) * log_share / n_rows) + 7 * mean.reach * log_share / (3 * (n_rows - 1))
    return max(mean.least, float(terms.mean() - margin)), min(1.0, float(terms.mean() + margin))


@dataclass(frozen=True)
class Way:
    """Terms to bet on whose mean, given the rows before, is the one sought; they lie between floor and ceiling."""

    terms: NDArray[np.float64]
    floor: float
    ceiling: float
    variance: float  # a guess of that of the terms, for the first bets


def betting_ends(
    mean: Controlled, level: float, also: list[Way] | None = None, *, is_anytime: bool = False
) -> tuple[float, float]:
    """Return the betting interval (Waudby-Smith and Ramdas, 2024) of a mean; rows must be in random order.

    With `is_anytime` rows are in the order in which they came, and all intervals that are made as rows come hold
    together (Waudby-Smith and others, 2022): stakes do not depend on how many rows there will be.

    All m are left out at which a gambler who bets that the mean is not m would have multiplied his money by
    2 / (1 - level) on the way; to do so by luck has at most that chance. He shares the money among two ways: terms
    whose spread is lessened by c, for which u must be bounded; and for each end terms that have a bound on the side
    where he may lose even if u has none. `also` are further ways.
    """
    low = _betting_end(mean, 1.0, level, also or [], is_anytime)
    high = -_betting_end(mean, -1.0, level, also or [], is_anytime)
    return low, max(low, high)


def _betting_end(mean: Controlled, sign: float, level: float, also: list[Way], is_anytime: bool) -> float:
    from offsettree.evaluation._kernels_betting import bet_sizes, controlled_terms, log_wealth

    n_rows = len(mean.u)
    # With c at 0 the terms sign * u * reward, with c at 1 those of 1 - reward, are not below what low_u allows.
    without_bound = 0.0 if sign > 0 else 1.0
    controls = [-1.0, without_bound] if np.isfinite(mean.high_u) and mean.high_u > mean.low_u else [without_bound]
    n_ways = len(controls) + len(also)
    terms, floors, bets = np.empty((n_ways, n_rows)), np.empty((n_ways, n_rows)), np.empty((n_ways, n_rows))
    goal = float(np.log(2 / (1 - level)))
    for i, control in enumerate(controls):
        controlled_terms(mean.u, mean.reward, mean.mean_u, mean.low_u, mean.high_u, control, sign, terms[i], floors[i])
    for i, way in enumerate(also, len(controls)):
        terms[i] = sign * way.terms
        floors[i] = min(sign * way.floor, sign * way.ceiling)
    # (r - c)^2 is about 1/4, and u^2 about as large as u where it is not small.
    guess = 0.25 * min(mean.reach, 1e6) if np.isfinite(mean.reach) else 1.0
    for i in range(n_ways):
        variance = guess if i < len(controls) else also[i - len(controls)].variance
        bet_sizes(terms[i], sign * 0.5 * mean.mean_u, variance, goal, is_anytime, bets[i])
    low, high = (mean.least, 1.0) if sign > 0 else (-1.0, -mean.least)
    if log_wealth(terms, floors, bets, low) < goal:
        return low
    # Wealth falls as the mean claimed rises.
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if log_wealth(terms, floors, bets, middle) >= goal else (low, middle)
    return low
