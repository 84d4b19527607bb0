"""Learners by name, for command lines and configurations."""

from __future__ import annotations

from collections.abc import Callable
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
from offsettree.learners.default import default_classifier, default_regressor
from offsettree.learners.encoding import NominalEncoder
from offsettree.learners.weka import J48, M5P, REPTree

__all__ = ["CLASSIFIERS", "REGRESSORS", "make_learner"]


def _encoded(estimator: Any, *, impute: bool = False, scale: bool = False) -> Any:
    steps = [NominalEncoder(impute=impute), *([StandardScaler(with_mean=False)] if scale else []), estimator]
    return make_pipeline(*steps)


CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "boosting": lambda: _encoded(HistGradientBoostingClassifier()),
    "extra-trees": lambda: _encoded(ExtraTreesClassifier()),
    "forest": lambda: _encoded(RandomForestClassifier()),
    "histogram-tree": default_classifier,
    "j48": J48,
    "logistic": lambda: _encoded(LogisticRegression(max_iter=1000), impute=True, scale=True),
    "tree": lambda: _encoded(DecisionTreeClassifier(ccp_alpha=0.003, max_depth=12)),
}

REGRESSORS: dict[str, Callable[[], Any]] = {
    "boosting": lambda: _encoded(HistGradientBoostingRegressor()),
    "extra-trees": lambda: _encoded(ExtraTreesRegressor()),
    "forest": lambda: _encoded(RandomForestRegressor()),
    "m5p": M5P,
    "reptree": REPTree,
    "ridge": lambda: _encoded(RidgeCV(), impute=True, scale=True),
    "tree": lambda: _encoded(default_regressor()),
}


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
    if name not in learners[kind]:
        raise ParameterError(f"there is no {kind} called {name!r}; there are {', '.join(learners[kind])}.")
    return learners[kind][name]()
