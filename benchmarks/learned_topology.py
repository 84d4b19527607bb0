"""What a learned tree is worth: true value of the offset tree's policy by the shape of its tree, on unseen rows.

Generated problems of which the true mean rewards are known: rewards linear in x inside a logistic curve, or of
saturated features; rewards of low rank over the actions or of full rank; plenty of rows and few; and sklearn's digits
with the reward 1 for the right label. Uniform logging. "separate" is the rival: one ridge regression per action, the
action of the largest prediction. "best" is the value of the best action in every row.

    python benchmarks/learned_topology.py [--seeds 3] [--json FILE]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _problems import write_figures
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier

from offsettree import LoggedData, OffsetTree, RewardRegression, simulate_log

Problem = tuple[LoggedData, NDArray[np.float64], NDArray[np.float64]]  # a log, new rows, their mean rewards

LEARNERS = {"logistic": LogisticRegression(max_iter=1000), "depth 6": DecisionTreeClassifier(max_depth=6)}
TREES = ("balanced", "random", "similar", "learned")


def generated(n_rows: int, n_features: int, n_actions: int, rank: int | None, saturated: bool, seed: int) -> Problem:
    """Draw normal contexts, and rewards that are a logistic curve of a linear function of features of them."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows + 5000, n_features))
    rank = n_features if rank is None else rank
    feature = X if rank == n_features else X @ random.standard_normal((n_features, rank)) / np.sqrt(n_features)
    if saturated:
        feature = np.tanh(2 * feature)
    mean = 1 / (1 + np.exp(-2 * feature @ random.standard_normal((rank, n_actions)) / np.sqrt(rank)))
    reward = np.clip(mean + 0.15 * random.standard_normal(mean.shape), 0, 1)
    return simulate_log(X[:n_rows], reward[:n_rows], random_state=seed), X[n_rows:], mean[n_rows:]


def digits(seed: int) -> Problem:
    """Reveal one reward per row of two thirds of the digits."""
    X, label = load_digits(return_X_y=True)
    X, label = X[(order := np.random.RandomState(seed).permutation(len(X)))] / 16, label[order]
    n_rows = 2 * len(X) // 3
    log = simulate_log(X[:n_rows], label[:n_rows], random_state=seed)
    return log, X[n_rows:], (label[n_rows:, np.newaxis] == np.arange(10)).astype(float)


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "linear, k = 64": partial(generated, 20_000, 20, 64, None, False),
    "saturated, k = 64": partial(generated, 20_000, 20, 64, 8, True),
    "saturated, k = 64, few rows": partial(generated, 2_000, 50, 64, 8, True),
    "linear, k = 512": partial(generated, 30_000, 20, 512, None, False),
    "saturated, k = 512": partial(generated, 30_000, 20, 512, 8, True),
    "saturated, k = 256, few rows": partial(generated, 10_000, 50, 256, 8, True),
    "digits": digits,
}


def value(policy: Any, problem: Problem) -> float:
    """Return the mean true reward of what the policy chooses on the new rows."""
    log, X, mean = problem
    chosen = policy.fit(**log.arrays()).predict(X)
    return float(mean[np.arange(len(X)), np.searchsorted(policy.actions_, chosen)].mean())


def measure(make: Callable[[int], Problem], n_seeds: int) -> dict[str, float]:
    """Return the value of every learner over every tree, by name, and of the rivals; means over the seeds."""
    values: dict[str, list[float]] = {}
    for seed in range(n_seeds):
        problem = make(seed)
        policies: dict[str, Any] = {
            f"{name}, {tree}": OffsetTree(learner, tree=tree, actions=problem[0].actions, random_state=seed)
            for name, learner in LEARNERS.items()
            for tree in TREES
        }
        policies["separate"] = RewardRegression(Ridge(), random_state=seed)
        for name, policy in policies.items():
            values.setdefault(name, []).append(value(policy, problem))
        values.setdefault("best", []).append(float(problem[2].max(axis=1).mean()))
    return {name: round(float(np.mean(found)), 4) for name, found in values.items()}


def main() -> None:
    """Print a line per problem and learner."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    options = parser.parse_args()
    print(f"True value of the policy by the tree's shape, mean of {options.seeds} draws, uniform logging")
    print(f"{'problem':<30}{'nodes':<10}" + "".join(f"{tree:>10}" for tree in (*TREES, "separate", "best")))
    figures = {}
    for name, make in PROBLEMS.items():
        figures[name] = measure(make, options.seeds)
        for learner in LEARNERS:
            cells = [figures[name][f"{learner}, {tree}"] for tree in TREES]
            cells += [figures[name]["separate"], figures[name]["best"]]
            print(f"{name:<30}{learner:<10}" + "".join(f"{cell:>10.3f}" for cell in cells), flush=True)
    write_figures(options.json, {"seeds": options.seeds, "values": figures})


if __name__ == "__main__":
    main()
