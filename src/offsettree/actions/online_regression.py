"""Reward regression over actions with features, one row at a time, by hashed products of features."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features
from offsettree.actions import _kernels_bilinear as kernels
from offsettree.actions._hashed_policy import HashedActionPolicy, Interactions
from offsettree.actions._one_decision import OneDecision, one_decision, one_taken
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
    prior : float, default=100.0
        How many rows the belief that a weight is 0 is worth. A weight moves less with every row that it learns from.
    interactions : {"all", "context-action"}, default="all"
        Which products of two features are features: of context and action, or also of two of the same.
    id_effects : bool, default=True
        Whether an action's id has weights of its own, alone and with each feature of the context, beside those of its
        features. A new id starts from its features alone.
    id_prior : float, default=100.0
        The same of an id's own weight; those of the id with features of the context have ten times as much.
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
        prior: float = 100.0,
        interactions: Interactions = "all",
        id_effects: bool = True,
        id_prior: float = 100.0,
        importance: Literal["inverse_propensity", "none"] = "inverse_propensity",
        n_bits: int = 18,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self.prior = prior
        self.interactions = interactions
        self.id_effects = id_effects
        self.id_prior = id_prior
        self.importance = importance
        self.n_bits = n_bits
        self.reward_range = reward_range

    def _learn_log(self, log: ActionLog) -> None:
        # Only what was taken is looked at: one pair per row.
        sets = log.sets.only(log.pair)
        self._learn(*self._pairs(log.X, sets), 2 * log.scaled - 1, log.propensity, log.sets.sizes)

    def _learn_one(self, x: Any, actions: Any, chosen: Any, reward: float, propensity: float) -> None:
        one, n_eligible = one_taken(x, actions, chosen)
        pairs, _ = self._pairs_of_one(one)
        self._learn(
            pairs, _room_of_one(one), np.array([2 * reward - 1]), np.array([propensity]), np.array([n_eligible])
        )

    def _learn(
        self,
        pairs: kernels.PairFeatures,
        size: int,
        target: NDArray[np.float64],
        propensity: NDArray[np.float64],
        n_eligible: NDArray[np.intp],
    ) -> None:
        if not hasattr(self, "weights_"):
            self._start()
        model = self._model()
        weight = np.ones(len(target))
        if check_choice("importance", self.importance, ("inverse_propensity", "none")) == "inverse_propensity":
            # Of a uniform logging policy all weights are 1.
            weight = np.minimum(1 / (propensity * n_eligible), MOST_TIMES)
        kernels.learn_rows(model, pairs, size, target, weight)

    def _pair_scores(self, X: Features, sets: ActionSets) -> NDArray[np.float64]:
        self._check_fitted()
        pairs, size = self._pairs(X, sets)
        scores = np.empty(len(sets.ids))
        kernels.score_rows(self._model(), pairs, sets.starts, size, scores)
        return (scores + 1) / 2

    def _choose(self, X: Features, sets: ActionSets) -> NDArray[np.intp]:
        self._check_fitted()
        pairs, size = self._pairs(X, sets)
        chosen = np.empty(len(sets), dtype=np.intp)
        kernels.choose_rows(self._model(), pairs, sets.starts, size, chosen)
        return chosen

    def _choose_of_one(self, x: Any, actions: Any) -> tuple[int, list[Any] | None]:
        self._check_fitted()
        one = one_decision(x, actions)
        chosen = np.empty(1, dtype=np.intp)
        kernels.choose_rows(self._model(), *self._pairs_of_one(one), _room_of_one(one), chosen)
        return int(chosen[0]), one.labels

    def _scores_of_one(self, x: Any, actions: Any) -> tuple[NDArray[np.float64], list[Any] | None]:
        self._check_fitted()
        one = one_decision(x, actions)
        scores = np.empty(len(one))
        kernels.score_rows(self._model(), *self._pairs_of_one(one), _room_of_one(one), scores)
        return (scores + 1) / 2, one.labels

    @property
    def n_rows_(self) -> int:
        """The number of rows learned from."""
        return int(self.totals_[kernels.N_ROWS])


def _room_of_one(one: OneDecision) -> int:
    """Return room for the features of one decision: those of all its actions, as to count one by one takes longer."""
    return len(one.x.keys) + len(one.pairs.keys) + 2
