"""The right-hand sides of the paper's theorems."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree.exceptions import ParameterError
from offsettree.theory.finite import FiniteProblem
from offsettree.theory.induced import contest_inputs
from offsettree.topology import ActionTree

__all__ = [
    "best_offset",
    "binary_offset_bound",
    "contest_importance",
    "importance_weighting_bound",
    "offset_tree_bound",
    "regression_bound",
    "sample_complexity_bound",
]


def binary_offset_bound(binary_regret: float, *, offset: float = 0.5) -> float:
    """Theorem 3.1: the policy regret of Binary Offset is at most its classifier's regret.

    With another offset the expected importance, and with it the bound, grows to 2 max(offset, 1 - offset) times
    that: twice as much for the offset 0.
    """
    return 2 * max(offset, 1 - offset) * binary_regret


def offset_tree_bound(
    binary_regret: float,
    n_actions: int,
    *,
    importance: float | None = None,
    offset: float = 0.5,
) -> float:
    """Theorem 4.1: the policy regret of the offset tree is at most (k - 1) times its classifier's regret.

    Given the `importance` of `contest_importance`, the theorem's first, sharper form: that times the regret.
    """
    if importance is not None:
        return importance * binary_regret
    return (n_actions - 1) * binary_offset_bound(binary_regret, offset=offset)


def contest_importance(
    problem: FiniteProblem, tree: ActionTree, classifier: ArrayLike, *, offset: float | ArrayLike = 0.5
) -> float:
    """Sum up over the contests, in expectation, abs(r_a - offset) + abs(r_a' - offset), the factor in Theorem 4.1."""
    inputs = contest_inputs(tree, classifier)
    offsets = np.broadcast_to(np.asarray(offset, dtype=np.float64), (problem.n_contexts,))
    total = 0.0
    for probability, x, rewards in zip(problem.probability, problem.context, problem.rewards, strict=True):
        total += probability * np.abs(rewards[inputs[:, x]] - offsets[x]).sum()
    return float(total)


def best_offset(problem: FiniteProblem, tree: ActionTree, classifier: ArrayLike) -> NDArray[np.float64]:
    """Offset of each context that minimises the factor in Theorem 4.1: the median reward given x.

    Of the rewards, that is, that meet in contests: the note after the theorem.
    """
    inputs = contest_inputs(tree, classifier)
    offset = np.empty(problem.n_contexts)
    for x in range(problem.n_contexts):
        outcomes = problem.context == x
        rewards = problem.rewards[outcomes][:, inputs[:, x].ravel()]
        weight = np.broadcast_to(problem.probability[outcomes][:, np.newaxis], rewards.shape)
        order = np.argsort(rewards, axis=None)
        cumulative = np.cumsum(weight.ravel()[order])
        offset[x] = rewards.ravel()[order][np.searchsorted(cumulative, cumulative[-1] / 2)]
    return offset


def regression_bound(regression_regret: float, n_actions: int) -> float:
    """Theorem 6.1: policy regret of argmax over a regressor is at most sqrt(2 k times its squared-error regret)."""
    return math.sqrt(2 * n_actions * regression_regret)


def importance_weighting_bound(binary_regret: float, n_actions: int, *, problem: FiniteProblem | None = None) -> float:
    """Theorem 6.2: policy regret of importance weighting with all pairs is at most (k - 1) k times binary regret.

    Given the problem, the first, sharper form: its expected sum of rewards takes the place of k. (The paper writes
    that sum as one of 1 - c_a, in terms of costs.)
    """
    total = n_actions if problem is None else float(problem.probability @ problem.rewards.sum(axis=1))
    return binary_regret * (n_actions - 1) * total


def sample_complexity_bound(n_rows: int, n_classifiers: float, delta: float, *, with_offset: bool = True) -> float:
    """Theorem A.1: how far the value of any of `n_classifiers` on a log may be from the truth, save with chance delta.

    For two actions of which one earns 1 and the other 0, and uniform logging. Without the offset half the rows are
    lost to rejection sampling, and the bound is that of half as many rows.
    """
    if n_rows < 1 or n_classifiers < 1 or not 0 < delta < 1:
        raise ParameterError(
            "n_rows and n_classifiers must be at least 1 and delta in (0, 1); "
            f"got {n_rows}, {n_classifiers} and {delta}."
        )
    if with_offset:
        return math.sqrt((math.log(n_classifiers) + math.log(2 / delta)) / (2 * n_rows))
    n_kept = n_rows - 2 * math.sqrt(n_rows * math.log(3 / delta))
    if n_kept <= 0:
        return math.inf  # too few rows for the theorem to say anything
    return math.sqrt((math.log(n_classifiers) + math.log(3 / delta)) / n_kept)
