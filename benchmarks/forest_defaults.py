"""Which settings the offset forest should have: error on the paper's datasets, value on generated problems.

One setting at a time is changed from the default. The datasets are revealed as in Table 1 (two thirds of the rows, one
reward each, uniform logging; splits from the 10 of the table, with policy seeds of their own); on the generated
problems the true mean rewards are known. Rows of the output: mean error over the 13 datasets, on how many of them it is
below the paper's offset tree, and the value on each generated problem.

    python benchmarks/forest_defaults.py [--splits 3] [--seeds 2] [--json FILE] [--only "name" ...]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV

from offsettree import OffsetForest, OffsetTree, RewardRegression
from offsettree.datasets import NAMES, load
from offsettree.exceptions import OffsetTreeWarning
from offsettree.experiments.paper import TABLE_1
from offsettree.experiments.table1 import reveal
from offsettree.learners import forest_classifier

SEEDS = 40_000  # of policies, away from those of Table 1
Problem = tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float64]]  # X, mean rewards, drawn rewards


def learner(**changes: Any) -> Any:
    """Return the forest's own learner with some settings changed."""
    return forest_classifier().set_params(**changes)


SETTINGS: dict[str, Callable[[], Any]] = {
    "default": OffsetForest,
    "50 trees": lambda: OffsetForest(n_trees=50),
    "200 trees": lambda: OffsetForest(n_trees=200),
    "random trees of actions": lambda: OffsetForest(tree="random"),
    "one learned tree of actions": lambda: OffsetForest(randomize=0.0),
    "randomize 0.25": lambda: OffsetForest(randomize=0.25),
    "randomize 0.75": lambda: OffsetForest(randomize=0.75),
    "no linear scores": lambda: OffsetForest(linear_scores=False),
    "bootstrap": lambda: OffsetForest(bootstrap=True),
    "offset 1/2": lambda: OffsetForest(offset=0.5),
    "best cuts": lambda: OffsetForest(learner(random_cuts=False)),
    "a third of columns": lambda: OffsetForest(learner(max_features=1 / 3)),
    "smallest leaves": lambda: OffsetForest(learner(leaf_scale=0.0)),
    "leaf scale 0.25": lambda: OffsetForest(learner(leaf_scale=0.25)),
    "leaf scale 1": lambda: OffsetForest(learner(leaf_scale=1.0)),
    "one offset tree": OffsetTree,
    "one offset tree, learned": lambda: OffsetTree(tree="learned"),
    "forest of logistic contests": lambda: OffsetForest(LogisticRegression(), n_trees=25),
    "separate extra-trees": lambda: RewardRegression(ExtraTreesRegressor()),
    "separate ridge": lambda: RewardRegression(RidgeCV()),
}
NUMBERS_ONLY = ("forest of logistic contests", "separate extra-trees", "separate ridge")  # not run on the datasets


def smooth(n_rows: int, k: int, seed: int, *, clicks: bool, shift: float = 0.0, scale: float = 2.0) -> Problem:
    """Draw rewards that are smooth in x and of low rank over the actions; `clicks` are 0 or 1, others nearly exact."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, 20), dtype=np.float32)
    mood = np.tanh(2 * X @ random.standard_normal((20, 8)) / np.sqrt(20))
    mean = 1 / (1 + np.exp(-scale * mood @ random.standard_normal((8, k)) / np.sqrt(8) - shift))
    return X, mean, _drawn(mean, random, clicks)


def linear(n_rows: int, k: int, seed: int, *, clicks: bool) -> Problem:
    """Draw rewards that are a logistic function of a linear one, a different one for each action."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, 20), dtype=np.float32)
    mean = 1 / (1 + np.exp(-3 * X @ random.standard_normal((20, k)) / np.sqrt(20)))
    return X, mean, _drawn(mean, random, clicks)


