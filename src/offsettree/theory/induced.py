"""The binary problems that reductions turn a partial label problem into: the paper's Q_D."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree.exceptions import ParameterError
from offsettree.theory.finite import FiniteProblem, logging_probabilities
from offsettree.topology import ActionTree

__all__ = [
    "InducedProblem",
    "all_pairs_policy",
    "contest_inputs",
    "importance_weighted_problem",
    "offset_tree_policy",
    "offset_tree_problem",
    "pairs",
    "walk_up",
]


@dataclass(frozen=True, eq=False)
class InducedProblem:
    """An importance-weighted binary problem over questions (nodes of a tree, or pairs of actions) and contexts.

    A classifier is a boolean array of its answers, of shape (n_questions, n_contexts).

    Attributes
    ----------
    weight : ndarray of shape (n_questions, n_contexts, 2)
        Expected weight, per draw from D, of the examples labelled 0 and 1.
    """

    weight: NDArray[np.float64]

    @property
    def expected_importance(self) -> float:
        """Expected total weight of the examples from one draw from D."""
        return float(self.weight.sum())

    @property
    def distribution(self) -> NDArray[np.float64]:
        """Q_D: the weights, normalised to probabilities, as by Costing's rejection sampling.

        All zero if every reward equals the offset: then there are no examples, and no classifier has regret.
        """
        return self.weight / (self.expected_importance or 1.0)

    def weighted_loss(self, classifier: ArrayLike) -> float:
        """Return the expected weight of the misclassified examples."""
        return float(self._lost(classifier, self.weight).sum())

    def error(self, classifier: ArrayLike) -> float:
        """Error rate on Q_D. By the folk theorem of section 2, weighted loss / expected importance."""
        return float(self._lost(classifier, self.distribution).sum())

    def weighted_regret(self, classifier: ArrayLike) -> float:
        """Weighted loss above the smallest possible."""
        return self.weighted_loss(classifier) - float(self.weight.min(axis=-1).sum())

    def binary_regret(self, classifier: ArrayLike) -> float:
        """Error rate on Q_D above the smallest possible."""
        return self.error(classifier) - float(self.distribution.min(axis=-1).sum())

    def weighted_regret_by_question(self, classifier: ArrayLike) -> NDArray[np.float64]:
        """Weighted regret of each answer, of shape (n_questions, n_contexts)."""
        return np.asarray(self._lost(classifier, self.weight) - self.weight.min(axis=-1))

    def _lost(self, classifier: ArrayLike, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(_as_classifier(classifier, weight.shape[:2]), weight[..., 0], weight[..., 1])


def offset_tree_problem(
    problem: FiniteProblem,
    tree: ActionTree,
    classifier: ArrayLike,
    *,
    offset: float | ArrayLike = 0.5,
    logging: ArrayLike | None = None,
) -> InducedProblem:
    """Return the expected binary problem of Algorithm 2 on D: one question per node; True means that left wins.

    Which examples reach a node depends on the classifier's answers below it. With two actions this is Algorithm 1. As
    in the algorithm, all outcomes and actions are enumerated: that the result does not depend on `logging` is a
    theorem, not an assumption of the code.

    Parameters
    ----------
    problem : FiniteProblem
        D.
    tree : ActionTree
        T.
    classifier : array of truth values, of shape (n_nodes, n_contexts)
        Whether each node prefers its left side, given each context.
    offset : float or array of shape (n_contexts,), default=0.5
        Rewards are compared with it.
    logging : array of shape (n_contexts, n_actions), optional
        p(a | x); by default uniform.
    """
    prefers_left = _as_classifier(classifier, (tree.n_nodes, problem.n_contexts))
    chances = logging_probabilities(problem, logging)
    offsets = np.broadcast_to(np.asarray(offset, dtype=np.float64), (problem.n_contexts,))
    weight = np.zeros((tree.n_nodes, problem.n_contexts, 2))
    for probability, x, rewards in zip(problem.probability, problem.context, problem.rewards, strict=True):
        for action, reward in enumerate(rewards):
            propensity = chances[x, action]
            importance = abs(reward - offsets[x]) / propensity
            for node, from_left in walk_up(tree, prefers_left[:, x], action):
                label = from_left == (reward >= offsets[x])
                weight[node, x, int(label)] += probability * propensity * importance
    return InducedProblem(weight)


def importance_weighted_problem(problem: FiniteProblem, *, logging: ArrayLike | None = None) -> InducedProblem:
    """Return the expected binary problem of Algorithm 6 on D: one question per pair (i, j); True means that i wins.

    A row becomes the multiclass example (x, a) of weight r_a / p(a). All-pairs turns it into one of the k - 1 pairs
    that contain a, each with equal probability. Questions are in the order of `pairs`.
    """
    chances = logging_probabilities(problem, logging)
    questions = pairs(problem.n_actions)
    weight = np.zeros((len(questions), problem.n_contexts, 2))
    for probability, x, rewards in zip(problem.probability, problem.context, problem.rewards, strict=True):
        for action, reward in enumerate(rewards):
            propensity = chances[x, action]
            for question, (first, second) in enumerate(questions):
                if action in (first, second):
                    label = int(action == first)
                    share = reward / propensity / (problem.n_actions - 1)
                    weight[question, x, label] += probability * propensity * share
    return InducedProblem(weight)


def walk_up(tree: ActionTree, prefers_left: NDArray[np.bool_], action: int) -> Iterator[tuple[int, bool]]:
    """Yield the nodes that an action reaches from its leaf up, and whether it comes from their left side."""
    for node, from_left in tree.path(action):
        yield node, from_left
        if prefers_left[node] != from_left:
            return


def contest_inputs(tree: ActionTree, classifier: ArrayLike) -> NDArray[np.intp]:
    """Return the two actions compared at each node in each context, of shape (n_nodes, n_contexts, 2)."""
    prefers_left = np.asarray(classifier, dtype=bool)
    n_contexts = prefers_left.shape[1]
    winner = np.empty((tree.n_nodes, n_contexts), dtype=np.intp)
    inputs = np.empty((tree.n_nodes, n_contexts, 2), dtype=np.intp)
    for node in tree.bottom_up():
        for side, child in enumerate((tree.left[node], tree.right[node])):
            inputs[node, :, side] = ~child if child < 0 else winner[child]
        winner[node] = np.where(prefers_left[node], inputs[node, :, 0], inputs[node, :, 1])
    return inputs


def offset_tree_policy(tree: ActionTree, classifier: ArrayLike) -> NDArray[np.intp]:
    """Algorithm 3: the action chosen in each context."""
    prefers_left = _as_classifier(classifier, (tree.n_nodes, np.shape(classifier)[-1]))
    inputs = contest_inputs(tree, prefers_left)[0]
    return np.asarray(np.where(prefers_left[0], inputs[:, 0], inputs[:, 1]))


def all_pairs_policy(n_actions: int, classifier: ArrayLike) -> NDArray[np.intp]:
    """Algorithm 7: the action that wins most pairs in each context; the lowest of those that tie."""
    questions = pairs(n_actions)
    first_wins = _as_classifier(classifier, (len(questions), np.shape(classifier)[-1]))
    wins = np.zeros((n_actions, first_wins.shape[1]), dtype=np.intp)
    for (first, second), won in zip(questions, first_wins, strict=True):
        wins[first] += won
        wins[second] += ~won
    return np.asarray(wins.argmax(axis=0))


def pairs(n_actions: int) -> list[tuple[int, int]]:
    """List the pairs of actions in the order in which all-pairs classifiers are indexed."""
    return list(combinations(range(n_actions), 2))


def _as_classifier(classifier: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    answers = np.asarray(classifier, dtype=bool)
    if answers.shape != shape:
        raise ParameterError(
            f"a classifier must hold one answer per question and context, of shape {shape}; got {answers.shape}."
        )
    return answers
