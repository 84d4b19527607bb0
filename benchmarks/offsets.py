"""Offsets: what a number, the mean reward, and a prediction of the reward from x are worth, in trees and forests.

Generated problems with 0/1 rewards; values are true, on 5,000 new rows.

    python benchmarks/offsets.py [--rows 30000] [--trees 10] [--json FILE]
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

from _problems import make_problem, new_rows, write_figures
from sklearn.linear_model import LogisticRegression, Ridge

from offsettree import OffsetForest, OffsetTree

OFFSETS: dict[str, Any] = {"1/2": 0.5, "mean": "mean", "predicted by ridge": Ridge()}


def main() -> None:
    """Print one line per problem, policy and offset."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = new_rows(5000, 20)
    figures: list[dict[str, Any]] = []
    for n_actions in (8, 64, 512):
        problem = make_problem(options.rows, 20, n_actions, zero_one=True)
        X, action, reward, propensity = problem.log()
        for name, offset in OFFSETS.items():
            given: dict[str, Any] = {"offset": offset, "actions": range(n_actions), "random_state": 0}
            policies = {
                "tree, logistic": OffsetTree(LogisticRegression(), **given),
                "forest": OffsetForest(n_trees=options.trees, **given),
            }
            for kind, policy in policies.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    policy.fit(X, action, reward=reward, propensity=propensity)
                value = problem.value(rows, policy.predict(rows))
                print(f"k = {n_actions:<5}{kind:<16}offset {name:<20}{value:.3f}", flush=True)
                figures.append({"n_actions": n_actions, "policy": kind, "offset": name, "value": value})
    write_figures(options.json, {"rows": options.rows, "trees": options.trees, "values": figures})


if __name__ == "__main__":
    main()
