"""From fitted regressors, and classifiers of many classes, to numbers for every action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import (
    HuberRegressor,
    Lasso,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    RidgeCV,
    SGDRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from offsettree.learners import ConstantRegressor
from offsettree.models.planes import Planes
from offsettree.models.scores import LinearScores, TreeScores
from offsettree.reading.cannot_flatten import CannotFlatten, name_of
from offsettree.reading.classifiers import same_functions
from offsettree.reading.columns import ColumnSpace
from offsettree.reading.pieces import LinearPiece, Piece, TreesPiece
from offsettree.reading.pipelines import Preprocessing, unwrap
from offsettree.reading.trees import TreeList, read_boosting, read_tree

__all__ = ["join_pieces", "read_classes", "read_regressor"]

FORESTS_OF_NUMBERS = (RandomForestRegressor, ExtraTreesRegressor)
FORESTS_OF_CLASSES = (RandomForestClassifier, ExtraTreesClassifier)
# Between them they have the ways in which scikit-learn's linear models answer.
LINEAR_NUMBERS = (HuberRegressor, Lasso, Ridge, RidgeCV, SGDRegressor)
LINEAR_CLASSES = (LogisticRegression, RidgeClassifier)
IDENTITY = ("IdentityLink",)  # others bend what the trees sum to


def read_regressor(model: Any, space: ColumnSpace, n_more: int = 0) -> Piece:
    """Read a fitted regressor of one or several targets, that may see `n_more` columns after those of X."""
    if type(model) is ConstantRegressor:
        return LinearPiece(np.zeros((1, 0)), np.array([float(model.value)]), None, constant=True)
    core, before = _unwrapped(model, space, n_more)
    if isinstance(core, LinearPiece | TreesPiece):
        return _stated(core, before, space.n_columns + n_more)
    kind: Any = type(core)
    if any(same_functions(kind, known, ("predict",)) for known in LINEAR_NUMBERS):
        return _stated(LinearPiece(*_coefficients(core)), before, space.n_columns + n_more)
    trees = TreeList()
    if any(same_functions(kind, known, ("predict",)) for known in FORESTS_OF_NUMBERS):
        for tree in core.estimators_:
            read_tree(tree.tree_, trees)
        return _piece(trees, before, core, core.n_outputs_, len(core.estimators_), narrow=True)
    if same_functions(kind, DecisionTreeRegressor, ("predict",)) and hasattr(core, "tree_"):
        read_tree(core.tree_, trees)
        return _piece(trees, before, core, core.n_outputs_, 1, narrow=True)
    if kind is HistGradientBoostingRegressor:
        if type(core._loss.link).__name__ not in IDENTITY:
            raise CannotFlatten(f"{name_of(core)} with loss={core.loss!r}")
        base = np.asarray(core._baseline_prediction, dtype=np.float64).ravel()
        return _boosted(core, before, base)
    raise CannotFlatten(name_of(core))


def read_classes(model: Any, space: ColumnSpace) -> Piece:
    """Read a fitted classifier of two or more classes: the larger its number, the better a class."""
    core, before = _unwrapped(model, space, 0)
    if isinstance(core, LinearPiece | TreesPiece):
        return _stated(_of_two_classes(core), before, space.n_columns)
    kind: Any = type(core)
    n_classes = len(core.classes_)
    if any(same_functions(kind, known, ("predict", "decision_function")) for known in LINEAR_CLASSES):
        return _stated(_of_two_classes(LinearPiece(*_coefficients(core))), before, space.n_columns)
    trees = TreeList()
    if any(same_functions(kind, known, ("predict", "predict_proba")) for known in FORESTS_OF_CLASSES):
        for tree in core.estimators_:
            read_tree(tree.tree_, trees)
        return _piece(trees, before, core, n_classes, len(core.estimators_), narrow=True)
    if same_functions(kind, DecisionTreeClassifier, ("predict", "predict_proba")):
        read_tree(core.tree_, trees)
        return _piece(trees, before, core, n_classes, 1, narrow=True)
    if kind is HistGradientBoostingClassifier:
        base = np.asarray(core._baseline_prediction, dtype=np.float64).ravel()
        return _boosted(core, before, np.append(0.0, base) if n_classes == 2 else base)
    raise CannotFlatten(name_of(core))


def _stated(piece: Piece, before: Preprocessing, n_columns: int) -> Piece:
    """Turn a piece of the columns that a learner sees into one of the columns of X."""
    if isinstance(piece, LinearPiece):
        return LinearPiece(*before.plane(piece.weights, piece.bias, n_columns))
    return replace(piece, trees=piece.trees.on_columns(before.columns_for(piece)))


def _of_two_classes(piece: Piece) -> Piece:
    """Give the first of two classes the number 0, where there is one number: the second is right above zero."""
    if isinstance(piece, TreesPiece) or len(piece.weights) > 1:
        return piece
    return LinearPiece(np.vstack([np.zeros_like(piece.weights), piece.weights]), np.append(0.0, piece.bias))


def join_pieces(pieces: Sequence[Piece], space: ColumnSpace, *, clipped: bool = False) -> LinearScores | TreeScores:
    """Return the numbers of all pieces side by side."""
    if all(isinstance(piece, LinearPiece) for piece in pieces):
        return LinearScores(_as_planes([piece for piece in pieces if isinstance(piece, LinearPiece)], space), clipped)
    trees, base, divisor = TreeList(), list[float](), list[float]()
    narrow = {piece.narrow for piece in pieces if isinstance(piece, TreesPiece)}
    for piece in pieces:
        if isinstance(piece, TreesPiece):
            trees.extend(piece.trees, len(base))
            base += piece.base.tolist()
            divisor += [piece.divisor] * len(piece.base)
        elif piece.constant:
            base += piece.bias.tolist()
            divisor += [1.0] * len(piece.bias)
    n_outputs = sum(len(piece.base if isinstance(piece, TreesPiece) else piece.bias) for piece in pieces)
    if len(narrow) != 1 or len(base) != n_outputs or len({values.shape[1] for values in trees.values}) > 1:
        raise CannotFlatten("a mixture of learners")
    return TreeScores(trees.sums(np.array(base), np.array(divisor), narrow=narrow.pop()), clipped)


def _as_planes(pieces: Sequence[LinearPiece], space: ColumnSpace) -> Planes:
    n_columns = space.n_columns

    def wide(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.pad(numbers, ((0, 0), (0, n_columns - numbers.shape[1])))

    fills = all(piece.at_missing is not None or piece.constant for piece in pieces)
    missing = [
        wide(np.zeros((len(piece.bias), 0)) if piece.at_missing is None else piece.at_missing) for piece in pieces
    ]
    return Planes(
        np.concatenate([wide(piece.weights) for piece in pieces]),
        np.concatenate([piece.bias for piece in pieces]),
        np.concatenate(missing) if fills else None,
    )


def _unwrapped(model: Any, space: ColumnSpace, n_more: int) -> tuple[Any, Preprocessing]:
    if not n_more:
        return unwrap(model, space)
    wider = space.with_more(n_more, "action")
    unwrap(model, wider)
    return unwrap(model, wider)


def _coefficients(core: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if getattr(core, "coef_", None) is None or sp.issparse(core.coef_):
        raise CannotFlatten(f"{name_of(core)} without dense coefficients")
    weights = np.atleast_2d(np.asarray(core.coef_, dtype=np.float64))
    bias = np.broadcast_to(np.asarray(core.intercept_, dtype=np.float64).ravel(), len(weights))
    return weights, bias


def _piece(
    trees: TreeList, before: Preprocessing, core: Any, n_outputs: int, divisor: int, *, narrow: bool
) -> TreesPiece:
    return TreesPiece(trees.on_columns(before.columns_for(core)), np.zeros(n_outputs), float(divisor), narrow)


def _boosted(core: Any, before: Preprocessing, base: NDArray[np.float64]) -> TreesPiece:
    trees = read_boosting(core).on_columns(before.columns_for(core))
    if len(base) == 2 and core.n_trees_per_iteration_ == 1:
        trees = TreeList(trees.tables, trees.values, [1] * len(trees.output))
    return TreesPiece(trees, base, 1.0, narrow=False)
