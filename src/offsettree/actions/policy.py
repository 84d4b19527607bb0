"""What every policy over actions with features does: choose among the eligible actions of each row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._features import Features, count_rows
from offsettree._texts import take_texts
from offsettree._validation import check_propensity, check_range, check_reward, check_reward_within, is_whole
from offsettree.exceptions import FeatureError, LogError, ParameterError
from offsettree.logs import ActionSets

__all__ = [
    "PRIORS",
    "ActionLog",
    "ActionPolicy",
    "RewardPredictor",
    "best_pairs",
    "check_choice",
    "check_sets",
    "judge_log",
]

PRIORS = (1e-6, 1e12)  # what beliefs before any row may be worth, in rows


class ActionPolicy(ABC):
    """Chooses one of each row's own actions, also actions that it has never seen, by their features."""

    takes_action_sets: ClassVar[bool] = True

    def predict(self, X: Features, action_sets: ActionSets) -> NDArray[Any]:
        """Return the id of the action chosen for each row.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            The contexts.
        action_sets : ActionSets
            The eligible actions of each row, with the features that the policy has learned from.
        """
        check_sets(X, action_sets)
        return take_texts(action_sets.ids, self._choose(X, action_sets))

    def predict_proba(self, X: Features, action_sets: ActionSets) -> NDArray[np.float64]:
        """Return the probability with which each pair of row and action is chosen: 1 for that of `predict`.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            The contexts.
        action_sets : ActionSets
            The eligible actions of each row.

        Returns
        -------
        ndarray of shape (n_pairs,)
            In the order of ``action_sets.ids``.
        """
        check_sets(X, action_sets)
        probability = np.zeros(len(action_sets.ids))
        probability[self._choose(X, action_sets)] = 1.0
        return probability

    def rank(self, X: Features, action_sets: ActionSets, n: int) -> NDArray[Any]:
        """Return the n best actions for each row, best first: each is what would be chosen without those before it.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            The contexts.
        action_sets : ActionSets
            The eligible actions of each row, at least n.
        n : int
            How many.

        Returns
        -------
        ndarray of shape (n_rows, n)
            Ids, no two of a row the same.
        """
        check_sets(X, action_sets)
        fewest = int(action_sets.sizes.min())
        if not is_whole(n) or not 1 <= n <= fewest:
            raise ParameterError(
                f"n must be a whole number from 1 to the number of eligible actions, of which a row has {fewest}; got "
                f"{n!r}."
            )
        ranked, left = [], action_sets
        for place in range(n):
            pairs = self._choose(X, left)
            ranked.append(take_texts(left.ids, pairs))
            left = left.without(pairs) if place + 1 < n else left
        return np.stack(ranked, axis=1)

    @abstractmethod
    def _choose(self, X: Features, sets: ActionSets) -> NDArray[np.intp]:
        """Return the pair that is chosen for each row."""

    def decide(self, x: Any, actions: Any) -> Any:
        """Return the id of the best action for one context; its position where actions have no ids.

        Parameters
        ----------
        x : mapping of names to values, or sequence of numbers
            The context.
        actions : list of mappings, array of shape (n_actions, n_features), or ActionSets of one row
            The eligible actions; of an array, features of items come before those of pairs.
        """
        place, labels = self._choose_of_one(x, actions)
        return place if labels is None else labels[place]

    @abstractmethod
    def _choose_of_one(self, x: Any, actions: Any) -> tuple[int, list[Any] | None]:
        """Return the position of the action chosen for one context, and the ids, or None where there are none."""


class RewardPredictor(ActionPolicy):
    """Takes the action of the largest predicted reward, of equals the first."""

    reward_range: tuple[float, float]

    def predict_rewards(self, X: Features, action_sets: ActionSets) -> NDArray[np.float64]:
        """Return the predicted reward of each pair of row and action, in the order of ``action_sets.ids``.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            The contexts.
        action_sets : ActionSets
            The eligible actions of each row.
        """
        check_sets(X, action_sets)
        return self._as_rewards(self._pair_scores(X, action_sets))

    def rewards(self, x: Any, actions: Any) -> NDArray[np.float64]:
        """Return the predicted reward of each action for one context; the parameters are those of `decide`."""
        return self._as_rewards(self._scores_of_one(x, actions)[0])

    @abstractmethod
    def _pair_scores(self, X: Features, sets: ActionSets) -> NDArray[np.float64]:
        """Return the predicted reward of each pair, scaled so that `reward_range` is from 0 to 1."""

    @abstractmethod
    def _scores_of_one(self, x: Any, actions: Any) -> tuple[NDArray[np.float64], list[Any] | None]:
        """Return the same for one context, and the ids."""

    def _as_rewards(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        low, high = check_range(self.reward_range)
        return low + (high - low) * scores

    def _choose(self, X: Features, sets: ActionSets) -> NDArray[np.intp]:
        return best_pairs(self._pair_scores(X, sets), sets.starts)

    def _choose_of_one(self, x: Any, actions: Any) -> tuple[int, list[Any] | None]:
        scores, labels = self._scores_of_one(x, actions)
        return int(scores.argmax()), labels


class ActionLog:
    """A log of decisions among action sets, judged: `scaled` rewards are between 0 and 1, `pair` is what was taken."""

    def __init__(
        self,
        X: Features,
        sets: ActionSets,
        pair: NDArray[np.intp],
        reward: NDArray[np.float64],
        propensity: NDArray[np.float64],
        reward_range: tuple[float, float],
    ) -> None:
        self.X, self.sets, self.pair = X, sets, pair
        low, high = reward_range
        self.reward, self.scaled, self.propensity = reward, (reward - low) / (high - low), propensity


def judge_log(
    X: Features, action: ArrayLike, reward: Any, propensity: Any, action_sets: Any, reward_range: Any
) -> ActionLog:
    """Check the parts of a log against each other."""
    n_rows = check_sets(X, action_sets)
    low, high = check_range(reward_range)
    rewards = check_reward(reward, n_rows)
    check_reward_within(rewards, (low, high))
    propensities = check_propensity(propensity, n_rows)
    return ActionLog(X, action_sets, action_sets.find(action), rewards, propensities, (low, high))


def check_sets(X: Features, action_sets: Any) -> int:
    """Refuse sets that are none, or not those of X; return the number of rows."""
    if not isinstance(action_sets, ActionSets):
        raise LogError(
            "action_sets must be the eligible actions of each row, as ActionSets(...); got "
            f"{'nothing' if action_sets is None else f'a {type(action_sets).__name__}'}. For actions that are labels, "
            "known in training and without features, use OffsetTree or RewardBoosting."
        )
    try:
        n_rows = count_rows(X)
    except TypeError:
        raise FeatureError(f"X must be a table with a row per action set; got {X!r:.80}.") from None
    if n_rows != len(action_sets):
        raise FeatureError(f"X must have a row per action set, {len(action_sets):,}; it has {n_rows:,}.")
    return n_rows


def best_pairs(score: NDArray[np.float64], starts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the pair of the largest score in each row, the first of equals; a score that is no number is the least."""
    sizes = np.diff(starts)
    score = np.where(np.isnan(score), -np.inf, score)
    largest = np.repeat(np.maximum.reduceat(score, starts[:-1]), sizes)
    hits = np.flatnonzero(score == largest)
    row = np.searchsorted(starts, hits, side="right") - 1
    first = np.concatenate([[True], row[1:] != row[:-1]])
    return np.asarray(hits[first], dtype=np.intp)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return one of some words."""
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")
    return value
