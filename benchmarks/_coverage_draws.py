"""Logs of a cell of the coverage grid, drawn and added up in machine code: thousands in a second."""

# ruff: noqa: NPY002  numba's own generator has these names, and is the fastest there

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from _coverage_grid import N_GROUPS, Cell, World
from numpy.typing import NDArray

from offsettree.evaluation._claims import LogSums, missing_weight
from offsettree.evaluation._kernels_moments import N_SUMS, add_moments
from offsettree.evaluation._reward_limits import COLUMNS, RewardLimits, freedom, unseen_reward

__all__ = ["METHODS", "Drawn", "draw"]

METHODS = ("snips", "ips", "doubly_robust")
AMOUNTS = (
    "one", "exponential", "log-normal", "Pareto", "log-normal 0.8", "gamma", "log-normal 1.3", "log-normal 0.7",
    "log-normal 1.1", "Weibull 0.6", "Pareto 4",
)  # fmt: skip
N_FOLDS = 5
PULL = 2.0  # rows' worth, of an action's mean on that of its group
N_FACTS = 18


@dataclass(frozen=True)
class Drawn:
    """What the logs add up to, by method: beside what was logged, and beside another policy.

    `values` are of the policy, of what was logged and of the other policy; `effective` is what the policy's weights are
    worth, and what its differences to the two are.
    """

    sums: dict[str, tuple[LogSums, LogSums]]
    values: dict[str, NDArray[np.float64]]
    known: RewardLimits
    effective: NDArray[np.float64]
    matched: NDArray[np.bool_]


def draw(cell: Cell, world: World, n_logs: int, part: int = 0) -> Drawn:
    """Draw logs and add up their rows; reward models are fitted on other folds than the rows they predict."""
    seed = np.random.SeedSequence([cell.seed, part, *cell_numbers(cell)]).generate_state(1)[0]
    moments = np.zeros((n_logs, len(METHODS), 2, N_SUMS))
    values, facts = np.zeros((n_logs, len(METHODS), 3)), np.zeros((n_logs, N_FACTS))
    _draw(
        seed,
        cell.n_rows,
        *_alias(world.propensity.ravel() / N_GROUPS),
        np.stack([world.policy.ravel(), world.other.ravel()]) / world.propensity.ravel(),
        world.policy,
        world.other,
        world.chance.ravel(),
        AMOUNTS.index(world.amounts),
        moments,
        values,
        facts,
    )
    return _gathered(cell.n_rows, moments, values, facts, world.reward_range)


def cell_numbers(cell: Cell) -> list[int]:
    """Return numbers that tell cells apart."""
    names = (cell.rewards, cell.logging, cell.policy)
    return [cell.n_actions, cell.n_rows, int(cell.differs), *(sum(map(ord, n)) for n in names)]


