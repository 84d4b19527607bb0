"""What a multiclass classifier answers where some classes cannot be chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._available import best_of
from offsettree._features import Features
from offsettree.exceptions import ParameterError
from offsettree.learners import ConstantClassifier, Costing
from offsettree.reductions._nodes import prefers_left
from offsettree.reductions.all_pairs import AllPairs


def answers_within(classifier: Any, X: Features, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return each row's class, one that its mask leaves; classes are the columns of the mask.

    A class that the classifier does not know is answered only where it knows none of those left. All pairs count the
    meetings of classes that are both left; draws vote, each for one that is left; other classifiers are asked for
    probabilities or scores of all classes.
    """
    return best_of(_strength(classifier, X, mask), 1, mask)[:, 0]


def _strength(classifier: Any, X: Features, mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return a number for every row and class: the larger the better, and least where nothing is known."""
    strength = np.full(mask.shape, np.finfo(np.float64).min)
    if isinstance(classifier, ConstantClassifier):
        strength[:, classifier.label] = 1
        return strength
    known = np.asarray(classifier.classes_, dtype=np.intp)
    if isinstance(classifier, Costing):
        # Its members call their classes by the position among its own.
        within, votes = mask[:, known], np.zeros((len(mask), len(known)))
        for member in classifier.estimators_:
            votes[np.arange(len(mask)), answers_within(member, X, within)] += 1
        strength[:, known] = votes
    elif isinstance(classifier, AllPairs):
        strength[:, known] = _wins(classifier, X, mask[:, known])
    else:
        strength[:, known] = _scores(classifier, X)
    return strength


def _wins(classifier: AllPairs, X: Features, mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    wins = np.zeros(mask.shape)
    for (first, second), contest in zip(classifier.pairs_, classifier.estimators_, strict=True):
        first_wins, meet = prefers_left(contest, X), mask[:, first] & mask[:, second]
        wins[:, first] += first_wins & meet
        wins[:, second] += ~first_wins & meet
    return wins


def _scores(classifier: Any, X: Features) -> NDArray[np.float64]:
    if hasattr(classifier, "predict_proba"):
        return np.asarray(classifier.predict_proba(X), dtype=np.float64)
    if hasattr(classifier, "decision_function"):
        score = np.asarray(classifier.decision_function(X), dtype=np.float64)
        return np.column_stack([-score, score]) if score.ndim == 1 else score
    raise ParameterError(
        f"available needs an estimator that tells how good every action is, by predict_proba or decision_function; "
        f"{type(classifier).__name__} has neither. Use all_pairs=True."
    )
