"""What the offset tree costs on top of its learner: time above the learner's own fits, and memory above X.

The rival is the learner itself, in two ways. Inside: the sum of the times inside its own `fit`, in the same run.
Alone: the very same calls, rows, weights and settings, on blocks that were gathered and copies of the learner that were
made beforehand. The second is what the learner takes on its own: inside the loop it finds the rows that have just been
gathered in the cache, alone it has to fetch them. Goals for 100,000 rows of 50 features: at most 2 % at k = 64 and 5 %
at k = 1024 for trees of depth 6, 10 % for linear learners. Memory, with a
learner that holds nothing: at most 30 bytes a row above X and the block of one contest (its rows of X, their numbers,
labels and weights).

    python benchmarks/training_overhead.py [--rows 100000] [--features 50] [--actions 2 64 1024] [--memory-rows 1000000]
        [--json FILE]
"""

from __future__ import annotations

import argparse
import inspect
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from _problems import Log, make_problem, write_figures
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.tree import DecisionTreeClassifier

from offsettree import OffsetTree
from offsettree.reductions._nodes import node_settings


def make_log(n_rows: int, n_features: int, n_actions: int, seed: int = 0) -> Log:
    """Draw a log under uniform logging."""
    return make_problem(n_rows, n_features, n_actions, seed).log()


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


def calls_of_fit(policy: OffsetTree, log: Log) -> list[tuple[Any, tuple[Any, ...]]]:
    """Fit a policy, and return every learner as it was before its fit, with copies of the X, y and weights it got."""
    X, action, reward, propensity = log
    learner = type(policy.estimator)
    original, calls = learner.fit, []

    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        calls.append((copy(self), (X.copy(), y.copy(), sample_weight.copy())))
        return original(self, X, y, sample_weight=sample_weight)

    fit.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    learner.fit = fit
    try:
        policy.fit(X, action, reward=reward, propensity=propensity)
    finally:
        learner.fit = original
    return calls


def fit_alone(calls: list[tuple[Any, tuple[Any, ...]]]) -> float:
    """Return the seconds that the same calls take on their own, under the settings of the loop."""
    learners = [copy(learner) for learner, _ in calls]
    with node_settings(assume_finite=True, parameters_checked=True):
        started = time.thread_time()
        for learner, (_, (X, y, weight)) in zip(learners, calls, strict=True):
            learner.fit(X, y, sample_weight=weight)
        return time.thread_time() - started


def overhead(learner: Any, log: Log) -> tuple[float, float, float, int, float]:
    """Return the seconds of the whole fit, of the learner's fits inside and alone, how many, and rows per row of log.

    Of several fits, where one is short, the median of each.
    """
    X, action, reward, propensity = log
    policy = OffsetTree(learner, random_state=0)
    calls = calls_of_fit(policy, log)
    runs: list[tuple[float, float, float]] = []
    while sum(run[0] for run in runs) < 5.0 and len(runs) < 9:
        with timed_fits(type(learner)) as seconds:
            started = time.thread_time()
            policy.fit(X, action, reward=reward, propensity=propensity)
            total = time.thread_time() - started
        runs.append((total, sum(seconds), fit_alone(calls)))
    total, inside, alone = np.median(runs, axis=0).tolist()
    return total, inside, alone, len(calls), policy.node_rows_.sum() / len(action)


class Coin(ClassifierMixin, BaseEstimator):
    """Sends rows left by their first feature, and holds nothing: what is left to measure is the loop's own."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn nothing."""
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X: Any) -> Any:
        """Answer 1 where the first feature is positive."""
        return (X[:, 0] > 0).astype(np.int8)


def bytes_per_row(n_rows: int, n_features: int, n_actions: int) -> tuple[float, float]:
    """Return the most memory held at once during a fit: all, and without the largest block and the fitted policy."""
    X, action, reward, propensity = make_log(n_rows, n_features, n_actions)
    policy = OffsetTree(Coin(), random_state=0)
    tracemalloc.start()
    policy.fit(X, action, reward=reward, propensity=propensity)
    fitted, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    n_largest = int(policy.node_rows_.max())
    X_block = 0 if n_largest == n_rows else n_largest * X.itemsize * n_features
    block = X_block + n_largest * (8 + 8 + 8)  # a number, a label and a weight per row
    return peak / n_rows, (peak - fitted - block) / n_rows


def main() -> None:
    """Print one line per learner and number of actions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--actions", type=int, nargs="+", default=[2, 64, 1024])
    parser.add_argument("--memory-rows", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    options = parser.parse_args()
    print(f"Training overhead: {options.rows:,} rows, {options.features} features, uniform logging, one thread")
    print("learner          k   fits  rows/n  total s  inside s  alone s  above inside  above alone")
    OffsetTree().fit(*make_log(500, 5, 4)[:2], reward=np.linspace(0, 1, 500), propensity=0.25)  # loads all code
    learners = {
        "depth-6 tree": DecisionTreeClassifier(max_depth=6),
        "logistic": LogisticRegression(),
        "SGD": SGDClassifier(max_iter=5, tol=None),
    }
    times: list[dict[str, Any]] = []
    memory: list[dict[str, Any]] = []
    for n_actions in options.actions:
        log = make_log(options.rows, options.features, n_actions)
        for name, learner in learners.items():
            total, inside, alone, n_fits, rows = overhead(learner, log)
            print(
                f"{name:<12}{n_actions:>6}{n_fits:>7}{rows:>8.2f}{total:>9.3f}{inside:>10.3f}{alone:>9.3f}"
                f"{100 * (total / inside - 1):>13.1f}%{100 * (total / alone - 1):>12.1f}%",
                flush=True,
            )
            record = {"learner": name, "n_actions": n_actions, "seconds": total, "inside": inside, "alone": alone}
            times.append(record | {"rows": rows})
    print(f"Memory above X: {options.memory_rows:,} rows, 20 features of float32 (80 bytes a row)")
    print("     k  peak, bytes a row  without the largest contest and the policy")
    for n_actions in (*options.actions, 16_384):
        peak, loop = bytes_per_row(options.memory_rows, 20, n_actions)
        print(f"{n_actions:>6}{peak:>19.1f}{loop:>37.1f}", flush=True)
        memory.append({"n_actions": n_actions, "peak_bytes": peak, "loop_bytes": loop})
    write_figures(
        options.json, {"rows": options.rows, "times": times, "memory_rows": options.memory_rows, "memory": memory}
    )


if __name__ == "__main__":
    main()
