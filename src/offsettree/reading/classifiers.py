"""What a fitted classifier is made of, if it is one of those we know; anything else is None."""

from __future__ import annotations

from collections import Counter
from functools import cache
from inspect import getattr_static
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.tree import DecisionTreeClassifier

from offsettree.learners import ConstantClassifier, Costing, HistogramTree
from offsettree.reading.members import Committee, Constant, Member, Part, Plane, Splits
from offsettree.reading.pieces import LinearPiece

__all__ = ["read_committee", "read_member", "same_functions"]


# Between them they have all the ways in which scikit-learn's linear classifiers answer.
LINEAR = (LogisticRegression, RidgeClassifier, LinearDiscriminantAnalysis)


def read_member(classifier: Any, n_features: int, features: NDArray[np.intp] | None = None) -> Member | None:
    """Read a single classifier of the labels 0 and 1. It sees the columns `features` of X, or all `n_features`."""
    if isinstance(classifier, LinearPiece) and len(classifier.weights) == 1:
        return Plane(classifier.weights[0], float(classifier.bias[0]))
    labels = _labels(classifier)
    if labels is None:
        return None
    if type(classifier) is ConstantClassifier:
        return Constant(int(classifier.label))
    n_seen = n_features if features is None else len(features)
    if _same(classifier, HistogramTree, "predict", "predict_proba"):
        if classifier._score is not None or classifier.n_features_in_ != n_seen:
            return None
        return Splits(classifier.flat_tree_, labels, features) if len(labels) == 2 else Constant(int(labels[0]))
    if _same(classifier, DecisionTreeClassifier, "predict"):
        tree = classifier.tree_
        if classifier.n_outputs_ != 1 or tree.n_features != n_seen or not np.isfinite(tree.value).all():
            return None
        return Splits(tree, labels, features)
    if any(_same(classifier, known, "predict", "decision_function") for known in LINEAR):
        return _read_plane(classifier, labels, n_features, n_seen, features)
    return None


def _read_plane(
    classifier: Any, labels: NDArray[np.int64], n_features: int, n_seen: int, features: NDArray[np.intp] | None
) -> Member | None:
    coefficients, intercept = getattr(classifier, "coef_", None), getattr(classifier, "intercept_", None)
    if len(labels) == 1 or coefficients is None or intercept is None or sp.issparse(coefficients):
        return None
    seen = np.asarray(coefficients, dtype=np.float64).reshape(-1)
    bias = np.asarray(intercept, dtype=np.float64).reshape(-1)
    if len(seen) != n_seen or len(bias) != 1 or not (np.isfinite(seen).all() and np.isfinite(bias).all()):
        return None
    weights = seen
    if features is not None:
        weights = np.zeros(n_features)
        np.add.at(weights, features, seen)
    logistic = (
        _same(classifier, LogisticRegression, "predict_proba")
        or _same(classifier, LinearDiscriminantAnalysis, "predict_proba")
        or (_same(classifier, SGDClassifier, "predict_proba") and classifier.loss == "log_loss")
    )
    return Plane(weights, float(bias[0]), logistic)


def read_committee(classifier: Any, n_features: int) -> Committee | None:
    """Read a classifier of any kind we know, alone or with others inside."""
    labels = _labels(classifier)
    if labels is None:
        return None
    if len(labels) == 1 and (_is_forest(classifier) or _is_bagging(classifier) or _is_costing(classifier)):
        return Committee(constant=int(labels[0]))
    if _is_costing(classifier):
        return _read_costing(classifier, n_features)
    if _is_bagging(classifier):
        return _read_bagging(classifier, n_features)
    part = _read_part(classifier, n_features, None, soft=True)
    if part is None:
        return None
    only = part.members[0]
    if len(part.members) == 1 and isinstance(only, Constant):
        return Committee(constant=only.label)
    if isinstance(only, Plane):
        part = Part([Plane(only.weights, only.bias)])  # the sign decides, whatever its probabilities are rounded to
    if _is_forest(classifier):
        # The trees are the committee: added, then divided.
        return Committee([Part([member]) for member in part.members], part.divisor)
    return Committee([part])


def _read_costing(classifier: Any, n_features: int) -> Committee | None:
    if classifier.draw_models != "separate" or type(classifier.n_draws) is not int:
        return None
    soft = classifier.vote == "soft" or (classifier.vote == "auto" and hasattr(classifier.estimator, "predict_proba"))
    n_votes = Counter(map(id, classifier.estimators_))
    parts = []
    for draw in {id(draw): draw for draw in classifier.estimators_}.values():
        part = _read_part(draw, n_features, None, soft)
        if part is None:
            return None
        parts.append(Part(part.members, part.divisor, float(n_votes[id(draw)]), part.hard))
    return Committee(parts, float(classifier.n_draws))


def _read_bagging(classifier: Any, n_features: int) -> Committee | None:
    parts = []
    for estimator, features in zip(classifier.estimators_, classifier.estimators_features_, strict=True):
        seen = np.asarray(features, dtype=np.intp)
        all_in_order = len(seen) == n_features and bool((seen == np.arange(n_features)).all())
        part = _read_part(estimator, n_features, None if all_in_order else seen, hasattr(estimator, "predict_proba"))
        if part is None:
            return None
        parts.append(part)
    return Committee(parts, float(classifier.n_estimators))


def _read_part(classifier: Any, n_features: int, features: NDArray[np.intp] | None, soft: bool) -> Part | None:
    """Read one voice of a committee: a single classifier, or a forest. Soft, it gives probabilities."""
    if _is_forest(classifier):
        labels = _labels(classifier)
        trees = [read_member(tree, n_features, features) for tree in classifier.estimators_]
        if labels is None or any(not isinstance(tree, Splits) for tree in trees):
            return None
        # The trees of a forest know positions in the forest's labels.
        members: list[Member] = [Splits(tree.tree, labels, tree.features) for tree in trees if isinstance(tree, Splits)]
        return Part(members, float(len(members)), hard=not soft)
    member = read_member(classifier, n_features, features)
    if member is None:
        return None
    if isinstance(member, Plane):
        if soft and hasattr(classifier, "predict_proba") and not member.logistic:
            return None
        return Part([member if soft else Plane(member.weights, member.bias)], hard=not soft)
    return Part([member], hard=not soft)


def _labels(classifier: Any) -> NDArray[np.int64] | None:
    """Return the labels a classifier knows, if they are 0, 1 or both, in this order."""
    try:
        labels = np.asarray(classifier.classes_)
    except AttributeError:
        return None
    if labels.ndim != 1 or labels.dtype.kind not in "biuf" or labels.tolist() not in ([0], [1], [0, 1]):
        return None
    return labels.astype(np.int64)


def _is_forest(classifier: Any) -> bool:
    known = (RandomForestClassifier, ExtraTreesClassifier)
    return any(_same(classifier, forest, "predict", "predict_proba") for forest in known)


def _is_bagging(classifier: Any) -> bool:
    return _same(classifier, BaggingClassifier, "predict", "predict_proba")


def _is_costing(classifier: Any) -> bool:
    return _same(classifier, Costing, "predict", "predict_proba")


def _same(classifier: Any, known: type, *methods: str) -> bool:
    """Tell whether a classifier answers by the very functions of a class we know: a subclass may do so too."""
    own: Any = type(classifier)
    return same_functions(own, known, methods)


@cache
def same_functions(own: Any, known: type, methods: tuple[str, ...]) -> bool:
    """Tell whether a class has the very functions of another."""
    # As they are written in the class: some are wrapped anew whenever they are looked up.
    return all(getattr_static(own, method, None) is getattr_static(known, method) for method in methods)
