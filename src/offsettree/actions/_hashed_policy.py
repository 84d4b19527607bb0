"""What policies over hashed features have in common: they learn row by row, from tables, arrays or mappings."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._features import Features
from offsettree._validation import check_range, is_number
from offsettree.actions._hashing import Hashed, hash_ids, hash_table
from offsettree.actions._kernels_bilinear import HashedModel, PairFeatures
from offsettree.actions._one_decision import OneDecision, one_row_of
from offsettree.actions.base import BaseActionPolicy
from offsettree.actions.policy import PRIORS, ActionLog, check_choice, judge_log
from offsettree.exceptions import ParameterError, PropensityError, RewardError
from offsettree.logs import ActionSets

NO_IDS = np.empty(0, dtype=np.uint64)
NOTHING = Hashed(np.empty(0, np.uint64), np.empty(0, np.float32), np.zeros(2, np.int64))
MOST_BITS = 30
Interactions = Literal["all", "context-action"]


class HashedActionPolicy(BaseActionPolicy):
    """Base of policies that learn one row at a time; a subclass defines `_learn_log` and `_learn_one`."""

    prior: float
    interactions: Interactions
    id_effects: bool
    id_prior: float
    n_bits: int
    _learned = "weights_"
    _learns_by = "fit, partial_fit or learn"

    def _fit(self, log: ActionLog) -> None:
        self._start()
        self._learn_log(log)

    def partial_fit(
        self,
        X: Features,
        action: ArrayLike,
        *,
        reward: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        action_sets: ActionSets | None = None,
    ) -> Self:
        """Learn from further rows; the parameters are those of `fit`."""
        log = judge_log(X, action, reward, propensity, action_sets, self.reward_range)
        self._learn_log(log)
        self._remember(log, self._trained_on)
        return self

    def learn(self, x: Any, actions: Any, chosen: Any, reward: float, propensity: float) -> Self:
        """Learn from one decision.

        Parameters
        ----------
        x : mapping of names to values, or sequence of numbers
            The context.
        actions : list of mappings, array of shape (n_actions, n_features), or ActionSets of one row
            The eligible actions; a mapping's ``"id"`` is its id.
        chosen : int or str
            The id of the action taken; its position where actions have no ids.
        reward : float
            What it earned.
        propensity : float
            The probability with which it was chosen.
        """
        low, high = check_range(self.reward_range)
        if not is_number(reward) or not low <= reward <= high:
            raise RewardError(f"reward must be a number from {low:g} to {high:g}; got {reward!r}.")
        if not is_number(propensity) or not 0 < propensity <= 1:
            raise PropensityError(f"propensity must be a number in (0, 1]; got {propensity!r}.")
        self._learn_one(x, actions, chosen, (reward - low) / (high - low), float(propensity))
        return self

    @abstractmethod
    def _learn_log(self, log: ActionLog) -> None:
        """Learn from the rows of a log, in order."""

    @abstractmethod
    def _learn_one(self, x: Any, actions: Any, chosen: Any, reward: float, propensity: float) -> None:
        """Learn from one decision; the reward is from 0 to 1."""

    def _pairs(self, X: Features, sets: ActionSets) -> tuple[PairFeatures, int]:
        """Return the features of tables, and room for those of any row: of all parts, a constant and an id."""
        x, items = hash_table(X, "X") or NOTHING, hash_table(sets.items, "items") or NOTHING
        empty = Hashed(NOTHING.keys, NOTHING.values, np.zeros(len(sets.ids) + 1, np.int64))
        pairs = hash_table(sets.pairs, "pairs", sets.n_item_features) or empty
        item = np.zeros(len(sets.ids), dtype=np.intp) if sets.item is None else sets.item
        return PairFeatures(x, items, item, pairs, hash_ids(sets.ids) if self.id_effects else NO_IDS), most(
            x, items, pairs
        )

    def _pairs_of_one(self, one: OneDecision) -> tuple[PairFeatures, NDArray[np.intp]]:
        """Return the features of one decision, and where its pairs begin and end."""
        item, starts = one_row_of(len(one))
        return PairFeatures(one.x, NOTHING, item, one.pairs, one.id_keys() if self.id_effects else NO_IDS), starts

    def _model(self) -> HashedModel:
        return HashedModel(self.weights_, self.scales_, self.totals_, self._settings())

    def _settings(self) -> tuple[Any, ...]:
        for name in ("prior", "id_prior"):
            value = getattr(self, name)
            if not is_number(value) or not PRIORS[0] <= value <= PRIORS[1]:
                raise ParameterError(f"{name} must be a number from {PRIORS[0]:g} to {PRIORS[1]:g}; got {value!r}.")
        is_quadratic = check_choice("interactions", self.interactions, ("all", "context-action")) == "all"
        return float(self.prior), is_quadratic, float(self.id_prior)

    def _start(self) -> None:
        if type(self.n_bits) is not int or not 1 <= self.n_bits <= MOST_BITS:
            raise ParameterError(f"n_bits must be a whole number from 1 to {MOST_BITS}; got {self.n_bits!r}.")
        n_places = 1 << self.n_bits
        self.weights_ = np.zeros((2, n_places), dtype=np.float32)
        self.scales_ = np.zeros((3, n_places), dtype=np.float32)
        self.totals_ = np.zeros(6)


def most(*hashed: Hashed) -> int:
    """Return room for the features of any row of all parts, a constant and an id."""
    return sum(int(np.diff(each.starts).max(initial=0)) for each in hashed) + 2
