"""What must be known of a whole log before its contests, read run by run: the very numbers that numpy finds at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from offsettree.reductions._offset import Tally, Votes
from offsettree.reductions._routed_log import RoutedLog, Rows
from offsettree.reductions._weighted_median import HALVES, Side

SUMMED = 1 << 18  # numbers added up by numpy in one go
DIGIT = 16  # bits of a number that are looked at in one pass
SAMPLE_ROWS, SAMPLE_BYTES = 1 << 18, 1 << 27


def mean_reward(log: RoutedLog) -> float:
    """Return the mean reward, rows weighted by 1 / propensity, as `resolve_offset` does."""
    if _is_uniform(log):
        return _sum_of(log, lambda reward, propensity: reward) / log.n_rows
    whole = _sum_of(log, lambda reward, propensity: 1 / propensity)
    return _sum_of(log, lambda reward, propensity: reward * (1 / propensity)) / whole


def _is_uniform(log: RoutedLog) -> bool:
    ends = [(float(rows.propensity.min()), float(rows.propensity.max())) for rows in log.each_run() if len(rows.action)]
    return min(low for low, _ in ends) == max(high for _, high in ends)


def mean_weight(log: RoutedLog, offset: float) -> float:
    """Return the mean weight of the votes."""
    return _sum_of(log, lambda reward, propensity: Votes.cast(reward, propensity, offset).weight) / log.n_rows


def mean_rewards(log: RoutedLog) -> NDArray[np.float64]:
    """Do as `_offset.mean_rewards`."""
    total, earned = np.zeros(log.n_actions), np.zeros(log.n_actions)
    for rows in log.each_run():
        weight = 1 / rows.propensity
        # One after the other in the order of the log, as bincount adds them.
        np.add.at(total, rows.action, weight)
        np.add.at(earned, rows.action, weight * rows.reward)
    overall = 0.0  # which no action needs where all were logged
    if not total.all():
        whole = _sum_of(log, lambda reward, propensity: 1 / propensity)
        overall = _sum_of(log, lambda reward, propensity: reward * (1 / propensity)) / whole
    return np.divide(earned, total, out=np.full_like(total, overall), where=total > 0)


def count_votes(log: RoutedLog, offset: float) -> Tally:
    """Count the votes of all rows."""
    tallies = (Votes.cast(rows.reward, rows.propensity, offset).tally() for rows in log.each_run())
    return reduce(Tally.plus, tallies)


def median_reward(log: RoutedLog) -> float:
    """Return the median reward, rows weighted by 1 / propensity, digit by digit: bits of rewards sort as they do."""
    uniform = _is_uniform(log)
    whole = float(log.n_rows) if uniform else _sum_of(log, lambda reward, propensity: 1 / propensity)
    found = [_bits_at(log, share * whole, side, uniform) for share, side in HALVES]
    return float(np.mean(np.array(found, dtype=np.uint64).view(np.float64)))


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


def sample_rows(log: RoutedLog) -> Rows:
    """Read the whole log where it is short, else a sample of it in the order of the log."""
    size = min(SAMPLE_ROWS, max(1, SAMPLE_BYTES // (4 * log.n_columns + 32)))
    if log.n_rows <= size:
        return log.rows_at(np.arange(log.n_rows))
    # Drawn, as evenly spread rows may all be of one action; and always the same ones, whatever the seed of the policy.
    return log.rows_at(np.sort(np.random.default_rng(0).choice(log.n_rows, size, replace=False, shuffle=False)))


def _sum_of(log: RoutedLog, values: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]) -> float:
    return pairwise_sum(log.in_order(values), 0, log.n_rows)


def pairwise_sum(read: Callable[[int, int], NDArray[np.float64]], first: int, last: int) -> float:
    """Add up as numpy adds up an array: halves, and halves of halves, so that not even a rounding differs."""
    n = last - first
    if n <= SUMMED:
        return float(np.add.reduce(read(first, last)))
    half = n // 2
    half -= half % 8
    return pairwise_sum(read, first, first + half) + pairwise_sum(read, first + half, last)
