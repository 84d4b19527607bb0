"""What the offset tree costs on top of its learner: time above the learner's own fits, and memory above X.

The rival is the learner itself: the sum of the times inside `DecisionTreeClassifier.fit`, in the same run. Goals: at
most 2 % at k = 64 and 5 % at k = 1024 for 100,000 rows, 50 features and trees of depth 6; peak memory at most the
input once more plus small change.

    python benchmarks/training_overhead.py [--rows 100000] [--features 50] [--actions 64 1024]
"""

from __future__ import annotations

import argparse
import inspect
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from offsettree import OffsetTree

Log = tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float64], float]


def make_log(n_rows: int, n_features: int, n_actions: int, seed: int = 0) -> Log:
    """Draw a log under uniform logging; rewards are smooth in x, of low rank over the actions, and noisy."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, n_features), dtype=np.float32)
    action = random.integers(0, n_actions, n_rows)
    taste = random.standard_normal((n_actions, 8))
    mood = np.tanh(2 * X @ random.standard_normal((n_features, 8)) / np.sqrt(n_features))
    mean = 1 / (1 + np.exp(-2 * (mood * taste[action]).sum(axis=1) / np.sqrt(8)))
    reward = np.clip(mean + 0.15 * random.standard_normal(n_rows), 0, 1)
    return X, action, reward, 1 / n_actions


@contextmanager
def timed_fits(learner: type) -> Iterator[list[float]]:
    """Record the seconds of every call of the learner's own fit. CPU time of this thread: machines are shared."""
    original, seconds = learner.fit, []  # type: ignore[attr-defined]

    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        started = time.thread_time()
        try:
            return original(self, *args, **kwargs)
        finally:
            seconds.append(time.thread_time() - started)

    # has_fit_parameter reads the signature, so it must stay what it was.
    fit.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    learner.fit = fit  # type: ignore[attr-defined]
    try:
        yield seconds
    finally:
        learner.fit = original  # type: ignore[attr-defined]


def overhead(learner: Any, log: Log) -> tuple[float, float, int, float]:
    """Return the seconds of the whole fit, of the learner's fits, how many those were, and rows trained on per row."""
    X, action, reward, propensity = log
    policy = OffsetTree(learner, random_state=0)
    with timed_fits(type(learner)) as seconds:
        started = time.thread_time()
        policy.fit(X, action, reward=reward, propensity=propensity)
        total = time.thread_time() - started
    return total, sum(seconds), len(seconds), policy.node_rows_.sum() / len(action)


def peak_above_input(learner: Any, log: Log) -> float:
    """Return the most memory held at once during a fit, above what was there before, in sizes of X."""
    X, action, reward, propensity = log
    policy = OffsetTree(learner, random_state=0)
    tracemalloc.start()
    policy.fit(X, action, reward=reward, propensity=propensity)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / X.nbytes


def main() -> None:
    """Print one line per learner and number of actions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--actions", type=int, nargs="+", default=[2, 64, 1024])
    options = parser.parse_args()
    print(f"Training overhead: {options.rows:,} rows, {options.features} features, uniform logging, one thread")
    print("learner          k   fits  rows/n  total s  in fits s  overhead  memory / X")
    OffsetTree().fit(*make_log(500, 5, 4)[:2], reward=np.linspace(0, 1, 500), propensity=0.25)  # loads all code
    learners = {"depth-6 tree": DecisionTreeClassifier(max_depth=6), "logistic": LogisticRegression()}
    for n_actions in options.actions:
        log = make_log(options.rows, options.features, n_actions)
        for name, learner in learners.items():
            total, inside, n_fits, rows = overhead(learner, log)
            memory = peak_above_input(learner, log)
            print(
                f"{name:<12}{n_actions:>6}{n_fits:>7}{rows:>8.2f}{total:>9.2f}{inside:>11.2f}"
                f"{100 * (total / inside - 1):>9.1f}%{memory:>12.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
