"""The regressor of `ActionRegression` when the caller names none: a linear model of products, then boosted trees."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor

from offsettree.actions._encoding import n_products, products
from offsettree.actions._grouped_ridge import GroupedRidge, folds_of

__all__ = ["ProductsThenTrees"]

MOST_PRODUCTS = 1500
N_DIRECTIONS = 4
FEWEST_ROWS = 200  # below, trees would learn noise
Matrix = NDArray[np.float64]


class ProductsThenTrees:
    """Ridge regression on products of features, then boosted trees on what it leaves.

    Where context and action meet in many products, trees need very many rows to find out; what the products leave, such
    as thresholds, trees find. They also see the directions in which the linear model lets context and action meet: the
    first singular vectors of its products. The penalty and the number of trees are those that predict best for ids
    that were not learned from: new ones will come.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(
        self, x: Matrix, a: Matrix, ids: NDArray[Any], reward: NDArray[np.float64], weight: NDArray[np.float64]
    ) -> Self:
        """Learn rewards from the features of a context and an action per row."""
        fold = folds_of(ids, self.seed)
        n_x, n_a = x.shape[1], a.shape[1]
        self.uses_products = n_x + n_products(n_x, n_a) <= MOST_PRODUCTS
        self.linear = GroupedRidge().fit(self._linear_features(x, a), reward, weight, fold)
        self.directions: tuple[Matrix, Matrix] = (np.zeros((n_x, 0)), np.zeros((n_a, 0)))
        if self.uses_products:
            met = self.linear.coef[n_x + n_a : n_x + n_a + n_x * n_a].reshape(n_x, n_a)
            left, _, right = np.linalg.svd(met, full_matrices=False)
            self.directions = (left[:, :N_DIRECTIONS], right[:N_DIRECTIONS].T)
        self.trees: Any = None
        if len(reward) >= FEWEST_ROWS:
            linear = self.linear.predict(self._linear_features(x, a))
            table, left = self._tree_features(x, a, linear), reward - linear
            held = fold == 0
            self.trees = HistGradientBoostingRegressor(
                max_iter=400, learning_rate=0.06, max_leaf_nodes=15, min_samples_leaf=40, l2_regularization=1.0,
                early_stopping=True, random_state=self.seed,
            ).fit(
                table[~held], left[~held], weight[~held],
                X_val=table[held], y_val=left[held], sample_weight_val=weight[held],
            )  # fmt: skip
        return self

    def predict(self, x: Matrix, a: Matrix) -> NDArray[np.float64]:
        """Predict the reward of each row."""
        found = self.linear.predict(self._linear_features(x, a))
        if self.trees is not None:
            found = found + self.trees.predict(self._tree_features(x, a, found))
        return found

    def _linear_features(self, x: Matrix, a: Matrix) -> Matrix:
        return np.hstack([x, products(x, a) if self.uses_products else a])

    def _tree_features(self, x: Matrix, a: Matrix, linear: NDArray[np.float64]) -> Matrix:
        wanted, offered = x @ self.directions[0], a @ self.directions[1]
        return np.hstack([x, a, wanted, offered, wanted * offered, np.abs(wanted - offered), linear[:, np.newaxis]])
