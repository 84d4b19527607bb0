"""Reductions to a binary classification oracle: the definitions and the theorem of section 5."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from offsettree.theory.constructions import lower_bound_problem
from offsettree.theory.finite import FiniteProblem
from offsettree.topology import ActionTree

__all__ = ["ObliviousOracle", "OffsetTreeReduction", "Oracle", "lower_bound_instance"]

Question: TypeAlias = tuple[Hashable, int]


class Oracle(Protocol):
    """Definition 5.1: a stateful program that takes advice and answers predict queries."""

    def advise(self, question: Question, label: bool, weight: float) -> None:
        """Take a training example: a question (context, node), its label and its importance weight."""

    def predict(self, question: Question) -> bool:
        """Answer a question."""


class ObliviousOracle:
    """The oracle of the lower bound: ignores all advice and always gives the same answer.

    Its answers do not depend on D, so its policy is right by chance only. Yet its binary error is small: it errs only
    when a reward of 1 is seen, which is rare.
    """

    def __init__(self, answer: bool = True) -> None:
        self.answer = answer

    def advise(self, question: Question, label: bool, weight: float) -> None:
        """Ignore the advice."""

    def predict(self, question: Question) -> bool:
        """Return the one answer."""
        return self.answer


class OffsetTreeReduction:
    """Definition 5.2 for the offset tree: the pair (R, R^-1), one example at a time.

    Parameters
    ----------
    tree : ActionTree
        T.
    offset : float, default=0.5
        Rewards are compared with it.
    """

    def __init__(self, tree: ActionTree, offset: float = 0.5) -> None:
        self.tree = tree
        self.offset = offset

    def advise(self, oracle: Oracle, context: Hashable, action: int, reward: float, propensity: float) -> None:
        """R: give advice from one row, going up the tree while the oracle's answers choose the row's action."""
        for node, from_left in self.tree.path(action):
            label = from_left == (reward >= self.offset)
            oracle.advise((context, node), label, abs(reward - self.offset) / propensity)
            if oracle.predict((context, node)) != from_left:
                return

    def act(self, oracle: Oracle, context: Hashable) -> int:
        """R^-1: walk down from the root by predict queries alone."""
        child = 0
        while child >= 0:
            side = self.tree.left if oracle.predict((context, child)) else self.tree.right
            child = int(side[child])
        return ~child

    def classifier(self, oracle: Oracle, n_contexts: int) -> NDArray[np.bool_]:
        """Return all answers of the oracle, of shape (n_nodes, n_contexts): a classifier for the other functions."""
        return np.array([[oracle.predict((x, node)) for x in range(n_contexts)] for node in range(self.tree.n_nodes)])


def lower_bound_instance(tree: ActionTree) -> tuple[FiniteProblem, ObliviousOracle]:
    """Theorem 5.1: a problem and an oracle with policy regret (k - 1) / k and binary regret 1 / k.

    For the offset tree over the given tree; `lower_bound_for` has one for any reduction that settles. If both rewards
    in a contest are 0, both labels are equally likely, and no answer has regret. The oracle has regret only in contests
    of the action with reward 1.
    """
    return lower_bound_problem(tree.n_actions), ObliviousOracle()
