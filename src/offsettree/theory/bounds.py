"""The right-hand sides of the paper's theorems."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._validation import is_number
from offsettree.exceptions import ParameterError
from offsettree.theory.finite import FiniteProblem
from offsettree.theory.induced import contest_inputs
from offsettree.topology import ActionTree

__all__ = [
    "best_offset",
    "binary_offset_bound",
    "contest_importance",
    "horizon_bound",
    "importance_weighting_bound",
    "label_factor",
    "offset_tree_bound",
    "regression_bound",
    "sample_complexity_bound",
]


def binary_offset_bound(binary_regret: float, *, offset: float = 0.5) -> float:
    """Theorem 3.1: the policy regret of Binary Offset is at most its classifier's regret.

    Another offset multiplies the expected importance, and so the bound, by 2 max(offset, 1 - offset): by 2 for the
    offset 0.
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

    With `importance`, from `contest_importance`, this is the theorem's first, sharper form: importance times regret.
    """
    if importance is not None:
        return importance * binary_regret
    return (n_actions - 1) * binary_offset_bound(binary_regret, offset=offset)


def horizon_bound(binary_regret: float, n_actions: int, horizon: int) -> float:
    """Return the bound for decisions of several steps, section 8: k - 1 becomes k^T.

    A straightforward extension takes every sequence of T actions for one choice. There are k^T of them, so that a
    uniform log holds any one of them once in k^T rows. It is not compelling, as the paper says; nothing else in this
    package has more than one step.
    """
    if not is_number(binary_regret) or not 0 <= binary_regret < math.inf:
        raise ParameterError(f"binary_regret must be a number of at least 0; got {binary_regret!r}.")
    k, steps = _at_least(n_actions, 2, "n_actions"), _at_least(horizon, 1, "horizon")
    if steps == 1:
        return offset_tree_bound(binary_regret, k)
    try:
        return float(k) ** steps * float(binary_regret)
    except OverflowError:
        raise ParameterError(
            f"n_actions ** horizon must be a number that a float can hold; got {k} ** {steps}."
        ) from None


def contest_importance(
    problem: FiniteProblem, tree: ActionTree, classifier: ArrayLike, *, offset: float | ArrayLike = 0.5
) -> float:
    """Return the expected sum over contests of abs(r_a - offset) + abs(r_a' - offset), the factor in Theorem 4.1."""
    inputs = contest_inputs(tree, classifier)
    offsets = np.broadcast_to(np.asarray(offset, dtype=np.float64), (problem.n_contexts,))
    total = 0.0
    for probability, x, rewards in zip(problem.probability, problem.context, problem.rewards, strict=True):
        total += probability * np.abs(rewards[inputs[:, x]] - offsets[x]).sum()
    return float(total)


def label_factor(tree: ActionTree, offset: float) -> float:
    """Return the factor in Theorem 4.1 where one action earns 1 and all others 0, and the classifier is right.

    This is the setting of Table 1: every action is equally often the right one. It wins all contests on its way to the
    root, and in all others two rewards of 0 meet; so the factor is d (1 - offset) + (2 (k - 1) - d) offset, with the
    mean depth d of a leaf. The offset 0 gives d, about log2 k, and 1/2 gives k - 1.

    Examples
    --------
    >>> from offsettree import ActionTree
    >>> tree = ActionTree.balanced(10)
    >>> [round(label_factor(tree, offset), 1) for offset in (1 / 2, 1 / 10, 0)]
    [9.0, 4.5, 3.4]
    """
    if not is_number(offset) or not 0 <= offset <= 1:
        raise ParameterError(f"offset must be a number from 0 to 1, as rewards are; got {offset!r}.")
    problem = FiniteProblem.certain(np.eye(tree.n_actions))
    classifier = np.ones((tree.n_nodes, tree.n_actions), dtype=bool)
    for action in range(tree.n_actions):
        for node, from_left in tree.path(action):
            classifier[node, action] = from_left
    return contest_importance(problem, tree, classifier, offset=offset)


def best_offset(problem: FiniteProblem, tree: ActionTree, classifier: ArrayLike) -> NDArray[np.float64]:
    """Return the offset of each context that minimises the factor in Theorem 4.1 (see the note after the theorem).

    It is the median, given x, of the rewards that are compared in contests.
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
    """Theorem 6.1: policy regret of argmax over a regressor is at most sqrt(2 k * its squared-error regret)."""
    return math.sqrt(2 * n_actions * regression_regret)


def importance_weighting_bound(binary_regret: float, n_actions: int, *, problem: FiniteProblem | None = None) -> float:
    """Theorem 6.2: policy regret of importance weighting with all pairs is at most (k - 1) k times binary regret.

    With `problem`, this is the first, sharper form: the expected sum of rewards takes the place of k. (The paper writes
    that sum with costs, 1 - c_a.)
    """
    total = n_actions if problem is None else float(problem.probability @ problem.rewards.sum(axis=1))
    return binary_regret * (n_actions - 1) * total


def sample_complexity_bound(n_rows: int, n_classifiers: float, delta: float, *, with_offset: bool = True) -> float:
    """Theorem A.1: with probability 1 - delta, no classifier's value on a log is off by more than this.

    For two actions, of which one earns 1 and the other 0, and uniform logging. Without the offset, rejection sampling
    loses half of the rows.
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
        return math.inf  # too few rows for the theorem
    return math.sqrt((math.log(n_classifiers) + math.log(3 / delta)) / n_kept)


def _at_least(value: Any, least: int, name: str) -> int:
    if not is_number(value) or not least <= value < math.inf or int(value) != value:
        raise ParameterError(f"{name} must be a whole number of at least {least}; got {value!r}.")
    return int(value)
