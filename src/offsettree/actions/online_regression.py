"""Reward regression over actions with features, one row at a time, by hashed products of features."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features
from offsettree.actions import _kernels_bilinear as kernels
from offsettree.actions._hashed_policy import NO_IDS, NOTHING, HashedActionPolicy, Interactions, item_of, most
from offsettree.actions._hashing import Hashed
from offsettree.actions._one_decision import OneDecision, one_decision, one_row_of, one_taken
from offsettree.actions.policy import ActionLog, RewardPredictor, check_choice
from offsettree.logs import ActionSets

__all__ = ["OnlineActionRegression"]

MOST_TIMES = 1000.0  # a row counts at most as so many


class OnlineActionRegression(RewardPredictor, HashedActionPolicy):
    """Predicts the reward of any action from its features, and takes the best of those that a row may choose from.

    A linear model of the features of context and action and of products of two of them, as ``vw --cb_adf --cb_type mtr
    -q ::`` learns it. Names of features are hashed, so that new features, actions and ids need no preparation. Rows
    come as tables (`fit`, `partial_fit`) or one by one (`learn`), as arrays or as mappings of names to values.

    Parameters
    ----------
    learning_rate : float, default=0.3
        The size of steps. Each weight's own rate falls with the sum of its squared gradients (AdaGrad).
    interactions : {"all", "context-action"}, default="all"
        Which products of two features are features: of context and action, or also of two of the same.
    id_effects : bool, default=True
        Whether an action's id has weights of its own, alone and with each feature of the context, beside those of its
        features. A new id starts from its features alone.
    id_prior : float, default=100.0
        How slowly the weights of an id move at first: the sum of squared gradients that they begin with.
    importance : {"inverse_propensity", "none"}, default="inverse_propensity"
        Weight of a row: 1 / (propensity * number of eligible actions), so that rare actions count as much as frequent
        ones; or 1.
    n_bits : int, default=18
        The table of weights has 2 ** n_bits places.
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward.

    Attributes
    ----------
    n_rows_ : int
        The number of rows learned from.

    Examples
    --------
    >>> from offsettree import OnlineActionRegression
    >>> policy = OnlineActionRegression()
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
        learning_rate: float = 0.3,
        interactions: Interactions = "all",
        id_effects: bool = True,
        id_prior: float = 100.0,
        importance: Literal["inverse_propensity", "none"] = "inverse_propensity",
        n_bits: int = 18,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self.learning_rate = learning_rate
        self.interactions = interactions
        self.id_effects = id_effects
        self.id_prior = id_prior
        self.importance = importance
        self.n_bits = n_bits
        self.reward_range = reward_range

    def _learn_log(self, log: ActionLog) -> None:
        # Only what was taken is looked at: one pair per row.
        sets = log.sets.only(log.pair)
        x, items, pairs, id_keys = self._hashed(log.X, sets)
        self._learn(x, items, item_of(sets), pairs, id_keys, 2 * log.scaled - 1, log.propensity, log.sets.sizes)

    def _learn_one(self, x: Any, actions: Any, chosen: Any, reward: float, propensity: float) -> None:
        one, n_eligible = one_taken(x, actions, chosen)
        id_keys = one.id_keys() if self.id_effects else NO_IDS
        self._learn(
            one.x, NOTHING, np.zeros(1, np.intp), one.pairs, id_keys, np.array([2 * reward - 1]),
            np.array([propensity]), np.array([n_eligible]),
        )  # fmt: skip

    def _learn(
        self,
        x: Hashed,
        items: Hashed,
        item: NDArray[np.intp],
        pairs: Hashed,
        id_keys: NDArray[np.uint64],
        target: NDArray[np.float64],
        propensity: NDArray[np.float64],
        n_eligible: NDArray[np.intp],
    ) -> None:
        if not hasattr(self, "weights_"):
            self._start()
        settings = self._settings()
        weight = np.ones(len(target))
        if check_choice("importance", self.importance, ("inverse_propensity", "none")) == "inverse_propensity":
            # Of a uniform logging policy all weights are 1.
            weight = np.minimum(1 / (propensity * n_eligible), MOST_TIMES)
        size = most(x, items, pairs)
        kernels.learn_rows(
            self.weights_, self.scales_, self.totals_, settings, x, items, item, pairs, id_keys,
            np.arange(len(target) + 1, dtype=np.intp), size, target, weight,
        )  # fmt: skip

    def _pair_scores(self, X: Features, sets: ActionSets) -> NDArray[np.float64]:
        scores = np.empty(len(sets.ids))
        kernels.score_rows(*self._asked(X, sets, scores))
        return (scores + 1) / 2

    def _choose(self, X: Features, sets: ActionSets) -> NDArray[np.intp]:
        chosen = np.empty(len(sets), dtype=np.intp)
        kernels.choose_rows(*self._asked(X, sets, chosen))
        return chosen

    def _choose_of_one(self, x: Any, actions: Any) -> tuple[int, list[Any] | None]:
        one = one_decision(x, actions)
        chosen = np.empty(1, dtype=np.intp)
        kernels.choose_rows(*self._asked_for_one(one, chosen))
        return int(chosen[0]), one.labels

    def _scores_of_one(self, x: Any, actions: Any) -> tuple[NDArray[np.float64], list[Any] | None]:
        one = one_decision(x, actions)
        scores = np.empty(len(one))
        kernels.score_rows(*self._asked_for_one(one, scores))
        return (scores + 1) / 2, one.labels

    def _asked(self, X: Features, sets: ActionSets, out: NDArray[Any]) -> tuple[Any, ...]:
        self._check_fitted()
        x, items, pairs, id_keys = self._hashed(X, sets)
        size = most(x, items, pairs)
        return (
            self.weights_, self.scales_, self.totals_, self._settings(), x, items, item_of(sets), pairs, id_keys,
            sets.starts, size, out,
        )  # fmt: skip

    def _asked_for_one(self, one: OneDecision, out: NDArray[Any]) -> tuple[Any, ...]:
        self._check_fitted()
        n, id_keys = len(one), one.id_keys() if self.id_effects else NO_IDS
        item, starts = one_row_of(n)
        size = len(one.x.keys) + len(one.pairs.keys) + 2
        return (
            self.weights_, self.scales_, self.totals_, self._settings(), one.x, NOTHING, item, one.pairs, id_keys,
            starts, size, out,
        )  # fmt: skip

    @property
    def n_rows_(self) -> int:
        """The number of rows learned from."""
        return int(self.totals_[kernels.N_ROWS])
