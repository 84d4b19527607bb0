"""Costing: any classifier learns from weighted rows, by rejection sampling on the weights (section 2 of the paper)."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import (
    check_is_fitted,
)

from offsettree._features import Features, append_indicator, check_features, count_rows, take_rows
from offsettree._traits import check_learner, take_over_input_tags
from offsettree._validation import as_random_state, check_labels, check_weight
from offsettree.exceptions import ParameterError
from offsettree.learners._template import Template
from offsettree.learners.constant import ConstantClassifier

__all__ = ["Costing"]


class Costing(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Classifier for weighted rows, from a classifier that knows no weights.

    Each draw keeps a row with probability weight / (largest weight), so that the rows kept are distributed as the
    weighted problem asks: a classifier's error rate on them estimates its weighted loss. One classifier is trained
    per draw and their answers are averaged. With equal weights every draw keeps every row.

    Parameters
    ----------
    estimator : classifier
        Trained on the rows kept; needs `fit(X, y)` and `predict(X)` only.
    n_draws : int, default=10
        How many times the rows are drawn.
    vote : {"auto", "soft", "hard"}, default="auto"
        What is averaged over the draws: the estimators' probabilities ("soft") or their answers ("hard"). "auto" is
        soft where the estimator has `predict_proba`, else hard. Ties go to the first of `classes_`.
    draw_models : {"separate", "shared"}, default="separate"
        "shared" is the form the paper uses in its analysis: one classifier, trained on the union of all draws with
        the draw's index as an extra feature (a zero-one column per draw), asked once per draw and averaged.
    random_state : int, RandomState instance or None, default=None
        Decides which rows are kept, and the seeds of the estimators where they have none.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    estimators_ : list of fitted classifiers
        One per draw, or the shared one alone. They answer positions in `classes_`. A draw that kept one class only is
        answered by a constant.
    n_rows_drawn_ : ndarray of shape (n_draws,)
        How many rows each draw kept. Few, where a few weights are far larger than the rest.

    References
    ----------
    Zadrozny, Langford and Abe, "Cost-sensitive learning by cost-proportionate example weighting", ICDM 2003.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = [[0.0], [0.0], [1.0], [1.0]], [0, 1, 0, 1]
    >>> costing = Costing(KNeighborsClassifier(n_neighbors=1), random_state=0)
    >>> costing.fit(X, y, sample_weight=[9, 0, 0, 9]).predict([[0.1], [0.9]])
    array([0, 1])
    """

    def __init__(
        self,
        estimator: Any,
        *,
        n_draws: int = 10,
        vote: Literal["auto", "soft", "hard"] = "auto",
        draw_models: Literal["separate", "shared"] = "separate",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_draws = n_draws
        self.vote = vote
        self.draw_models = draw_models
        self.random_state = random_state

    def fit(self, X: Features, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on `n_draws` samples of the rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n_rows, n_features)
            The rows.
        y : array of shape (n_rows,)
            Their labels.
        sample_weight : array of shape (n_rows,), optional
            What it costs to mislabel each row; all the same if not given. None may be negative, and not all zero.
        """
        self._check_parameters()
        X = check_features(self, X, learner=self.estimator, reset=True)
        target = check_labels(y, count_rows(X))
        weight = check_weight(sample_weight, len(target))
        self.classes_, label = np.unique(target, return_inverse=True)

        random = as_random_state(self.random_state)
        bound = self._bound(weight)
        draws = [np.flatnonzero(random.random_sample(len(label)) * bound < weight) for _ in range(self.n_draws)]
        seeds = random.randint(np.iinfo(np.int32).max, size=self.n_draws).tolist()
        self.n_rows_drawn_ = np.array([len(rows) for rows in draws])
        template = Template(self.estimator)
        if self.draw_models == "shared":
            rows = np.concatenate(draws)
            index = np.repeat(np.arange(self.n_draws), self.n_rows_drawn_)
            union = append_indicator(take_rows(X, rows), index, self.n_draws, "draw")
            self.estimators_ = [_fit_draw(template, union, label[rows], seeds[0])]
        elif (self.n_rows_drawn_ == len(label)).all() and not template.is_seeded:
            # All draws are the whole log: the same learner would give the same classifier each time.
            self.estimators_ = [_fit_draw(template, X, label, 0)] * self.n_draws
        else:
            self.estimators_ = [
                _fit_draw(template, take_rows(X, rows), label[rows], seed)
                for rows, seed in zip(draws, seeds, strict=True)
            ]
        return self

    def predict(self, X: Features) -> NDArray[Any]:
        """Return the label with the largest average over the draws."""
        winner = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[winner])

    def predict_proba(self, X: Features) -> NDArray[np.float64]:
        """Return the average over the draws: of probabilities, or of answers (the share of votes)."""
        check_is_fitted(self)
        X = check_features(self, X, learner=self.estimator, reset=False)
        soft = self.vote == "soft" or (self.vote == "auto" and hasattr(self.estimator, "predict_proba"))
        total = np.zeros((count_rows(X), len(self.classes_)))
        if self.draw_models == "shared":
            for draw in range(self.n_draws):
                index = np.full(count_rows(X), draw)
                _add_votes(total, self.estimators_[0], append_indicator(X, index, self.n_draws, "draw"), soft, 1)
        else:
            # With equal weights all draws may share one classifier, which then need not be asked again.
            n_votes = Counter(map(id, self.estimators_))
            for classifier in {id(draw): draw for draw in self.estimators_}.values():
                _add_votes(total, classifier, X, soft, n_votes[id(classifier)])
        return total / self.n_draws

    def _bound(self, weight: NDArray[np.float64]) -> float:
        """Return the weight that is kept for certain: the heaviest row is in every draw, so that none is empty."""
        return float(weight.max())

    def _check_parameters(self) -> None:
        check_learner(self.estimator, "classifier", "estimator")
        if not isinstance(self.n_draws, int | np.integer) or self.n_draws < 1:
            raise ParameterError(f"n_draws must be a whole number of at least 1; got {self.n_draws!r}.")
        if self.vote not in ("auto", "soft", "hard"):
            raise ParameterError(f"vote must be 'auto', 'soft' or 'hard'; got {self.vote!r}.")
        if self.vote == "soft" and not hasattr(self.estimator, "predict_proba"):
            raise ParameterError(f"vote='soft' needs an estimator with predict_proba; {self.estimator!r} has none.")
        if self.draw_models not in ("separate", "shared"):
            raise ParameterError(f"draw_models must be 'separate' or 'shared'; got {self.draw_models!r}.")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        take_over_input_tags(tags, self.estimator)
        return tags


def _fit_draw(template: Template, X: Features, label: NDArray[np.intp], seed: int) -> Any:
    if len(np.unique(label)) < 2:
        return ConstantClassifier(int(label[0]) if len(label) else 0)
    classifier = template.copy(seed)
    classifier.fit(X, label)
    return classifier


def _add_votes(total: NDArray[np.float64], classifier: Any, X: Features, soft: bool, n_votes: int) -> None:
    if soft:
        known = getattr(classifier, "classes_", np.arange(total.shape[1]))
        total[:, known] += n_votes * classifier.predict_proba(X)
    else:
        total[np.arange(len(total)), np.asarray(classifier.predict(X), dtype=np.intp)] += n_votes
