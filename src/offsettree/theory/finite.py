"""Partial label problems small enough to solve exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._validation import as_random_state
from offsettree.exceptions import ParameterError
from offsettree.logs import LoggedData, simulate_log

__all__ = ["FiniteProblem", "logging_probabilities"]


@dataclass(frozen=True, eq=False)
class FiniteProblem:
    """A distribution D over contexts and reward vectors that has finitely many outcomes.

    Parameters
    ----------
    probability : array of shape (n_outcomes,)
        The probability of each outcome; positive, with sum 1.
    context : array of shape (n_outcomes,)
        The context x of each outcome, numbered 0, 1, ... without a gap.
    rewards : array of shape (n_outcomes, n_actions)
        The reward vector of each outcome, in [0, 1].

    Examples
    --------
    One context in which the first action earns 1 or 0 with equal chances, and the second always 0.3:

    >>> problem = FiniteProblem([0.5, 0.5], [0, 0], [[1.0, 0.3], [0.0, 0.3]])
    >>> problem.mean_rewards
    array([[0.5, 0.3]])
    """

    probability: NDArray[np.float64]
    context: NDArray[np.intp]
    rewards: NDArray[np.float64]

    def __init__(self, probability: ArrayLike, context: ArrayLike, rewards: ArrayLike) -> None:
        # Frozen dataclasses are filled through object.__setattr__.
        object.__setattr__(self, "probability", np.asarray(probability, dtype=np.float64))
        object.__setattr__(self, "context", np.asarray(context, dtype=np.intp))
        object.__setattr__(self, "rewards", np.asarray(rewards, dtype=np.float64))
        self._check()

    @classmethod
    def certain(cls, rewards: ArrayLike, probability: ArrayLike | None = None) -> Self:
        """One reward vector per context, without noise; by default contexts are equally likely."""
        rewards = np.asarray(rewards, dtype=np.float64)
        n_contexts = len(rewards)
        chances = np.full(n_contexts, 1 / n_contexts) if probability is None else probability
        return cls(chances, np.arange(n_contexts), rewards)

    @classmethod
    def random(
        cls,
        n_contexts: int,
        n_actions: int,
        n_outcomes: int = 3,
        random_state: int | np.random.RandomState | None = None,
    ) -> Self:
        """Draw a noisy problem: each context has `n_outcomes` reward vectors of random probabilities."""
        random = as_random_state(random_state)
        size = n_contexts * n_outcomes
        return cls(
            random.dirichlet(np.ones(size)),
            np.repeat(np.arange(n_contexts), n_outcomes),
            random.random_sample((size, n_actions)),
        )

    @property
    def n_contexts(self) -> int:
        """The number of contexts."""
        return int(self.context.max()) + 1

    @property
    def n_actions(self) -> int:
        """The number of actions, k."""
        return int(self.rewards.shape[1])

    @property
    def context_probability(self) -> NDArray[np.float64]:
        """The probability of each context."""
        return np.bincount(self.context, weights=self.probability).astype(np.float64)

    @property
    def mean_rewards(self) -> NDArray[np.float64]:
        """Expected reward of each action given each context, of shape (n_contexts, n_actions)."""
        total = np.zeros((self.n_contexts, self.n_actions))
        np.add.at(total, self.context, self.probability[:, np.newaxis] * self.rewards)
        return total / self.context_probability[:, np.newaxis]

    def sample(
        self,
        n_rows: int,
        logging: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> LoggedData:
        """Draw a log; a row's features are the one-hot encoding of its context.

        `logging` holds the probability of each action given each context, of shape (n_contexts, n_actions); by default
        uniform.
        """
        random = as_random_state(random_state)
        outcome = random.choice(len(self.probability), size=n_rows, p=self.probability / self.probability.sum())
        context = self.context[outcome]
        chances = logging_probabilities(self, logging)[context]
        return simulate_log(np.eye(self.n_contexts)[context], self.rewards[outcome], chances, random)

    def _check(self) -> None:
        n_outcomes = len(self.probability)
        if self.rewards.ndim != 2 or self.rewards.shape[0] != n_outcomes or self.context.shape != (n_outcomes,):
            raise ParameterError(
                "probability, context and rewards must have one entry per outcome; got shapes "
                f"{self.probability.shape}, {self.context.shape}, {self.rewards.shape}."
            )
        if not (self.probability > 0).all() or not np.isclose(self.probability.sum(), 1):
            raise ParameterError(f"probability must be positive and sum to 1; got {self.probability}.")
        if not np.array_equal(np.unique(self.context), np.arange(self.context.max() + 1)):
            raise ParameterError(f"contexts must be numbered 0, 1, ... without a gap; got {np.unique(self.context)}.")
        if not ((self.rewards >= 0) & (self.rewards <= 1)).all():
            raise ParameterError("rewards must be in [0, 1].")


def logging_probabilities(problem: FiniteProblem, logging: ArrayLike | None) -> NDArray[np.float64]:
    """Return p(a | x), of shape (n_contexts, n_actions): the given one, checked, or uniform."""
    shape = (problem.n_contexts, problem.n_actions)
    if logging is None:
        return np.full(shape, 1 / problem.n_actions)
    chances = np.asarray(logging, dtype=np.float64)
    if chances.shape != shape or not (chances > 0).all() or not np.allclose(chances.sum(axis=1), 1):
        raise ParameterError(
            f"logging must hold positive probabilities of shape {shape}, each row with sum 1; "
            f"got an array of shape {chances.shape}."
        )
    return chances
