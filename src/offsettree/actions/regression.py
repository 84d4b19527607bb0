"""Reward regression over actions with features: any regressor of scikit-learn, on context, action and products."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from offsettree._features import Features
from offsettree._validation import as_random_state
from offsettree.actions._boosting import fit_boosted_pairs
from offsettree.actions._cores import PairRegression
from offsettree.actions._encoding import ActionEncoding
from offsettree.actions._id_effects import fit_id_effects
from offsettree.actions._id_model import IdModel
from offsettree.actions._pair_scores import LearnerScores, PairScores, TableScores, design
from offsettree.actions.base import BaseActionPolicy
from offsettree.actions.policy import ActionLog, RewardPredictor, check_choice
from offsettree.exceptions import ParameterError
from offsettree.logs import ActionSets
from offsettree.reading import CannotFlatten, ColumnSpace, join_pieces, read_regressor

__all__ = ["ActionRegression"]

N_FOLDS = 3
FEWEST_ROWS = 50  # below, residuals are not cross-fitted and ids have no effects
Matrix = NDArray[np.float64]


class ActionRegression(RewardPredictor, BaseActionPolicy):
    """Predicts the reward of any action from its features, and takes the best of those that a row may choose from.

    Parameters
    ----------
    estimator : regressor, optional
        Learns rewards from one table: the features of the context, of the action, and their products. By default our
        own: ridge regression on all of these, then boosted trees on what it leaves, with the features of the action in
        their splits; tuned on ids held out.
    interactions : bool, default=True
        Whether the products of two features, of context and action or of the action, are given to `estimator`.
    id_effects : bool, default=True
        Whether an id earns effects of its own beside its features: an intercept and slopes in the features of the
        context, shrunken by a penalty that is chosen on held-out rows. A new id starts from its features alone.
    importance : {"none", "inverse_propensity"}, default="none"
        Weight of a row: 1, or 1 / (propensity * number of eligible actions).
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward.
    random_state : int, RandomState instance or None, default=None
        Draws folds and the seeds of regressors.

    Attributes
    ----------
    estimator_ : object
        The fitted regressor; of the default, its scores in flat arrays.
    id_effects_ : object or None
        The effects of ids; `id_effects_.penalty` is infinite if they did not help on held-out rows.

    Examples
    --------
    >>> from offsettree import ActionRegression, simulate_catalogue
    >>> train, test = simulate_catalogue(4000, random_state=0).split_days(5)
    >>> policy = ActionRegression(random_state=0).fit(**train.log.arrays())
    >>> chosen = policy.predict(test.log.X, test.log.action_sets)
    >>> test.value(chosen) > test.uniform_value + 0.2
    True
    """

    _learned = "core_"

    def __init__(
        self,
        estimator: Any = None,
        *,
        interactions: bool = True,
        id_effects: bool = True,
        importance: str = "none",
        reward_range: tuple[float, float] = (0.0, 1.0),
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.interactions = interactions
        self.id_effects = id_effects
        self.importance = importance
        self.reward_range = reward_range
        self.random_state = random_state

    def _fit(self, log: ActionLog) -> None:
        weight = np.ones(len(log.reward))
        if check_choice("importance", self.importance, ("none", "inverse_propensity")) == "inverse_propensity":
            weight = 1 / (log.propensity * log.sets.sizes)
        if self.estimator is not None and not hasattr(self.estimator, "predict"):
            raise ParameterError(f"estimator must be a regressor of scikit-learn; got {self.estimator!r:.80}.")
        random = as_random_state(self.random_state)
        taken = log.sets.only(log.pair)
        encoding = ActionEncoding.learn(log.X, log.sets, log.pair)
        x, a = encoding.tables(log.X, taken)
        rows = _Rows(x, a, taken.ids, log.scaled, weight)
        fitted, scores = self._fitted(rows, random)
        effects = self._effects(rows, random) if self.id_effects and len(x) >= FEWEST_ROWS else None
        self.core_ = PairRegression(encoding, scores, effects)
        self.estimator_, self.id_effects_, self.encoding_ = fitted, effects, encoding

    def _effects(self, rows: _Rows, random: np.random.RandomState) -> IdModel:
        """Learn the effects of ids from what models of other rows leave."""
        residual = np.empty(len(rows.reward))
        fold = random.permutation(len(residual)) % N_FOLDS
        for each in range(N_FOLDS):
            here = np.flatnonzero(fold == each)
            part = rows.take(here)
            _, scores = self._fitted(rows.take(np.flatnonzero(fold != each)), random, n_boosted=1)
            residual[here] = part.reward - scores.scores(part.x, part.a, np.arange(len(here)))
        return fit_id_effects(rows.ids, rows.x, residual, random)

    def _fitted(self, rows: _Rows, random: np.random.RandomState, **boosting: int) -> tuple[Any, PairScores]:
        """Return the fitted regressor, and its scores in flat arrays where it has such a form."""
        seed = int(random.randint(np.iinfo(np.int32).max))
        if self.estimator is None:
            made = fit_boosted_pairs(rows.x, rows.a, rows.ids, rows.reward, rows.weight, seed, **boosting)
            return made, made
        model = clone(self.estimator)
        if "random_state" in model.get_params() and model.get_params()["random_state"] is None:
            model.set_params(random_state=seed)
        weighted = {} if self.importance == "none" else {"sample_weight": rows.weight}
        table = design(rows.x, rows.a, self.interactions)
        model.fit(table, rows.reward, **weighted)
        space = ColumnSpace(table.shape[1], None, [])
        try:
            return model, TableScores(join_pieces([read_regressor(model, space)], space), self.interactions)
        except CannotFlatten:
            return model, LearnerScores(model, self.interactions)

    def _pair_scores(self, X: Features, sets: ActionSets) -> NDArray[np.float64]:
        self._check_fitted()
        return self.core_.pair_scores(X, sets)

    def _scores_of_one(self, x: Any, actions: Any) -> tuple[NDArray[np.float64], list[Any] | None]:
        self._check_fitted()
        return self.core_.scores_of_one(x, actions)


class _Rows(NamedTuple):
    """What rewards are learned from, a row per decision."""

    x: Matrix
    a: Matrix
    ids: NDArray[Any]
    reward: NDArray[np.float64]
    weight: NDArray[np.float64]

    def take(self, which: NDArray[np.intp]) -> _Rows:
        """Return some of the rows."""
        return _Rows(*(each[which] for each in self))
