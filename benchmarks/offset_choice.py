"""Offsets on four kinds of rewards; docs/offsets.md.

The kinds: labels; rare rewards; rewards spread over their range; and rewards that are high in some contexts and low in
others, whatever the action. Logistic contests over eight actions, uniform logging, ten problems of each kind. Values
are true, on 10,000 new contexts, as shares of the way from random decisions (0) to the best ones (1).

    python benchmarks/offset_choice.py [--problems 10] [--json FILE]
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _problems import write_figures
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from offsettree import OffsetTree, simulate_log

OFFSETS: dict[str, Any] = {
    "1/2": 0.5,
    "mean": "mean",
    "median": "median",
    "median_given_x": "median_given_x",
    "0": 0.0,
}
N_ACTIONS = 8
N_ROWS = {"labels": 3000, "rare rewards": 20_000, "spread over the range": 3000, "high or low by context": 3000}
N_NEW = 10_000


def mean_rewards(kind: str, X: NDArray[Any], direction: NDArray[Any]) -> NDArray[np.float64]:
    """Return the mean reward of every action in every row."""
    worth = X[:, :2] @ direction
    if kind == "labels":
        return np.asarray(np.arange(N_ACTIONS) == worth.argmax(axis=1)[:, np.newaxis], dtype=np.float64)
    if kind == "rare rewards":
        return np.asarray(np.clip(0.02 + 0.03 * np.tanh(worth), 0, 1))
    if kind == "spread over the range":
        return np.asarray(0.5 + 0.1 * np.tanh(worth))
    level = np.where(X[:, 2] > 0, 0.9, 0.1)
    return np.asarray(np.clip(level[:, np.newaxis] + 0.06 * np.tanh(worth), 0, 1))


def rewards_of(kind: str, means: NDArray[np.float64], random: np.random.RandomState) -> NDArray[np.float64]:
    """Draw rewards: clicks where they are rare, amounts with much noise or a little; labels have none."""
    if kind == "labels":
        return means
    if kind == "rare rewards":
        return (random.random_sample(means.shape) < means).astype(float)
    scale = 0.25 if kind == "spread over the range" else 0.02
    return np.clip(means + random.normal(scale=scale, size=means.shape), 0, 1)


def main() -> None:
    """Print one line per kind and offset."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=10)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures: list[dict[str, Any]] = []
    for kind, n_rows in N_ROWS.items():
        found: dict[str, list[float]] = {name: [] for name in OFFSETS}
        for seed in range(options.problems):
            random = np.random.RandomState(seed)
            X = random.normal(size=(n_rows, 4))
            direction = random.normal(size=(2, N_ACTIONS))
            means = mean_rewards(kind, X, direction)
            log = simulate_log(X, rewards_of(kind, means, random), random_state=seed)
            new = random.normal(size=(N_NEW, 4))
            true = mean_rewards(kind, new, direction)
            evenly, best = true.mean(), true.max(axis=1).mean()
            for name, offset in OFFSETS.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    policy = OffsetTree(LogisticRegression(), offset=offset, random_state=0).fit(**log.arrays())
                value = true[np.arange(N_NEW), policy.predict(new)].mean()
                found[name].append(float((value - evenly) / (best - evenly)))
        for name, shares in found.items():
            error = np.std(shares, ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else 0.0
            print(f"{kind:<26}offset {name:<16}{np.mean(shares):.3f} +- {error:.3f}", flush=True)
            figures.append({"rewards": kind, "offset": name, "share": float(np.mean(shares)), "error": float(error)})
    write_figures(options.json, {"problems": options.problems, "shares": figures})


if __name__ == "__main__":
    main()
