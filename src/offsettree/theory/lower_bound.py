"""Theorem 5.1 for any reduction: the oracle that answers as if every reward were 0, found by simulation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import Protocol, TypeAlias

import numpy as np

from offsettree.exceptions import ParameterError
from offsettree.theory.finite import FiniteProblem
from offsettree.theory.induced import pairs
from offsettree.theory.oracles import Oracle, Question

__all__ = ["AllPairsReduction", "Reduction", "SimulatingOracle", "lower_bound_for", "oracle_regret"]

MOST_ROUNDS = 1000
# How much probability each label of a question has: [of 0, of 1].
Labels: TypeAlias = "defaultdict[Question, list[float]]"


class Reduction(Protocol):
    """Definition 5.2: the pair (R, R^-1), one example at a time."""

    def advise(self, oracle: Oracle, context: Hashable, action: int, reward: float, propensity: float) -> None:
        """R: turn a row into advice; it may ask the oracle on the way."""

    def act(self, oracle: Oracle, context: Hashable) -> int:
        """R^-1: choose an action by predict queries alone."""


class AllPairsReduction:
    """Definition 5.2 for importance weighting with all pairs: Algorithms 6 and 7, one example at a time.

    Parameters
    ----------
    n_actions : int
        k.
    """

    def __init__(self, n_actions: int) -> None:
        self.n_actions = n_actions

    def advise(self, oracle: Oracle, context: Hashable, action: int, reward: float, propensity: float) -> None:
        """R: the row's action wins against every other, with its share of reward / propensity."""
        for first, second in pairs(self.n_actions):
            if action in (first, second) and reward > 0:
                weight = reward / propensity / (self.n_actions - 1)
                oracle.advise((context, first * self.n_actions + second), action == first, weight)

    def act(self, oracle: Oracle, context: Hashable) -> int:
        """R^-1: the action that wins most pairs."""
        wins = np.zeros(self.n_actions, dtype=int)
        for first, second in pairs(self.n_actions):
            won = oracle.predict((context, first * self.n_actions + second))
            wins[first if won else second] += 1
        return int(wins.argmax())


class SimulatingOracle:
    """The oracle of Theorem 5.1: ignores all advice, and answers as advised where every reward is 0.

    What a reduction advises may depend on the oracle's answers. So they are found in rounds: run R on every context and
    action with reward 0, let each question's more probable label be its answer, and go on until nothing changes. Of
    equally probable labels, and without any advice, the answer is 1.

    Parameters
    ----------
    reduction : Reduction
        Any.
    contexts : iterable
        Those that will be asked for.
    n_actions : int
        k; actions are drawn uniformly.
    """

    def __init__(self, reduction: Reduction, contexts: Iterable[Hashable], n_actions: int) -> None:
        self._answers: dict[Question, bool] = {}
        contexts = list(contexts)
        for _ in range(MOST_ROUNDS):
            labels: Labels = defaultdict(lambda: [0.0, 0.0])
            for context in contexts:
                for action in range(n_actions):
                    _collect(labels, reduction, self, context, action, 0.0, 1 / n_actions, 1.0)
            answers = {question: of_1 >= of_0 for question, (of_0, of_1) in labels.items()}
            if answers == self._answers:
                return
            self._answers = answers
        raise ParameterError(
            f"a reduction must settle on what it advises where all rewards are 0; {type(reduction).__name__} has not "
            f"after {MOST_ROUNDS:,} rounds."
        )

    def advise(self, question: Question, label: bool, weight: float) -> None:
        """Ignore the advice."""

    def predict(self, question: Question) -> bool:
        """Return the answer found by simulation."""
        return self._answers.get(question, True)


class _Listener:
    """Answers as an oracle does, and writes down the advice."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self.heard: list[tuple[Question, bool, float]] = []

    def advise(self, question: Question, label: bool, weight: float) -> None:
        self.heard.append((question, label, weight))

    def predict(self, question: Question) -> bool:
        return self._oracle.predict(question)


def oracle_regret(reduction: Reduction, oracle: Oracle, problem: FiniteProblem) -> float:
    """Return reg_e(O, R(D)) of an oracle that ignores advice, with actions drawn uniformly.

    As in the proof, every draw from D counts alike: one of its examples is drawn, in proportion to their weights, and a
    row without any example has no error.
    """
    labels: Labels = defaultdict(lambda: [0.0, 0.0])
    k = problem.n_actions
    for probability, context, rewards in zip(problem.probability, problem.context, problem.rewards, strict=True):
        for action, reward in enumerate(rewards.tolist()):
            _collect(labels, reduction, oracle, int(context), action, reward, 1 / k, float(probability) / k)
    error = sum(masses[0 if oracle.predict(question) else 1] for question, masses in labels.items())
    return error - sum(min(masses) for masses in labels.values())


def lower_bound_for(reduction: Reduction, n_actions: int) -> tuple[FiniteProblem, SimulatingOracle]:
    """Theorem 5.1: a problem and an oracle with policy regret at least k - 1 times binary regret, for any reduction.

    One action earns 1 in each of k equally likely contexts. The oracle's answers are the same whichever it is. So of
    the k ways to shift the rewarded actions by a constant, the policy is right at most once in one of them: that is
    the problem returned, with policy regret of at least (k - 1) / k.

    Examples
    --------
    >>> from offsettree import theory as th
    >>> reduction = th.AllPairsReduction(5)
    >>> problem, oracle = th.lower_bound_for(reduction, 5)
    >>> policy = [reduction.act(oracle, x) for x in range(5)]
    >>> regret, binary = th.policy_regret(problem, policy), th.oracle_regret(reduction, oracle, problem)
    >>> print(f"policy regret {regret:.2f}, binary regret {binary:.2f}")
    policy regret 0.80, binary regret 0.10
    """
    oracle = SimulatingOracle(reduction, range(n_actions), n_actions)
    chosen = np.array([reduction.act(oracle, context) for context in range(n_actions)])
    # By how much each choice is shifted against its context; the rarest shift is the worst for the policy.
    shifts = np.bincount((chosen - np.arange(n_actions)) % n_actions, minlength=n_actions)
    rewards = np.roll(np.eye(n_actions), int(shifts.argmin()), axis=1)
    return FiniteProblem.certain(rewards), oracle


def _collect(
    labels: Labels,
    reduction: Reduction,
    oracle: Oracle,
    context: Hashable,
    action: int,
    reward: float,
    propensity: float,
    probability: float,
) -> None:
    listener = _Listener(oracle)
    reduction.advise(listener, context, action, reward, propensity)
    total = sum(weight for _, _, weight in listener.heard)
    for question, label, weight in listener.heard:
        if weight > 0:
            labels[question][int(label)] += probability * weight / total
