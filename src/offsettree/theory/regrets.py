"""Regrets of policies, classifiers and regressors: their loss against the best possible ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree.exceptions import ParameterError
from offsettree.theory.finite import FiniteProblem, logging_probabilities
from offsettree.theory.induced import InducedProblem

__all__ = [
    "argmax_policy",
    "binary_regret",
    "policy_regret",
    "policy_value",
    "regression_regret",
    "weighted_regret",
]


def policy_value(problem: FiniteProblem, policy: ArrayLike) -> float:
    """Return the expected reward of a policy, the paper's eta(pi, D).

    Parameters
    ----------
    problem : FiniteProblem
        D.
    policy : array of shape (n_contexts,) or (n_contexts, n_actions)
        The action of each context, or the probability of each action given each context.
    """
    chosen = np.asarray(policy)
    if chosen.shape == (problem.n_contexts,):
        earned = problem.mean_rewards[np.arange(problem.n_contexts), chosen]
    elif chosen.shape == (problem.n_contexts, problem.n_actions):
        earned = (chosen * problem.mean_rewards).sum(axis=1)
    else:
        raise ParameterError(
            f"a policy must give one action, or {problem.n_actions} probabilities, for each of the "
            f"{problem.n_contexts} contexts; got an array of shape {chosen.shape}."
        )
    return float(problem.context_probability @ earned)


def policy_regret(problem: FiniteProblem, policy: ArrayLike) -> float:
    """Value of the best policy minus that of this one."""
    best = problem.context_probability @ problem.mean_rewards.max(axis=1)
    return float(best) - policy_value(problem, policy)


def weighted_regret(induced: InducedProblem, classifier: ArrayLike) -> float:
    """Return the importance weighted regret of a classifier on an induced problem."""
    return induced.weighted_regret(classifier)


def binary_regret(induced: InducedProblem, classifier: ArrayLike) -> float:
    """Regret of a classifier on Q_D, the unweighted problem that Costing derives from an induced problem."""
    return induced.binary_regret(classifier)


def regression_regret(problem: FiniteProblem, values: ArrayLike, *, logging: ArrayLike | None = None) -> float:
    """Squared-error regret of a regressor f(x, a), given as an array of shape (n_contexts, n_actions).

    On the distribution that Algorithm 4 sees; the paper's theorem is for uniform logging, the default.
    """
    chances = logging_probabilities(problem, logging)
    squared = (np.asarray(values, dtype=np.float64) - problem.mean_rewards) ** 2
    return float(problem.context_probability @ (chances * squared).sum(axis=1))


def argmax_policy(values: ArrayLike) -> NDArray[np.intp]:
    """Algorithm 5: the action of the largest predicted value; the lowest of those that tie."""
    return np.asarray(np.asarray(values).argmax(axis=1))
