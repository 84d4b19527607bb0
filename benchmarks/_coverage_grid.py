"""The grid on which intervals are judged: which logs are drawn, and what must hold on them. Data, fixed before tuning.

A cell is a kind of reward, a number of actions, a logging policy, a policy to evaluate and a number of rows. Contexts
fall into `N_GROUPS` groups of equal chance. In group g the logging policy's favourite is action g mod k, and an action
has rank j in it if it is j places further (cyclically); propensities and policies are given by rank.

Settings of an interval were first tried on `TUNING`, which shares neither rates, sizes, numbers of actions nor seeds
with `GRID`; then on 220 cells of `GRID` with another seed; what is assumed of unseen amounts of money on `MONEY`, of
other tails, sizes and seeds. `GRID` judges: docs/evaluation.md says what of it had been seen before.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gamma

__all__ = ["GOALS", "GRID", "MONEY", "N_GROUPS", "TUNING", "Cell", "World", "cells", "world"]

N_GROUPS = 20
LEAST_PROPENSITY = 0.01
MOST_ROWS = 10_000
GOALS = {
    "least coverage": 0.93,  # in every cell
    "most coverage": 0.97,  # where there is enough to see: more than `enough`
    "enough": 30,  # effective rows times the share of the rarer outcome; of a difference, of the rows that differ
    "width": 1.05,  # times that of the normal interval, where that one covers at least 94 % (median over cells)
    "false": 0.035,  # chance of "better", and of "worse", where nothing differs
    "logs": 2_000,
    "logs again": 20_000,  # for cells that miss a goal: these judge
}

# Rewards: the chance to earn anything, how the amount is distributed, and the range that `evaluate` is told.
REWARDS: dict[str, tuple[float, str, tuple[float, float] | None]] = {
    "0.4 %": (0.004, "one", (0.0, 1.0)),
    "1 %": (0.01, "one", (0.0, 1.0)),
    "30 %": (0.3, "one", (0.0, 1.0)),
    "99.6 %": (0.996, "one", (0.0, 1.0)),
    "money, 30 % earn, exponential": (0.3, "exponential", None),
    "money, 5 % earn, log-normal (sigma 1)": (0.05, "log-normal", None),
    "money, 5 % earn, Pareto (index 3)": (0.05, "Pareto", None),
    "always 0": (0.0, "one", (0.0, 1.0)),
    "always 1": (1.0, "one", (0.0, 1.0)),
    # For tuning.
    "0.7 %": (0.007, "one", (0.0, 1.0)),
    "3 %": (0.03, "one", (0.0, 1.0)),
    "50 %": (0.5, "one", (0.0, 1.0)),
    "99 %": (0.99, "one", (0.0, 1.0)),
    "money, 10 % earn, log-normal (sigma 0.8)": (0.1, "log-normal 0.8", None),
    "money, 20 % earn, gamma": (0.2, "gamma", None),
    # For tuning what is assumed of amounts not seen.
    "money, 10 % earn, log-normal (sigma 1.3)": (0.1, "log-normal 1.3", None),
    "money, 3 % earn, log-normal (sigma 0.7)": (0.03, "log-normal 0.7", None),
    "money, 8 % earn, log-normal (sigma 1.1)": (0.08, "log-normal 1.1", None),
    "money, 20 % earn, Weibull (shape 0.6)": (0.2, "Weibull 0.6", None),
    "money, 8 % earn, Pareto (index 4)": (0.08, "Pareto 4", None),
}
GRID: dict[str, Any] = {
    "seed": 14,
    "rewards": list(REWARDS)[:9],
    "n_actions": (5, 80),
    "logging": ("uniform", "greedy", "spread"),
    "policies": ("deterministic", "stochastic", "near the log"),
    "n_rows": (300, 1_000, 3_000, 10_000),
    "differs": (True, False),  # whether rewards depend on context and action
}
TUNING: dict[str, Any] = {
    "seed": 41,
    "rewards": list(REWARDS)[9:15],
    "n_actions": (3, 30),
    "logging": ("uniform", "greedy", "spread"),
    "policies": ("deterministic", "stochastic", "near the log"),
    "n_rows": (500, 5_000),
    "differs": (True, False),
}
MONEY: dict[str, Any] = {
    "seed": 77,
    "rewards": list(REWARDS)[15:],
    "n_actions": (4, 30),
    "logging": ("uniform", "greedy", "spread"),
    "policies": ("deterministic", "stochastic", "near the log"),
    "n_rows": (200, 500, 2_000),
    "differs": (False,),
}


@dataclass(frozen=True)
class Cell:
    """One kind of log."""

    rewards: str
    n_actions: int
    logging: str
    policy: str
    n_rows: int
    differs: bool
    seed: int

    @property
    def share(self) -> float:
        """The share of the rarer outcome: to earn anything, or nothing."""
        earn = REWARDS[self.rewards][0]
        return min(earn, 1 - earn)


def cells(grid: dict[str, Any]) -> list[Cell]:
    """Return all cells of a grid, a third after the other; each third has some of everything.

    For want of time the longest logs are drawn only where nothing differs, and those whose rewards are all equal, where
    nothing could differ, at two lengths.
    """
    names = ("rewards", "n_actions", "logging", "policies", "n_rows", "differs")
    thirds: list[list[Cell]] = [[], [], []]
    for places in itertools.product(*(range(len(grid[name])) for name in names)):
        rewards, n_actions, logging, policy, n_rows, differs = (grid[n][i] for n, i in zip(names, places, strict=True))
        if differs and n_rows == MOST_ROWS:
            continue
        if not (rewards.startswith("always") and (differs or n_rows in (1_000, MOST_ROWS))):
            cell = Cell(rewards, n_actions, logging, policy, n_rows, differs, grid["seed"])
            thirds[sum(places) % 3].append(cell)
    return [*thirds[0], *thirds[1], *thirds[2]]


@dataclass(frozen=True)
class World:
    """What rows are drawn from: by group and action the propensity, two policies, and the chance to earn."""

    propensity: NDArray[np.float64]
    policy: NDArray[np.float64]
    other: NDArray[np.float64]  # always the logging policy's favourite
    chance: NDArray[np.float64]
    amounts: str
    mean_amount: float
    reward_range: tuple[float, float] | None

    def value(self, policy: NDArray[np.float64]) -> float:
        """Return the true value of a policy."""
        return float((policy * self.chance).sum() / N_GROUPS * self.mean_amount)


def world(cell: Cell) -> World:
    """Return what the rows of a cell are drawn from."""
    k = cell.n_actions
    rank = (np.arange(k) - np.arange(N_GROUPS)[:, np.newaxis]) % k
    propensity = _propensity(cell.logging, rank)
    earn, amounts, reward_range = REWARDS[cell.rewards]
    chance = np.full((N_GROUPS, k), earn)
    if cell.differs:
        random = np.random.default_rng([cell.seed, k])
        factor = np.exp(0.6 * random.standard_normal((N_GROUPS, k)))
        rarer = np.minimum(cell.share * factor / factor.mean(), 0.95)
        chance = rarer if earn <= 0.5 else 1 - rarer
    mean_amount = {"one": 1.0, "exponential": 1.0, "log-normal": np.exp(0.5), "Pareto": 1.5}
    mean_amount |= {"log-normal 0.8": np.exp(0.32), "gamma": 0.5, "Weibull 0.6": gamma(1 + 1 / 0.6), "Pareto 4": 4 / 3}
    mean_amount |= {f"log-normal {sigma}": np.exp(sigma**2 / 2) for sigma in (0.7, 1.1, 1.3)}
    policy = _policy(cell.policy, rank, propensity)
    return World(propensity, policy, (rank == 0) * 1.0, chance, amounts, float(mean_amount[amounts]), reward_range)


def _propensity(logging: str, rank: NDArray[np.int64]) -> NDArray[np.float64]:
    k = rank.shape[1]
    if logging == "uniform":
        return np.full(rank.shape, 1 / k)
    rest = 1 - LEAST_PROPENSITY * k
    # What is above the least: all to the favourite; or half of it to the first, a quarter to the second, ...
    above = (rank == 0) * 1.0 if logging == "greedy" else 0.5 ** (rank + 1.0) / (1 - 0.5**k)
    return np.asarray(LEAST_PROPENSITY + rest * above)


def _policy(name: str, rank: NDArray[np.int64], propensity: NDArray[np.float64]) -> NDArray[np.float64]:
    if name == "deterministic":
        return np.asarray((rank == 2) * 1.0)
    if name == "stochastic":
        return np.asarray(0.4 / rank.shape[1] + 0.6 * (rank == 1))
    near = propensity.copy()  # but in one group of twenty, where it takes an action that the log takes rarely
    near[7] = (rank[7] == 1) * 1.0
    return near
