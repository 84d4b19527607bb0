"""What a pipeline does to the columns before its learner sees them: chosen, scaled, filled where they are missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, StandardScaler

from offsettree._features import as_floats
from offsettree.encoding.frame_indicators import FrameIndicators
from offsettree.learners.encoding import NominalEncoder
from offsettree.reading.cannot_flatten import CannotFlatten, name_of
from offsettree.reading.columns import ColumnSpace

__all__ = ["Preprocessing", "steps_before", "unwrap"]


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """Column j that a learner sees is ``slope[j] * x[source[j]] + shift[j]``; or ``filled[j]`` where x is missing.

    A `filled` of NaN leaves it missing.
    """

    source: NDArray[np.intp]
    slope: NDArray[np.float64]
    shift: NDArray[np.float64]
    filled: NDArray[np.float64]

    @classmethod
    def none(cls, source: NDArray[np.intp]) -> Self:
        """Return columns as they are."""
        n = len(source)
        return cls(source, np.ones(n), np.zeros(n), np.full(n, np.nan))

    @property
    def only_selects(self) -> bool:
        """Whether values are left as they are."""
        return bool((self.slope == 1).all() and (self.shift == 0).all() and np.isnan(self.filled).all())

    def columns_for(self, learner: Any) -> NDArray[np.intp] | None:
        """Return which columns a learner of trees sees, which takes values as they are; None for all of them."""
        if not self.only_selects:
            raise CannotFlatten(f"{name_of(learner)} after a step that scales or fills")
        return None if np.array_equal(self.source, np.arange(len(self.source))) else self.source

    def plane(
        self, weights: NDArray[np.float64], bias: NDArray[np.float64], n_columns: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None]:
        """Turn functions of what the learner sees, of shape (n_functions, n_seen), into functions of the columns.

        Return weights, bias, and what a missing value counts for; None where nothing is filled.
        """
        folded = np.zeros((len(weights), n_columns))
        np.add.at(folded.T, self.source, (weights * self.slope).T)
        at_missing = None
        if len(self.filled) and not np.isnan(self.filled).any():
            at_missing = np.zeros((len(weights), n_columns))
            # The shift is in the bias already, of values that are there and of those that are not.
            np.add.at(at_missing.T, self.source, (weights * (self.filled - self.shift)).T)
        return folded, bias + weights @ self.shift, at_missing

    def scaled(self, slope: Any, shift: Any) -> Preprocessing:
        """Return what comes out after one more scaling."""
        return replace(
            self, slope=self.slope * slope, shift=self.shift * slope + shift, filled=self.filled * slope + shift
        )


def unwrap(learner: Any, space: ColumnSpace) -> tuple[Any, Preprocessing]:
    """Return the learner at the end of a pipeline, or the learner itself, and what comes before it."""
    if type(learner) is not Pipeline:
        return learner, Preprocessing.none(space.numbers)
    first = learner.steps[0][1]
    if type(first) is NominalEncoder and isinstance(first.encoder_, FrameIndicators):
        before = _after_frame(first.encoder_, space)
    else:
        before = _after(first, Preprocessing.none(space.numbers), space)
    for _, step in learner.steps[1:-1]:
        before = _after(step, before, space)
    last = learner.steps[-1][1]
    if type(last) is Pipeline:
        raise CannotFlatten("a pipeline within a pipeline")
    return last, before


def steps_before(step: Any, space: ColumnSpace) -> Preprocessing:
    """Return what one step, or a pipeline of steps without a learner, does to the columns."""
    return unwrap(Pipeline([*(step.steps if type(step) is Pipeline else [("step", step)]), ("learner", None)]), space)[
        1
    ]


def _after(step: Any, before: Preprocessing, space: ColumnSpace) -> Preprocessing:
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return before
    if type(step) is FunctionTransformer and (step.func is None or step.func is as_floats):
        return before
    if type(step) is Pipeline:
        for _, inner in step.steps:
            before = _after(inner, before, space)
        return before
    if type(step) is NominalEncoder:
        if isinstance(step.encoder_, FrameIndicators):
            raise CannotFlatten("a NominalEncoder of frames that is not the first step")
        return _after(step.encoder_, before, space)
    if type(step) is SimpleImputer:
        is_nan = isinstance(step.missing_values, float) and np.isnan(step.missing_values)
        if not is_nan or step.add_indicator or np.asarray(step.statistics_).dtype.kind not in "iuf":
            raise CannotFlatten(f"{name_of(step)} in a pipeline")
        fill = np.asarray(step.statistics_, dtype=np.float64)
        if step.keep_empty_features:
            fill = np.where(np.isnan(fill), 0.0, fill)
        kept = ~np.isnan(fill)
        filled = np.where(np.isnan(before.filled), fill, before.filled)
        return Preprocessing(before.source[kept], before.slope[kept], before.shift[kept], filled[kept])
    if type(step) is StandardScaler:
        slope = 1.0 if step.scale_ is None else 1 / step.scale_
        mean = step.mean_ if step.with_mean else 0.0
        return before.scaled(slope, -mean * slope)
    if type(step) is MinMaxScaler and not step.clip:
        return before.scaled(step.scale_, step.min_)
    if type(step) is MaxAbsScaler and not getattr(step, "clip", False):
        return before.scaled(1 / step.scale_, 0.0)
    raise CannotFlatten(f"{name_of(step)} in a pipeline")


def _after_frame(encoder: FrameIndicators, space: ColumnSpace) -> Preprocessing:
    """Return the columns of a `NominalEncoder` fitted on a frame: indicators first, then numbers."""
    parts = []
    if encoder.levels:
        levels = [np.array(values, dtype=object) for values in encoder.levels.values()]
        parts.append(Preprocessing.none(space.indicators(list(encoder.levels), levels)))
    if encoder.numeric:
        part = Preprocessing.none(space.numbers_of(encoder.numeric))
        parts.append(part if encoder.imputer is None else _after(encoder.imputer, part, space))
    together = [
        np.concatenate([getattr(part, name) for part in parts]) for name in ("source", "slope", "shift", "filled")
    ]
    # Indicators are never missing: what they are filled with makes no difference, but that they are says so.
    if any(not np.isnan(part.filled).all() for part in parts):
        together[3] = np.where(np.isnan(together[3]), 0.0, together[3])
    return Preprocessing(*together)