def _gathered(
    n: int,
    moments: NDArray[np.float64],
    values: NDArray[np.float64],
    facts: NDArray[np.float64],
    reward_range: tuple[float, float] | None,
) -> Drawn:
    """Make of the sums what the package makes of terms: see `sums_of` and `RewardLimits.of`."""
    total, squares, largest = facts[:, 0:2], facts[:, 2:4], facts[:, 4:6]
    smallest, highest, n_above, n_below = facts[:, 6:10].T
    ends = (smallest, highest) if reward_range is None else reward_range
    low, high = (np.broadcast_to(end, len(facts)) for end in ends)
    with np.errstate(invalid="ignore", divide="ignore"):
        up, down = (np.where(facts[:, i] > 0, facts[:, i + 1] / facts[:, i], 0.0) for i in (12, 15))
    logged, is_range = values[:, 0, 1], reward_range is not None
    limits = [low, high]
    for more_down, more_up in ((0.0, 0.0), np.maximum(facts[:, [17, 14]], 0.0).T):
        limits.append(unseen_reward(low, logged, -down - more_down, n_below, is_range))
        limits.append(unseen_reward(high, logged, up + more_up, n_above, is_range))
    both = ((highest - logged, n_below), (logged - smallest, n_above))
    limits.append(np.minimum(*(freedom(n, away, facts[:, 12] + facts[:, 15], m) for away, m in both)))
    known = RewardLimits(**dict(zip(COLUMNS, limits, strict=True)), is_range=is_range)
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.where(squares > 0, total**2 / squares, 0.0)
        spread = np.sqrt(np.maximum(squares - total**2 / n, 0))
        factor = np.where(total > 0, n / total, 1.0)
    sums = {}
    for i, method in enumerate(METHODS):
        ratio = factor if method == "snips" else np.ones_like(factor)
        pairs = []
        for other in (0, 1):
            sizes = size.copy()
            lacking = missing_weight(n - total, spread, method == "ips") * ratio
            top = largest * ratio
            if other == 0:  # what was logged
                sizes[:, 1], lacking[:, 1], top[:, 1] = n, 0.0, 1.0
            unit = np.where(top.max(axis=1) > 0, top.max(axis=1), 1.0)
            scaled = moments[:, i, other].copy()
            for start, stop, power in ((0, 4, 1), (4, 14, 2), (14, 34, 3)):
                scaled[:, start:stop] /= unit[:, np.newaxis] ** power
            scaled[:, 34::2] /= unit[:, np.newaxis] ** 2
            scaled[:, 35::2] /= unit[:, np.newaxis] ** 3
            zero = np.array([[method == "ips", method == "ips" and other == 1]]).repeat(len(facts), axis=0)
            pairs.append(LogSums(scaled, sizes, np.tile(lacking, 2) / unit[:, np.newaxis], unit, zero))
        sums[method] = (pairs[0], pairs[1])
    effective = np.column_stack([size[:, 0], facts[:, 10], facts[:, 11]])
    return Drawn(sums, {m: values[:, i] for i, m in enumerate(METHODS)}, known, effective, total > 0)


@numba.njit(cache=True)
def _amount(kind: int) -> Any:
    if kind == 1:
        return np.random.exponential()
    if kind == 2:
        return np.exp(np.random.standard_normal())
    if kind == 3:
        return (1 - np.random.random()) ** (-1 / 3)
    if kind == 4:
        return np.exp(0.8 * np.random.standard_normal())
    if kind == 5:
        return np.random.gamma(0.5)
    if kind in (6, 7, 8):
        return np.exp((1.3, 0.7, 1.1)[kind - 6] * np.random.standard_normal())
    if kind == 9:
        return np.random.weibull(0.6)
    if kind == 10:
        return (1 - np.random.random()) ** (-1 / 4)
    return 1.0


@numba.njit(cache=True)
def _add_extremes(reward: Any, sums: Any) -> None:
    """Write, of rewards above their mean and then of those below, what `RewardLimits.of` makes of deviations.

    These are the sums of squares and of cubes, and what the jackknife adds to their ratio.
    """
    mean = reward.mean()
    sums[:] = 0
    for each in reward:
        off = each - mean
        side = 0 if off > 0 else 3
        sums[side] += off * off
        sums[side + 1] += off * off * abs(off)
    for each in reward:
        off = each - mean
        side = 0 if off > 0 else 3
        rest = sums[side] - off * off
        if rest > 1e-9 * sums[side]:
            sums[side + 2] += off * off * (abs(off) - sums[side + 1] / sums[side]) / rest


@numba.njit(cache=True)
def _fit(total: Any, count: Any, model: Any) -> None:
    """Write what is predicted in each fold, by group and action: means of other folds, pulled to wider means."""
    n_folds, n_groups, k = total.shape
    all_total, all_count = total.sum(axis=0), count.sum(axis=0)
    for fold in range(n_folds):
        there, times = all_total - total[fold], all_count - count[fold]
        earned, seen = there.sum(axis=0), times.sum(axis=0)
        mean = earned.sum() / max(seen.sum(), 1.0)
        of_action = (earned + PULL * mean) / (seen + PULL)
        for g in range(n_groups):
            for a in range(k):
                model[fold, g, a] = (there[g, a] + PULL * of_action[a]) / (times[g, a] + PULL)


