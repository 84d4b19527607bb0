"""What rows that were not seen may earn, judged by the rewards that were seen; derived in docs/default-interval.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
COLUMNS = ("low", "high", "unseen_low", "unseen_high", "tail_low", "tail_high", "freedom")  # one entry per log
# A deviation whose square is nearly all of their sum is not left out by the jackknife: nothing would be left.
LEAST_REST = 1e-9
ROUNDING = 1e-9
EXACT = 1e-6  # a smaller share is rounding: rewards take two values


@dataclass(frozen=True)
class RewardLimits:
    """The range of rewards of each log, and the extreme rewards assumed for a row not seen (`unseen_reward`).

    `unseen_low` and `unseen_high` are those of differences and of missing weight. For values, `tail_low` and
    `tail_high` are corrected by the jackknife, and `freedom` is the number of degrees of freedom. Without a stated
    range (`is_range` is False) the extremes of the log stand in for `low` and `high`.
    """

    low: Numbers
    high: Numbers
    unseen_low: Numbers
    unseen_high: Numbers
    tail_low: Numbers
    tail_high: Numbers
    freedom: Numbers
    is_range: bool

    @classmethod
    def of(
        cls, reward: Numbers, reward_range: tuple[float, float] | None, group: NDArray[np.intp] | None = None
    ) -> Self:
        """Compute the limits from all rewards of a log; rows of one `group` are one observation, by their mean."""
        ends = (float(reward.min()), float(reward.max())) if reward_range is None else reward_range
        if group is not None:
            reward = np.bincount(group, reward) / np.bincount(group)
        smallest, largest, mean = float(reward.min()), float(reward.max()), float(reward.mean())
        off = reward - mean
        unit = float(np.abs(off).max()) or 1.0  # cubes must not overflow
        off /= unit
        differing = (np.count_nonzero(reward < largest), np.count_nonzero(reward > smallest))
        limits: list[Any] = [*ends]
        deviations = [_mean_deviation(np.maximum(sign * off, 0.0)) for sign in (-1, 1)]
        for corrected in (False, True):
            for end, sign, (plain, added), n in zip(ends, (-1, 1), deviations, differing, strict=True):
                deviation = sign * unit * (plain + corrected * added)
                limits.append(unseen_reward(end, mean, deviation, n, reward_range is not None))
        both = (((largest - mean) / unit, differing[0]), ((mean - smallest) / unit, differing[1]))
        limits.append(np.minimum(*(freedom(len(reward), away, float(off @ off), n) for away, n in both)))
        columns = np.array(limits, dtype=np.float64)[:, np.newaxis]
        return cls(**dict(zip(COLUMNS, columns, strict=True)), is_range=reward_range is not None)

    def of_logs(self, log: NDArray[np.intp]) -> RewardLimits:
        """Return the limits of the given logs; a single entry is broadcast to all."""
        columns = {name: getattr(self, name) for name in COLUMNS}
        chosen = {name: v[log] if len(v) > 1 else np.broadcast_to(v, len(log)) for name, v in columns.items()}
        return RewardLimits(**chosen, is_range=self.is_range)

    @property
    def has_width(self) -> bool:
        """Whether rewards can differ. If not, nothing bounds the reward of an unseen row."""
        return bool((self.high > self.low).all())


def _mean_deviation(side: Numbers) -> tuple[float, float]:
    """Return the mean of deviations weighted by their squares, and what the jackknife adds to it (at least 0).

    Large rewards are rarer than the log can show, so the mean falls short. If deviations are equal nothing is added.
    """
    squares, largest = side * side, float(side.max())
    total = float(side @ side)
    mean = float(squares @ side) / (total or 1.0)
    if mean >= (1 - ROUNDING) * largest:  # all are equal, or there is none
        return mean, 0.0
    rest = total - squares
    if total - largest**2 <= LEAST_REST * total:
        rest[squares.argmax()] = np.inf
    return mean, max(0.0, float(squares @ ((side - mean) / rest)))


def unseen_reward(end: Any, mean: Any, off: Any, n_differing: Any, is_range: bool) -> Any:
    """Return an extreme reward assumed for an unseen row, on one side of the mean.

    `off` is the mean deviation on that side, weighted by squared deviations: adding one row of that size corrects an
    interval's end for skewness. The fewer rewards differ, the nearer the result is to `end`, that of the range. With
    two distinct rewards it is the extreme that was seen. Only an end that is no known range may be exceeded.
    """
    reached, missing = mean + off, end - mean - off
    is_beyond = missing * off < 0
    return np.where(is_beyond & is_range, end, reached + np.where(is_beyond, 0.0, missing) / (1 + n_differing))


def freedom(n_rows: int, away: Any, spread: Any, n_differing: Any) -> Any:
    """Return the degrees of freedom of the variance of a mean reward, by Welch and Satterthwaite's formula.

    `n_differing` rewards differ from one extreme, from which the mean is `away`; `spread` is the sum of squared
    deviations from the mean. How many rewards differ is a count, of known variance. By how much each does is estimated
    from n_differing - 1, and makes up a `share` of the variance.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        share = 1 - np.divide(n_rows * away**2, n_differing * (spread / n_rows + away**2))
        return np.where(share > EXACT, np.maximum(n_differing - 1, 1) / share**2, np.inf)
