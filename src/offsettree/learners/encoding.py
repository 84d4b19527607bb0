"""Nominal columns as numbers, for learners that know numbers only."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from offsettree._features import Features, is_frame
from offsettree.encoding.frame_indicators import FrameIndicators

__all__ = ["NominalEncoder"]

AS_ARRAY: dict[str, Any] = {"accept_sparse": "csr", "ensure_all_finite": "allow-nan"}


class NominalEncoder(TransformerMixin, BaseEstimator):
    """Turn a frame into an array: a zero-one column per nominal value, numbers as they are.

    A value that was not seen in fitting has zeros only; a missing nominal value has a column of its own. Arrays and
    sparse matrices pass unchanged, so that it can stand before any learner.

    Parameters
    ----------
    impute : bool, default=False
        Replace missing numbers by their mean, for learners that cannot take NaN.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"colour": ["red", "blue", "red"], "size": [1.0, 2.0, 3.0]})
    >>> NominalEncoder().fit_transform(frame)
    array([[0., 1., 1.],
           [1., 0., 2.],
           [0., 1., 3.]])
    """

    def __init__(self, *, impute: bool = False) -> None:
        self.impute = impute

    def fit(self, X: Features, y: Any = None) -> Self:
        """Learn which columns are nominal, and their values."""
        imputer = SimpleImputer(keep_empty_features=True) if self.impute else None
        if is_frame(X):
            validate_data(self, X, skip_check_array=True)
            self.encoder_: Any = FrameIndicators(X, imputer)
        else:
            self.encoder_ = make_pipeline(imputer or FunctionTransformer()).fit(validate_data(self, X, **AS_ARRAY))
        return self

    def transform(self, X: Features) -> NDArray[np.float64]:
        """Return the array."""
        check_is_fitted(self)
        stays_frame = is_frame(X) and not isinstance(self.encoder_, Pipeline)
        X = validate_data(self, X, reset=False, **({"skip_check_array": True} if stays_frame else AS_ARRAY))
        return self.encoder_.transform(X)  # type: ignore[no-any-return]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        return tags
