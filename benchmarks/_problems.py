"""Generated problems of which the true mean rewards are known, and the files that figures are written to."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Log = tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float64], float]


@dataclass(frozen=True)
class Problem:
    """A log under uniform logging; rewards are smooth in x, of low rank over the actions, and noisy."""

    X: NDArray[np.float32]
    action: NDArray[np.int64]
    reward: NDArray[np.float64]
    taste: NDArray[np.float64]
    senses: NDArray[np.float64]

    @property
    def n_actions(self) -> int:
        """How many actions there are."""
        return len(self.taste)

    def log(self) -> Log:
        """Return contexts, actions, rewards and the propensity."""
        return self.X, self.action, self.reward, 1 / self.n_actions

    def mean_rewards(self, X: NDArray[Any], action: NDArray[Any]) -> NDArray[np.float64]:
        """Return the true mean reward of one action per row."""
        return squash((moods(X, self.senses) * self.taste[action]).sum(axis=1))

    def value(self, X: NDArray[Any], chosen: NDArray[Any]) -> float:
        """Return the true value of decisions."""
        return float(self.mean_rewards(X, chosen).mean())

    def best_value(self, X: NDArray[Any]) -> float:
        """Return the value of the best action of every row."""
        parts = [squash((moods(part, self.senses) @ self.taste.T).max(axis=1)) for part in np.array_split(X, 20)]
        return float(np.concatenate(parts).mean())


def moods(X: NDArray[Any], senses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the rewards depend on."""
    mood: NDArray[np.float64] = np.tanh(2 * X @ senses / np.sqrt(len(senses)))
    return mood


def squash(score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make a mean reward of a score."""
    mean: NDArray[np.float64] = 1 / (1 + np.exp(-2 * score / np.sqrt(8)))
    return mean


def make_problem(n_rows: int, n_features: int, n_actions: int, seed: int = 0, *, zero_one: bool = False) -> Problem:
    """Draw a problem; rewards are continuous, or 0 and 1 with the same means."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, n_features), dtype=np.float32)
    action = random.integers(0, n_actions, n_rows)
    taste = random.standard_normal((n_actions, 8))
    senses = random.standard_normal((n_features, 8))
    mean = squash((moods(X, senses) * taste[action]).sum(axis=1))
    if zero_one:
        reward = (random.random(n_rows) < mean).astype(float)
    else:
        reward = np.clip(mean + 0.15 * random.standard_normal(n_rows), 0, 1)
    return Problem(X, action, reward, taste, senses)


def new_rows(n_rows: int, n_features: int, seed: int = 1) -> NDArray[np.float32]:
    """Draw contexts that no log holds."""
    return np.random.default_rng(seed + 10_000).standard_normal((n_rows, n_features), dtype=np.float32)


def write_figures(path: Path | None, figures: dict[str, Any]) -> None:
    """Write what was measured, and where."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), **rounded(figures)}, indent=1) + "\n", encoding="utf-8")


def rounded(value: Any) -> Any:
    """Keep six digits of every number: more are noise."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def machine() -> dict[str, Any]:
    """Describe where figures were measured: others' work on the same machine disturbs them."""
    names = [line.split(":")[1].strip() for line in _cpu_lines() if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "load": [round(load, 1) for load in os.getloadavg()],
        "versions": {name: version(name) for name in ("numpy", "scikit-learn", "numba")}
        | {"python": platform.python_version()},
    }


def _cpu_lines() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
