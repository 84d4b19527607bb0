"""The most popular of the eligible actions: a policy over action sets that ignores contexts and features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features
from offsettree._labels import check_actions, code_labels
from offsettree._texts import is_text
from offsettree.actions.base import BaseActionPolicy
from offsettree.actions.eligible import labels_of
from offsettree.actions.policy import ActionLog, best_pairs
from offsettree.exceptions import ActionError
from offsettree.logs import ActionSets
from offsettree.reductions import shrunken_values

__all__ = ["PopularAction"]


class PopularAction(BaseActionPolicy):
    """Takes the eligible action that earned most in the log, whatever the context: what any other policy must beat.

    It is to action sets what `ConstantPolicy` is to labels; where the sets never change, it always takes one action.

    The value of an id is its mean reward, weighted by 1 / propensity, shrunken towards the mean of all: the noisier it
    is, the more (empirical Bayes). An id that was never logged has the mean of all.

    Parameters
    ----------
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward.

    Attributes
    ----------
    ids_ : ndarray of shape (n_ids,)
        The ids that were logged, sorted.
    values_ : ndarray of shape (n_ids,)
        Their values, in units of the reward.
    mean_ : float
        The value of all others.

    Examples
    --------
    >>> from offsettree import PopularAction, simulate_catalogue
    >>> train, test = simulate_catalogue(4000, 20, 5, id_effect=0.2, random_state=0).split_days(5)
    >>> policy = PopularAction().fit(**train.log.arrays())
    >>> test.value(policy.predict(test.log.X, test.log.action_sets)) > test.uniform_value
    True
    """

    _learned = "ids_"

    def __init__(self, *, reward_range: tuple[float, float] = (0.0, 1.0)) -> None:
        self.reward_range = reward_range

    def _fit(self, log: ActionLog) -> None:
        low, high = self.reward_range
        taken = log.sets.ids[log.pair]
        # Where there was no choice, a row tells nothing about which action to take; where all are such, it is all.
        rows = log.sets.sizes > 1
        rows = rows if rows.any() else np.ones(len(taken), dtype=bool)
        ids, code = code_labels(taken[rows])
        # One action more than there are: what was never logged gets the common mean.
        *values, mean = shrunken_values(code, log.scaled[rows], log.propensity[rows], len(ids) + 1).tolist()
        self.ids_, self.values_ = ids, low + (high - low) * np.array(values)
        self.mean_ = low + (high - low) * mean

    def predict_rewards(self, X: Features, action_sets: ActionSets) -> NDArray[np.float64]:
        """Return the value of each pair's id, in the order of ``action_sets.ids``.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            The contexts, which are not looked at.
        action_sets : ActionSets
            The eligible actions of each row.
        """
        return self._values_of(action_sets.ids)

    def _values_of(self, ids: NDArray[Any]) -> NDArray[np.float64]:
        self._check_fitted()
        if is_text(ids) != is_text(self.ids_):
            return np.full(len(ids), self.mean_)
        place = np.minimum(np.searchsorted(self.ids_, ids), len(self.ids_) - 1)
        return np.where(self.ids_[place] == ids, self.values_[place], self.mean_)

    def _choose(self, X: Features, sets: ActionSets) -> NDArray[np.intp]:
        return best_pairs(self._values_of(sets.ids), sets.starts)

    def _choose_of_one(self, x: Any, actions: Any) -> tuple[int, list[Any] | None]:
        """Choose among actions of which the ids are all that counts: a list of them will do."""
        plain = isinstance(actions, list | tuple) and not any(isinstance(each, Mapping) for each in actions)
        labels = list(actions) if plain else labels_of(actions)
        if not labels:
            raise ActionError("actions must have ids, as this policy knows nothing else; and at least one of them.")
        if plain:
            labels = check_actions(labels, what="actions").tolist()
        ids = np.array(labels)
        return int(np.argmax(self._values_of(ids.astype(str) if ids.dtype.kind == "O" else ids))), labels
