"""Explorers: take a random action with some probability, else the policy's, with exact propensities."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from offsettree._validation import is_number
from offsettree.exceptions import ParameterError
from offsettree.online.explorer import Explorer, check_probability

__all__ = ["EpochGreedy", "EpsilonGreedy"]


class EpsilonGreedy(Explorer):
    """Takes a uniform action with a fixed probability, else the policy's.

    Parameters
    ----------
    policy : policy
        The policy that decides and learns. All its actions must be known, ``actions=[...]``, unless it chooses among
        actions with features, which each call of `choose` brings.
    epsilon : float, default=0.1
        The probability of exploration.
    random_state : int, RandomState, Generator or None, default=None
        Draws the exploration.

    Attributes
    ----------
    n_chosen_ : int
        The number of actions chosen.
    actions_ : ndarray of shape (n_actions,)
        The labels.

    Examples
    --------
    >>> from offsettree import EpsilonGreedy, OnlineOffsetTree
    >>> explorer = EpsilonGreedy(OnlineOffsetTree(actions=["mail", "call"]), epsilon=0.2, random_state=0)
    >>> action, propensity = explorer.choose([0.3, 1.0])
    >>> action, round(propensity, 2)
    ('call', 0.9)
    >>> explorer = explorer.learn([0.3, 1.0], action, reward=1.0, propensity=propensity)
    """

    def __init__(
        self,
        policy: Any,
        *,
        epsilon: float = 0.1,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> None:
        self.policy = policy
        self.epsilon = epsilon
        self.random_state = random_state

    def _rates(self, first: int, n_rows: int) -> NDArray[np.float64]:
        return np.full(n_rows, check_probability(self.epsilon, "epsilon"))

    def _rate_settings(self) -> tuple[Any, ...]:
        return (self.epsilon,)


class EpochGreedy(Explorer):
    """Explores with a probability that falls with the number of rows, as in the paper.

    Parameters
    ----------
    policy : policy
        The policy that decides and learns. All its actions must be known, ``actions=[...]``, unless it chooses among
        actions with features, which each call of `choose` brings.
    exploration : {"agnostic", "realizable"}, default="agnostic"
        How fast the probability falls: as t ** (-1/3), which needs no assumption, or as t ** (-1/2), if some policy
        never errs (section 7.2 of the paper; see also `OnlineOffsetTree(realizable=True)`).
    constant : float, default=1.0
        The probability is ``min(1, constant * t ** power)`` in row t = 1, 2, ...
    learn_from : {"all", "exploration"}, default="all"
        "all": the policy learns from every row, with its propensity. "exploration": only from explored rows, each with
        propensity 1 / n_actions, as in Langford and Zhang. Fewer rows, but all of the same weight.
    random_state : int, RandomState, Generator or None, default=None
        Draws the exploration.

    Attributes
    ----------
    n_chosen_ : int
        The number of actions chosen.
    actions_ : ndarray of shape (n_actions,)
        The labels.

    Notes
    -----
    Propensities are those of the action given the context, whether or not the row was explored: a log of them can be
    learned from and evaluated on. `learn` is told the propensity only. An action other than the policy's was explored;
    of rows with the policy's own action, those to learn from are drawn with the probability that they were explored.

    References
    ----------
    Langford and Zhang, "The Epoch-Greedy algorithm for contextual multi-armed bandits", NIPS 2007.

    Examples
    --------
    >>> from offsettree import EpochGreedy, OnlineOffsetTree
    >>> explorer = EpochGreedy(OnlineOffsetTree(actions=["mail", "call"]), random_state=0)
    >>> for row in range(1000):
    ...     x = [row % 2, 1.0]
    ...     action, propensity = explorer.choose(x)
    ...     reward = float((action == "mail") == (row % 2 == 0))
    ...     explorer = explorer.learn(x, action, reward, propensity)
    >>> explorer.decide([0, 1.0]), explorer.decide([1, 1.0])
    ('mail', 'call')
    """

    learn_from: Literal["all", "exploration"] = "all"  # of explorers pickled before there was a choice

    def __init__(
        self,
        policy: Any,
        *,
        exploration: Literal["agnostic", "realizable"] = "agnostic",
        constant: float = 1.0,
        learn_from: Literal["all", "exploration"] = "all",
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> None:
        self.policy = policy
        self.exploration = exploration
        self.constant = constant
        self.learn_from = learn_from
        self.random_state = random_state

    def _rates(self, first: int, n_rows: int) -> NDArray[np.float64]:
        powers = {"agnostic": -1 / 3, "realizable": -1 / 2}
        if not isinstance(self.exploration, str) or self.exploration not in powers:
            raise ParameterError(f"exploration must be 'agnostic' or 'realizable'; got {self.exploration!r}.")
        if not is_number(self.constant) or not 0 <= self.constant < np.inf:
            raise ParameterError(f"constant must be a number of at least 0; got {self.constant!r}.")
        row = np.arange(first, first + n_rows, dtype=np.float64)
        return np.minimum(1.0, float(self.constant) * row ** powers[self.exploration])

    def _rate_settings(self) -> tuple[Any, ...]:
        return self.exploration, self.constant

    def learn(
        self, x: Any, action: Any, reward: float, propensity: float, actions: Any = None, available: Any = None
    ) -> Self:
        """Let the policy learn from one row, or pass over it if it was not explored: see `learn_from`.

        Where `choose` was given `available`, give it here as well: exploration was among these.
        """
        if not self._learns_from_explored_only():
            return super().learn(x, action, reward, propensity, actions, available)
        # A row that is passed over must hold as much as one that is learned from.
        chance, n_actions = self._check_row(x, action, reward, propensity, actions, available)
        if self._was_explored(chance, n_actions):
            super().learn(x, action, reward, 1 / n_actions, actions, available)
        return self

    def _check_policy(self) -> None:
        super()._check_policy()
        self._learns_from_explored_only()

    def _learns_from_explored_only(self) -> bool:
        if not isinstance(self.learn_from, str) or self.learn_from not in ("all", "exploration"):
            raise ParameterError(f"learn_from must be 'all' or 'exploration'; got {self.learn_from!r}.")
        return self.learn_from == "exploration"

    def _was_explored(self, propensity: float, n_actions: int) -> bool:
        """Draw whether a row was explored, given the propensity of its action.

        The policy's own action has propensity 1 - rate + rate / k, of which rate / k is exploration; any other action
        has rate / k, at most 1 / k.
        """
        if n_actions == 1 or propensity <= 1 / n_actions:
            return True
        explored_share = (1 - propensity) / (n_actions - 1) / propensity
        return float(self._next_draws(1)[0, 0]) < explored_share
