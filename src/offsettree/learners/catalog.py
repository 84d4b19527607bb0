"""Learners by name, for command lines and configurations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from offsettree.exceptions import ParameterError
from offsettree.learners.default import default_regressor
from offsettree.learners.encoding import NominalEncoder
from offsettree.registry import CLASSIFIERS, REGRESSORS, resolve

__all__ = ["CLASSIFIERS", "REGRESSORS", "make_learner"]


def _encoded(learner: Callable[[], Any], *, impute: bool = False, scale: bool = False) -> Any:
    return make_pipeline(
        NominalEncoder(impute=impute), *([StandardScaler(with_mean=False)] if scale else []), learner()
    )


# Named in `offsettree.registry.built_in`.
boosting_classifier = partial(_encoded, HistGradientBoostingClassifier)
extra_trees_classifier = partial(_encoded, ExtraTreesClassifier)
forest_classifier = partial(_encoded, RandomForestClassifier)
logistic_classifier = partial(_encoded, partial(LogisticRegression, max_iter=1000), impute=True, scale=True)
tree_classifier = partial(_encoded, partial(DecisionTreeClassifier, ccp_alpha=0.003, max_depth=12))
boosting_regressor = partial(_encoded, HistGradientBoostingRegressor)
extra_trees_regressor = partial(_encoded, ExtraTreesRegressor)
forest_regressor = partial(_encoded, RandomForestRegressor)
ridge_regressor = partial(_encoded, RidgeCV, impute=True, scale=True)
tree_regressor = partial(_encoded, default_regressor)


def make_learner(name: str, kind: Literal["classifier", "regressor"] = "classifier") -> Any:
    """Return a new unfitted learner; all take arrays, sparse matrices where the learner does, and mixed frames.

    Parameters
    ----------
    name : str
        A key of `CLASSIFIERS` or `REGRESSORS`.
    kind : {"classifier", "regressor"}, default="classifier"
        Which of the two.

    Examples
    --------
    >>> make_learner("logistic").steps[-1][1]
    LogisticRegression(max_iter=1000)
    """
    learners = {"classifier": CLASSIFIERS, "regressor": REGRESSORS}
    if kind not in learners:
        raise ParameterError(f"kind must be 'classifier' or 'regressor'; got {kind!r}.")
    entry = learners[kind].get(name)
    if entry is None:
        raise ParameterError(f"there is no {kind} called {name!r}; there are {', '.join(learners[kind])}.")
    return resolve(entry.target)()
