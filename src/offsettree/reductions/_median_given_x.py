"""Weighted medians; the median reward given x, of actions drawn evenly, minimises the bound of Theorem 4.1."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

from offsettree._features import Features, count_rows, is_frame, is_sparse, take_rows
from offsettree._messages import Parameter
from offsettree.exceptions import LogError
from offsettree.learners import NominalEncoder

Side = Literal["left", "right"]

# Half of all weight, from either side: what is just that but for rounding is in between.
HALVES: tuple[tuple[float, Side], ...] = ((0.5 * (1 - 1e-9), "left"), (0.5 * (1 + 1e-9), "right"))
N_FOLDS = 5
# A median needs more rows than a mean: of few rewards of 0 and 1 it is a coin.
LEAF_ROWS, MAX_DEPTH = 100, 6
# Numbers beyond it are compared as it. scikit-learn's trees add all of X up in float32, whose largest is 3e38.
LARGEST = 1e28


def median_given_x(
    X: Features, reward: NDArray[np.float64], weight: NDArray[np.float64], seed: int
) -> NDArray[np.float64]:
    """Return for each row the median reward of rows like it, from trees that did not see the row.

    A regression tree, with weights 1 / p, groups the rows by their mean reward; a leaf answers the weighted median of
    its rewards. Of fewer than two leaves' worth of rows it is the median of all others.
    """
    n_rows = len(reward)
    if n_rows < 2:
        raise LogError(Parameter("offset", "median_given_x"), " needs at least 2 rows to be cross-fitted; got 1.")
    rows = _as_float32(NominalEncoder().fit(X).transform(X) if is_frame(X) else X)
    offset = np.empty(n_rows)
    for others, own in KFold(min(N_FOLDS, n_rows), shuffle=True, random_state=seed).split(np.empty(n_rows)):
        seen, asked = take_rows(rows, others), take_rows(rows, own)
        tree = DecisionTreeRegressor(min_samples_leaf=LEAF_ROWS, max_depth=MAX_DEPTH, random_state=seed)
        tree.fit(seen, reward[others], sample_weight=weight[others] / weight[others].mean())
        offset[own] = _leaf_medians(tree, seen, reward[others], weight[others])[tree.apply(asked)]
    return offset


def _as_float32(X: Features) -> Features:
    """Return X as scikit-learn's trees compare it, with numbers that float32 holds."""
    if not is_sparse(X):
        return np.clip(np.asarray(X, dtype=np.float64), -LARGEST, LARGEST).astype(np.float32)
    X = X.copy()
    X.data = np.clip(X.data.astype(np.float64), -LARGEST, LARGEST).astype(np.float32)
    return X


def _leaf_medians(
    tree: DecisionTreeRegressor, X: Features, reward: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    leaf = tree.apply(X)
    order = np.argsort(leaf, kind="stable")
    ends = np.flatnonzero(np.diff(leaf[order])) + 1
    medians = np.zeros(tree.tree_.node_count)
    for rows in np.split(order, ends) if count_rows(X) else ():
        medians[leaf[rows[0]]] = weighted_median(reward[rows], weight[rows])
    return medians


def weighted_median(values: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return the value that has half of all weight on either side; the middle of two where the halves meet there."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    ends = [np.searchsorted(below, share * below[-1], side=side) for share, side in HALVES]
    return float(np.mean(values[order[ends]]))
