"""The offset tree over actions with features, one row at a time: contests by hashed products of features."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features
from offsettree._validation import is_number
from offsettree.actions import _kernels_duels as kernels
from offsettree.actions._hashed_policy import NO_IDS, NOTHING, HashedActionPolicy, Interactions, item_of, most
from offsettree.actions._one_decision import OneDecision, one_decision, one_row_of, place_of
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
    learning_rate : float, default=0.1
        The size of steps. Each weight's own rate falls with the sum of its squared gradients (AdaGrad).
    interactions : {"all", "context-action"}, default="all"
        Which products of two features are features: of context and action, or also of two of the action.
    heights : {"shared", "separate"}, default="shared"
        Whether contests of all heights above the leaves have the same weights, or each height its own: fewer rows reach
        the higher ones.
    id_effects : bool, default=True
        Whether an action's id has weights of its own, alone and with each feature of the context, beside those of its
        features. A new id starts from its features alone.
    id_prior : float, default=100.0
        How slowly the weights of an id move at first: the sum of squared gradients that they begin with.
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

    _n_totals = 8

    def __init__(
        self,
        *,
        learning_rate: float = 0.1,
        interactions: Interactions = "all",
        heights: Literal["shared", "separate"] = "shared",
        id_effects: bool = True,
        id_prior: float = 100.0,
        offset: float | Literal["mean"] = "mean",
        n_bits: int = 18,
        reward_range: tuple[float, float] = (0.0, 1.0),
        seed: int = 0,
    ) -> None:
        self.learning_rate = learning_rate
        self.interactions = interactions
        self.heights = heights
        self.id_effects = id_effects
        self.id_prior = id_prior
        self.offset = offset
        self.n_bits = n_bits
        self.reward_range = reward_range
        self.seed = seed

    def _learn_log(self, log: ActionLog) -> None:
        data, size = self._data(log.X, log.sets)
        leaves, rank = self._order(log.sets)
        self._learn(data, log.sets.starts, leaves, rank, size, log.pair, log.scaled, log.propensity)

    def _learn_one(self, x: Any, actions: Any, chosen: Any, reward: float, propensity: float) -> None:
        one = one_decision(x, actions)
        place = np.array([place_of(chosen, one.labels, len(one))], dtype=np.intp)
        data, starts, leaves, rank, size = self._asked_of_one(one)
        self._learn(data, starts, leaves, rank, size, place, np.array([reward]), np.array([propensity]))

    def _learn(
        self,
        data: Any,
        starts: NDArray[np.intp],
        leaves: NDArray[np.intp],
        rank: NDArray[np.intp],
        size: int,
        logged: NDArray[np.intp],
        reward: NDArray[np.float64],
        propensity: NDArray[np.float64],
    ) -> None:
        if not hasattr(self, "weights_"):
            self._start()
        settings, offset = self._all_settings(), self._checked_offset()
        sums = self.__dict__.get("_sums")
        if sums is None or len(sums) != self.weights_.shape[1]:
            sums = self._sums = np.zeros(self.weights_.shape[1], dtype=np.float32)
        kernels.duel_rows(
            self.weights_, self.scales_, self.totals_, settings, data, starts, leaves, rank, size, logged, reward,
            propensity, offset, sums, self.n_reached_,
        )  # fmt: skip

    def _choose(self, X: Features, sets: ActionSets) -> NDArray[np.intp]:
        self._check_fitted()
        data, size = self._data(X, sets)
        return self._play(data, sets.starts, *self._order(sets), size)

    def _choose_of_one(self, x: Any, actions: Any) -> tuple[int, list[Any] | None]:
        self._check_fitted()
        one = one_decision(x, actions)
        return int(self._play(*self._asked_of_one(one))[0]), one.labels

    def _play(
        self, data: Any, starts: NDArray[np.intp], leaves: NDArray[np.intp], rank: NDArray[np.intp], size: int
    ) -> NDArray[np.intp]:
        chosen = np.empty(len(starts) - 1, dtype=np.intp)
        kernels.play_rows(
            self.weights_, self.scales_, self._all_settings(), data, starts, leaves, rank, size, chosen
        )  # fmt: skip
        return chosen

    def _data(self, X: Features, sets: ActionSets) -> tuple[Any, int]:
        x, items, pairs, id_keys = self._hashed(X, sets)
        return (x, items, item_of(sets), pairs, id_keys), most(x, items, pairs)

    def _asked_of_one(self, one: OneDecision) -> tuple[Any, ...]:
        n, id_keys = len(one), one.id_keys() if self.id_effects else NO_IDS
        item, starts = one_row_of(n)
        data = one.x, NOTHING, item, one.pairs, id_keys
        self._check_seed()
        order = seeded_of_one(one.labels, n, self.seed)
        if order is None:
            drawn, rank = seeded_order(np.asarray(one.labels), self.seed)
            order = np.argsort(drawn, kind="stable"), rank
        leaves, rank = order
        return data, starts, leaves, rank, most(one.x, one.pairs)

    def _order(self, sets: ActionSets) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the leaves of each row from left to right, and the rank of every pair's id, by which ties are won."""
        self._check_seed()
        drawn, rank = seeded_order(sets.ids, self.seed)
        return leaves_in_order(sets, drawn), rank

    def _check_seed(self) -> None:
        if type(self.seed) is not int or not 0 <= self.seed <= LARGEST_SEED:
            raise ParameterError(f"seed must be a whole number from 0 to {LARGEST_SEED}; got {self.seed!r}.")

    def _all_settings(self) -> tuple[float, bool, float, bool]:
        return *self._settings(), check_choice("heights", self.heights, ("shared", "separate")) == "shared"

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
