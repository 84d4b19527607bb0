"""How intervals by empirical likelihood compare with the default, on the same logs of some cells of the coverage grid.

Empirical likelihood looks at all rows again for every number it tries, so that thousands of logs of every cell would
take days: the cells drawn here are a few of the shorter ones, chosen by a seed, and the logs fewer.

    python benchmarks/coverage_likelihood.py [--cells 20] [--logs 400] [--json FILE]
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
from _problems import write_figures
from numpy.typing import NDArray

from offsettree import evaluate
from offsettree.exceptions import LogError, OffsetTreeWarning

INTERVALS = ("mid_p", "empirical_likelihood", "normal")
LONGEST = 1_000


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


def judge(cell: Cell, n_logs: int) -> list[dict[str, Any]]:
    """Return for each interval how often it holds the value and the gain on the log, and how wide it is."""
    drawn_from = world(cell)
    random = np.random.default_rng([cell.seed, 1, *cell_numbers(cell)])
    value = drawn_from.value(drawn_from.policy)
    truths = (value, value - drawn_from.value(drawn_from.propensity))
    facts: dict[str, list[tuple[float, ...]]] = {interval: [] for interval in INTERVALS}
    for _ in range(n_logs):
        log = a_log(drawn_from, cell.n_rows, random)
        for interval in INTERVALS:
            try:
                found = evaluate(**log, interval=interval)
            except LogError:  # no row matched
                break
            both = (found, found.difference)
            held = [each.low <= truth <= each.high for each, truth in zip(both, truths, strict=True)]  # type: ignore[union-attr]
            facts[interval].append((*held, *(each.high - each.low for each in both)))  # type: ignore[union-attr]
    records = []
    for interval, rows in facts.items():
        table = np.array(rows, dtype=float).reshape(-1, 4)
        for i, quantity in enumerate(("value", "gain on the log")):
            records.append(
                {
                    **{name: getattr(cell, name) for name in Cell.__annotations__},
                    "interval": interval,
                    "quantity": quantity,
                    "told": len(table) / n_logs,
                    "coverage": float(table[:, i].mean()),
                    "width": float(np.median(table[:, 2 + i])),
                }
            )
    return records


def main() -> None:
    """Print a line per cell, interval and quantity."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=20)
    parser.add_argument("--logs", type=int, default=400)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    warnings.simplefilter("ignore", OffsetTreeWarning)
    todo = [c for c in cells(GRID) if c.n_rows <= LONGEST and not c.rewards.startswith("always")]
    found: list[dict[str, Any]] = []
    for i in np.random.default_rng(1).permutation(len(todo))[: options.cells]:
        cell = todo[i]
        for each in judge(cell, options.logs):
            found.append(each)
            print(
                f"{each['coverage']:.3f} {each['width']:9.4f} {each['interval']:<21}{each['quantity']:<16}"
                f"{cell.rewards}, k {cell.n_actions}, {cell.logging}, {cell.policy}, n {cell.n_rows}",
                flush=True,
            )
    write_figures(options.json, {"logs": options.logs, "figures": found})


if __name__ == "__main__":
    main()
