"""From a fitted policy of any kind to a model in flat arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

from offsettree._features import numeric_columns
from offsettree._traits import takes_missing
from offsettree.models import Inputs
from offsettree.models.model import Model
from offsettree.reading.cannot_flatten import CannotFlatten, name_of
from offsettree.reading.columns import ColumnSpace

__all__ = ["Flat", "flatten", "inputs_of"]

# By which a policy chooses: a subclass that has its own is another policy than the one that knows its model.
CHOOSES_BY = ("_choose", "_choose_within", "_rank", "_probabilities", "_ask", "_ask_within", "_scaled_rewards")


class Flat(NamedTuple):
    """A policy in flat arrays, and what it takes."""

    model: Model
    inputs: Inputs


def flatten(policy: Any, *, also_alike: tuple[str, ...] = ()) -> Flat:
    """Flatten a fitted policy; `CannotFlatten` says what stands in the way.

    A subclass must choose by the very functions of the class that knows how it becomes a model, and be `also_alike` in
    others.
    """
    kind = type(policy)
    knows = next(each for each in kind.__mro__ if "_as_model" in each.__dict__)
    if any(getattr(kind, name, None) is not getattr(knows, name, None) for name in (*CHOOSES_BY, *also_alike)):
        raise CannotFlatten(name_of(policy))
    names, frame = getattr(policy, "feature_names_in_", None), policy._frame_like
    nominal = [] if frame is None else [name for name in frame.columns if name not in set(numeric_columns(frame))]
    space = ColumnSpace(policy.n_features_in_, None if names is None else names.tolist(), nominal)
    try:
        model = policy._as_model(space)
    except AttributeError as error:  # learners of another version may keep what they learned elsewhere
        raise CannotFlatten(f"{name_of(policy)} ({error})") from error
    return Flat(model, inputs_of(policy, space, model))


def inputs_of(policy: Any, space: ColumnSpace | None = None, model: Model | None = None) -> Inputs:
    """Return what a policy takes."""
    names = getattr(policy, "feature_names_in_", None)
    learner = policy._learner()
    fills = model is None or model.takes_missing
    return Inputs(
        int(policy.n_features_in_),
        None if names is None else tuple(map(str, names)),
        fills and takes_missing(learner),
        fills and takes_missing(learner, sparse=True),
        None if space is None else space.encoding(),
    )
