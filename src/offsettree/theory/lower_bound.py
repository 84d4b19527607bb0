"""Theorem 5.1 for any reduction that settles: the oracle that answers as if every reward were 0, by simulation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from itertools import product
from operator import itemgetter
from typing import Protocol, TypeAlias

import numpy as np

from offsettree.exceptions import ParameterError
from offsettree.theory.finite import FiniteProblem
from offsettree.theory.induced import pairs
from offsettree.theory.oracles import Oracle, Question
from offsettree.theory.regrets import policy_regret

__all__ = ["AllPairsReduction", "Reduction", "SimulatingOracle", "lower_bound_for", "oracle_regret"]

MOST_ROUNDS = 1000
MOST_HALVINGS = 20
ROUNDING = 1e-12
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

    The answer is the more probable label of a question at reward 0. The proof passes over questions whose labels are
    equally probable there. For them it is the more probable label at reward 1, which has the least regret, summed over
    the k problems that `lower_bound_for` chooses from; if there is none, it is 1.

    What a reduction advises may depend on the oracle's answers. So they are found in rounds: run R on every context and
    action, answer anew, and go on until nothing changes. A reduction that does not settle is refused.

    Parameters
    ----------
    reduction : Reduction
        Any that settles.
    contexts : iterable
        Those that will be asked for.
    n_actions : int
        k; actions are drawn uniformly.
    """

    def __init__(self, reduction: Reduction, contexts: Iterable[Hashable], n_actions: int) -> None:
        self._answers: dict[Question, bool] = {}
        contexts = list(contexts)
        for _ in range(MOST_ROUNDS):
            answers = self._answers_next(reduction, contexts, n_actions)
            if answers == self._answers:
                return
            self._answers = answers
        raise ParameterError(
            f"a reduction must settle on what it advises where all rewards are 0; {type(reduction).__name__} has not "
            f"after {MOST_ROUNDS:,} rounds."
        )

    def _answers_next(self, reduction: Reduction, contexts: list[Hashable], k: int) -> dict[Question, bool]:
        """Return the answers by what the reduction advises, given the present answers."""
        at: dict[float, Labels] = {reward: defaultdict(lambda: [0.0, 0.0]) for reward in (0.0, 1.0)}
        for context, action, reward in product(contexts, range(k), at):
            _collect(at[reward], reduction, self, context, action, reward, 1 / k, 1.0)
        answers = {}
        for question in {**at[0.0], **at[1.0]}:
            (of_0, of_1), (rewarded_0, rewarded_1) = at[0.0][question], at[1.0][question]
            is_tie = abs(of_1 - of_0) <= ROUNDING
            answers[question] = rewarded_1 >= rewarded_0 - ROUNDING if is_tie else of_1 > of_0
        return answers

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
    """Theorem 5.1: a problem and an oracle with policy regret of at least k - 1 times binary regret.

    For any reduction that settles (see `SimulatingOracle`). There are k equally likely contexts, and in each of them
    one action earns 1 with some chance; all else earns 0. The oracle's answers are the same whichever action it is. Of
    the k ways to shift the rewarded actions by a constant, this is the one with the largest policy regret among those
    that keep the inequality. The chance is 1, as in the paper, if some shift does; else it is halved until one does.

    Notes
    -----
    That a small chance c will do is proved as follows. Answers with a majority at reward 0 have no regret. A question
    without one has, for a shift, a lead of at most c / k times what the rewarded rows advise on it at reward 0 and 1.
    One of its labels has at most half of the sum of these leads over all shifts as its regret. A row's advice has a
    total of 1, so that the binary regrets of all shifts add up to at most c. Every choice is right for one of k
    shifts: their policy regrets add up to (k - 1) c. So some shift with policy regret keeps the inequality.

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
    chosen = [reduction.act(oracle, context) for context in range(n_actions)]
    for halvings in range(MOST_HALVINGS + 1):
        found: list[tuple[float, FiniteProblem]] = []
        for shift in range(n_actions):
            problem = _shifted(n_actions, shift, 0.5**halvings)
            regret = policy_regret(problem, chosen)
            if regret > ROUNDING and regret + ROUNDING >= (n_actions - 1) * oracle_regret(reduction, oracle, problem):
                found.append((regret, problem))
        if found:
            return max(found, key=itemgetter(0))[1], oracle
    raise ParameterError(
        f"a reduction must not advise two labels of a question so nearly alike where all rewards are 0: "
        f"{type(reduction).__name__} needs rewards with a chance below {0.5**MOST_HALVINGS:.0e}."
    )


def _shifted(k: int, shift: int, chance: float) -> FiniteProblem:
    """Return the problem in which action x + shift earns 1 in context x, with this chance, and all else 0."""
    rewards = np.roll(np.eye(k), shift, axis=1)
    if chance == 1:
        return FiniteProblem.certain(rewards)
    probability = np.repeat([chance / k, (1 - chance) / k], k)
    return FiniteProblem(probability, np.tile(np.arange(k), 2), np.vstack([rewards, np.zeros((k, k))]))


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
