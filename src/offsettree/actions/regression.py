"""Reward regression over actions with features: any regressor of scikit-learn, on context, action and products."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from offsettree._features import Features
from offsettree._validation import as_random_state, check_range
from offsettree.actions._default_regressor import ProductsThenTrees
from offsettree.actions._encoding import ActionEncoding, n_products, products, row_blocks, some_rows
from offsettree.actions._id_effects import IdEffects
from offsettree.actions.policy import ActionPolicy, best_pairs, check_choice, check_sets, judge_log
from offsettree.exceptions import ParameterError
from offsettree.logs import ActionSets

__all__ = ["ActionRegression"]

N_FOLDS = 3
FEWEST_ROWS = 50  # below, residuals are not cross-fitted and ids have no effects
Matrix = NDArray[np.float64]


class ActionRegression(BaseEstimator, ActionPolicy):
    """Predicts the reward of any action from its features, and takes the best of those that a row may choose from.

    Parameters
    ----------
    estimator : regressor, optional
        Learns rewards from one table: the features of the context, of the action, and their products. By default ridge
        regression on all of these, then boosted trees on its residuals, tuned on ids held out.
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
        The fitted regressor.
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

    def fit(
        self,
        X: Features,
        action: ArrayLike,
        *,
        reward: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        action_sets: ActionSets | None = None,
    ) -> Self:
        """Learn from a log.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            The contexts.
        action : array of shape (n_rows,)
            The ids of the actions taken.
        reward : array of shape (n_rows,)
            What they earned.
        propensity : array of shape (n_rows,) or float
            The probability with which each was chosen.
        action_sets : ActionSets
            The eligible actions of each row.
        """
        log = judge_log(X, action, reward, propensity, action_sets, self.reward_range)
        weight = np.ones(len(log.reward))
        if check_choice("importance", self.importance, ("none", "inverse_propensity")) == "inverse_propensity":
            weight = 1 / (log.propensity * log.sets.sizes)
        if self.estimator is not None and not hasattr(self.estimator, "predict"):
            raise ParameterError(f"estimator must be a regressor of scikit-learn; got {self.estimator!r:.80}.")
        random = as_random_state(self.random_state)
        taken = log.sets.only(log.pair)
        encoding = ActionEncoding(log.X, log.sets, log.pair)
        x, a = encoding.tables(log.X, taken)
        fitted = self._fitted(x, a, taken.ids, log.reward, weight, random)
        effects = None
        if self.id_effects and len(x) >= FEWEST_ROWS:
            residual = np.empty(len(x))
            fold = random.permutation(len(x)) % N_FOLDS
            for each in range(N_FOLDS):
                here, others = fold == each, fold != each
                model = self._fitted(
                    x[others], a[others], taken.ids[others], log.reward[others], weight[others], random
                )
                residual[here] = log.reward[here] - _predicted(model, x[here], a[here], self.interactions)
            effects = IdEffects().fit(taken.ids, x, residual, random)
        self.encoding_, self.estimator_, self.id_effects_ = encoding, fitted, effects
        return self

    def _fitted(
        self,
        x: Matrix,
        a: Matrix,
        ids: NDArray[Any],
        reward: NDArray[np.float64],
        weight: NDArray[np.float64],
        random: np.random.RandomState,
    ) -> Any:
        seed = int(random.randint(np.iinfo(np.int32).max))
        if self.estimator is None:
            return ProductsThenTrees(seed).fit(x, a, ids, reward, weight)
        model = clone(self.estimator)
        if "random_state" in model.get_params() and model.get_params()["random_state"] is None:
            model.set_params(random_state=seed)
        weighted = {} if self.importance == "none" else {"sample_weight": weight}
        return model.fit(_design(x, a, self.interactions), reward, **weighted)

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
        self._check_fitted()
        low, high = check_range(self.reward_range)
        scores = np.empty(len(action_sets.ids))
        for rows in row_blocks(action_sets, self._width(action_sets)):
            sets = action_sets.take(rows)
            x, a = self.encoding_.tables(some_rows(X, rows), sets)
            begin, end = action_sets.starts[rows[0]], action_sets.starts[rows[-1] + 1]
            scores[begin:end] = self._scores(np.repeat(x, sets.sizes, axis=0), a, sets.ids)
        return low + (high - low) * scores

    def _width(self, sets: ActionSets) -> int:
        n_x = self.encoding_.x.n_columns
        return n_x + n_products(n_x, sets.n_item_features + sets.n_pair_features)

    def _scores(self, x: Matrix, a: Matrix, ids: NDArray[Any] | None) -> NDArray[np.float64]:
        scores = _predicted(self.estimator_, x, a, self.interactions)
        if self.id_effects_ is not None and ids is not None:
            scores = scores + self.id_effects_.of(ids, x)
        return scores

    def _choose(self, X: Features, sets: ActionSets) -> NDArray[np.intp]:
        return best_pairs(self.predict_rewards(X, sets), sets.starts)

    def decide(self, x: Any, actions: Any) -> Any:
        """Return the id of the best action for one context; its position where actions have no ids.

        Parameters
        ----------
        x : mapping of names to values, or sequence of numbers
            The context.
        actions : list of mappings, array of shape (n_actions, n_features), or ActionSets of one row
            The eligible actions; of an array, features of items come before those of pairs.
        """
        scores, labels = self._scores_of_one(x, actions)
        place = int(scores.argmax())
        return place if labels is None else labels[place]

    def rewards(self, x: Any, actions: Any) -> NDArray[np.float64]:
        """Return the predicted reward of each action for one context; the parameters are those of `decide`."""
        low, high = check_range(self.reward_range)
        return low + (high - low) * self._scores_of_one(x, actions)[0]

    def _scores_of_one(self, x: Any, actions: Any) -> tuple[NDArray[np.float64], list[Any] | None]:
        self._check_fitted()
        row, a, labels = self.encoding_.of_one(x, actions)
        ids = None if labels is None else np.asarray(labels)
        return self._scores(np.repeat(row, len(a), axis=0), a, ids), labels

    def _check_fitted(self) -> None:
        if not hasattr(self, "estimator_"):
            raise NotFittedError(f"{type(self).__name__} has not learned yet: call fit first.")


def _design(x: Matrix, a: Matrix, interactions: bool) -> Matrix:
    return np.hstack([x, products(x, a) if interactions else a])


def _predicted(model: Any, x: Matrix, a: Matrix, interactions: bool) -> NDArray[np.float64]:
    if isinstance(model, ProductsThenTrees):
        return model.predict(x, a)
    return np.asarray(model.predict(_design(x, a, interactions)), dtype=np.float64)
