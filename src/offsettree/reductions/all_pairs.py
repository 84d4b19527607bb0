"""All pairs: a multiclass classifier from one binary classifier per pair of classes."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import check_is_fitted

from offsettree._features import Features, check_features, count_rows, take_rows
from offsettree._traits import take_over_input_tags
from offsettree._validation import as_random_state, check_labels, check_n_jobs, check_weight
from offsettree._workers import parallel
from offsettree.reductions._nodes import (
    NodeLearner,
    TrainingSet,
    may_assume_finite,
    node_settings,
    prefers_left,
    train_and_ask,
)

__all__ = ["AllPairs"]


class AllPairs(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Classifier that lets every two classes meet, and answers the class that wins most often.

    The meeting of two classes is learned from their rows alone. Any binary classifier will do: neither probabilities
    nor margins are asked for. Sample weights are given through to an estimator that takes them; one that takes none is
    wrapped in `Costing` where rows have weights.

    Parameters
    ----------
    estimator : classifier
        Trained for every pair of classes.
    n_jobs : int, optional
        Pairs that are trained at once, through joblib. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the estimators that have no seed of their own.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    pairs_ : list of n_classes * (n_classes - 1) / 2 pairs of int
        Which positions in `classes_` meet.
    estimators_ : list of fitted classifiers
        By pair. They answer 1 where the first of the two wins, else 0.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Weights are not scaled to mean 1 within a pair, as those of an `OffsetTree` are within a contest. This is a
    classifier like any other, for which a weight of 2 must be a row given twice: for a learner with a penalty the two
    would differ. `ImportanceWeighted` scales weights to mean 1 over all rows.

    References
    ----------
    Hastie and Tibshirani, "Classification by pairwise coupling", NIPS 1997.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(AllPairs(LinearSVC()).fit(X, y).score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Features, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train a classifier for every pair of classes.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n_rows, n_features)
            The rows.
        y : array of shape (n_rows,)
            Their labels.
        sample_weight : array of shape (n_rows,), optional
            What it costs to mislabel each row; all the same if not given. Rows of weight zero are left out.
        """
        check_n_jobs(self.n_jobs)
        X = check_features(self, X, learner=self.estimator, reset=True)
        target = check_labels(y, count_rows(X))
        weight = check_weight(sample_weight, len(target))
        self.classes_, label = np.unique(target, return_inverse=True)
        learner = NodeLearner(self.estimator, weighted=bool((weight != weight[0]).any()))
        rows_of = [np.flatnonzero((label == position) & (weight > 0)) for position in range(len(self.classes_))]
        self.pairs_ = list(combinations(range(len(self.classes_)), 2))
        seeds = as_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=len(self.pairs_))

        finite = may_assume_finite(learner.estimator, X)

        def tasks() -> Any:
            for (first, second), seed in zip(self.pairs_, seeds.tolist(), strict=True):
                rows = np.sort(np.concatenate([rows_of[first], rows_of[second]]))
                where = f"in the pair of classes {self.classes_[first]!r} and {self.classes_[second]!r}"
                yield learner, TrainingSet(take_rows(X, rows), label[rows] == first, weight[rows], seed, where), finite

        self.estimators_: list[Any]
        if effective_n_jobs(self.n_jobs) == 1:
            self.estimators_ = [_train_pair(*task) for task in tasks()]
        else:
            self.estimators_ = parallel(n_jobs=self.n_jobs)(delayed(_train_pair)(*task) for task in tasks())
        return self

    def predict(self, X: Features) -> NDArray[Any]:
        """Return the class that wins most pairs; of those that tie, the first in `classes_`."""
        winner = self._wins(X).argmax(axis=1)
        return np.asarray(self.classes_[winner])

    def predict_proba(self, X: Features) -> NDArray[np.float64]:
        """Return the share of all pairs that each class wins."""
        wins = self._wins(X)
        return np.asarray(wins / wins.sum(axis=1, keepdims=True))

    def _wins(self, X: Features) -> NDArray[np.float64]:
        check_is_fitted(self)
        X = check_features(self, X, learner=self.estimator, reset=False)
        wins = np.zeros((count_rows(X), len(self.classes_)))
        if not self.pairs_:
            return wins + 1
        for (first, second), classifier in zip(self.pairs_, self.estimators_, strict=True):
            first_wins = prefers_left(classifier, X)
            wins[:, first] += first_wins
            wins[:, second] += ~first_wins
        return wins

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        take_over_input_tags(tags, self.estimator)
        return tags


def _train_pair(learner: NodeLearner, given: TrainingSet, finite: bool) -> Any:
    with node_settings(assume_finite=finite):
        return train_and_ask(learner, given)[0]