def rules(n_rows: int, k: int, seed: int) -> Problem:
    """Draw clicks, of which there are few, and more where a rule or two of an action hold."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, 20), dtype=np.float32)
    mean = np.full((n_rows, k), 0.03)
    for action in range(k):
        for _ in range(2):
            first, second = random.integers(0, 8, 2)
            mean[:, action] += 0.06 * ((X[:, first] > random.normal() / 2) & (X[:, second] < random.normal() / 2))
    return X, mean, _drawn(mean, random, clicks=True)


def _drawn(mean: NDArray[np.float64], random: np.random.Generator, clicks: bool) -> NDArray[np.float64]:
    if clicks:
        return (random.random(mean.shape) < mean).astype(np.float64)
    return np.clip(mean + 0.15 * random.standard_normal(mean.shape), 0, 1)


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "smooth, 8": lambda seed: smooth(9000, 8, seed, clicks=False),
    "smooth, 8, clicks": lambda seed: smooth(9000, 8, seed, clicks=True),
    "smooth, 64, clicks": lambda seed: smooth(30_000, 64, seed, clicks=True),
    "rare clicks, 10": lambda seed: smooth(40_000, 10, seed, clicks=True, shift=-3.0, scale=1.0),
    "rules, 10": lambda seed: rules(60_000, 10, seed),
    "linear, 64": lambda seed: linear(30_000, 64, seed, clicks=False),
    "linear, 64, clicks": lambda seed: linear(30_000, 64, seed, clicks=True),
}


@cache
def _problem(name: str, seed: int) -> Problem:
    return PROBLEMS[name](seed)


def value(policy: Any, name: str, seed: int) -> float:
    """Learn from two thirds of the rows, uniformly logged; return the true mean reward on the rest."""
    X, mean, drawn = _problem(name, seed)
    n_train, k = 2 * len(X) // 3, mean.shape[1]
    action = np.random.default_rng(1000 + seed).integers(0, k, n_train)
    policy.set_params(actions=np.arange(k), n_jobs=-1, random_state=SEEDS + seed)
    policy.fit(X[:n_train], action, reward=drawn[np.arange(n_train), action], propensity=1 / k)
    chosen = policy.predict(X[n_train:])
    return float(mean[n_train:][np.arange(len(chosen)), chosen].mean())


def errors(make: Callable[[], Any], n_splits: int) -> dict[str, float]:
    """Return the mean error on each dataset."""
    found = {}
    for name in NAMES:
        splits = []
        for split in range(n_splits):
            log, X_test, y_test = reveal(name, split)
            policy = make().set_params(actions=load(name).classes, n_jobs=-1, random_state=SEEDS + split)
            splits.append(float((policy.fit(**log.arrays()).predict(X_test) != y_test).mean()))
        found[name] = float(np.mean(splits))
    return found


def main() -> None:
    """Print one line per setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", OffsetTreeWarning)
    results: dict[str, Any] = {}
    paper = {name: TABLE_1[name][-1] for name in NAMES}
    print(f"{'setting':<31}{'error':>7}{'below':>6} | " + " ".join(f"{name:>18}" for name in PROBLEMS) + "  seconds")
    for setting in options.only:
        make, started = SETTINGS[setting], time.perf_counter()
        found = {} if setting in NUMBERS_ONLY else errors(make, options.splits)
        values = {
            name: float(np.mean([value(make(), name, seed) for seed in range(options.seeds)])) for name in PROBLEMS
        }
        below = sum(error < paper[name] for name, error in found.items())
        results[setting] = {"errors": found, "values": values, "seconds": round(time.perf_counter() - started, 1)}
        mean = f"{np.mean(list(found.values())):>7.4f}{below:>6}" if found else " " * 13
        print(
            f"{setting:<31}{mean} | "
            + " ".join(f"{v:>18.4f}" for v in values.values())
            + f"{results[setting]['seconds']:>9.0f}",
            flush=True,
        )
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
