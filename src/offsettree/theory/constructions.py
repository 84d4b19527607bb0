"""Problems and predictors on which the paper's bounds hold with equality."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offsettree.exceptions import ParameterError
from offsettree.theory.finite import FiniteProblem
from offsettree.theory.induced import pairs
from offsettree.topology import ActionTree

__all__ = [
    "lower_bound_problem",
    "tight_binary_offset",
    "tight_importance_weighting",
    "tight_offset_tree",
    "tight_regression",
    "tight_zero_offset",
]


def tight_binary_offset(regret: float) -> tuple[FiniteProblem, NDArray[np.bool_]]:
    """Theorem 3.1, second part: a problem and a classifier whose policy regret and binary regret are both `regret`.

    The second action always earns 1, the first 0. The classifier errs on contexts of total probability `regret`.
    """
    if not 0 <= regret <= 1:
        raise ParameterError(f"regret must be in [0, 1]; got {regret}.")
    if regret in (0, 1):
        return FiniteProblem.certain([[0.0, 1.0]]), np.array([[regret == 1]])
    problem = FiniteProblem.certain([[0.0, 1.0], [0.0, 1.0]], [regret, 1 - regret])
    return problem, np.array([[True, False]])


def tight_zero_offset(gap: float, tree: ActionTree | None = None) -> tuple[FiniteProblem, NDArray[np.bool_]]:
    """Return rewards near 1, equal but for one, and a classifier that errs at the root only.

    As the gap goes to 0, its policy regret goes to 2 (k - 1) times its binary regret with the offset 0, and to k - 1
    times with the offset 1/2. By default the tree has two actions.
    """
    if not 0 < gap <= 0.5:
        raise ParameterError(f"gap must be in (0, 0.5]; got {gap}.")
    tree = ActionTree.balanced(2) if tree is None else tree
    best = int(tree.leaves[-1])
    rewards = np.full((1, tree.n_actions), 1 - gap)
    rewards[0, best] = 1.0
    classifier = np.ones((tree.n_nodes, 1), dtype=bool)
    for node, from_left in tree.path(best):
        classifier[node] = from_left or node == 0
    return FiniteProblem.certain(rewards), classifier


def lower_bound_problem(n_actions: int) -> FiniteProblem:
    """Section 5: k equally likely contexts; in the i-th, action i earns 1 and all others 0."""
    return FiniteProblem.certain(np.eye(n_actions))


def tight_offset_tree(tree: ActionTree) -> tuple[FiniteProblem, NDArray[np.bool_]]:
    """Theorem 4.1: on the problem of section 5, a classifier whose policy regret is k - 1 times its binary regret.

    It prefers the best action in all of its contests but the last, at the root.
    """
    problem = lower_bound_problem(tree.n_actions)
    classifier = np.ones((tree.n_nodes, tree.n_actions), dtype=bool)
    for action in range(tree.n_actions):
        for node, from_left in tree.path(action):
            classifier[node, action] = from_left != (node == 0)
    return problem, classifier


def tight_regression(n_actions: int, gap: float) -> tuple[FiniteProblem, NDArray[np.float64]]:
    """Theorem 6.1, second part: a problem and a regressor that is wrong about two actions only, by half the gap each.

    It predicts them equal, and the tie goes to the worse one.
    """
    if n_actions < 2 or not 0 < gap <= 1:
        raise ParameterError(f"n_actions must be at least 2 and gap in (0, 1]; got {n_actions} and {gap}.")
    rewards = np.zeros((1, n_actions))
    rewards[0, 1] = gap
    values = rewards.copy()
    values[0, :2] = gap / 2
    return FiniteProblem.certain(rewards), values


def tight_importance_weighting(n_actions: int, gap: float) -> tuple[FiniteProblem, NDArray[np.bool_]]:
    """Theorem 6.2: a problem and an all-pairs classifier that is wrong about the best two actions only.

    The first form of the bound is an equality. The second, with k for the sum of rewards, becomes one as the gap
    between rewards goes to 0.
    """
    if n_actions < 2 or not 0 < gap * (n_actions - 1) <= 1:
        raise ParameterError(f"gap must be in (0, 1 / (n_actions - 1)]; got {gap} for {n_actions} actions.")
    rewards = 1 - gap * np.arange(n_actions)
    # The lower action earns more, so True is right. The first pair is (0, 1).
    classifier = np.ones((len(pairs(n_actions)), 1), dtype=bool)
    classifier[0] = False
    return FiniteProblem.certain([rewards]), classifier
