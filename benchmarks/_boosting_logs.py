"""The logs of `boosting.py`: generated problems of which every mean reward is known, and the paper's datasets.

Columns are standard normal. A score per action is made of them, and the mean reward is its logistic function:

- linear: a direction of its own for every action;
- nonlinear: eight moods that all actions share, each of one or two columns (a product, steps, a wave, a fold), and
  how much each action likes them;
- both: half of either.

Rewards are 0 and 1. Skewed logging prefers some actions, and these more in some contexts, whatever they earn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from _accuracy_logs import Task, make_task, preferences
from numpy.typing import NDArray
from scipy.stats import norm

from offsettree.datasets import NAMES

N_COLUMNS = 20
N_MOODS = 8
N_TEST = 10_000
NUMBERS_OF_TEST = 1 << 22  # mean rewards of new rows, at most
LONGEST = 1_000_000  # datasets are not cut
LOG_AMOUNT, SPREAD, MOST = 4.2, 0.9, 500.0  # of dollars, lognormal: mean logarithm, its deviation, where they are cut
MEAN_AMOUNT = float(
    np.exp(LOG_AMOUNT + SPREAD**2 / 2) / MOST * norm.cdf((np.log(MOST) - LOG_AMOUNT) / SPREAD - SPREAD)
    + norm.sf((np.log(MOST) - LOG_AMOUNT) / SPREAD)
)
Array = NDArray[np.float64]


def linear_scores(X: Array, k: int, random: np.random.Generator) -> Array:
    """Return scores of standard deviation 1."""
    return np.asarray(X @ random.standard_normal((X.shape[1], k)) / np.sqrt(X.shape[1]))


def nonlinear_scores(X: Array, k: int, random: np.random.Generator) -> Array:
    """Return scores of standard deviation about 1.3 that no linear model finds."""
    moods = np.empty((len(X), N_MOODS))
    for mood in range(N_MOODS):
        first, second = (X[:, column] for column in random.choice(X.shape[1], 2, replace=False))
        cut, other = random.normal(0, 0.5, 2)
        moods[:, mood] = (
            np.clip(first * second, -2, 2),
            np.sign(first - cut) * np.sign(second - other),
            1.4 * np.sin(2 * first + cut),
            1.6 * (np.abs(first) - 0.8),
        )[mood % 4]
    return np.asarray(1.3 * moods @ random.standard_normal((N_MOODS, k)) / np.sqrt(N_MOODS))


def both_scores(X: Array, k: int, random: np.random.Generator) -> Array:
    """Return scores of which half is linear."""
    return np.asarray((linear_scores(X, k, random) + nonlinear_scores(X, k, random)) / np.sqrt(2))


def one_is_best(X: Array, k: int, random: np.random.Generator) -> Array:
    """Return the scores of actions of which one is simply best; x tells how much all earn."""
    return np.asarray(0.5 * X[:, :1] - 1.5 + 0.15 * (np.arange(k) == random.integers(k)))


@dataclass(frozen=True)
class Problem:
    """What a generated log is drawn by."""

    n_rows: int
    k: int
    scores: Callable[[Array, int, np.random.Generator], Array]
    logging: str
    chance: float | None = None  # of a reward that is not zero; by default what scores say
    money: bool = False


PROBLEMS = {
    "2,000 rows, k = 5, nonlinear, skewed": Problem(2_000, 5, nonlinear_scores, "skewed"),
    "5,000 rows, k = 16, nonlinear, uniform": Problem(5_000, 16, nonlinear_scores, "uniform"),
    "5,000 rows, k = 16, linear, uniform": Problem(5_000, 16, linear_scores, "uniform"),
    "20,000 rows, k = 8, nonlinear, skewed": Problem(20_000, 8, nonlinear_scores, "skewed"),
    "20,000 rows, k = 8, linear, uniform": Problem(20_000, 8, linear_scores, "uniform"),
    "20,000 rows, k = 8, both, uniform": Problem(20_000, 8, both_scores, "uniform"),
    "50,000 rows, k = 64, nonlinear, uniform": Problem(50_000, 64, nonlinear_scores, "uniform"),
    "50,000 rows, k = 64, linear, skewed": Problem(50_000, 64, linear_scores, "skewed"),
    "100,000 rows, k = 512, nonlinear, uniform": Problem(100_000, 512, nonlinear_scores, "uniform"),
    "100,000 rows, k = 512, linear, skewed": Problem(100_000, 512, linear_scores, "skewed"),
}
# Where x tells little or nothing of which action is best: no policy should be behind the best constant action.
HARD = {
    "10,000 rows, k = 80, 0.4 % clicks": Problem(10_000, 80, both_scores, "uniform", chance=0.004),
    "40,000 rows, k = 3, 0.9 % pay, lognormal": Problem(40_000, 3, both_scores, "uniform", chance=0.009, money=True),
    "20,000 rows, k = 3, one action is best": Problem(20_000, 3, one_is_best, "uniform"),
    "2,000 rows, k = 3, one action is best": Problem(2_000, 3, one_is_best, "uniform"),
}
SOURCES = (*PROBLEMS, *HARD, *NAMES)


def make_log(source: str, seed: int) -> Task:
    """Draw the log of a problem or of a dataset (two thirds of it, logged uniformly), and new rows to judge by."""
    if source in NAMES:
        return make_task(source, "uniform", seed, LONGEST)
    return draw_log((PROBLEMS | HARD)[source], np.random.default_rng([seed, SOURCES.index(source)]))


def draw_log(problem: Problem, random: np.random.Generator) -> Task:
    """Draw the log of a problem, and new rows to judge by."""
    n_test = min(N_TEST, NUMBERS_OF_TEST // problem.k)
    X = random.standard_normal((problem.n_rows + n_test, N_COLUMNS))
    mean, largest = _mean_rewards(problem, problem.scores(X, problem.k, random))
    chance = _chances(problem, X[: problem.n_rows], random)
    action = (chance.cumsum(axis=1) < random.random((problem.n_rows, 1))).sum(axis=1).clip(0, problem.k - 1)
    rows = np.arange(problem.n_rows)
    paid = random.random(problem.n_rows) * largest[: problem.n_rows] < mean[rows, action]
    reward = paid * _amounts(problem, random)
    train, test = X[: problem.n_rows], X[problem.n_rows :]
    return Task(train, train, action, reward, chance[rows, action], test, test, mean[problem.n_rows :])


def _mean_rewards(problem: Problem, score: Array) -> tuple[Array, Array]:
    """Return the mean rewards, and what a row pays on average when it pays."""
    if problem.chance is None:
        return 1 / (1 + np.exp(-score)), np.ones(len(score))
    mean = problem.chance * np.exp(0.3 * score) / np.exp(0.3 * score).mean()
    worth = MEAN_AMOUNT if problem.money else 1.0
    return mean * worth, np.full(len(score), worth)


def _amounts(problem: Problem, random: np.random.Generator) -> Array:
    """Return what is paid: 1, or dollars over the most that is paid."""
    if not problem.money:
        return np.ones(problem.n_rows)
    return np.minimum(random.lognormal(LOG_AMOUNT, SPREAD, problem.n_rows), MOST) / MOST


def _chances(problem: Problem, X: Array, random: np.random.Generator) -> Array:
    if problem.logging == "uniform":
        return np.full((len(X), problem.k), 1 / problem.k)
    return preferences(X, problem.k, np.random.RandomState(random.integers(1 << 31)))
