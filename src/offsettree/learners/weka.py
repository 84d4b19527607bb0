"""Weka's trees, which the paper's experiments used: J48, M5P and REPTree, run by Weka itself (extra ``weka``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features, take_rows
from offsettree._validation import as_random_state, is_number, is_whole
from offsettree.exceptions import ParameterError
from offsettree.learners._weka_tree import WekaClassifier, WekaRegressor

__all__ = ["J48", "M5P", "REPTree", "REPTreeClassifier"]

LARGEST_SEED = 2**31 - 1  # Java's int


class J48(WekaClassifier):
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


class M5P(WekaRegressor):
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


class REPTree(WekaRegressor):
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

    def _options(self, n_rows: int) -> list[str]:
        return [*_reptree_options(self, n_rows), "-V", _number("min_variance", self.min_variance, 0)]


class REPTreeClassifier(WekaClassifier):
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
    if not is_whole(value) or not low <= value <= LARGEST_SEED:
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
