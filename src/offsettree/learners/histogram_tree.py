"""A decision tree over binned columns: the learner of contests that all contests of an offset tree can share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from offsettree._features import Features, check_features, count_rows, is_frame, take_rows
from offsettree._validation import as_random_state, check_labels, check_truth, check_weight, check_whole, is_number
from offsettree.exceptions import FeatureError, LogError, ParameterError
from offsettree.learners._binning import Bins, tables
from offsettree.learners._flat_tree import FIELDS, FlatTree, sets_of_words

__all__ = ["LEAF_SCALES", "HistogramTree"]

DEEPEST = 64
LEAF_SCALES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
ROUNDS = 5  # times that rows are held out
LEAST_WHOLE, MOST_WHOLE = 0.1, 1e18  # weight of all rows that float32 sums and their squares can hold


class HistogramTree(ClassifierMixin, BaseEstimator):
    """Decision tree for two classes that sees every column in at most 63 bins.

    Trained on its own it is an ordinary classifier. As the learner of an `OffsetTree` or `OffsetForest` X is binned
    once for all contests, and all of them are trained by compiled code in one go, which is many times faster than
    a fit per contest. Nominal columns of a frame are split by sets of values, and missing values go where they do
    best; neither needs encoding or imputing.

    Parameters
    ----------
    max_depth : int, default=12
        Most splits on the way to a leaf, up to 64.
    leaf_scale : float or "auto", default=0.0
        Every leaf weighs at least `leaf_scale` times the square root of the tree's whole weight, and at least 1: the
        weight of a row is 1 if no sample weights are given. Large values are for noisy labels. "auto" tries 0, 1/4,
        1/2, 1, 2 and 4, and takes what errs least on rows held out; an offset tree or forest does so once for all
        contests.
    max_features : float, default=1.0
        Share of the columns looked at for each split, drawn anew each time; at least one.
    random_cuts : bool, default=False
        Draw one cut per column and take the best of these, as extra-trees do, instead of the best of all cuts. Single
        trees become worse and forests better.
    ccp_alpha : float, default=0.0
        Minimal cost-complexity pruning, as in scikit-learn's decision trees: a leaf costs this share of the whole.
    leaf_price : float or None, default=None
        The most that a leaf may cost in pruning, in rows. A share of the whole forbids, in a long log, splits that are
        certain; what noise gains by a split is a few rows however many there are. None sets no limit.
    random_state : int, RandomState instance or None, default=None
        Decides which columns and cuts are drawn.

    Attributes
    ----------
    classes_ : ndarray of shape (1,) or (2,)
        The labels. A tie goes to the first.
    flat_tree_ : FlatTree
        Splits and leaves in flat arrays.
    leaf_scale_ : float
        The leaf scale used.

    Notes
    -----
    A column of numbers with more than 63 values is cut at quantiles. Of a nominal column the 62 most frequent values
    are kept apart; others, and those not seen before, are treated as missing. What did not occur among the rows of
    a split goes with the larger part. A sparse X is held with one byte per value, zeros included.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = HistogramTree(ccp_alpha=0.003).fit(X[::2], y[::2])
    >>> bool(tree.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    _score: tuple[Any, Any] | None

    def __init__(
        self,
        *,
        max_depth: int = 12,
        leaf_scale: float | str = 0.0,
        max_features: float = 1.0,
        random_cuts: bool = False,
        ccp_alpha: float = 0.0,
        leaf_price: float | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.leaf_scale = leaf_scale
        self.max_features = max_features
        self.random_cuts = random_cuts
        self.ccp_alpha = ccp_alpha
        self.leaf_price = leaf_price
        self.random_state = random_state

    def fit(self, X: Features, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n_rows, n_features)
            The rows; NaN is a missing value.
        y : array of shape (n_rows,)
            Their labels, of at most two kinds.
        sample_weight : array of shape (n_rows,), optional
            How many rows each stands for; 1 if not given. Weights of a mean below 1, such as shares that sum to 1, are
            scaled to mean 1.
        """
        from offsettree.learners import _kernels_histogram as kernels
        from offsettree.learners._kernels_counts import Rows
        from offsettree.learners.scratch import make_scratch, make_table

        self.check_parameters()
        X = check_features(self, X, learner=self, reset=True)
        target = check_labels(y, count_rows(X))
        weight = _in_float32(_as_counts(check_weight(sample_weight, len(target))))
        self.classes_, label = np.unique(target, return_inverse=True)
        if len(self.classes_) > 2:
            # scikit-learn's estimator checks look for the first sentence.
            raise LogError(
                "Only binary classification is supported. The type of the target is multiclass: it has "
                f"{len(self.classes_)} labels. Use OneVsRestClassifier(HistogramTree()) for more than two."
            )
        self._score = None
        rows = np.flatnonzero(weight)
        self._bins = Bins.fit(X, rows)
        codes = self._bins.codes(self._bins.numbers(X if len(rows) == len(weight) else take_rows(X, rows)))
        seed = int(as_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        vote = np.where(label[rows] == 1, weight[rows], -weight[rows])
        row = np.arange(len(rows), dtype=np.int32)
        self.leaf_scale_ = self._choose_scale(codes, row, vote, seed)
        settings = self.settings(X.shape[1], self.leaf_scale_)
        scratch = make_scratch(len(rows), X.shape[1], settings)
        kernels.seeded(scratch, seed)
        side = np.zeros(len(rows), dtype=np.uint8)
        n_grown = kernels.grow(Rows(codes, self._bins.is_category, row, vote, side), settings, scratch)
        table = make_table(n_grown, n_grown)
        order = np.empty(n_grown, dtype=np.int32)
        n_entries, n_sets = kernels.emit(scratch.entries, self._bins.edges, table, 0, 0, order)
        fields = {name: getattr(table, name)[:n_entries] for name in (*FIELDS, "value")}
        self.flat_tree_ = FlatTree(sets=sets_of_words(table.sets[:n_sets]), **fields)
        return self

    def predict(self, X: Features) -> NDArray[Any]:
        """Return the label of each row."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self._ask(X, self.flat_tree_.answer).astype(np.intp)])

    def predict_proba(self, X: Features) -> NDArray[np.float64]:
        """Return the share of each label, by weight, in the leaf where a row ends."""
        check_is_fitted(self)
        if len(self.classes_) == 1:
            return np.ones((len(self.predict(X)), 1))
        second = self._ask(X, self.flat_tree_.value)
        return np.column_stack([1 - second, second])

    def fitted(
        self, tree: FlatTree, bins: Bins, leaf_scale: float, score: tuple[Any, Any] | None = None
    ) -> HistogramTree:
        """Return a learner that was fitted elsewhere, on the labels 0 and 1.

        With a `score`, weights of the columns and where these count from, it was fitted on one more column.
        """
        learner = type(self)(**self.get_params())
        learner.classes_, learner.flat_tree_, learner._bins = np.array([0, 1]), tree, bins
        learner._score = score
        learner.n_features_in_, learner.leaf_scale_ = len(bins.is_category), leaf_scale
        if bins.names is not None:
            learner.feature_names_in_ = np.array(bins.names, dtype=object)
        return learner

    def settings(self, n_columns: int, leaf_scale: float) -> Any:
        """Return what the compiled code needs to know."""
        from offsettree.learners._kernels_counts import Settings

        n_tried = max(1, round(self.max_features * n_columns))
        return Settings(
            int(self.max_depth),
            float(leaf_scale),
            int(n_tried),
            bool(self.random_cuts),
            float(self.ccp_alpha),
            np.inf if self.leaf_price is None else float(self.leaf_price),
        )

    def _choose_scale(
        self, codes: NDArray[np.uint8], row: NDArray[np.int32], vote: NDArray[np.float32], seed: int
    ) -> float:
        if self.leaf_scale != "auto":
            return float(self.leaf_scale)
        from offsettree.learners._kernels_counts import Rows
        from offsettree.learners._kernels_histogram import held_out_error, seeded
        from offsettree.learners.scratch import make_drawn, make_scratch

        drawn = make_drawn(len(row))
        rows = Rows(codes, self._bins.is_category, row, vote, drawn.side)
        errors = []
        for scale in LEAF_SCALES:
            settings = self.settings(codes.shape[1], scale)
            scratch = make_scratch(len(row), codes.shape[1], settings)
            seeded(scratch, seed)
            errors.append(held_out_error(rows, settings, ROUNDS, scratch, drawn))
        return LEAF_SCALES[int(np.argmin(errors))]

    def check_parameters(self) -> None:
        """Refuse what no tree can be grown with."""
        check_whole("max_depth", self.max_depth, 1, DEEPEST)
        scale: Any = self.leaf_scale
        if not (scale >= 0 if is_number(scale) else isinstance(scale, str) and scale == "auto"):
            raise ParameterError(f"leaf_scale must be 'auto' or a number of at least 0; got {self.leaf_scale!r}.")
        if not is_number(self.max_features) or not 0 < self.max_features <= 1:
            raise ParameterError(
                f"max_features must be a share of the columns, above 0 and at most 1; got {self.max_features!r}."
            )
        check_truth("random_cuts", self.random_cuts)
        if not is_number(self.ccp_alpha) or not self.ccp_alpha >= 0:
            raise ParameterError(f"ccp_alpha must be a number of at least 0; got {self.ccp_alpha!r}.")
        if self.leaf_price is not None and (not is_number(self.leaf_price) or not self.leaf_price >= 0):
            raise ParameterError(f"leaf_price must be None or a number of at least 0; got {self.leaf_price!r}.")

    def _ask(self, X: Features, value: NDArray[Any]) -> NDArray[Any]:
        from offsettree.learners._kernels_histogram import find_leaves

        if self._bins.names is not None and not is_frame(X):
            raise FeatureError(
                f"X must be a pandas or polars frame, as in fit, where some columns were nominal; got a "
                f"{type(X).__name__}."
            )
        X = check_features(self, X, learner=self, reset=False, as_frame=self._bins.names is not None)
        leaf = np.empty(count_rows(X), dtype=np.int32)
        for part, table in tables(self._bins.numbers(X)):
            find_leaves(self._with_score(table), leaf[part], *self.flat_tree_.arrays())
        return np.asarray(value[leaf])

    def _with_score(self, numbers: NDArray[Any]) -> NDArray[Any]:
        if self._score is None:
            return numbers
        from offsettree.learners._kernels_scores import score_rows

        score = np.empty((len(numbers), 1), dtype=np.float32)
        score_rows(numbers, score[:, 0], *self._score)
        with np.errstate(over="ignore"):
            return np.hstack([numbers.astype(np.float32), score])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _as_counts(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    mean = weight.sum() / max(1, np.count_nonzero(weight))
    return weight / mean if 0 < mean < 1 - 1e-9 else weight


def _in_float32(weight: NDArray[np.float64]) -> NDArray[np.float32]:
    """Scale weights where float32 cannot hold them, or the square of their sum.

    Only there. Of weights so large no leaf can be too light in float32, and of weights so small none is heavy enough
    for a split: the scale makes no difference.
    """
    heaviest = weight.max()
    within = np.clip(heaviest, LEAST_WHOLE / len(weight), MOST_WHOLE / len(weight))
    if within != heaviest:
        weight = weight / heaviest * within
    return weight.astype(np.float32)
