"""Weka's trees, which the paper's experiments used: J48, M5P and REPTree, run by Weka itself (extra ``weka``)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags, assert_all_finite
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from offsettree._features import Features, check_features, count_rows, is_frame, take_rows
from offsettree._validation import as_random_state, check_labels, check_weight, is_number
from offsettree.exceptions import ParameterError
from offsettree.learners._columns import read_columns
from offsettree.learners._weka_model import WekaModel

__all__ = ["J48", "M5P", "REPTree", "REPTreeClassifier"]

LARGEST_SEED = 2**31 - 1  # Java's int


class _WekaTree(BaseEstimator):
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


class _WekaClassifier(ClassifierMixin, _WekaTree):
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


class _WekaRegressor(RegressorMixin, _WekaTree):
    def predict(self, X: Features) -> NDArray[np.float64]:
        """Return the tree's number for each row."""
        return self._distributions(X)[:, 0]

    def _fit(self, X: Features, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        X = self._checked(X, reset=True)
        target = column_or_1d(y, warn=True, dtype=np.float64)
        check_consistent_length(X, target)
        assert_all_finite(target, input_name="y")
        self._train(X, target, check_weight(sample_weight, len(target)))
        return self


class J48(_WekaClassifier):
    """Weka's C4.5 decision tree, the paper's binary learner; the defaults are Weka's.

    Weka's reduced-error pruning is not offered: Weka 3.9.7 fails on it. `REPTreeClassifier` prunes that way.

    Parameters
    ----------
    confidence : float, default=0.25
        Confidence of the pruning's error estimates, in (0, 0.5]; smaller prunes more.
    min_leaf : int, default=2
        Smallest total weight of the rows in at least two branches of a split.
    unpruned : bool, default=False
        Leave the tree as it was grown.
    binary_splits : bool, default=False
        Split nominal features in two, one value against the rest, instead of into all their values.
    collapse : bool, default=True
        Cut off, before pruning, what does not lower the error in training.
    subtree_raising : bool, default=True
        Let the pruning replace a node by its largest branch.
    mdl_correction : bool, default=True
        Charge splits on numbers for the choice of the threshold.
    laplace : bool, default=False
        Smooth the probabilities by counting one more row of each class in every leaf.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    text_ : str
        The tree as Weka prints it.

    References
    ----------
    Quinlan, "C4.5: Programs for Machine Learning", Morgan Kaufmann 1993.

    Examples
    --------
    >>> from offsettree.learners import J48
    >>> tree = J48().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])  # doctest: +SKIP
    >>> tree.predict([[0.5], [2.5]])  # doctest: +SKIP
    array(['no', 'yes'], dtype='<U3')
    """

    _learner = "J48"

    def __init__(
        self,
        *,
        confidence: float = 0.25,
        min_leaf: int = 2,
        unpruned: bool = False,
        binary_splits: bool = False,
        collapse: bool = True,
        subtree_raising: bool = True,
        mdl_correction: bool = True,
        laplace: bool = False,
    ) -> None:
        self.confidence = confidence
        self.min_leaf = min_leaf
        self.unpruned = unpruned
        self.binary_splits = binary_splits
        self.collapse = collapse
        self.subtree_raising = subtree_raising
        self.mdl_correction = mdl_correction
        self.laplace = laplace

    def _options(self, n_rows: int) -> list[str]:
        if not is_number(self.confidence) or not 0 < self.confidence <= 0.5:
            raise ParameterError(f"confidence must be in (0, 0.5]; got {self.confidence!r}.")
        options = ["-M", _whole("min_leaf", self.min_leaf, 1)]
        if self.unpruned:
            options += ["-U"]
        else:
            options += ["-C", repr(float(self.confidence)), *_flags({"-S": not self.subtree_raising})]
        return options + _flags(
            {"-B": self.binary_splits, "-O": not self.collapse, "-J": not self.mdl_correction, "-A": self.laplace}
        )


class M5P(_WekaRegressor):
    """Weka's M5' model tree, a linear model in every leaf; the defaults are Weka's.

    Weka's M5P refuses rows of different weights. Where they differ, as many rows are drawn with chances in proportion
    to the weights, as Weka itself does for learners that know none.

    Parameters
    ----------
    min_leaf : float, default=4
        Fewest rows of a leaf.
    unpruned : bool, default=False
        Leave the tree as it was grown.
    unsmoothed : bool, default=False
        Answer by the leaf's model alone, without those of the nodes above it.
    regression_tree : bool, default=False
        Put a constant instead of a linear model in every leaf.
    random_state : int, RandomState instance or None, default=1
        Decides which rows are drawn where weights differ.

    Attributes
    ----------
    text_ : str
        The tree and its linear models as Weka prints them.

    References
    ----------
    Wang and Witten, "Induction of model trees for predicting continuous classes", ECML 1997.

    Examples
    --------
    >>> from offsettree.learners import M5P
    >>> tree = M5P().fit([[0.0], [1.0], [2.0], [3.0]] * 5, [1.0, 3.0, 5.0, 7.0] * 5)  # doctest: +SKIP
    >>> tree.predict([[1.5], [10.0]]).round(3)  # doctest: +SKIP
    array([ 4., 21.])
    """

    _learner = "M5P"

    def __init__(
        self,
        *,
        min_leaf: float = 4,
        unpruned: bool = False,
        unsmoothed: bool = False,
        regression_tree: bool = False,
        random_state: int | np.random.RandomState | None = 1,
    ) -> None:
        self.min_leaf = min_leaf
        self.unpruned = unpruned
        self.unsmoothed = unsmoothed
        self.regression_tree = regression_tree
        self.random_state = random_state

    def fit(self, X: Features, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n_rows, n_features)
            The rows, as for `J48.fit`.
        y : array of shape (n_rows,)
            Their numbers.
        sample_weight : array of shape (n_rows,), optional
            How much each row counts; all the same if not given.
        """
        return self._fit(X, y, sample_weight)

    def _train(
        self,
        X: Features,
        target: NDArray[Any],
        weight: NDArray[np.float64],
        classes: Sequence[str] | None = None,
    ) -> None:
        if (weight != weight[0]).any():
            chance = weight / weight.sum()
            rows = as_random_state(self.random_state).choice(len(target), size=len(target), p=chance)
            X, target = take_rows(X, np.sort(rows)), target[np.sort(rows)]
        super()._train(X, target, np.ones(len(target)), classes)

    def _options(self, n_rows: int) -> list[str]:
        flags = {"-N": self.unpruned, "-U": self.unsmoothed, "-R": self.regression_tree}
        return ["-M", _number("min_leaf", self.min_leaf, 1), *_flags(flags)]


class REPTree(_WekaRegressor):
    """Weka's fast regression tree, pruned by the error on rows held out; the defaults are Weka's.

    Parameters
    ----------
    min_leaf : int, default=2
        Smallest total weight of the rows of a leaf.
    min_variance : float, default=0.001
        A node is split only if its variance is at least this part of the variance of all rows.
    n_folds : int, default=3
        One part in `n_folds` of the rows is held out for pruning. Where there are fewer rows than that, nothing is
        held out and nothing is pruned.
    max_depth : int or None, default=None
        Deepest level of the tree; None is without limit.
    unpruned : bool, default=False
        Hold nothing out and leave the tree as it was grown.
    random_state : int, RandomState instance or None, default=1
        Decides which rows are held out; 1 is Weka's own seed.

    Attributes
    ----------
    text_ : str
        The tree as Weka prints it.

    Examples
    --------
    >>> from offsettree.learners import REPTree
    >>> tree = REPTree().fit([[0.0], [1.0]] * 20, [2.0, 5.0] * 20)  # doctest: +SKIP
    >>> tree.predict([[0.1], [0.9]])  # doctest: +SKIP
    array([2., 5.])
    """

    _learner = "REPTree"

    def __init__(
        self,
        *,
        min_leaf: int = 2,
        min_variance: float = 0.001,
        n_folds: int = 3,
        max_depth: int | None = None,
        unpruned: bool = False,
        random_state: int | np.random.RandomState | None = 1,
    ) -> None:
        self.min_leaf = min_leaf
        self.min_variance = min_variance
        self.n_folds = n_folds
        self.max_depth = max_depth
        self.unpruned = unpruned
        self.random_state = random_state

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
        return self._fit(X, y, sample_weight)

    def _options(self, n_rows: int) -> list[str]:
        return [*_reptree_options(self, n_rows), "-V", _number("min_variance", self.min_variance, 0)]


class REPTreeClassifier(_WekaClassifier):
    """Weka's fast decision tree, pruned by the error on rows held out; the defaults are Weka's.

    Parameters
    ----------
    min_leaf : int, default=2
        Smallest total weight of the rows of a leaf.
    n_folds : int, default=3
        One part in `n_folds` of the rows is held out for pruning. Where there are fewer rows than that, nothing is
        held out and nothing is pruned.
    max_depth : int or None, default=None
        Deepest level of the tree; None is without limit.
    unpruned : bool, default=False
        Hold nothing out and leave the tree as it was grown.
    random_state : int, RandomState instance or None, default=1
        Decides which rows are held out; 1 is Weka's own seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    text_ : str
        The tree as Weka prints it.

    Examples
    --------
    >>> from offsettree.learners import REPTreeClassifier
    >>> tree = REPTreeClassifier().fit([[0.0], [1.0]] * 20, ["no", "yes"] * 20)  # doctest: +SKIP
    >>> tree.predict([[0.1], [0.9]])  # doctest: +SKIP
    array(['no', 'yes'], dtype='<U3')
    """

    _learner = "REPTree"

    def __init__(
        self,
        *,
        min_leaf: int = 2,
        n_folds: int = 3,
        max_depth: int | None = None,
        unpruned: bool = False,
        random_state: int | np.random.RandomState | None = 1,
    ) -> None:
        self.min_leaf = min_leaf
        self.n_folds = n_folds
        self.max_depth = max_depth
        self.unpruned = unpruned
        self.random_state = random_state

    def _options(self, n_rows: int) -> list[str]:
        return _reptree_options(self, n_rows)


def _reptree_options(tree: REPTree | REPTreeClassifier, n_rows: int) -> list[str]:
    options = ["-M", _whole("min_leaf", tree.min_leaf, 1), "-N", _whole("n_folds", tree.n_folds, 2)]
    options += ["-S", _seed(tree.random_state)]
    options += ["-L", "-1" if tree.max_depth is None else _whole("max_depth", tree.max_depth, 0)]
    return options + _flags({"-P": tree.unpruned or n_rows < tree.n_folds})


def _flags(flags: dict[str, bool]) -> list[str]:
    return [flag for flag, is_set in flags.items() if is_set]


def _whole(name: str, value: Any, low: int) -> str:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not low <= value <= LARGEST_SEED:
        raise ParameterError(f"{name} must be a whole number of at least {low}; got {value!r}.")
    return str(int(value))


def _number(name: str, value: Any, low: float) -> str:
    if not is_number(value) or not low <= value < np.inf:
        raise ParameterError(f"{name} must be a number of at least {low}; got {value!r}.")
    return repr(float(value))


def _seed(random_state: int | np.random.RandomState | None) -> str:
    if random_state is None or isinstance(random_state, np.random.RandomState):
        random_state = as_random_state(random_state).randint(LARGEST_SEED)
    return _whole("random_state", random_state, 0)
