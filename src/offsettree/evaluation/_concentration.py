"""Concentration bounds for means of bounded terms, which hold for every number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ControlledMean:
    """The mean of u * reward, to be bounded; u has the known mean `mean_u` and lies in [low_u, high_u].

    For a policy's value, u is the weight, with mean 1. For a difference, u is the difference of two weights, with mean
    0. As the mean of u is known, c * u is a control variate: u * (reward - c) + mean_u * c has the same mean and less
    variance. Rewards are in [0, 1].
    """

    u: NDArray[np.float64]
    reward: NDArray[np.float64]
    mean_u: float
    low_u: float
    high_u: float

    @property
    def reach(self) -> float:
        """The largest possible |u|."""
        return max(abs(self.low_u), abs(self.high_u))

    @property
    def least(self) -> float:
        """The smallest possible mean: a value is in [0, 1], a difference in [-1, 1]."""
        return 0.0 if self.mean_u > 0 else -1.0

    def minus(self, other: Self) -> ControlledMean:
        """Return the difference of two values on the same rows."""
        return ControlledMean(self.u - other.u, self.reward, 0.0, self.low_u - other.high_u, self.high_u - other.low_u)


def bernstein_ends(mean: ControlledMean, level: float) -> tuple[float, float]:
    """Return the empirical Bernstein interval (Maurer and Pontil, 2009, theorem 4) of u (reward - 1/2) + mean_u / 2."""
    terms = mean.u * (mean.reward - 0.5) + 0.5 * mean.mean_u
    n_rows = len(terms)
    if n_rows < 2:
        return mean.least, 1.0
    log_share = np.log(4 / (1 - level))  # two sides
    margin = np.sqrt(2 * terms.var(ddof=1) * log_share / n_rows) + 7 * mean.reach * log_share / (3 * (n_rows - 1))
    return max(mean.least, float(terms.mean() - margin)), min(1.0, float(terms.mean() + margin))


@dataclass(frozen=True)
class BetTerms:
    """Terms whose conditional mean given earlier rows is the mean sought; they lie between floor and ceiling."""

    terms: NDArray[np.float64]
    floor: float
    ceiling: float
    variance: float  # prior guess, for the first bets


def betting_ends(
    mean: ControlledMean, level: float, also: list[BetTerms] | None = None, *, is_anytime: bool = False
) -> tuple[float, float]:
    """Return the betting interval (Waudby-Smith and Ramdas, 2024) of a mean; rows must be in random order.

    With `is_anytime`, rows are in the order in which they were logged, and the intervals of all prefixes hold jointly
    (Waudby-Smith and others, 2022): bets do not depend on the number of rows to come.

    A candidate mean m is excluded if betting against it multiplies the wealth by 2 / (1 - level) at any row. If m is
    true, that has at most the probability (1 - level) / 2 (Ville's inequality). The wealth is split among several terms
    with the same mean: with the control variate of least variance (u must be bounded); for each end, terms bounded on
    the side where the bet may lose, even if u is not; and those in `also`.
    """
    low = _betting_end(mean, 1.0, level, also or [], is_anytime)
    high = -_betting_end(mean, -1.0, level, also or [], is_anytime)
    return low, max(low, high)


def _betting_end(mean: ControlledMean, sign: float, level: float, also: list[BetTerms], is_anytime: bool) -> float:
    from offsettree.evaluation._kernels_betting import bet_sizes, controlled_terms, log_wealth

    n_rows = len(mean.u)
    # With c = 0 for the lower end, and c = 1 for the upper one, terms are bounded below by low_u alone.
    without_bound = 0.0 if sign > 0 else 1.0
    controls = [-1.0, without_bound] if np.isfinite(mean.high_u) and mean.high_u > mean.low_u else [without_bound]
    n_strategies = len(controls) + len(also)
    terms, floors, bets = (
        np.empty((n_strategies, n_rows)),
        np.empty((n_strategies, n_rows)),
        np.empty((n_strategies, n_rows)),
    )
    goal = float(np.log(2 / (1 - level)))
    for i, control in enumerate(controls):
        controlled_terms(mean.u, mean.reward, mean.mean_u, mean.low_u, mean.high_u, control, sign, terms[i], floors[i])
    for i, strategy in enumerate(also, len(controls)):
        terms[i] = sign * strategy.terms
        floors[i] = min(sign * strategy.floor, sign * strategy.ceiling)
    # (reward - c)^2 is about 1/4, and the mean of u^2 is at most about the largest |u|.
    guess = 0.25 * min(mean.reach, 1e6) if np.isfinite(mean.reach) else 1.0
    for i in range(n_strategies):
        variance = guess if i < len(controls) else also[i - len(controls)].variance
        bet_sizes(terms[i], sign * 0.5 * mean.mean_u, variance, goal, is_anytime, bets[i])
    low, high = (mean.least, 1.0) if sign > 0 else (-1.0, -mean.least)
    if log_wealth(terms, floors, bets, low) < goal:
        return low
    # Wealth decreases in the mean, so the end is found by bisection.
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if log_wealth(terms, floors, bets, middle) >= goal else (low, middle)
    return low
