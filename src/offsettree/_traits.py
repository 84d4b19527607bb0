"""What a learner says of itself, and what can be told by looking at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from offsettree.exceptions import ParameterError

if TYPE_CHECKING:
    from sklearn.utils import Tags

__all__ = [
    "check_learner",
    "may_pick_columns",
    "tags_of",
    "take_over_input_tags",
    "takes_missing",
    "takes_nominal",
    "weight_keyword",
]


def check_learner(learner: Any, kind: str, parameter: str) -> None:
    """Refuse what cannot be a learner of the kind wanted, "classifier" or "regressor"."""
    if isinstance(learner, type):
        raise ParameterError(f"{parameter} must be an instance, not a class: write {learner.__name__}(), not its name.")
    tags = tags_of(learner)
    if not hasattr(learner, "fit") or (tags is not None and tags.estimator_type not in (kind, None)):
        raise ParameterError(
            f"{parameter} must be a {kind} with fit and predict, such as those of scikit-learn; got {learner!r}."
        )


def tags_of(learner: Any) -> Tags | None:
    """Return what a learner says of itself; None where it is not a scikit-learn estimator and says nothing."""
    from sklearn.utils import get_tags

    try:
        return get_tags(learner)
    except (AttributeError, TypeError):
        return None


def take_over_input_tags(tags: Tags, learner: Any) -> None:
    """Let an estimator say of its input what the learner inside it says."""
    inner = tags_of(learner)
    if inner is not None:
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan


def may_pick_columns(learner: Any) -> bool:
    """Tell whether some part of the learner may refer to the columns of a frame by name."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import FeatureUnion, Pipeline

    parameters = learner.get_params(deep=True) if hasattr(learner, "get_params") else {}
    parts = (learner, *parameters.values())
    if any(isinstance(part, Pipeline | ColumnTransformer | FeatureUnion) for part in parts):
        return True
    named = ("categorical_features", "monotonic_cst")
    return any(_names_columns(value) for name, value in parameters.items() if name.rpartition("__")[2] in named)


def _names_columns(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list | tuple) and any(isinstance(name, str) for name in value))


def takes_missing(learner: Any, *, sparse: bool = False) -> bool:
    """Tell whether NaN in X can be left to the learner.

    The word of scikit-learn's trees and boosting that they take missing values is for dense rows.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import FeatureUnion, Pipeline

    if (
        isinstance(learner, Pipeline) and learner.steps
    ):  # what comes after the first step need not take what the first step mends
        return takes_missing(learner.steps[0][1], sparse=sparse)
    if isinstance(learner, ColumnTransformer | FeatureUnion):
        return True  # its parts will speak for themselves
    tags = tags_of(learner)
    if sparse and any(
        kind.__module__.startswith(("sklearn.tree", "sklearn.ensemble")) for kind in type(learner).__mro__
    ):
        return False
    return tags is None or bool(tags.input_tags.allow_nan)


def takes_nominal(learner: Any) -> bool:
    """Tell whether columns that are not numbers can be left to the learner.

    scikit-learn's own cannot take them, but for compositions, which may encode them, and for boosting, which knows
    categories; others may.
    """
    if may_pick_columns(learner) or hasattr(learner, "categorical_features"):
        return True
    package = type(learner).__module__.split(".")[0]
    if package == "offsettree" and hasattr(learner, "estimator"):
        return takes_nominal(learner.estimator)
    return package != "sklearn"


def weight_keyword(estimator: Any) -> str | None:
    """Name the argument by which `fit` takes sample weights; None where it takes none."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    if isinstance(estimator, Pipeline) and estimator.steps:
        name, last = estimator.steps[-1]
        keyword = weight_keyword(last)
        return None if keyword is None else f"{name}__{keyword}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
