"""Anytime-valid bounds of a mean that grows row by row, in constant memory: bets against every mean on a grid.

A bettor against "the mean is at most m" multiplies its wealth by 1 + bet * (term - m) in every row. If m is the mean or
more, the wealth ever reaches 1 / alpha with probability alpha at most (Ville's inequality), however often one looks.
Several fixed bets, relative to the most that any row can lose, share the wealth: none needs to know the spread. That
loss is known before the first row; a bet that depended on the row's own context would favour some contexts over others,
and the mean over all of them would not be bounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["GAINS", "VALUES", "Wealth"]

BETS = np.array([0.016, 0.06, 0.2, 0.5, 0.9])
LEAST_LEFT = 1e-12  # of the wealth after one row: a bet never loses everything
WAITING = 256  # terms that are kept before they are counted: many at once are counted faster
MULTIPLIED = 16  # rows whose factors are multiplied before a logarithm is taken: from 1e-192 on, a float holds them
_STEPS = np.linspace(-1, 1, 121)
GAINS = np.sign(_STEPS) * _STEPS**2  # denser around 0
VALUES = np.linspace(0, 1, 81) ** 2
Floats = NDArray[np.float64]


class Wealth:
    """The wealth of bettors against every mean of a grid, from below and from above.

    The means of the grid increase. All terms are between `least` and `most`; without a limit, there are no bets on that
    side.

    Examples
    --------
    >>> wealth = Wealth(VALUES, 0.0, 1.0)
    >>> for _ in range(20):
    ...     wealth.add(np.array([1.0, 0.0, 1.0] * 20))
    >>> [round(end, 2) for end in wealth.ends(0.95)], round(wealth.mean, 3)
    ([0.6, 0.72], 0.667)
    """

    def __init__(self, grid: Floats, least: float, most: float) -> None:
        self.grid = grid
        self.least, self.most = least, most
        self.n_rows = 0
        self.total = 0.0
        self._below = np.zeros((len(BETS), len(grid)))  # logarithms of wealth, against means up to m
        self._above = np.zeros((len(BETS), len(grid)))
        self._waiting: list[Floats] = []
        self._n_waiting = 0
        # Per side: the bets over the most that each can lose, with a sign, and what a term of 0 adds.
        self._sides = []
        for sign, far in ((1.0, least), (-1.0, most)):
            rates = sign * BETS[:, np.newaxis] / np.maximum(sign * (grid - far), 1e-9)
            self._sides.append((rates, np.log1p(np.maximum(-rates * grid, LEAST_LEFT - 1))))

    @property
    def mean(self) -> float:
        """The mean of the terms so far."""
        return self.total / self.n_rows if self.n_rows else float("nan")

    def add(self, terms: Floats) -> None:
        """Add the terms of further rows."""
        if len(terms) == 0:
            return
        self.n_rows += len(terms)
        self.total += float(terms.sum())
        self._waiting.append(terms)
        self._n_waiting += len(terms)
        if self._n_waiting >= WAITING:
            self._count()

    def _count(self) -> None:
        if self._waiting:
            terms = np.concatenate(self._waiting)
            self._waiting, self._n_waiting = [], 0
            self._below += self.logs(terms)
            self._above += self.logs(terms, above=True)

    def logs(self, terms: Floats, *, above: bool = False) -> Floats:
        """Return what terms add to the logarithms of wealth on one side."""
        rates, of_zero = self._sides[above]
        others = terms[terms != 0]  # most terms are 0, where two policies agree or nothing was earned
        logs = (len(terms) - len(others)) * of_zero
        for first in range(0, len(others), MULTIPLIED):
            factors = rates * (others[first : first + MULTIPLIED, np.newaxis, np.newaxis] - self.grid)
            factors += 1
            np.maximum(factors, LEAST_LEFT, out=factors)
            logs = logs + np.log(np.multiply.reduce(factors, axis=0))
        return logs

    def lower_end(self, logs: Floats, level: float) -> float:
        """Return the lower end of an interval of two sides for logarithms of wealth against means up to m."""
        shown = np.flatnonzero(_pooled(logs) >= np.log(2 / (1 - level)))
        return float(self.grid[shown[-1] if len(shown) else 0])

    def log_wealth(self, at: int, *, above: bool = False) -> float:
        """Return the logarithm of the wealth against one mean of the grid."""
        self._count()
        return float(_pooled(self._above if above else self._below)[at])

    def ends(self, level: float) -> tuple[float, float]:
        """Return the interval that holds at all times with this probability."""
        self._count()
        low = self.lower_end(self._below, level)
        shown = np.flatnonzero(_pooled(self._above) >= np.log(2 / (1 - level)))
        high = float(self.grid[shown[0] if len(shown) else -1])
        return low, max(low, high)

    def state(self) -> dict[str, Any]:
        """Return all of it as what JSON can hold."""
        self._count()
        return {
            "n_rows": self.n_rows,
            "total": self.total,
            "below": self._below.tolist(),
            "above": self._above.tolist(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave."""
        below, above = np.array(state["below"]), np.array(state["above"])
        if below.shape == self._below.shape == above.shape:
            self.n_rows, self.total = int(state["n_rows"]), float(state["total"])
            self._below, self._above = below, above


def _pooled(logs: Floats) -> Floats:
    """Return the logarithm of the wealth that all bets have together, against each mean."""
    return np.asarray(np.logaddexp.reduce(logs, axis=0) - np.log(len(BETS)))
