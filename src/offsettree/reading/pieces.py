"""What fitted learners are made of, where they give numbers: linear functions, or sums over trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from offsettree.exceptions import ParameterError
from offsettree.reading.trees import TreeList
from offsettree.registry import CLASSIFIERS, REGRESSORS

__all__ = ["LinearPiece", "Piece", "TreesPiece", "stated_form"]


@dataclass(frozen=True)
class LinearPiece:
    """Linear functions of the columns, of shape (n_outputs, n_columns); constants are such of no weight."""

    weights: NDArray[np.float64]
    bias: NDArray[np.float64]
    at_missing: NDArray[np.float64] | None = None
    constant: bool = False


@dataclass(frozen=True)
class TreesPiece:
    """Sums over trees, in as many outputs as there are bases; `narrow` ones compare X as float32."""

    trees: TreeList
    base: NDArray[np.float64]
    divisor: float
    narrow: bool


Piece: TypeAlias = LinearPiece | TreesPiece


def stated_form(learner: Any) -> Any:
    """Return what a learner registered with `read` says that it is made of; any other learner is itself."""
    for registry in (CLASSIFIERS, REGRESSORS):
        for entry in registry.known.values():
            if entry.read is not None and entry.target is type(learner):
                return _checked(entry.read(learner), learner)
    return learner


def _checked(form: Any, learner: Any) -> Any:
    """Refuse linear functions of other shapes than the learner's: decisions would be none of the actions."""
    if isinstance(form, LinearPiece):
        weights, bias = np.shape(form.weights), np.shape(form.bias)
        n_columns = getattr(learner, "n_features_in_", weights[-1] if weights else 0)
        n_outputs = len(getattr(learner, "classes_", ())) or np.size(learner.predict(np.zeros((1, n_columns))))
        fits = weights == (n_outputs, n_columns) or (n_outputs == 2 and weights == (1, n_columns))
        if not fits or bias != weights[:1] or not np.isfinite(form.weights).all():
            raise ParameterError(
                f"{type(learner).__name__} must be read as finite weights of shape {(n_outputs, n_columns)}, with a "
                f"bias for each output; got weights of shape {weights} and a bias of shape {bias}."
            )
    return form