def _alias(chance: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the tables of Walker's alias method, by which an index is drawn with one number."""
    size = len(chance)
    share, alias = chance * size, np.arange(size)
    small, large = [*np.flatnonzero(share < 1)], [*np.flatnonzero(share >= 1)]
    while small and large:
        less, more = small.pop(), large[-1]
        alias[less] = more
        share[more] -= 1 - share[less]
        if share[more] < 1:
            small.append(large.pop())
    return share, alias


@numba.njit(cache=True)
def _draw(
    seed: Any,
    n: int,
    share: Any,
    alias: Any,
    weights: Any,
    policy: Any,
    other: Any,
    chance: Any,
    amounts: int,
    moments: Any,
    values: Any,
    facts: Any,
) -> None:
    np.random.seed(seed)
    k = policy.shape[1]
    place = np.empty(n, np.int64)
    reward, first, second, ones = np.empty(n), np.empty(n), np.empty(n), np.ones(n)
    above = np.empty((2, n))
    total, count = np.empty((N_FOLDS, N_GROUPS, k)), np.empty((N_FOLDS, N_GROUPS, k))
    model, meant = np.empty((N_FOLDS, N_GROUPS, k)), np.empty((2, N_FOLDS, N_GROUPS))
    mean, factors = np.empty(2), np.empty(2)
    for log in range(len(moments)):
        total[:] = 0
        count[:] = 0
        for row in range(n):
            at = np.random.random() * len(share)
            cell = int(at)
            if at - cell >= share[cell]:
                cell = alias[cell]
            earned = _amount(amounts) if np.random.random() < chance[cell] else 0.0
            place[row], reward[row] = cell, earned
            first[row], second[row] = weights[0, cell], weights[1, cell]
            total[row % N_FOLDS, cell // k, cell % k] += earned
            count[row % N_FOLDS, cell // k, cell % k] += 1
        smallest, largest = reward.min(), reward.max()
        fact = facts[log]
        fact[0], fact[1] = first.sum(), second.sum()
        fact[2], fact[3] = (first * first).sum(), (second * second).sum()
        fact[4], fact[5] = first.max(), second.max()
        fact[6], fact[7] = smallest, largest
        fact[8], fact[9] = (reward > smallest).sum(), (reward < largest).sum()
        off = np.abs(first - 1)
        fact[10] = off.sum() ** 2 / max((off * off).sum(), 1e-9)
        off = np.abs(first - second)
        fact[11] = off.sum() ** 2 / max((off * off).sum(), 1e-9)
        _add_extremes(reward, fact[12:])
        _fit(total, count, model)
        for fold in range(N_FOLDS):
            for g in range(N_GROUPS):
                meant[0, fold, g] = (policy[g] * model[fold, g]).sum()
                meant[1, fold, g] = (other[g] * model[fold, g]).sum()
        logged = reward.mean()
        for method in range(3):
            for row in range(n):
                r = reward[row]
                if method < 2:
                    above[0, row], above[1, row] = first[row] * r, second[row] * r
                else:
                    fold, g = row % N_FOLDS, place[row] // k
                    rest = r - model[fold, g, place[row] % k]
                    above[0, row] = meant[0, fold, g] + first[row] * rest
                    above[1, row] = meant[1, fold, g] + second[row] * rest
            below, below_other, scale, scale_other = ones, ones, 1.0, 1.0
            if method == 0:
                below, below_other = first, second
                scale, scale_other = n / max(fact[0], 1e-9), n / max(fact[1], 1e-9)
            mean[0] = above[0].mean() * scale
            mean[1] = above[1].mean() * scale_other
            value = values[log, method]
            value[0], value[1], value[2] = mean[0], logged, mean[1]
            factors[0], factors[1] = scale, scale_other
            add_moments(above[0], below, first, above[1], below_other, second, mean, factors, moments[log, method, 1])
            mean[1], factors[1] = logged, 1.0
            add_moments(above[0], below, first, reward, ones, ones, mean, factors, moments[log, method, 0])
