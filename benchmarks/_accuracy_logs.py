"""The logs of `accuracy.py`: the paper's datasets and generated problems, logged uniformly and with preferences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from forest_defaults import Problem, linear, rules, smooth
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from offsettree import simulate_log
from offsettree._features import take_rows
from offsettree.datasets import NAMES, load

N_TEST = 2000
OFF = 50_000  # of the seeds, away from those by which defaults were chosen
LOGGINGS = ("uniform", "skewed")
GENERATED: dict[str, Callable[[int, int], Problem]] = {
    "linear, 5": lambda n_rows, seed: linear(n_rows, 5, seed, clicks=True),
    "linear, 20": lambda n_rows, seed: linear(n_rows, 20, seed, clicks=True),
    "smooth, 4": lambda n_rows, seed: smooth(n_rows, 4, seed, clicks=True),
    "smooth, 16": lambda n_rows, seed: smooth(n_rows, 16, seed, clicks=True),
    "rare, 5": lambda n_rows, seed: smooth(n_rows, 5, seed, clicks=True, shift=-2.0),
    "rules, 5": lambda n_rows, seed: rules(n_rows, 5, seed),
}
SOURCES = (*NAMES, *GENERATED)


@dataclass(frozen=True)
class Task:
    """A log to learn from, and contexts with the mean reward of every action in them; actions are 0 to k - 1.

    `X` and `X_test` are as the dataset has them, frames with nominal columns among them; `numbers` and `numbers_test`
    are the same as numbers, for those that take nothing else: one column per name, all of mean 0 and variance 1.
    """

    X: Any
    numbers: NDArray[np.float64]
    action: NDArray[np.int64]
    reward: NDArray[np.float64]
    propensity: NDArray[np.float64]
    X_test: Any
    numbers_test: NDArray[np.float64]
    mean_test: NDArray[np.float64]

    @property
    def n_actions(self) -> int:
        """How many actions there are."""
        return int(self.mean_test.shape[1])

    def value(self, chosen: NDArray[Any]) -> float:
        """Return the true value of decisions in the new contexts."""
        if len(chosen) != len(self.mean_test):
            raise ValueError(f"{len(self.mean_test)} decisions were asked for, and {len(chosen)} came.")
        return float(self.mean_test[np.arange(len(chosen)), chosen].mean())

    def best_value(self) -> float:
        """Return the value of the best action of every row."""
        return float(self.mean_test.max(axis=1).mean())


def make_task(source: str, logging: str, seed: int, n_rows: int) -> Task:
    """Log a dataset or a generated problem; the same contexts and rewards under every logging."""
    random = np.random.RandomState(OFF + seed)
    if source in GENERATED:
        X, mean, drawn = GENERATED[source](n_rows + 2 * N_TEST, OFF + seed)
        train, test = np.arange(n_rows), np.arange(n_rows, len(X))
    else:
        data = load(source)
        X = data.X
        mean = drawn = (data.y[:, np.newaxis] == data.classes).astype(np.float64)
        order = random.permutation(len(data))
        n_train = min(n_rows, 2 * len(data) // 3)
        train, test = order[:n_train], order[n_train:][:N_TEST]
    encoder = as_numbers(X)
    numbers = encoder.fit_transform(take_rows(X, train))
    chance = None if logging == "uniform" else preferences(numbers, mean.shape[1], random)
    log = simulate_log(take_rows(X, train), drawn[train], "uniform" if chance is None else chance, random)
    return Task(
        log.X,
        numbers,
        np.asarray(log.action),
        log.reward,
        log.propensity,
        take_rows(X, test),
        encoder.transform(take_rows(X, test)),
        mean[test],
    )


def as_numbers(X: Any) -> Any:
    """Return an encoder; a missing name is a name, a missing number the mean."""
    scaled = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    if not hasattr(X, "columns"):
        return scaled
    nominal = [column for column in X.columns if X[column].dtype == "category"]
    names = make_pipeline(OneHotEncoder(handle_unknown="ignore", sparse_output=False), StandardScaler())
    others = [column for column in X.columns if column not in nominal]
    return ColumnTransformer([("names", names, nominal), ("numbers", scaled, others)])


def preferences(numbers: NDArray[np.float64], k: int, random: np.random.RandomState) -> NDArray[np.float64]:
    """Return probabilities that depend on x, whatever is earned, and leave every action a tenth of its even share."""
    score = 1.5 * numbers @ random.standard_normal((numbers.shape[1], k)) / np.sqrt(numbers.shape[1])
    chance = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(0.9 * chance / chance.sum(axis=1, keepdims=True) + 0.1 / k)
