"""Capabilities of a learner, by its scikit-learn tags and its type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from offsettree.exceptions import ParameterError

if TYPE_CHECKING:
    from sklearn.utils import Tags


def check_learner(learner: Any, kind: str, parameter: str) -> None:
    """Refuse anything but a learner of the kind wanted, "classifier" or "regressor"."""
    if isinstance(learner, type):
        raise ParameterError(f"{parameter} must be an instance, not a class; write {learner.__name__}().")
    tags = tags_of(learner)
    if not hasattr(learner, "fit") or (tags is not None and tags.estimator_type not in (kind, None)):
        raise ParameterError(
            f"{parameter} must be a {kind} with fit and predict, such as those of scikit-learn; got {learner!r}."
        )


def tags_of(learner: Any) -> Tags | None:
    """Return a learner's scikit-learn tags; None if it is not a scikit-learn estimator."""
    from sklearn.utils import get_tags

    try:
        return get_tags(learner)
    except (AttributeError, TypeError):
        return None


def take_over_input_tags(tags: Tags, learner: Any) -> None:
    """Copy the input tags of the inner learner to an estimator's tags."""
    inner = tags_of(learner)
    if inner is not None:
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan


def may_pick_columns(learner: Any) -> bool:
    """Return whether some part of the learner may refer to the columns of a frame by name."""
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
    """Return whether the learner takes NaN in X.

    scikit-learn's trees and boosting do so for dense rows only, which their tags do not say.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import FeatureUnion, Pipeline

    if isinstance(learner, Pipeline) and learner.steps:
        # The first step may impute missing values for the later ones.
        return takes_missing(learner.steps[0][1], sparse=sparse)
    if isinstance(learner, ColumnTransformer | FeatureUnion):
        return True  # its parts raise errors of their own
    tags = tags_of(learner)
    if sparse and any(
        kind.__module__.startswith(("sklearn.tree", "sklearn.ensemble")) for kind in type(learner).__mro__
    ):
        return False
    return tags is None or bool(tags.input_tags.allow_nan)


def takes_nominal(learner: Any) -> bool:
    """Return whether the learner may take columns that are not numeric.

    Of scikit-learn's learners only compositions, which may encode them, and boosting, which takes categories, can do
    so. Others may.
    """
    if may_pick_columns(learner) or hasattr(learner, "categorical_features"):
        return True
    package = type(learner).__module__.split(".")[0]
    if package == "offsettree" and hasattr(learner, "estimator"):
        return takes_nominal(learner.estimator)
    return package != "sklearn"


def takes_categories(learner: Any, n_values: int) -> bool:
    """Return whether the learner itself splits a nominal column of so many values, without a step that encodes it.

    Those that say so by their tags, as Weka's do, and scikit-learn's boosting, up to as many values as it has bins.
    """
    if getattr(learner, "categorical_features", None) == "from_dtype":
        return n_values <= getattr(learner, "max_bins", n_values)
    tags = tags_of(learner)
    return tags is not None and bool(tags.input_tags.categorical)


def weight_keyword(estimator: Any) -> str | None:
    """Return the name of `fit`'s argument for sample weights; None if it has none."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    if isinstance(estimator, Pipeline) and estimator.steps:
        name, last = estimator.steps[-1]
        keyword = weight_keyword(last)
        return None if keyword is None else f"{name}__{keyword}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
