"""What doubly robust learning is worth: error on the paper's datasets, value on generated problems.

The datasets are revealed as in Table 1 (two thirds of the rows, one reward each, uniform logging). On the generated
problems of `forest_defaults.py` the true mean rewards are known; they are logged uniformly, and by a policy that
prefers some actions given x, ten times and more, whatever they earn. Rows of the output: mean error over the datasets,
then the value on each generated problem, uniform and skewed.

    python benchmarks/doubly_robust.py [--splits 3] [--seeds 2] [--rows 12000] [--json FILE] [--only "name" ...]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from forest_defaults import PROBLEMS, SEEDS, errors
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.pipeline import make_pipeline

from offsettree import DoublyRobust, OffsetForest, OffsetTree, RewardRegression
from offsettree.exceptions import OffsetTreeWarning
from offsettree.learners import NominalEncoder, default_regressor


def extra_trees(n_trees: int, **settings: Any) -> Any:
    """Return a forest that takes frames."""
    return make_pipeline(NominalEncoder(), ExtraTreesRegressor(n_trees, **settings))


SETTINGS: dict[str, Callable[[], Any]] = {
    "doubly robust": DoublyRobust,
    "doubly robust, model of trees": lambda: DoublyRobust(
        reward_model=make_pipeline(NominalEncoder(impute=True), default_regressor())
    ),
    "doubly robust, leaves of 5": lambda: DoublyRobust(extra_trees(100, min_samples_leaf=5, max_features=1 / 3)),
    "doubly robust, leaves of 50": lambda: DoublyRobust(extra_trees(100, min_samples_leaf=50, max_features=1 / 3)),
    "offset tree": OffsetTree,
    "offset tree, linear model": lambda: OffsetTree(reward_model="linear"),
    "offset forest": OffsetForest,
    "reward regression": lambda: RewardRegression(make_pipeline(NominalEncoder(impute=True), default_regressor())),
    "reward regression, extra-trees": lambda: RewardRegression(extra_trees(50, min_samples_leaf=3)),
}
GENERATED = ("smooth, 8", "smooth, 8, clicks", "rare clicks, 10", "rules, 10", "linear, 64, clicks")


def skewed(X: NDArray[np.float32], k: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Return probabilities that depend on x, and leave no action less than a tenth of its even share."""
    chance = np.exp(X @ random.standard_normal((X.shape[1], k)) / 4)
    return np.asarray(0.9 * chance / chance.sum(axis=1, keepdims=True) + 0.1 / k)


def value(policy: Any, name: str, seed: int, skew: bool, n_rows: int) -> float:
    """Learn from a log; return the true mean reward on rows of which none is in it."""
    X, mean, drawn = PROBLEMS[name](seed)
    n_train, k = min(n_rows, 2 * len(X) // 3), mean.shape[1]
    random = np.random.default_rng(1000 + seed)
    chance = skewed(X[:n_train], k, random) if skew else np.full((n_train, k), 1 / k)
    rows = np.arange(n_train)
    action = np.minimum((chance.cumsum(axis=1) < random.random(n_train)[:, np.newaxis]).sum(axis=1), k - 1)
    policy.set_params(actions=np.arange(k), n_jobs=-1, random_state=SEEDS + seed)
    policy.fit(X[:n_train], action, reward=drawn[rows, action], propensity=chance[rows, action])
    X_test, mean = X[n_train:], mean[n_train:]
    chosen = policy.predict(X_test)
    return float(mean[np.arange(len(chosen)), chosen].mean())


def main() -> None:
    """Print one line per setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--rows", type=int, default=12_000)
    parser.add_argument("--only", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", OffsetTreeWarning)
    results: dict[str, Any] = {}
    print(f"{'setting':<31}{'error':>7} | " + " | ".join(f"{name:>18}" for name in GENERATED) + "  seconds")
    for setting in options.only:
        make, started = SETTINGS[setting], time.perf_counter()
        found = errors(make, options.splits)
        values = {
            name: [
                float(np.mean([value(make(), name, seed, skew, options.rows) for seed in range(options.seeds)]))
                for skew in (False, True)
            ]
            for name in GENERATED
        }
        results[setting] = {"errors": found, "values": values, "seconds": round(time.perf_counter() - started, 1)}
        print(
            f"{setting:<31}{np.mean(list(found.values())):>7.4f} | "
            + " | ".join(f"{even:>9.4f}{skew:>9.4f}" for even, skew in values.values())
            + f"{results[setting]['seconds']:>9.0f}",
            flush=True,
        )
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
