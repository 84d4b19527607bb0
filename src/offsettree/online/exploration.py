"""Explorers: take a random action with some probability, else the policy's, with exact propensities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from offsettree._features import Features, as_one_row
from offsettree._labels import find_actions
from offsettree._validation import as_random_state, is_number
from offsettree.exceptions import ParameterError

__all__ = ["EpochGreedy", "EpsilonGreedy", "Explorer", "Explores"]


RATES_AT_ONCE = 256


class Explores(ABC):
    """Mixin: draws a uniform action with a probability that may change from row to row, else the greedy one."""

    random_state: int | np.random.RandomState | np.random.Generator | None
    actions_: Any

    @abstractmethod
    def _rates(self, first: int, n_rows: int) -> NDArray[np.float64]:
        """Return the probability of exploration in rows `first`, `first` + 1, ..., counted from 1."""

    @abstractmethod
    def _rate_settings(self) -> tuple[Any, ...]:
        """Return the parameters that `_rates` depends on."""

    @property
    def n_chosen_(self) -> int:
        """The number of actions chosen."""
        return int(self.__dict__.get("_n_chosen", 0))

    def predict_proba(self, X: Features, available: Any = None) -> NDArray[np.float64]:
        """Return the probability with which `choose` would now take each action for each row.

        It needs a policy that has chosen or learned at least once.
        """
        if available is not None:
            raise ParameterError("an explorer chooses among all actions: available must be None.")
        rate = float(self._rates(self.n_chosen_ + 1, 1)[0])
        greedy = np.asarray(self.predict(X))[:, np.newaxis] == self.actions_
        probability: NDArray[np.float64] = rate / greedy.shape[1] + (1 - rate) * greedy
        return probability

    @abstractmethod
    def predict(self, X: Features, available: Any = None) -> NDArray[Any]:
        """Return the greedy action for each row."""

    def _next_rates(self, n_rows: int) -> NDArray[np.float64]:
        rates = self._rates(self.n_chosen_ + 1, n_rows)
        self._n_chosen = self.n_chosen_ + n_rows
        return rates

    def _next_rate(self) -> float:
        """Return the next rate from a cache of RATES_AT_ONCE rates."""
        row, settings = self.__dict__.get("_n_chosen", 0) + 1, self._rate_settings()
        first, rates, cached_for = self.__dict__.get("_rate_cache", (0, (), None))
        if not first <= row < first + len(rates) or cached_for != settings:
            first, rates = row, self._rates(row, RATES_AT_ONCE).tolist()
            self._rate_cache = first, rates, settings
        self._n_chosen = row
        rate: float = rates[row - first]
        return rate

    def _next_draws(self, n_rows: int) -> NDArray[np.float64]:
        """Return two uniform draws per row: whether to explore, and which action."""
        if "_random" not in self.__dict__:
            self._random = as_random_state(self.random_state)
        draws: NDArray[np.float64] = self._random.random_sample((n_rows, 2))
        return draws

    def _draw(self, greedy: int | None, n_actions: int) -> tuple[int, float]:
        """Return the position of the action to take, and its propensity; uniform if there is no greedy action."""
        rate = self._next_rate()
        whether, which = self._next_draws(1)[0].tolist()
        if greedy is None:
            return min(int(which * n_actions), n_actions - 1), 1 / n_actions
        action = min(int(which * n_actions), n_actions - 1) if whether < rate else greedy
        return action, rate / n_actions + (1 - rate if action == greedy else 0.0)


class Explorer(Explores, BaseEstimator):
    """Base of explorers around a policy; a subclass defines `_rates`.

    The policy itself is updated, not a copy.
    """

    policy: Any

    @property
    def actions_(self) -> NDArray[Any]:
        """The labels of all actions, in the policy's order."""
        if hasattr(self.policy, "actions_"):
            labels: NDArray[Any] = self.policy.actions_
            return labels if type(labels) is np.ndarray else np.asarray(labels)
        if getattr(self.policy, "actions", None) is None:
            raise ParameterError(
                "an explorer must know all actions before the first row: give the policy actions=[...], or fit it "
                "first."
            )
        return find_actions(np.empty(0), self.policy.actions)

    def choose(self, x: Any) -> tuple[Any, float]:
        """Return an action for one context, and the probability with which it was chosen.

        If the policy is not fitted yet, the action is uniform.
        """
        self._check_policy()
        labels, position_of = self._positions_by_label()
        try:
            label = self.policy.decide(x)
        except NotFittedError:
            label = None
        if label is not None and label not in position_of:
            raise ParameterError(f"the policy chose {label!r}, which is none of its {len(labels)} actions.")
        action, propensity = self._draw(None if label is None else position_of[label], len(labels))
        return labels[action], propensity

    def _positions_by_label(self) -> tuple[list[Any], dict[Any, int]]:
        labels = self.actions_
        kept = self.__dict__.get("_label_cache")
        if kept is None or kept[0] is not labels:
            names = labels.tolist()
            kept = labels, names, {label: position for position, label in enumerate(names)}
            self._label_cache = kept
        return kept[1], kept[2]

    def learn(self, x: Any, action: Any, reward: float, propensity: float) -> Self:
        """Let the policy learn from one row: the action, its reward and its propensity."""
        if hasattr(self.policy, "learn"):
            self.policy.learn(x, action, reward, propensity)
        elif hasattr(self.policy, "partial_fit"):
            row = as_one_row(
                x, getattr(self.policy, "feature_names_in_", None), getattr(self.policy, "_frame_like", None)
            )
            self.policy.partial_fit(row, [action], reward=[reward], propensity=[propensity])
        else:
            raise ParameterError(
                f"the policy must have learn or partial_fit to learn from single rows; {type(self.policy).__name__} "
                "has neither. Log what choose returns, and fit it on the log."
            )
        return self

    def decide(self, x: Any) -> Any:
        """Return the policy's action for one context, without exploring."""
        return self.policy.decide(x)

    def predict(self, X: Features, available: Any = None) -> NDArray[Any]:
        """Return the policy's action for each row, without exploring; `available` is passed on to the policy."""
        return np.asarray(self.policy.predict(X) if available is None else self.policy.predict(X, available))

    def _check_policy(self) -> None:
        if not hasattr(self.policy, "decide"):
            raise ParameterError(
                f"policy must be a policy, such as OnlineOffsetTree(actions=...); got {self.policy!r}."
            )


class EpsilonGreedy(Explorer):
    """Takes a uniform action with a fixed probability, else the policy's.

    Parameters
    ----------
    policy : policy
        The policy that decides and learns. All its actions must be known: ``actions=[...]``.
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
        The policy that decides and learns. All its actions must be known: ``actions=[...]``.
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

    def learn(self, x: Any, action: Any, reward: float, propensity: float) -> Self:
        """Let the policy learn from one row, or pass over it if it was not explored: see `learn_from`."""
        if not self._learns_from_explored_only():
            return super().learn(x, action, reward, propensity)
        n_actions = len(self.actions_)
        if self._was_explored(check_probability(propensity, "propensity"), n_actions):
            super().learn(x, action, reward, 1 / n_actions)
        return self

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


def check_probability(value: Any, name: str) -> float:
    """Return a number from 0 to 1."""
    if not is_number(value) or not 0 <= value <= 1:
        raise ParameterError(f"{name} must be a number from 0 to 1; got {value!r}.")
    return float(value)
