"""Doubly robust: predict what each action would earn, correct it by what was earned, and take the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._available import best_of, pieces
from offsettree._features import Features, count_rows, take_rows
from offsettree._validation import as_random_state
from offsettree.base import BasePolicy
from offsettree.logs import CheckedLog
from offsettree.models import Scores
from offsettree.reading import ColumnSpace
from offsettree.reductions._boosted_rewards import fit_rewards
from offsettree.reductions._corrections import CorrectionForest, Errors, fit_corrections
from offsettree.reductions._cross_fit import CrossFit
from offsettree.reductions._flatten_rewards import flatten_doubly_robust
from offsettree.reductions._reward_models import check_reward_model

__all__ = ["DoublyRobust"]


class DoublyRobust(BasePolicy):
    """Policy that takes the action of the largest reward, as predicted by a model and corrected by what was earned.

    A reward model predicts what every action would earn. Its error on the action that was logged, over the propensity,
    is an estimate without bias of what it gets wrong: another regressor learns that, for every action, as a function
    of the context. The policy is right if either the model or the propensities are, and varies less than one that
    learns from weighted rewards alone. No row is judged by a model that learned from it.

    Parameters
    ----------
    estimator : regressor, optional
        Learns the corrections. It is trained on all rows with a target per action: (reward - prediction) / propensity
        for the action logged, 0 for the others; one regressor per action where it takes a single target. By default
        extra-trees, of 100 trees with leaves of at least 5 rows and more in a long log, a quarter of the square root
        of its rows, that try a third of the columns at each split, and at least 4. Forests are the fastest by far
        where there are many actions: see the notes.
    reward_model : "linear", "boosting" or regressor, optional
        Predicts rewards. By default "linear": linear models of all actions that learn from each other, each shrunk
        towards their mean by as much as the log suggests. "boosting" is `RewardBoosting`, one for all actions. A
        regressor is trained on each action's own rows.
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward. Predictions of the model are kept within.
    actions : array of shape (n_actions,), optional
        All action labels; by default those of the log.
    n_jobs : int, optional
        Regressors, or trees of a forest, that are trained at once. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Decides the folds, and the seeds of the regressors that have none.

    Attributes
    ----------
    actions_ : ndarray of shape (n_actions,)
        The labels.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The reward model is fitted four times: in three folds for the errors, and on the whole log for decisions. An action
    that was never logged is what the model says it is: with the default, about the mean of all. Ties go to the first
    action. Where a row has a set of available actions, corrections count the rows to which an action was available.

    With n rows and k actions, a forest (`ExtraTreesRegressor` or `RandomForestRegressor`, also as the last step of
    a pipeline) needs no table of n times k numbers, neither in learning nor afterwards: an error belongs to one
    action, and a leaf keeps one number per action that it holds. Trees are grown on at most 8 targets. Other
    regressors are given the table in blocks. Decisions need k numbers per row, and are taken in blocks of rows.

    Adding a constant to all rewards and to `reward_range` changes nothing, but for rounding.

    References
    ----------
    Dudik, Langford and Li, "Doubly robust policy evaluation and learning", ICML 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from offsettree import DoublyRobust, simulate_log
    >>> log = simulate_log(*load_iris(return_X_y=True), random_state=0)
    >>> policy = DoublyRobust(random_state=0).fit(**log.arrays())
    >>> policy.decide([5.1, 3.5, 1.4, 0.2])
    0
    >>> policy.predict_rewards([[5.1, 3.5, 1.4, 0.2]]).shape
    (1, 3)
    """

    _learner_kind = "regressor"
    _default_learner = CorrectionForest

    def __init__(
        self,
        estimator: Any = None,
        reward_model: Any = None,
        *,
        reward_range: Sequence[float] = (0.0, 1.0),
        actions: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.reward_model = reward_model
        self.reward_range = reward_range
        self.actions = actions
        self.n_jobs = n_jobs
        self.random_state = random_state

    def predict_rewards(self, X: Features) -> NDArray[np.float64]:
        """Return the predicted reward of every action, corrected, in the order of `actions_`.

        Corrections may lead out of `reward_range`. The array has n_rows times n_actions numbers.
        """
        low, high = self.reward_range
        return low + (high - low) * self._scaled_rewards(self._checked(X))

    def _fit(self, log: CheckedLog) -> None:
        model = "linear" if self.reward_model is None else self.reward_model
        check_reward_model(model)
        random = as_random_state(self.random_state)
        fitted = CrossFit.make(model, log, random, self.n_jobs)
        seed = int(random.randint(np.iinfo(np.int32).max))
        self._model = fit_rewards(model, log, seed)
        learner = self._learner()
        if isinstance(learner, CorrectionForest):
            learner.adapt(len(log.position), log.X.shape[1])
        errors = Errors(log.position, fitted.error, len(self.actions_), log.available)
        self._corrections = fit_corrections(learner, log.X, errors, random, self.n_jobs)

    def _scaled_rewards(self, X: Features) -> NDArray[np.float64]:
        predicted = self._model.predict(X, np.arange(len(self.actions_)))
        return np.asarray(predicted + self._corrections.predict(X))

    def _as_model(self, space: ColumnSpace) -> Scores:
        return flatten_doubly_robust(self, space)

    def _ask(self, X: Features) -> NDArray[np.intp]:
        n_rows = count_rows(X)
        position = np.empty(n_rows, dtype=np.intp)
        for rows in pieces(n_rows, len(self.actions_)):
            part = X if rows.stop - rows.start == n_rows else take_rows(X, np.arange(rows.start, rows.stop))
            position[rows] = self._scaled_rewards(part).argmax(axis=1)
        return position

    def _ask_rank(self, X: Features, n: int, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        return best_of(self._scaled_rewards(X), n, mask)
