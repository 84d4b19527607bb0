"""The logs of `choice.py`: twenty to find the rule of choice on, twenty others to judge it by; values are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from _accuracy_logs import as_numbers, preferences
from numpy.typing import NDArray

from offsettree import simulate_log
from offsettree._features import take_rows
from offsettree.datasets import load

N_TEST = 10_000
DEAREST = 499.0  # dollars
AMOUNT = (4.3, 0.9)  # mean and spread of the logarithm of what is spent


@dataclass(frozen=True)
class ChoiceLog:
    """A log to learn from, and contexts with the mean reward of every action in them; actions are 0 to k - 1."""

    X: Any
    action: NDArray[np.int64]
    reward: NDArray[np.float64]
    propensity: NDArray[np.float64]
    X_test: Any
    mean_test: NDArray[np.float64]
    reward_range: tuple[float, float] = (0.0, 1.0)

    @property
    def n_actions(self) -> int:
        """How many actions there are."""
        return int(self.mean_test.shape[1])

    def arrays(self) -> dict[str, Any]:
        """Return what `fit` takes."""
        return {"X": self.X, "action": self.action, "reward": self.reward, "propensity": self.propensity}

    def earned(self, chosen: NDArray[Any]) -> NDArray[np.float64]:
        """Return the mean reward of decisions in the new contexts."""
        return np.asarray(self.mean_test[np.arange(len(chosen)), chosen])


def from_dataset(name: str, n_rows: int, noise: float, logging: str, seed: int) -> ChoiceLog:
    """Reveal one reward per row of a dataset; with probability `noise` a reward is turned over."""
    random = np.random.RandomState(seed)
    data = load(name)
    right = (data.y[:, np.newaxis] == data.classes).astype(np.float64)
    mean = right * (1 - 2 * noise) + noise
    drawn = (random.random_sample(mean.shape) < mean).astype(np.float64)
    order = random.permutation(len(data))
    n_train = min(n_rows, 2 * len(data) // 3)
    return _logged(data.X, mean, drawn, order[:n_train], order[n_train:][:N_TEST], logging, random)


def generated(
    kind: str, n_rows: int, k: int, logging: str, seed: int, *, rate: float = 0.5, size: float = 2.0, d: int = 12
) -> ChoiceLog:
    """Draw clicks; `rate` is about how many there are, `size` how much actions differ, on the scale of log-odds."""
    random = np.random.RandomState(seed)
    X = random.standard_normal((n_rows + N_TEST, d))
    X[:, d // 2] = random.randint(4, size=len(X))
    score = size * SCORES[kind](X, k, random) + np.log(rate / (1 - rate))
    mean = 1 / (1 + np.exp(-score))
    drawn = (random.random_sample(mean.shape) < mean).astype(np.float64)
    return _logged(X, mean, drawn, np.arange(n_rows), np.arange(n_rows, len(X)), logging, random)


def money(kind: str, n_rows: int, k: int, seed: int, *, rate: float, size: float, best: float = 0.0) -> ChoiceLog:
    """Draw dollars: few rows earn anything, and what they earn has a long tail.

    `size` is how much actions differ given x in the logarithm of the rate, `best` how much one of them is ahead.
    """
    random = np.random.RandomState(seed)
    X = random.standard_normal((n_rows + N_TEST, 8))
    X[:, 4] = random.randint(3, size=len(X))
    habit = 0.4 * X[:, :1] + 0.3 * (X[:, 4:5] == 1)
    score = habit + size * SCORES[kind](X, k, random)
    score[:, random.randint(k)] += best
    chance = np.minimum(rate * np.exp(score), 1)
    many = np.clip(np.exp(AMOUNT[0] + AMOUNT[1] * np.random.RandomState(0).standard_normal(1_000_000)), 1, DEAREST)
    spent = np.clip(np.exp(AMOUNT[0] + AMOUNT[1] * random.standard_normal(chance.shape)), 1, DEAREST)
    drawn = np.where(random.random_sample(chance.shape) < chance, spent, 0.0)
    rows = np.arange(len(X))
    log = _logged(X, chance * many.mean(), drawn, rows[:n_rows], rows[n_rows:], "uniform", random)
    return ChoiceLog(**vars(log) | {"reward_range": (0.0, DEAREST)})


def _linear(X: NDArray[np.float64], k: int, random: np.random.RandomState) -> NDArray[np.float64]:
    return np.asarray(X @ random.standard_normal((X.shape[1], k)) / np.sqrt(X.shape[1]))


def _steps(X: NDArray[np.float64], k: int, random: np.random.RandomState) -> NDArray[np.float64]:
    """Products of two steps each, shared by all actions with weights of their own."""
    n_parts = 10
    first, second = random.randint(X.shape[1], size=(2, n_parts))
    parts = np.sign(X[:, first] - 0.3 * random.standard_normal(n_parts)) * np.tanh(3 * X[:, second])
    return np.asarray(parts @ random.standard_normal((n_parts, k)) / np.sqrt(n_parts))


def _mixed(X: NDArray[np.float64], k: int, random: np.random.RandomState) -> NDArray[np.float64]:
    return 0.7 * _linear(X, k, random) + 0.7 * _steps(X, k, random)


def _same(X: NDArray[np.float64], k: int, random: np.random.RandomState) -> NDArray[np.float64]:
    """Let x move all actions together: which one is best does not depend on it."""
    return np.tanh(X[:, :1]) + random.standard_normal(k)


def _one(X: NDArray[np.float64], k: int, random: np.random.RandomState) -> NDArray[np.float64]:
    """One action is best everywhere, nothing else matters."""
    return np.tile(np.eye(k)[random.randint(k)], (len(X), 1))


def _nothing(X: NDArray[np.float64], k: int, random: np.random.RandomState) -> NDArray[np.float64]:
    return np.zeros((len(X), k))


SCORES: dict[str, Callable[[NDArray[np.float64], int, np.random.RandomState], NDArray[np.float64]]] = {
    "linear": _linear,
    "steps": _steps,
    "mixed": _mixed,
    "same": _same,
    "one": _one,
    "nothing": _nothing,
}


def _logged(
    X: Any,
    mean: NDArray[np.float64],
    drawn: NDArray[np.float64],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    logging: str,
    random: np.random.RandomState,
) -> ChoiceLog:
    X_train = take_rows(X, train)
    chance: Any = "uniform"
    if logging == "skewed":
        chance = preferences(as_numbers(X).fit_transform(X_train), mean.shape[1], random)
    log = simulate_log(X_train, drawn[train], chance, random)
    return ChoiceLog(log.X, np.asarray(log.action), log.reward, log.propensity, take_rows(X, test), mean[test])


Make = Callable[[int], ChoiceLog]


def _data(name: str, n_rows: int, noise: float = 0.0, logging: str = "uniform") -> Make:
    return lambda seed: from_dataset(name, n_rows, noise, logging, seed)


def _made(kind: str, n_rows: int, k: int, logging: str = "uniform", **settings: Any) -> Make:
    return lambda seed: generated(kind, n_rows, k, logging, seed, **settings)


def _money(kind: str, n_rows: int, k: int, **settings: Any) -> Make:
    return partial(_seeded_money, kind, n_rows, k, **settings)


def _seeded_money(kind: str, n_rows: int, k: int, seed: int, **settings: Any) -> ChoiceLog:
    return money(kind, n_rows, k, seed, **settings)


# No dataset is in both suites, and no seed of generated logs. Of the datasets for judging many rows are left to value
# decisions in: with few, the best of many candidates would be the luckiest.
TUNING: dict[str, Make] = {
    "letter, 6000": _data("letter", 6000),
    "satimage, noise, skewed": _data("satimage", 3000, 0.2, "skewed"),
    "yeast": _data("yeast", 1000),
    "vehicle": _data("vehicle", 560),
    "flare": _data("flare", 700, 0.1),
    "letter, 1500": _data("letter", 1500),
    "linear, 500, 4": _made("linear", 500, 4),
    "linear, 5000, 20": _made("linear", 5000, 20, "skewed"),
    "steps, 600, 3": _made("steps", 600, 3),
    "steps, 3000, 8, skewed": _made("steps", 3000, 8, "skewed"),
    "steps, 15000, 30": _made("steps", 15_000, 30),
    "mixed, 2000, 5": _made("mixed", 2000, 5),
    "mixed, 12000, 6": _made("mixed", 12_000, 6, "skewed"),
    "weak, 4000, 2": _made("mixed", 4000, 2, size=0.3),
    "same, 1500, 6": _made("same", 1500, 6, size=0.5),
    "one, 3000, 10": _made("one", 3000, 10, size=0.6, rate=0.2),
    "rare, 10000, 20": _made("mixed", 10_000, 20, rate=0.004, size=0.7),
    "rare, 20000, 4": _made("steps", 20_000, 4, rate=0.02, size=1.0),
    "money, 40000, 3, tiny": _money("mixed", 40_000, 3, rate=0.009, size=0.1, best=0.3),
    "money, 10000, 4, large": _money("steps", 10_000, 4, rate=0.05, size=0.8),
}
JUDGING: dict[str, Make] = {
    "pendigits, 5000": _data("pendigits", 5000),
    "pendigits, 600, noise": _data("pendigits", 600, 0.1),
    "page-blocks, skewed": _data("page-blocks", 3500, 0.0, "skewed"),
    "optdigits, 500": _data("optdigits", 500),
    "optdigits, 3000, noise, skewed": _data("optdigits", 3000, 0.2, "skewed"),
    "linear, 800, 6": _made("linear", 800, 6),
    "linear, 20000, 50, skewed": _made("linear", 20_000, 50, "skewed"),
    "linear, 20000, 200": _made("linear", 20_000, 200),
    "steps, 500, 2": _made("steps", 500, 2),
    "steps, 4000, 12": _made("steps", 4000, 12),
    "steps, 30000, 20, skewed": _made("steps", 30_000, 20, "skewed"),
    "mixed, 1500, 4, skewed": _made("mixed", 1500, 4, "skewed"),
    "mixed, 20000, 6": _made("mixed", 20_000, 6, d=9),
    "mixed, 200000, 10": _made("mixed", 200_000, 10, size=0.7),
    "weak, 6000, 3": _made("linear", 6000, 3, size=0.25),
    "one, 2000, 8": _made("one", 2000, 8, size=0.8, rate=0.1),
    "nothing, 1000, 5": _made("nothing", 1000, 5),
    "rare, 15000, 40": _made("steps", 15_000, 40, rate=0.005, size=0.8),
    "money, 64000, 3, tiny": _money("linear", 64_000, 3, rate=0.009, size=0.1, best=0.25),
    "money, 20000, 5, large": _money("mixed", 20_000, 5, rate=0.04, size=0.7),
}
SUITES = {"tuning": TUNING, "judging": JUDGING}
FIRST_SEED = {"tuning": 100, "judging": 5000}
