"""From fitted regressors, and classifiers of many classes, to numbers for every action."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
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
from offsettree.reading.pieces import LinearPiece, Piece, TreesPiece, stated_form
from offsettree.reading.pipelines import Preprocessing, unwrap
from offsettree.reading.trees import TreeList, read_boosting, read_tree

__all__ = ["join_pieces", "read_classes", "read_regressor"]


def read_regressor(model: Any, space: ColumnSpace, n_more: int = 0) -> Piece:
    """Read a fitted regressor of one or several targets, that may see `n_more` columns after those of X."""
    if type(model) is ConstantRegressor:
        return LinearPiece(np.zeros((1, 0)), np.array([float(model.value)]), None, constant=True)
    if n_more:
        space_with_more = space.with_more(n_more, "action")
        unwrap(model, space_with_more)  # what is read twice is right the second time
        core, before = unwrap(model, space_with_more)
    else:
        core, before = unwrap(model, space)
    return _on_columns(_read(core), core, before, space.n_columns + n_more)


def read_classes(model: Any, space: ColumnSpace) -> Piece:
    """Read a fitted classifier of two or more classes: the larger its number, the better a class."""
    core, before = unwrap(model, space)
    piece = _read(core)
    if isinstance(piece, LinearPiece) and len(piece.weights) == 1:
        # Of two classes, the second where the one number is above zero.
        piece = LinearPiece(np.vstack([np.zeros_like(piece.weights), piece.weights]), np.append(0.0, piece.bias))
    return _on_columns(piece, core, before, space.n_columns)


def _read(core: Any) -> Piece:
    """Return what a learner without steps before it is made of, in the columns that it sees."""
    stated = stated_form(core)
    if isinstance(stated, LinearPiece | TreesPiece):
        return stated
    kind: Any = type(stated)
    reader = _reader_of(kind, classes=hasattr(stated, "classes_"))
    if reader is None:
        raise CannotFlatten(name_of(core))
    return reader(stated)


def _on_columns(piece: Piece, core: Any, before: Preprocessing, n_columns: int) -> Piece:
    """Turn a piece of the columns that a learner sees into one of the columns of X."""
    if isinstance(piece, LinearPiece):
        return LinearPiece(*before.plane(piece.weights, piece.bias, n_columns))
    return replace(piece, trees=piece.trees.on_columns(before.columns_for(core)))


def _read_linear(core: Any) -> LinearPiece:
    if getattr(core, "coef_", None) is None or sp.issparse(core.coef_):
        raise CannotFlatten(f"{name_of(core)} without dense coefficients")
    weights = np.atleast_2d(np.asarray(core.coef_, dtype=np.float64))
    return LinearPiece(weights, np.broadcast_to(np.asarray(core.intercept_, dtype=np.float64).ravel(), len(weights)))


def _read_trees(core: Any) -> TreesPiece:
    """Read a decision tree, or the mean over a forest."""
    members = getattr(core, "estimators_", [core])
    trees = TreeList()
    for tree in members:
        read_tree(tree.tree_, trees)
    n_outputs = len(core.classes_) if hasattr(core, "classes_") else core.n_outputs_
    return TreesPiece(trees, np.zeros(n_outputs), float(len(members)), narrow=True)


def _read_boosted_numbers(core: Any) -> TreesPiece:
    if type(core._loss.link).__name__ != "IdentityLink":  # others bend what the trees sum to
        raise CannotFlatten(f"{name_of(core)} with loss={core.loss!r}")
    return TreesPiece(read_boosting(core), _baseline(core), 1.0, narrow=False)


def _read_boosted_classes(core: Any) -> TreesPiece:
    trees, base = read_boosting(core), _baseline(core)
    if core.n_trees_per_iteration_ == 1:  # of two classes, the second where the one number is above zero
        trees, base = TreeList(trees.tables, trees.values, [1] * len(trees.output)), np.append(0.0, base)
    return TreesPiece(trees, base, 1.0, narrow=False)


def _baseline(core: Any) -> NDArray[np.float64]:
    return np.asarray(core._baseline_prediction, dtype=np.float64).ravel()


Readers = tuple[tuple[tuple[type, ...], tuple[str, ...], Callable[[Any], Piece]], ...]

# What is understood: any class that answers by the very functions of one of these is read alike. Between them they have
# the ways in which scikit-learn's linear models answer. Trees of numbers and of classes share their `predict`.
NUMBERS: Readers = (
    ((HuberRegressor, Lasso, Ridge, RidgeCV, SGDRegressor), ("predict",), _read_linear),
    ((RandomForestRegressor, ExtraTreesRegressor, DecisionTreeRegressor), ("predict",), _read_trees),
    ((HistGradientBoostingRegressor,), ("predict", "_raw_predict"), _read_boosted_numbers),
)
TREES = (RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier)
CLASSES: Readers = (
    ((LogisticRegression, RidgeClassifier), ("predict", "decision_function"), _read_linear),
    (TREES, ("predict", "predict_proba"), _read_trees),
    ((HistGradientBoostingClassifier,), ("predict", "_raw_predict"), _read_boosted_classes),
)


@cache
def _reader_of(kind: Any, *, classes: bool) -> Callable[[Any], Piece] | None:
    for known, methods, reader in CLASSES if classes else NUMBERS:
        if any(same_functions(kind, each, methods) for each in known):
            return reader
    return None


def join_pieces(pieces: Sequence[Piece], space: ColumnSpace, *, clipped: bool = False) -> LinearScores | TreeScores:
    """Return the numbers of all pieces side by side."""
    linear = [piece for piece in pieces if isinstance(piece, LinearPiece)]
    if len(linear) == len(pieces):
        bias = np.concatenate([piece.bias for piece in linear])
        weights, missing = np.zeros((2, len(bias), space.n_columns))
        begin = 0
        for each in linear:  # a constant has no columns, and those read early may have fewer
            end, n_columns = begin + len(each.bias), each.weights.shape[1]
            weights[begin:end, :n_columns] = each.weights
            if each.at_missing is not None:
                missing[begin:end, :n_columns] = each.at_missing
            begin = end
        fills = all(piece.at_missing is not None or piece.constant for piece in linear)
        return LinearScores(Planes(weights, bias, missing if fills else None), clipped)
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
