"""How intervals by empirical likelihood compare with the default, by SNIPS, on every tenth cell of the coverage grid.

Empirical likelihood looks at all rows again for every number that it tries. So an interval's ends are found for a few
logs of a cell only; for the others one number is tried, the true one, which tells whether the interval holds it. Cells
with more than 3,000 rows, and those whose rewards are all equal, are left out.

    python benchmarks/coverage_likelihood.py [--every 10] [--logs 200] [--json FILE]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _coverage_draws import cell_numbers
from _coverage_grid import GRID, N_GROUPS, Cell, World, cells, world
from _coverage_judge import LEVEL, QUANTITIES
from _coverage_judge import judge as judge_default
from _problems import write_figures
from numpy.typing import NDArray
from scipy.special import stdtrit

from offsettree import evaluate
from offsettree.evaluation._diagnostics import WeightSums
from offsettree.evaluation._empirical_likelihood import _Claim, _claim
from offsettree.exceptions import OffsetTreeWarning

LONGEST = 3_000
FOR_WIDTHS = 5  # logs


def a_log(drawn_from: World, n_rows: int, random: np.random.Generator) -> dict[str, Any]:
    """Draw the rows of one log; the policy is a table of probabilities."""
    k = drawn_from.propensity.shape[1]
    group = random.integers(0, N_GROUPS, n_rows)
    upto = drawn_from.propensity.cumsum(axis=1)[group]
    action = np.minimum((upto < random.random((n_rows, 1))).sum(axis=1), k - 1)
    earns = random.random(n_rows) < drawn_from.chance[group, action]
    amounts: dict[str, Callable[[int], NDArray[np.float64]]] = {
        "one": np.ones,
        "exponential": lambda n: random.exponential(size=n),
        "log-normal": lambda n: np.exp(random.standard_normal(n)),
        "Pareto": lambda n: 1 + random.pareto(3, n),
    }
    return {
        "policy": drawn_from.policy[group],
        "X": np.zeros((n_rows, 1)),
        "action": action,
        "reward": earns * amounts[drawn_from.amounts](n_rows),
        "propensity": drawn_from.propensity[group, action],
        "actions": range(k),
        "reward_range": drawn_from.reward_range,
    }


def holds(claim: _Claim, number: float, size: float) -> bool:
    """Tell whether the interval of a claim holds a number: as `likelihood_intervals` does, without its ends."""
    means = np.append(np.abs(claim.rows[:2]).max(axis=1) > 0, False)
    best, start = claim.likelihood(0.0, np.zeros(3), means)
    drop = claim.likelihood(number, start, means | np.array([False, False, True]))[0] - best
    return drop <= 0.5 * float(stdtrit(max(size - 1, 1), (1 + LEVEL) / 2)) ** 2


def held(log: dict[str, Any], truths: tuple[float, float]) -> tuple[bool, bool] | None:
    """Tell whether the intervals of value and gain hold the true ones; None if there is no interval."""
    reward, rows = log["reward"], np.arange(len(log["reward"]))
    weight = log["policy"][rows, log["action"]] / log["propensity"]
    low, high = log["reward_range"] or (float(reward.min()), float(reward.max()))
    if low == high or not weight.any():
        return None
    zero, one = np.zeros(len(reward)), np.ones(len(reward))
    first, size = (weight, zero, float(1 / log["propensity"].min())), WeightSums.of(weight).effective_rows
    value = _claim(first, (zero, zero, 0.0), zero, reward, (low, high), (low, high))
    gain = _claim(first, (one, zero, 1.0), zero, reward, (low, high), (low - high, high - low))
    return holds(value, truths[0], size), holds(gain, truths[1], size)


def widths(log: dict[str, Any]) -> list[float]:
    """Return the widths of value and gain by empirical likelihood, each in units of the normal interval's."""
    found, normal = (evaluate(**log, interval=interval) for interval in ("empirical_likelihood", "normal"))
    pairs: Any = ((found, normal), (found.difference, normal.difference))
    with np.errstate(divide="ignore", invalid="ignore"):
        return [float(np.divide(one.high - one.low, other.high - other.low)) for one, other in pairs]


def finite(ratio: float) -> float | None:
    """Return a ratio; None if the normal interval has no width."""
    return float(ratio) if np.isfinite(ratio) else None


def judge(cell: Cell, n_logs: int) -> list[dict[str, Any]]:
    """Return for value and gain how often both intervals hold, and how wide they are in units of the normal one."""
    drawn_from = world(cell)
    random = np.random.default_rng([cell.seed, 1, *cell_numbers(cell)])
    value = drawn_from.value(drawn_from.policy)
    truths = (value, value - drawn_from.value(drawn_from.propensity))
    logs = (a_log(drawn_from, cell.n_rows, random) for _ in range(n_logs))
    told = [(log, found) for log in logs if (found := held(log, truths)) is not None]
    if len(told) < 0.05 * n_logs:
        return []
    wide = np.array([widths(log) for log, _ in told[:FOR_WIDTHS]])
    default = {each["quantity"]: each for each in judge_default(cell, n_logs) if each["method"] == "snips"}
    return [
        {
            **{name: getattr(cell, name) for name in Cell.__annotations__},
            "quantity": quantity,
            "coverage": float(np.mean([found[i] for _, found in told])),
            "ratio": finite(np.median(wide[:, i])),
            "default_coverage": default[quantity]["coverage"],
            "default_ratio": finite(default[quantity]["ratio"] or np.inf),
            "normal_coverage": default[quantity]["normal_coverage"],
        }
        for i, quantity in enumerate(QUANTITIES[:2])
    ]


def main() -> None:
    """Print a line per cell and quantity."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    warnings.simplefilter("ignore", OffsetTreeWarning)
    todo = [c for c in cells(GRID)[:: options.every] if c.n_rows <= LONGEST and not c.rewards.startswith("always")]
    found: list[dict[str, Any]] = []
    for cell in todo:
        for each in judge(cell, options.logs):
            found.append(each)
            print(
                f"{each['coverage']:.3f} {each['ratio'] or 0:6.2f}, default {each['default_coverage']:.3f} "
                f"{each['default_ratio'] or 0:6.2f}, normal {each['normal_coverage']:.3f}  {each['quantity']:<16}"
                f"{cell.rewards}, k {cell.n_actions}, {cell.logging}, {cell.policy}, n {cell.n_rows}",
                flush=True,
            )
        write_figures(options.json, {"logs": options.logs, "every": options.every, "figures": found})


if __name__ == "__main__":
    main()
