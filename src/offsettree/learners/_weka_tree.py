"""What Weka's trees have in common, as scikit-learn's estimators."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags, assert_all_finite
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from offsettree._features import Features, check_features, count_rows, is_frame
from offsettree._validation import check_labels, check_weight
from offsettree.learners._columns import read_columns
from offsettree.learners._weka_model import WekaModel


class WekaTree(BaseEstimator):
    """What Weka's trees have in common: tables in, distributions out, the tree as text."""

    _learner: ClassVar[str]

    _model: WekaModel

    @property
    def text_(self) -> str:
        """The tree as Weka prints it."""
        check_is_fitted(self)
        return str(self._model)

    @abstractmethod
    def _options(self, n_rows: int) -> list[str]:
        """Check the parameters and return them as Weka's command line has them."""

    def _train(
        self,
        X: Features,
        target: NDArray[Any],
        weight: NDArray[np.float64],
        classes: Sequence[str] | None = None,
    ) -> None:
        options = self._options(len(target))
        columns, table = read_columns(X)
        assert_all_finite(table, allow_nan=True, input_name="X")
        table = np.column_stack([table, target])
        self._model = WekaModel.train(self._learner, options, columns, classes, table, weight)

    def _distributions(self, X: Features) -> NDArray[np.float64]:
        check_is_fitted(self)
        table = self._model.columns.encode(self._checked(X, reset=False))
        assert_all_finite(table, allow_nan=True, input_name="X")
        return self._model.distributions(table)

    def _checked(self, X: Features, *, reset: bool) -> Features:
        if is_frame(X):  # numbers and truth values too: check_features would make numbers of both
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return check_features(self, X, learner=self, reset=reset)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags


class WekaClassifier(ClassifierMixin, WekaTree):
    """A tree of labels."""

    classes_: NDArray[Any]

    def fit(self, X: Features, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n_rows, n_features)
            The rows; NaN or null is a missing value. In a pandas or polars frame, strings, categories and truth
            values are nominal; the declared categories of a column are its values, whether or not they occur.
        y : array of shape (n_rows,)
            Their labels, of any kind.
        sample_weight : array of shape (n_rows,), optional
            Weka's instance weights; all 1 if not given. None may be negative, and not all zero.
        """
        X = self._checked(X, reset=True)
        target = check_labels(y, count_rows(X))
        weight = check_weight(sample_weight, len(target))
        self.classes_, label = np.unique(target, return_inverse=True)
        names = [str(name) for name in self.classes_.tolist()]
        if len(names) == 1:
            names.append(f"not {names[0]}")  # Weka wants two classes, seen or not
        self._train(X, label, weight, names)
        return self

    def predict(self, X: Features) -> NDArray[Any]:
        """Return the most probable label, the first of `classes_` where several are."""
        winner = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[winner])

    def predict_proba(self, X: Features) -> NDArray[np.float64]:
        """Return the probability of each label, in the order of `classes_`."""
        probability = self._distributions(X)[:, : len(self.classes_)]
        total = probability.sum(axis=1, keepdims=True)
        # Weka answers all zeros where no training row speaks for any class.
        return np.where(total > 0, probability / np.where(total > 0, total, 1), 1 / len(self.classes_))


class WekaRegressor(RegressorMixin, WekaTree):
    """A tree of numbers."""

    def predict(self, X: Features) -> NDArray[np.float64]:
        """Return the tree's number for each row."""
        return self._distributions(X)[:, 0]

    def fit(self, X: Features, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n_rows, n_features)
            The rows, as for `J48.fit`.
        y : array of shape (n_rows,)
            Their numbers.
        sample_weight : array of shape (n_rows,), optional
            Weka's instance weights; all 1 if not given. None may be negative, and not all zero.
        """
        X = self._checked(X, reset=True)
        target = column_or_1d(y, warn=True, dtype=np.float64)
        check_consistent_length(X, target)
        assert_all_finite(target, input_name="y")
        self._train(X, target, check_weight(sample_weight, len(target)))
        return self
