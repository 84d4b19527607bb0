"""What each action earns, with the default interval: one pass over the rows, whatever the number of actions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation._claims import LogSums, missing_weight, sums_of
from offsettree.evaluation._inputs import reward_unit
from offsettree.evaluation._intervals import normal_intervals
from offsettree.evaluation._mid_p import replaced_ends
from offsettree.evaluation._reward_limits import RewardLimits
from offsettree.evaluation._terms import Terms
from offsettree.evaluation.estimate import Interval


def values_by_action(
    position: NDArray[np.intp],
    reward: NDArray[np.float64],
    propensity: NDArray[np.float64],
    n_actions: int,
    reward_range: tuple[float, float] | None,
    *,
    level: float = 0.95,
    always_eligible: bool = True,
) -> list[Interval | None]:
    """Estimate what each action would earn if it were always taken: `evaluate(..., method="snips")` of constants.

    Actions are positions from 0; those that were never logged have None. Without a reward range, ends of intervals are
    NaN where all rewards are equal. Unless every action is `always_eligible`, the value is that in the rows where it
    was eligible.
    """
    unit, n_rows = reward_unit(reward, propensity), len(reward)
    weight, reward = 1 / propensity, reward / unit
    limits = None if reward_range is None else (reward_range[0] / unit, reward_range[1] / unit)
    order = np.argsort(position, kind="stable")
    ends = np.searchsorted(position[order], np.arange(n_actions + 1))
    logged = np.flatnonzero(ends[1:] > ends[:-1])
    plain, sums = [], []
    for action in logged:
        rows = order[ends[action] : ends[action + 1]]
        terms = Terms(weight[rows] * reward[rows], weight[rows], weight=weight[rows])
        summed = sums_of([terms])
        plain += normal_intervals([terms], level, [float(summed.size[0, 0])])
        sums.append(_with_missing(summed, weight[rows], n_rows) if always_eligible else summed)
    values = np.array([[each.value, 0.0] for each in plain])
    known = RewardLimits.of(reward, limits)
    answer: list[Interval | None] = [None] * n_actions
    for action, each in zip(
        logged, replaced_ends(plain, LogSums.joined(sums), values, (0,), known, level), strict=True
    ):
        answer[action] = each.times(unit)
    return answer


def _with_missing(sums: LogSums, weight: NDArray[np.float64], n_rows: int) -> LogSums:
    """Add the weight missing from the whole log: these sums are over the rows of one action only."""
    total, size = float(weight.sum()), float(sums.size[0, 0])
    stderr = total / n_rows * float(np.sqrt(max(1 / size - 1 / n_rows, 0.0)))
    missing = n_rows * float(missing_weight(1 - total / n_rows, stderr, False)) * len(weight) / total
    return replace(sums, missing=np.full_like(sums.missing, missing / sums.unit[0]))
