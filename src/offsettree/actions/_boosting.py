"""The regressor of `ActionRegression` when the caller names none: a linear model of products, then boosted trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.actions._encoding import n_products
from offsettree.actions._grouped_ridge import N_FOLDS, GroupedRidge, folds_of
from offsettree.actions._pair_scores import BoostedPairs, as_products, design, empty_trees
from offsettree.learners import Bins
from offsettree.reductions.boosting import BoostedLog, BoostedModel, BoostingSettings, boost

MOST_PRODUCTS = 1500
MOST_CHOICES = 400  # columns, for which several scales are tried
N_DIRECTIONS = 4
FEWEST_ROWS = 200  # below, trees would learn noise
PRIOR = 5.0  # rows that shrink the value of a leaf
# A smaller rate predicts a little better, by more trees: a decision among 50 actions should take 30 us.
MOST_TREES, RATE, DEPTH, SHARE, PATIENCE = 300, 0.12, 4, 0.5, 25
Matrix = NDArray[np.float64]
Column = NDArray[np.float64]


def fit_boosted_pairs(
    x: Matrix, a: Matrix, ids: NDArray[Any], reward: Column, weight: Column, seed: int, n_boosted: int = N_FOLDS
) -> BoostedPairs:
    """Learn rewards from the features of a context and an action per row.

    Where context and action meet in many products, trees need very many rows to find out; what the products leave, such
    as thresholds, trees find. They also see the directions in which the linear model lets context and action meet: the
    first singular vectors of its products. The penalty and the number of trees are those that predict best for ids
    that were not learned from: new ones will come. Trees are boosted once without each fold of ids, and averaged.
    """
    n_x, n_a = x.shape[1], a.shape[1]
    has_products = with_products(n_x, n_a)
    table, fold = design(x, a, has_products), folds_of(ids, seed)
    ridge = GroupedRidge().fit(table, reward, weight, fold, _scales(n_x, n_a, table.shape[1]))
    linear = as_products(ridge.coef, n_x, n_a, with_products=has_products, n_directions=N_DIRECTIONS)
    level = float(ridge.level - ridge.center @ ridge.coef)
    n_columns = n_x + n_a + 4 * linear["to_x"].shape[1] + 1
    without = BoostedPairs(linear, level, empty_trees(n_columns))
    if len(reward) < FEWEST_ROWS:
        return without
    columns = _tree_columns(without, x, a, n_columns)
    # Trees start from what the linear model says of rows that it did not learn from.
    by_row = np.random.RandomState(seed).permutation(len(reward)) % N_FOLDS
    columns[:, -1] = start = ridge.left_out(table, reward, weight, by_row)
    settings = BoostingSettings(MOST_TREES, RATE, DEPTH, PRIOR, PRIOR, _least_rows(len(reward)), SHARE, PATIENCE)
    held_out = [fold == each for each in range(min(n_boosted, N_FOLDS))]
    nobody = np.zeros(len(reward), dtype=np.int32)
    return BoostedPairs(linear, level, boost_folds(columns, start, nobody, 1, reward, weight, held_out, settings, seed))


def with_products(n_x: int, n_a: int) -> bool:
    """Return whether a linear model of all products is small enough to be solved."""
    return n_x + n_products(n_x, n_a) <= MOST_PRODUCTS


def _scales(n_x: int, n_a: int, n_columns: int) -> list[Column]:
    """Return what factors of the columns are tried.

    Few items tell little about the features of an action by themselves, and less about their squares and products,
    whatever the number of rows; how context and action meet, every row tells.
    """
    if not n_x + n_a + n_x * n_a < n_columns <= MOST_CHOICES:
        return [np.ones(n_columns)]
    widths = [n_x, n_a, n_x * n_a, n_columns - n_x - n_a - n_x * n_a]
    return [
        np.repeat([1.0, own, 1.0, own * squares], widths) for own in (1.0, 0.3) for squares in (1.0, 0.3, 0.0)
    ]  # fmt: skip


def boost_folds(
    columns: Matrix,
    start: Column,
    output: NDArray[np.int32],
    n_outputs: int,
    reward: Column,
    weight: Column,
    held_out: list[NDArray[np.bool_]],
    settings: BoostingSettings,
    seed: int,
) -> dict[str, NDArray[Any]]:
    """Boost trees once per part that is held out to tell when to stop; return the mean of all, as flat arrays.

    `start` are the scores that trees begin from, and `output` which number of a leaf each row is about.
    """
    bins = Bins.fit(columns)
    codes = np.ascontiguousarray(bins.codes(columns).T)
    log = BoostedLog(
        codes, bins.is_category, start[:, np.newaxis], output, reward, weight, n_outputs, logistic=False
    )  # fmt: skip
    models, one = [], np.ones((n_outputs, 1))
    for number, held in enumerate(held_out):
        if held.any() and not held.all():
            learned = np.flatnonzero(~held)
            model, _ = boost(
                log.take(learned), log.take(np.flatnonzero(held)), one, start[learned], settings, seed + number
            )
            models.append(model)
    return {"edges": bins.edges, "is_category": bins.is_category, **_mean_of(models, columns.shape[1], n_outputs)}


def _mean_of(models: list[BoostedModel], n_columns: int, n_outputs: int) -> dict[str, NDArray[Any]]:
    if not any(len(model.feature) for model in models):
        empty = empty_trees(n_columns, n_outputs)
        return {name: empty[name] for name in ("feature", "lowest", "span", "values", "output")}
    fields = {
        name: np.concatenate([getattr(model, name) for model in models])
        for name in ("feature", "lowest", "span", "values")
    }
    fields["values"] = fields["values"] / np.float32(len(models))
    return {**fields, "output": np.zeros(len(fields["feature"]), dtype=np.int32)}


def _least_rows(n_rows: int) -> int:
    return int(min(max(n_rows / 250, 5), 20))


def _tree_columns(model: BoostedPairs, x: Matrix, a: Matrix, n_columns: int) -> Matrix:
    from offsettree.actions._kernels_pairs import make_columns

    columns = np.empty((len(x), n_columns))
    make_columns(x, a, np.arange(len(x)), model.tuples()[0], columns, np.empty(len(x)))
    return columns
