"""How fast the native learner trains all contests, beside scikit-learn's trees of the same depth on the same log.

Seconds are processor time of one thread, kernels compiled before (the time for that is told apart), the least of three
fits of ours and one of scikit-learn's. Values are true mean rewards on 20,000 new rows. Goals: at least 30 times as
fast for up to 64 actions, 15 times from 1024 on, values within 0.01; a million rows and 16,384 actions work.

    python benchmarks/native_training.py [--actions 8 64 1024 4096] [--rows 100000] [--json FILE]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from _problems import Problem, make_problem, new_rows, write_figures
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from offsettree import OffsetForest, OffsetTree
from offsettree.learners import HistogramTree

COMPILE = """
import os, tempfile, time
os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp()
import numpy as np
from offsettree import OffsetTree
X = np.random.default_rng(0).standard_normal((500, 5), dtype=np.float32)
started = time.process_time()
OffsetTree(random_state=0).fit(X, np.arange(500) % 4, reward=np.linspace(0, 1, 500), propensity=0.25)
print(time.process_time() - started)
"""


def fit(policy: Any, problem: Problem, repeats: int = 1) -> tuple[Any, float]:
    """Return the fitted policy and the least time of a fit."""
    X, action, reward, propensity = problem.log()
    times = []
    for _ in range(repeats):
        started = time.process_time()
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")  # some of many actions are never logged
            policy.fit(X, action, reward=reward, propensity=propensity)
        times.append(time.process_time() - started)
    return policy, min(times)


def compare(n_rows: int, n_actions: int, n_features: int) -> dict[str, Any]:
    """Fit both to one log."""
    problem = make_problem(n_rows, n_features, n_actions)
    X = new_rows(20_000, n_features)
    ours, seconds = fit(tree(HistogramTree(max_depth=6), n_actions), problem, 3)
    rival, rival_seconds = fit(tree(DecisionTreeClassifier(max_depth=6), n_actions), problem)
    return {
        "n_rows": n_rows,
        "n_actions": n_actions,
        "native_seconds": seconds,
        "sklearn_seconds": rival_seconds,
        "times": rival_seconds / seconds,
        "native_value": problem.value(X, ours.predict(X)),
        "sklearn_value": problem.value(X, rival.predict(X)),
        "best_value": problem.best_value(X),
        "native_rows": float(ours.node_rows_.sum() / n_rows),
        "sklearn_rows": float(rival.node_rows_.sum() / n_rows),
    }


def alone(policy: Any, n_rows: int, n_actions: int, n_features: int) -> dict[str, Any]:
    """Fit what has no rival of its own."""
    problem = make_problem(n_rows, n_features, n_actions)
    X = new_rows(20_000, n_features)
    policy, seconds = fit(policy, problem)
    return {
        "n_rows": n_rows,
        "n_actions": n_actions,
        "seconds": seconds,
        "value": problem.value(X, policy.predict(X)),
        "best_value": problem.best_value(X),
    }


def tree(learner: Any, n_actions: int) -> OffsetTree:
    """Return an offset tree of one thread."""
    return OffsetTree(learner, actions=range(n_actions), random_state=0)


def main() -> None:
    """Print one line per number of actions and of rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--actions", type=int, nargs="+", default=[8, 64, 1024, 4096])
    parser.add_argument("--more-rows", type=int, nargs="*", default=[10_000, 30_000, 300_000], help="at 64 actions")
    parser.add_argument(
        "--large", type=int, nargs=2, default=[1_000_000, 16_384], help="rows and actions; 0 0 for none"
    )
    parser.add_argument("--trees", type=int, default=50, help="of the forest, at 64 actions")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    options = parser.parse_args()
    run = subprocess.run([sys.executable, "-c", COMPILE], check=True, capture_output=True, text=True)  # noqa: S603
    figures: dict[str, Any] = {"features": options.features, "compile_seconds": float(run.stdout)}
    print(f"Native training, {options.features} features, depth 6, one thread; compiling once: {run.stdout.strip()} s")
    fit(tree(HistogramTree(max_depth=6), 8), make_problem(2000, options.features, 8))
    print("    rows      k  native s  sklearn s  times  value: native  sklearn   best  rows/n: native  sklearn")
    figures["compared"] = []
    for n_rows, n_actions in [(options.rows, k) for k in options.actions] + [(n, 64) for n in options.more_rows]:
        record = compare(n_rows, n_actions, options.features)
        figures["compared"].append(record)
        print(
            f"{n_rows:>8}{n_actions:>7}{record['native_seconds']:>10.3f}{record['sklearn_seconds']:>11.2f}"
            f"{record['times']:>7.1f}{record['native_value']:>15.4f}{record['sklearn_value']:>9.4f}"
            f"{record['best_value']:>7.3f}{record['native_rows']:>16.2f}{record['sklearn_rows']:>9.2f}",
            flush=True,
        )
    if options.trees:
        forest = OffsetForest(n_trees=options.trees, random_state=0)
        figures["forest"] = alone(forest, options.rows, 64, options.features) | {"n_trees": options.trees}
        print(
            f"forest of {options.trees} trees, k = 64: {figures['forest']['seconds']:.1f} s, "
            f"value {figures['forest']['value']:.4f}",
            flush=True,
        )
    if options.large[0]:
        n_rows, n_actions = options.large
        figures["large"] = alone(tree(HistogramTree(max_depth=6), n_actions), n_rows, n_actions, options.features)
        print(
            f"{n_rows:,} rows, k = {n_actions:,}: {figures['large']['seconds']:.1f} s, "
            f"value {figures['large']['value']:.4f} of {figures['large']['best_value']:.4f}"
        )
    write_figures(options.json, figures)


if __name__ == "__main__":
    main()
