"""Importance weighting: a policy as a weighted multiclass classifier of the logged actions (Algorithms 6 and 7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.tree import DecisionTreeClassifier

from offsettree._features import Features, take_rows
from offsettree._traits import weight_keyword
from offsettree._validation import as_random_state, check_truth
from offsettree.base import BasePolicy
from offsettree.exceptions import ParameterError
from offsettree.learners import ConstantClassifier, Costing, Template, default_classifier
from offsettree.logs import CheckedLog
from offsettree.models import Model
from offsettree.reading import ColumnSpace
from offsettree.reductions._classes_within import answers_within
from offsettree.reductions._flatten_classes import flatten_classifier
from offsettree.reductions._nodes import may_assume_finite, node_settings
from offsettree.reductions.all_pairs import AllPairs

__all__ = ["ImportanceWeighted"]


class ImportanceWeighted(BasePolicy):
    """Policy that predicts the logged action, each row weighing reward / propensity.

    Rows that earned nothing are not learned from. `Costing` turns weights into draws of rows, and `AllPairs` the
    choice among k actions into binary ones. The paper's rival to the offset tree: its regret bound has another factor
    of k.

    Parameters
    ----------
    estimator : classifier, optional
        Any binary classifier. By default `offsettree.learners.default_classifier()`, or without `all_pairs`, which
        needs a multiclass one, scikit-learn's decision tree pruned alike.
    n_draws : int or None, default=10
        How often Costing draws. None gives the weights themselves through all pairs to the estimator, which is
        wrapped in Costing only where it takes none.
    all_pairs : bool, default=True
        Whether the estimator learns every pair of actions, or, being a multiclass classifier, all at once.
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward; rewards are counted from the smallest.
    actions : array of shape (n_actions,), optional
        All action labels; by default those of the log.
    n_jobs : int, optional
        Pairs that are trained at once.
    random_state : int, RandomState instance or None, default=None
        Decides the draws, and the seeds of the estimators that have none.

    Attributes
    ----------
    actions_ : ndarray of shape (n_actions,)
        The labels.
    classifier_ : fitted Costing, AllPairs or estimator
        Answers positions in `actions_`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    An action none of whose rows earned anything is never chosen, unless no other is available. If no row did, the first
    action always is. Rows without a choice (see `available` in `fit`) are left out; beyond that the weights do not
    know which other actions there were, and an action that was rarely available is chosen less often than it should
    be: prefer an `OffsetTree` for such logs.

    References
    ----------
    Zadrozny, "Policy mining: learning decision policies from fixed sets of data", 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from offsettree import ImportanceWeighted, simulate_log
    >>> log = simulate_log(*load_iris(return_X_y=True), random_state=0)
    >>> ImportanceWeighted(random_state=0).fit(**log.arrays()).decide([5.1, 3.5, 1.4, 0.2])
    0
    """

    _default_learner = staticmethod(default_classifier)

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_draws: int | None = 10,
        all_pairs: bool = True,
        reward_range: Sequence[float] = (0.0, 1.0),
        actions: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_draws = n_draws
        self.all_pairs = all_pairs
        self.reward_range = reward_range
        self.actions = actions
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, log: CheckedLog) -> None:
        X, action, reward, propensity, available = log.parts()
        if self.n_draws is not None and (not isinstance(self.n_draws, int | np.integer) or self.n_draws < 1):
            raise ParameterError(f"n_draws must be a whole number of at least 1, or None; got {self.n_draws!r}.")
        check_truth("all_pairs", self.all_pairs)
        seed = as_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        classifier = self._learner()
        if self.all_pairs:
            classifier = AllPairs(classifier, n_jobs=self.n_jobs, random_state=seed)
        weight_name = weight_keyword(classifier)
        if self.n_draws is not None or weight_name is None:
            classifier = Costing(classifier, n_draws=self.n_draws or 10, vote="hard", random_state=seed)
            weight_name = "sample_weight"
        earned = np.flatnonzero(reward)
        if available is not None:
            earned = earned[available.count()[earned] > 1]  # who has no choice says nothing of it
        if len(np.unique(action[earned])) < 2:
            self.classifier_: Any = ConstantClassifier(int(action[earned[0]]) if len(earned) else 0)
            return
        weight = reward[earned] / propensity[earned]
        self.classifier_ = Template(classifier).copy(seed)
        with node_settings(assume_finite=may_assume_finite(self._learner(), X)):
            self.classifier_.fit(take_rows(X, earned), action[earned], **{weight_name: weight / weight.mean()})

    def _learner(self) -> Any:
        if self.estimator is None and not self.all_pairs:
            return DecisionTreeClassifier(ccp_alpha=0.003, max_depth=12)
        return super()._learner()

    def _as_model(self, space: ColumnSpace) -> Model:
        return flatten_classifier(self.classifier_, space, len(self.actions_))

    def _ask(self, X: Features) -> NDArray[np.intp]:
        return np.asarray(self.classifier_.predict(X), dtype=np.intp)

    def _ask_within(self, X: Features, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        return answers_within(self.classifier_, X, mask)
