"""Which decision tree should a contest learn with by default? True value of the offset tree's policy on unseen rows.

Labelled data (reward 1 for the right label, else 0) and generated problems with noisy rewards, continuous or zero-one;
uniform logging, 2/3 to learn from. The last column is the mean over all problems.

    python benchmarks/default_learner.py [--seeds 5] [--json FILE]
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
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from offsettree import HistogramTree, OffsetTree, simulate_log
from offsettree.learners import default_classifier

Problem = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]  # X, mean rewards, drawn rewards

CANDIDATES = {
    "unpruned": HistogramTree(),
    "depth 6": HistogramTree(max_depth=6),
    "pruned, alpha 0.001": HistogramTree(ccp_alpha=0.001),
    "pruned, alpha 0.003": HistogramTree(ccp_alpha=0.003),
    "pruned, alpha 0.005": HistogramTree(ccp_alpha=0.005),
    "the same, price 5": HistogramTree(ccp_alpha=0.005, leaf_price=5.0),
    "pruned, alpha 0.01": HistogramTree(ccp_alpha=0.01),
    "pruned, alpha 0.02": HistogramTree(ccp_alpha=0.02),
    "leaf scale 1/4": HistogramTree(leaf_scale=0.25),
    "leaf scale chosen": HistogramTree(leaf_scale="auto"),
    "scikit-learn, 0.003": DecisionTreeClassifier(ccp_alpha=0.003, max_depth=12),
    "scikit-learn, 0.01": DecisionTreeClassifier(ccp_alpha=0.01, max_depth=12),
}


def labelled(load: object) -> Problem:
    """Make rewards of labels."""
    X, label = load(return_X_y=True)  # type: ignore[operator]
    rewards = (label[:, np.newaxis] == np.unique(label)).astype(float)
    return X, rewards, rewards


def many_classes(seed: int, return_X_y: bool) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw 26 well separated classes, so that a contest's signal is in one row of thirteen."""
    return make_classification(  # type: ignore[no-any-return]
        6000, 16, n_informative=12, n_redundant=0, n_classes=26, n_clusters_per_class=1, class_sep=2, random_state=seed
    )


def generated(n_rows: int, n_actions: int, zero_one: bool, seed: int) -> Problem:
    """Draw contexts with 20 features and rewards that are smooth in them, of low rank over the actions."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, 20))
    mood = np.tanh(2 * X @ random.standard_normal((20, 8)) / np.sqrt(20))
    mean = 1 / (1 + np.exp(-2 * mood @ random.standard_normal((8, n_actions)) / np.sqrt(8)))
    noisy = mean + 0.15 * random.standard_normal(mean.shape)
    drawn = (random.random(mean.shape) < mean).astype(float) if zero_one else np.clip(noisy, 0, 1)
    return X, mean, drawn


def value(learner: Any, problem: Problem, seed: int) -> float:
    """Learn from a simulated log of two thirds of the rows; return the true mean reward on the rest."""
    X, mean, drawn = problem
    train, test = train_test_split(np.arange(len(X)), test_size=1 / 3, random_state=seed)
    log = simulate_log(X[train], drawn[train], random_state=seed)
    policy = OffsetTree(learner, actions=np.arange(mean.shape[1]), random_state=seed).fit(**log.arrays())
    return float(mean[test, policy.predict(X[test])].mean())


def main() -> None:
    """Print one line per candidate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    options = parser.parse_args()
    problems: dict[str, Callable[[int], Problem]] = {
        "iris": lambda seed: labelled(load_iris),
        "wine": lambda seed: labelled(load_wine),
        "cancer": lambda seed: labelled(load_breast_cancer),
        "digits": lambda seed: labelled(load_digits),
        "26 classes": lambda seed: labelled(partial(many_classes, seed)),
        "8 cont.": lambda seed: generated(6000, 8, zero_one=False, seed=seed),
        "8 zero-one": lambda seed: generated(6000, 8, zero_one=True, seed=seed),
        "32 cont.": lambda seed: generated(12_000, 32, zero_one=False, seed=seed),
        "8, long log": lambda seed: generated(120_000, 8, zero_one=True, seed=seed),
        "32 zero-one": lambda seed: generated(12_000, 32, zero_one=True, seed=seed),
    }
    print(f"Value of the policy on unseen rows, {options.seeds} seeds; the default is {default_classifier()}")
    print(f"{'learner':<22}" + "".join(f"{name:>12}" for name in problems) + f"{'mean':>8}")
    figures: dict[str, dict[str, float]] = {}
    for name, learner in CANDIDATES.items():
        values = [
            np.mean([value(learner, make(seed), seed) for seed in range(options.seeds)]) for make in problems.values()
        ]
        print(f"{name:<22}" + "".join(f"{v:>12.3f}" for v in values) + f"{np.mean(values):>8.3f}", flush=True)
        figures[name] = {problem: float(found) for problem, found in zip(problems, values, strict=True)}
    write_figures(options.json, {"seeds": options.seeds, "values": figures})


if __name__ == "__main__":
    main()
