"""What explorers have in common: a random action with some probability, else the policy's; exact propensities."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from offsettree._available import check_available, check_available_for_one
from offsettree._features import Features, as_one_row
from offsettree._labels import check_actions, encode_actions, find_actions
from offsettree._validation import as_random_state, check_reward_within, is_number, is_whole, shown
from offsettree.actions import labels_of, without
from offsettree.exceptions import ActionError, ParameterError
from offsettree.logs import ActionSets, judge_columns

__all__ = ["Explorer", "Explores", "check_probability", "eligible_labels"]


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

    @property
    def takes_action_sets(self) -> bool:
        """Whether the policy chooses among actions with features, which differ from row to row."""
        return bool(getattr(self.policy, "takes_action_sets", False))

    def choose(self, x: Any, actions: Any = None, available: Any = None) -> tuple[Any, float]:
        """Return an action for one context, and the probability with which it was chosen.

        If the policy is not fitted yet, the action is uniform.

        Parameters
        ----------
        x : sequence of numbers, or mapping of names to values
            The context.
        actions : list of mappings, array of shape (n_actions, n_features), or ActionSets of one row, optional
            The eligible actions of a policy over actions with features. The answer is an id, or a position where they
            have no ids.
        available : labels, or truth values in the order of `actions_`, optional
            The actions there are to choose from, of a policy whose actions are labels. By default all.
        """
        self._check_policy()
        labels = self._labels_among(actions, available)
        place, propensity = self._pick(x, labels, actions, available)
        return labels[place], propensity

    def _labels_among(self, actions: Any, available: Any) -> list[Any]:
        """Return the labels of the actions to choose from, in their order."""
        self._check_among(actions, available)
        if self.takes_action_sets:
            return eligible_labels(actions)
        labels, _ = self._positions_by_label()
        if available is None:
            return labels
        return [labels[place] for place in np.flatnonzero(self._mask_of_one(available)).tolist()]

    def _mask_of_one(self, available: Any) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = check_available_for_one(available, self.actions_).dense()[0]
        return mask

    def _pick(self, x: Any, labels: list[Any], actions: Any, available: Any) -> tuple[int, float]:
        """Return the place among the labels of the action to take, and its propensity."""
        among = available if actions is None else actions
        try:
            label = self.policy.decide(x) if among is None else self.policy.decide(x, among)
        except NotFittedError:
            return self._draw(None, len(labels))
        if among is None:
            place = self._positions_by_label()[1].get(label)
        else:
            place = labels.index(label) if label in labels else None
        if place is None:
            raise ParameterError(f"the policy chose {label!r}, which is none of its {len(labels)} actions.")
        return self._draw(place, len(labels))

    def rank(self, x: Any, actions: Any = None, n: int = 1, available: Any = None) -> list[tuple[Any, float]]:
        """Return different actions for n slots, first slot first, each with the probability with which it was chosen.

        Each slot is a choice among the actions that the slots before it have left, and its propensity is that of this
        choice. So every slot can be logged as a row of its own, with what was left as its set, learned from and
        evaluated: an estimate is then the value of a slot, given the slots before it as they were logged. The
        propensity of the whole list is the product.

        Parameters
        ----------
        x : sequence of numbers, or mapping of names to values
            The context.
        actions : list of mappings, array of shape (n_actions, n_features), or ActionSets of one row, optional
            The eligible actions, at least n, of a policy over actions with features.
        n : int, default=1
            The number of slots.
        available : labels, or truth values in the order of `actions_`, optional
            The actions there are to choose from, at least n, of a policy whose actions are labels. By default all.
        """
        labels = self._labels_among(actions, available)
        if not is_whole(n) or not 1 <= n <= len(labels):
            raise ParameterError(f"n must be a whole number from 1 to the {len(labels)} eligible actions; got {n!r}.")
        # Without ids an action is known by its position, which changes as others leave.
        by_place = actions is not None and labels_of(actions) is None
        chosen: list[tuple[Any, float]] = []
        left = list(labels)
        while len(chosen) < n:
            label, propensity = self.choose(x, actions, available)
            place = label if by_place else left.index(label)
            chosen.append((left.pop(place), propensity))
            if left and actions is not None:
                actions = without(actions, place)
            elif left:
                available = list(left)
        return chosen

    def choose_list(self, x: Any, actions: Any, n: int) -> list[tuple[Any, float]]:
        """Do as `rank`, by its former name.

        Parameters
        ----------
        x : sequence of numbers, or mapping of names to values
            The context.
        actions : list of mappings, array of shape (n_actions, n_features), or ActionSets of one row
            The eligible actions, at least n, of a policy over actions with features.
        n : int
            The number of slots.
        """
        return self.rank(x, actions, n)

    def _positions_by_label(self) -> tuple[list[Any], dict[Any, int]]:
        labels = self.actions_
        kept = self.__dict__.get("_label_cache")
        if kept is None or kept[0] is not labels:
            names = labels.tolist()
            kept = labels, names, {label: position for position, label in enumerate(names)}
            self._label_cache = kept
        return kept[1], kept[2]

    def learn(
        self, x: Any, action: Any, reward: float, propensity: float, actions: Any = None, available: Any = None
    ) -> Self:
        """Let the policy learn from one row: the action, its reward, its propensity.

        Parameters
        ----------
        x : sequence of numbers, or mapping of names to values
            The context.
        action : int or str
            What `choose` returned.
        reward : float
            What it earned.
        propensity : float
            The probability with which it was chosen.
        actions : list of mappings, array of shape (n_actions, n_features), or ActionSets of one row, optional
            The eligible actions, of a policy over actions with features.
        available : labels, or truth values in the order of `actions_`, optional
            The actions there were to choose from, of a policy whose actions are labels. The action must be one of them.
        """
        if available is not None:
            self._check_available(action, available, actions)
        if self.takes_action_sets:
            if not hasattr(self.policy, "learn"):
                raise ParameterError(
                    f"the policy must have learn to learn from single rows, as OnlineActionRegression does; "
                    f"{type(self.policy).__name__} has not. Log what choose returns, and fit it on the log."
                )
            self.policy.learn(x, actions, action, reward, propensity)
        elif actions is not None:
            raise ParameterError(_no_sets(self.policy))
        elif hasattr(self.policy, "learn"):
            self.policy.learn(x, action, reward, propensity)
        elif hasattr(self.policy, "partial_fit"):
            self.policy.partial_fit(self._one_row(x), [action], reward=[reward], propensity=[propensity])
        else:
            raise ParameterError(
                f"the policy must have learn or partial_fit to learn from single rows; {type(self.policy).__name__} "
                "has neither. Log what choose returns, and fit it on the log."
            )
        return self

    def _check_available(self, action: Any, available: Any, actions: Any) -> list[Any]:
        """Refuse an action that was not there to choose from; return those that were."""
        labels = self._labels_among(actions, available)
        if getattr(action, "item", lambda: action)() not in labels:
            raise ActionError(
                f"the action must be one of those available; {shown(action)} is not among {labels[:5]}. Pass the "
                "actions there were when it was chosen."
            )
        return labels

    def decide(self, x: Any, *among: Any) -> Any:
        """Return the policy's action for one context, without exploring; `among` is what its `decide` takes more."""
        return self.policy.decide(x, *among)

    def predict(self, X: Features, available: Any = None, action_sets: Any = None) -> NDArray[Any]:
        """Return the policy's action for each row, without exploring; the rest is passed on to the policy."""
        if action_sets is not None:
            return np.asarray(self.policy.predict(X, action_sets))
        return np.asarray(self.policy.predict(X) if available is None else self.policy.predict(X, available))

    def predict_proba(self, X: Features, available: Any = None, action_sets: Any = None) -> NDArray[np.float64]:
        """Return the probability with which `choose` would now take each action for each row.

        Parameters
        ----------
        X : array, CSR matrix or frame
            The contexts.
        available : boolean array or CSR matrix of shape (n_rows, n_actions), optional
            Which actions there are to choose from; by default all.
        action_sets : ActionSets, optional
            The eligible actions of each row, of a policy over such sets.

        Returns
        -------
        ndarray of shape (n_rows, n_actions), or (n_pairs,) with action sets
        """
        rate = float(self._rates(self.n_chosen_ + 1, 1)[0])
        if action_sets is not None:
            if not self.takes_action_sets:
                raise ParameterError(_no_sets(self.policy))
            share = np.repeat(1 / action_sets.sizes, action_sets.sizes)
            greedy = np.asarray(self.policy.predict_proba(X, action_sets))
            return np.asarray(rate * share + (1 - rate) * greedy)
        chosen = np.asarray(self.predict(X, available))[:, np.newaxis] == self.actions_
        if available is None:
            return np.asarray(rate / chosen.shape[1] + (1 - rate) * chosen)
        mask = check_available(available, len(chosen), self.actions_).dense()
        return np.asarray(rate * mask / mask.sum(axis=1, keepdims=True) + (1 - rate) * chosen)

    def _check_row(
        self, x: Any, action: Any, reward: float, propensity: float, actions: Any = None, available: Any = None
    ) -> tuple[float, int]:
        """Check a row as policies do in learning from it; return its propensity and how many actions there were."""
        if actions is not None and not self.takes_action_sets:
            raise ParameterError(_no_sets(self.policy))
        row = judge_columns(1, [action], [reward], [propensity])
        if hasattr(self.policy, "reward_range"):
            check_reward_within(row.reward, self.policy.reward_range)
        labels = self.actions_ if actions is None else check_actions(eligible_labels(actions), what="actions")
        encode_actions(row.action, labels)
        if available is not None:
            labels = np.asarray(self._check_available(action, available, actions))
        with contextlib.suppress(NotFittedError):
            self.policy.decide(x) if actions is None else self.policy.decide(x, actions)  # checks the context
        return float(row.propensity[0]), len(labels)

    def _one_row(self, x: Any) -> Features:
        """Return a context as a table of one row, as the policy takes it."""
        policy = self.policy
        return as_one_row(x, getattr(policy, "feature_names_in_", None), getattr(policy, "_frame_like", None))

    def _check_among(self, actions: Any, available: Any) -> None:
        """Refuse eligible actions of a policy over labels, and labels of a policy over actions with features."""
        if self.takes_action_sets and (actions is None or available is not None):
            raise ParameterError(
                f"{type(self.policy).__name__} chooses among actions with features: pass actions=[...], the eligible "
                "ones, and no available."
            )
        if not self.takes_action_sets and actions is not None:
            raise ParameterError(_no_sets(self.policy))

    def _check_policy(self) -> None:
        if not hasattr(self.policy, "decide"):
            raise ParameterError(
                f"policy must be a policy, such as OnlineOffsetTree(actions=...); got {self.policy!r}."
            )


def eligible_labels(actions: Any) -> list[Any]:
    """Return the ids of eligible actions, or their positions where they have none."""
    ids = labels_of(actions)
    return list(range(len(actions.ids if isinstance(actions, ActionSets) else actions))) if ids is None else ids


def _no_sets(policy: Any) -> str:
    return (
        f"{type(policy).__name__} chooses among actions known in training: pass available=[...], the labels there are "
        "to choose from. For actions with features, use a policy over such actions, as OnlineActionRegression."
    )


def check_probability(value: Any, name: str) -> float:
    """Return a number from 0 to 1."""
    if not is_number(value) or not 0 <= value <= 1:
        raise ParameterError(f"{name} must be a number from 0 to 1; got {value!r}.")
    return float(value)
