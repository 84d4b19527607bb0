"""What must be known of a whole log before its contests, read run by run: the very numbers that numpy finds at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, reduce

import numpy as np
from numpy.typing import NDArray

from offsettree.learners import Bins, rows_looked_at
from offsettree.reductions._median_given_x import HALVES, Side
from offsettree.reductions._offset import Tally, Votes
from offsettree.reductions._routed_log import RoutedLog, Rows
from offsettree.reductions._settled import rows_sampled

SUMMED = 1 << 18  # numbers added up by numpy in one go
DIGIT = 16  # bits of a number that are looked at in one pass

Values = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def rewards(reward: NDArray[np.float64], propensity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rewards."""
    return reward


def inverse(reward: NDArray[np.float64], propensity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many rows each stands for."""
    return 1 / propensity


def earned(reward: NDArray[np.float64], propensity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rewards of all rows that each stands for."""
    return reward * (1 / propensity)


def vote_weights(offset: float, reward: NDArray[np.float64], propensity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of votes."""
    return Votes.cast(reward, propensity, offset).weight


class LogStatistics:
    """Statistics of a routed log; a subclass may have others add up and read for it."""

    def __init__(self, log: RoutedLog) -> None:
        self.log = log

    def sum_of(self, values: Values) -> float:
        """Add up the values of all rows, as numpy adds up an array of them."""
        return pairwise_sum(self.log.in_order(values), 0, self.log.n_rows)

    def is_uniform(self) -> bool:
        """Tell whether all propensities are equal."""
        ends = [
            (float(rows.propensity.min()), float(rows.propensity.max()))
            for rows in self.log.each_run()
            if len(rows.action)
        ]
        return min(low for low, _ in ends) == max(high for _, high in ends)

    def tally(self, offset: float) -> Tally:
        """Count the votes of all rows."""
        tallies = (Votes.cast(rows.reward, rows.propensity, offset).tally() for rows in self.log.each_run())
        return reduce(Tally.plus, tallies)

    def rows_at(self, numbers: NDArray[np.int64]) -> Rows:
        """Read rows by their numbers."""
        return self.log.rows_at(numbers)

    def mean_reward(self) -> float:
        """Return the mean reward, rows weighted by 1 / propensity, as `resolve_offset` does."""
        if self.is_uniform():
            return self.plain_mean_reward()
        return self.sum_of(earned) / self.sum_of(inverse)

    def plain_mean_reward(self) -> float:
        """Return the mean reward of the rows as they are."""
        return self.sum_of(rewards) / self.log.n_rows

    def mean_weight(self, offset: float) -> float:
        """Return the mean weight of the votes."""
        return self.sum_of(partial(vote_weights, offset)) / self.log.n_rows

    def mean_rewards(self) -> NDArray[np.float64]:
        """Do as `_offset.mean_rewards`."""
        log = self.log
        total, gained = np.zeros(log.n_actions), np.zeros(log.n_actions)
        for rows in log.each_run():
            weight = 1 / rows.propensity
            # One after the other in the order of the log, as bincount adds them.
            np.add.at(total, rows.action, weight)
            np.add.at(gained, rows.action, weight * rows.reward)
        overall = 0.0  # which no action needs where all were logged
        if not total.all():
            overall = self.sum_of(earned) / self.sum_of(inverse)
        return np.divide(gained, total, out=np.full_like(total, overall), where=total > 0)

    def median_reward(self) -> float:
        """Return the median reward, rows weighted by 1 / propensity, digit by digit: bits sort as rewards do."""
        uniform = self.is_uniform()
        whole = float(self.log.n_rows) if uniform else self.sum_of(inverse)
        found = [_bits_at(self.log, share * whole, side, uniform) for share, side in HALVES]
        return float(np.mean(np.array(found, dtype=np.uint64).view(np.float64)))

    def sample(self) -> Rows:
        """Read the whole log where it is short, else a sample of it in the order of the log."""
        return self.rows_at(rows_sampled(self.log.n_rows, self.log.n_columns))

    def bins(self) -> Bins:
        """Cut the columns where `Bins.fit` cuts them: by the very rows that it looks at."""
        return Bins.fit(self.rows_at(rows_looked_at(self.log.n_rows)).X)


def _bits_at(log: RoutedLog, weight: float, side: Side, uniform: bool) -> int:
    """Return the bits of the reward below which there is so much weight of rows."""
    known = 0
    for shift in range(64 - DIGIT, -1, -DIGIT):
        count = np.zeros(1 << DIGIT)
        for rows in log.each_run():
            bits = (rows.reward + 0.0).view(np.uint64)  # no negative zero
            weights = None if uniform else 1 / rows.propensity
            if shift + DIGIT < 64:
                within = bits >> np.uint64(shift + DIGIT) == np.uint64(known)
                bits, weights = bits[within], None if weights is None else weights[within]
            digit = (bits >> np.uint64(shift)) & np.uint64((1 << DIGIT) - 1)
            count += np.bincount(digit.astype(np.intp), weights, minlength=len(count))
        below = np.cumsum(count)
        found = min(int(np.searchsorted(below, weight, side=side)), int(np.flatnonzero(count)[-1]))
        weight -= float(below[found] - count[found])
        known = known << DIGIT | found
    return known


def pairwise_sum(read: Callable[[int, int], NDArray[np.float64]], first: int, last: int) -> float:
    """Add up as numpy adds up an array: halves, and halves of halves, so that not even a rounding differs."""
    sums = (float(np.add.reduce(read(*leaf))) for leaf in pairwise_leaves(first, last))
    return sums_from_leaves(sums, last - first)


def pairwise_leaves(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the stretches that `pairwise_sum` adds up in one go, from the first row to the last."""
    n = last - first
    if n <= SUMMED:
        yield first, last
        return
    middle = first + _half(n)
    yield from pairwise_leaves(first, middle)
    yield from pairwise_leaves(middle, last)


def sums_from_leaves(sums: Iterator[float], n_rows: int) -> float:
    """Add up the sums of all stretches as `pairwise_sum` does."""
    if n_rows <= SUMMED:
        return next(sums)
    half = _half(n_rows)
    left = sums_from_leaves(sums, half)
    return left + sums_from_leaves(sums, n_rows - half)


def _half(n_rows: int) -> int:
    return n_rows // 2 - n_rows // 2 % 8
