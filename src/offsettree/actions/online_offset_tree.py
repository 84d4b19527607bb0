"""The offset tree over actions with features, one row at a time: contests by hashed products of features."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features
from offsettree._validation import is_number
from offsettree.actions import _kernels_duels as kernels
from offsettree.actions._hashed_policy import HashedActionPolicy, Interactions, most
from offsettree.actions._kernels_bilinear import PairFeatures
from offsettree.actions._one_decision import OneDecision, one_decision, place_of
from offsettree.actions._tournament import leaves_in_order, seeded_of_one, seeded_order
from offsettree.actions.policy import ActionLog, check_choice
from offsettree.exceptions import ParameterError
from offsettree.logs import ActionSets

__all__ = ["OnlineActionOffsetTree"]

MOST_HEIGHTS = 32
LARGEST_SEED = (1 << 32) - 1


class OnlineActionOffsetTree(HashedActionPolicy):
    """Offset tree over actions with features that learns one row at a time, and takes any action, also new ones.

    Each row has a balanced tree over its own eligible actions, in an order drawn by their ids. A contest is won by the
    action of the larger score, which is linear in the features of context and action and in products of two of them:
    to swap the sides flips the answer. A row teaches the contests of its logged action from the leaves up, as long as
    that would have won those below (Algorithm 2). Names of features are hashed, as by `OnlineActionRegression`.

    Parameters
    ----------
    prior : float, default=1000.0
        How many rows the belief that a weight is 0 is worth. A weight moves less with every row that it learns from.
    interactions : {"all", "context-action"}, default="all"
        Which products of two features are features: of context and action, or also of two of the action.
    heights : {"shared", "separate"}, default="shared"
        Whether contests of all heights above the leaves have the same weights, or each height its own: fewer rows reach
        the higher ones.
    id_effects : bool, default=True
        Whether an action's id has weights of its own, alone and with each feature of the context, beside those of its
        features. A new id starts from its features alone.
    id_prior : float, default=1000.0
        The same of an id's own weight; those of the id with features of the context have ten times as much.
    offset : float or "mean", default="mean"
        Rewards above it, on the scale of 0 to 1, speak for the action taken, those below for the other one. The paper's
        is 0.5; "mean" is that of the rows so far.
    n_bits : int, default=18
        The table of weights has 2 ** n_bits places.
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward.
    seed : int, default=0
        Draws the order of the leaves, together with the ids.

    Attributes
    ----------
    n_rows_ : int
        The number of rows learned from.
    n_reached_ : ndarray of shape (32,)
        How many rows reached the contests of each height, from the leaves up.

    References
    ----------
    Beygelzimer and Langford, "The Offset Tree for Learning with Partial Labels", KDD 2009.

    Examples
    --------
    >>> from offsettree import OnlineActionOffsetTree
    >>> policy = OnlineActionOffsetTree()
    >>> news = [{"id": "n1", "topic": "sport"}, {"id": "n2", "topic": "music"}]
    >>> for _ in range(20):
    ...     policy = policy.learn({"age": "young"}, news, "n1", reward=0.0, propensity=0.5)
    ...     policy = policy.learn({"age": "young"}, news, "n2", reward=1.0, propensity=0.5)
    >>> policy.decide({"age": "young"}, [{"id": "n3", "topic": "sport"}, {"id": "n4", "topic": "music"}])
    'n4'
    """

    def __init__(
        self,
        *,
        prior: float = 1000.0,
        interactions: Interactions = "all",
        heights: Literal["shared", "separate"] = "shared",
        id_effects: bool = True,
        id_prior: float = 1000.0,
        offset: float | Literal["mean"] = "mean",
        n_bits: int = 18,
        reward_range: tuple[float, float] = (0.0, 1.0),
        seed: int = 0,
    ) -> None:
        self.prior = prior
        self.interactions = interactions
        self.heights = heights
        self.id_effects = id_effects
        self.id_prior = id_prior
        self.offset = offset
        self.n_bits = n_bits
        self.reward_range = reward_range
        self.seed = seed

    def _learn_log(self, log: ActionLog) -> None:
        pairs, size = self._pairs(log.X, log.sets)
        self._learn(pairs, log.sets.starts, self._order(log.sets), size, log.pair, log.scaled, log.propensity)

    def _learn_one(self, x: Any, actions: Any, chosen: Any, reward: float, propensity: float) -> None:
        one = one_decision(x, actions)
        place = np.array([place_of(chosen, one.labels, len(one))], dtype=np.intp)
        self._learn(*self._asked_of_one(one), place, np.array([reward]), np.array([propensity]))

    def _learn(
        self,
        pairs: PairFeatures,
        starts: NDArray[np.intp],
        order: kernels.Order,
        size: int,
        logged: NDArray[np.intp],
        reward: NDArray[np.float64],
        propensity: NDArray[np.float64],
    ) -> None:
        if not hasattr(self, "weights_"):
            self._start()
        model, offset = self._model(), self._checked_offset()
        sums = self.__dict__.get("_sums")
        if sums is None or len(sums) != self.weights_.shape[1]:
            sums = self._sums = np.zeros(self.weights_.shape[1], dtype=np.float32)
        kernels.duel_rows(model, pairs, starts, order, size, logged, reward, propensity, offset, sums, self.n_reached_)

    def _choose(self, X: Features, sets: ActionSets) -> NDArray[np.intp]:
        self._check_fitted()
        pairs, size = self._pairs(X, sets)
        return self._play(pairs, sets.starts, self._order(sets), size)

    def _choose_of_one(self, x: Any, actions: Any) -> tuple[int, list[Any] | None]:
        self._check_fitted()
        one = one_decision(x, actions)
        return int(self._play(*self._asked_of_one(one))[0]), one.labels

    def _play(self, pairs: PairFeatures, starts: NDArray[np.intp], order: kernels.Order, size: int) -> NDArray[np.intp]:
        chosen = np.empty(len(starts) - 1, dtype=np.intp)
        kernels.play_rows(self._model(), pairs, starts, order, size, chosen)
        return chosen

    def _asked_of_one(self, one: OneDecision) -> tuple[PairFeatures, NDArray[np.intp], kernels.Order, int]:
        pairs, starts = self._pairs_of_one(one)
        self._check_seed()
        order = seeded_of_one(one.labels, len(one), self.seed)
        if order is None:
            drawn, rank = seeded_order(np.asarray(one.labels), self.seed)
            order = np.argsort(drawn, kind="stable"), rank
        return pairs, starts, kernels.Order(*order), most(one.x, one.pairs)

    def _order(self, sets: ActionSets) -> kernels.Order:
        self._check_seed()
        drawn, rank = seeded_order(sets.ids, self.seed)
        return kernels.Order(leaves_in_order(sets, drawn), rank)

    def _check_seed(self) -> None:
        if type(self.seed) is not int or not 0 <= self.seed <= LARGEST_SEED:
            raise ParameterError(f"seed must be a whole number from 0 to {LARGEST_SEED}; got {self.seed!r}.")

    def _settings(self) -> tuple[float, bool, float, bool]:
        return *super()._settings(), check_choice("heights", self.heights, ("shared", "separate")) == "shared"

    def _checked_offset(self) -> float:
        if isinstance(self.offset, str) and self.offset == "mean":
            return -1.0
        if not is_number(self.offset) or not 0 <= self.offset <= 1:
            raise ParameterError(f"offset must be a number from 0 to 1, or 'mean'; got {self.offset!r}.")
        return float(self.offset)

    def _start(self) -> None:
        super()._start()
        self.n_reached_ = np.zeros(MOST_HEIGHTS, dtype=np.int64)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_sums"}

    @property
    def n_rows_(self) -> int:
        """The number of rows learned from."""
        return int(self.totals_[kernels.N_LOGGED])
