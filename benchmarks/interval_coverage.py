"""How often intervals hold the true value, and how far estimates are off, over thousands of simulated logs.

Contexts are normal, rewards 0 or 1 with a chance that is smooth in x and known; the policy is a linear one that is
better than chance. Logs are drawn from three logging policies, at sizes from far too few rows to enough. Goals: at the
largest size normal and bootstrap intervals of 95 % hold between 93 % and 97 % of the time, those by Bernstein and by
betting at every size at least 95 %, and betting gives the narrower ones. For the reward models see `MODELS`.

    python benchmarks/interval_coverage.py [--logs 2000] [--rows 30 1000 3000] [--jobs 2] [--json FILE]
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from pathlib import Path
from typing import Any, Self

import numpy as np
from _problems import write_figures
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from offsettree import Estimate, evaluate
from offsettree.exceptions import OffsetTreeWarning

N_ACTIONS, N_FEATURES = 4, 3
LOGGING = ("uniform", "softmax", "epsilon greedy")
MODELS = ("good", "wrong")  # least squares given x; and one that says 1 for every row
CASES: list[tuple[str, str, str | None]] = [
    *((method, interval, None) for method in ("ips", "snips") for interval in ("normal", "bootstrap")),
    *(("snips", interval, None) for interval in ("bernstein", "betting")),
    *(("doubly_robust", "normal", model) for model in MODELS),
    *(("doubly_robust", interval, "good") for interval in ("bootstrap", "betting")),
    ("direct", "normal", "good"),
    ("switch", "normal", "good"),
]


class LeastSquares(RegressorMixin, BaseEstimator):
    """Linear regression with a little ridge, without scikit-learn's checks: thousands are fitted."""

    def fit(self, X: NDArray[np.float64], y: NDArray[np.float64]) -> Self:
        """Solve the normal equations."""
        rows = np.column_stack([np.ones(len(X)), X])
        self.coef_ = np.linalg.solve(rows.T @ rows + np.eye(rows.shape[1]), rows.T @ (y - y.mean()))
        self.mean_ = y.mean()
        return self

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the predictions."""
        return np.asarray(self.mean_ + np.column_stack([np.ones(len(X)), X]) @ self.coef_)


class World:
    """Contexts, chances of a reward, the policy that is evaluated, and those that log."""

    def __init__(self) -> None:
        random = np.random.default_rng(7)
        self.taste = random.standard_normal((N_FEATURES, N_ACTIONS))
        self.guess = self.taste + random.standard_normal((N_FEATURES, N_ACTIONS))
        self.habit = random.standard_normal((N_FEATURES, N_ACTIONS))
        X = random.standard_normal((4_000_000, N_FEATURES))
        self.value = float(self.chances(X)[np.arange(len(X)), self.decide(X)].mean())

    def chances(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean reward of every action."""
        return np.asarray(1 / (1 + np.exp(-X @ self.taste)))

    def decide(self, X: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the actions of the policy that is evaluated."""
        return np.asarray((X @ self.guess).argmax(axis=1))

    def log_with(self, logging: str, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities with which actions are logged."""
        scores = X @ self.habit
        if logging == "uniform":
            return np.full(scores.shape, 1 / N_ACTIONS)
        if logging == "softmax":
            share = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
            return np.asarray(0.1 / N_ACTIONS + 0.9 * share)
        greedy = scores.argmax(axis=1)[:, np.newaxis] == np.arange(N_ACTIONS)
        return np.asarray(0.3 / N_ACTIONS + 0.7 * greedy)


def run(world: World, logging: str, n_rows: int, seeds: range) -> list[list[tuple[float, ...]]]:
    """Draw logs and evaluate on them: by case a record for each log."""
    warnings.simplefilter("ignore", OffsetTreeWarning)
    records: list[list[tuple[float, ...]]] = [[] for _ in CASES]
    largest = {"uniform": 1, "softmax": 10, "epsilon greedy": 1 / 0.3}[logging] * N_ACTIONS
    for seed in seeds:
        random = np.random.default_rng([seed, n_rows, LOGGING.index(logging)])
        X = random.standard_normal((n_rows, N_FEATURES))
        chance = world.log_with(logging, X)
        action = (chance.cumsum(axis=1) < random.random((n_rows, 1))).sum(axis=1).clip(max=N_ACTIONS - 1)
        row = np.arange(n_rows)
        reward = (random.random(n_rows) < world.chances(X)[row, action]).astype(float)
        chosen = world.decide(X)
        if not (chosen == action).any():
            continue
        for record, (method, interval, model) in zip(records, CASES, strict=True):
            found = evaluate(
                chosen,
                X,
                action,
                reward=reward,
                propensity=chance[row, action],
                method=method,
                interval=interval,
                reward_model=LeastSquares() if model == "good" else np.ones((n_rows, N_ACTIONS)),
                baseline=None,
                actions=np.arange(N_ACTIONS),
                max_weight=largest + 1e-9,
                random_state=seed,
            )
            record.append(_record(found, world.value))
    return records


def _record(found: Estimate, truth: float) -> tuple[float, ...]:
    few = any("rows of the policy's own decisions" in text for text in found.warnings)
    width = min(found.high, 1.0) - max(found.low, 0.0)
    return found.value, found.low <= truth <= found.high, width, found.effective_rows, few


def main() -> None:
    """Print a line per logging policy, size, method and interval."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=2000)
    parser.add_argument("--rows", type=int, nargs="+", default=[30, 1000, 3000])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    options = parser.parse_args()
    world = World()
    print(f"{options.logs:,} logs each; true value {world.value:.4f}; intervals of 95 %")
    print("logging           rows  worth  method         model  interval   covers %  width    bias     rmse  warned %")
    lines: list[dict[str, Any]] = []
    for logging, n_rows in itertools.product(LOGGING, options.rows):
        chunks = [range(start, min(start + 100, options.logs)) for start in range(0, options.logs, 100)]
        parts = Parallel(n_jobs=options.jobs)(delayed(run)(world, logging, n_rows, chunk) for chunk in chunks)
        for i, (method, interval, model) in enumerate(CASES):
            value, covers, width, worth, few = np.array([record for part in parts for record in part[i]]).T
            line = {
                "logging": logging,
                "n_rows": n_rows,
                "n_logs": len(value),
                "effective_rows": float(worth.mean()),
                "method": method,
                "model": model,
                "interval": interval,
                "coverage": float(covers.mean()),
                "width": float(width.mean()),
                "bias": float(value.mean() - world.value),
                "rmse": float(np.sqrt(((value - world.value) ** 2).mean())),
                "warned": float(few.mean()),
            }
            lines.append(line)
            print(
                f"{logging:<16}{n_rows:>6}{line['effective_rows']:>7.0f}  {method:<15}{model or '':<7}{interval:<11}"
                f"{100 * line['coverage']:>8.1f}{line['width']:>8.3f}{line['bias']:>+9.4f}{line['rmse']:>8.4f}"
                f"{100 * line['warned']:>8.0f}",
                flush=True,
            )
    write_figures(options.json, {"logs": options.logs, "value": world.value, "figures": lines})


if __name__ == "__main__":
    main()
