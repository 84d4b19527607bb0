"""The offsets of contests: what a reward is compared with to tell for which of two actions it speaks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._validation import is_number
from offsettree.actions._boosting import with_products
from offsettree.actions._grouped_ridge import N_FOLDS, GroupedRidge, folds_of
from offsettree.actions._pair_scores import design, linear_pairs
from offsettree.actions._tournament import Contests, Offset
from offsettree.actions.policy import ActionLog
from offsettree.exceptions import ParameterError

FEWEST_ROWS = 50  # below, no rewards are predicted
Matrix = NDArray[np.float64]


def offset_of(offset: Any, log: ActionLog, x: Matrix, a: Matrix, seed: int) -> Offset:
    """Return the offset of every contest, from 0 to 1."""
    is_word = isinstance(offset, str)
    if is_word and offset == "predicted" and len(log.scaled) >= FEWEST_ROWS:
        predicted = np.clip(_predicted(log, x, a, seed), 0, 1)
        return lambda contests: _between(predicted, contests)
    value = float(log.scaled.mean()) if is_word and offset in ("mean", "predicted") else offset
    if not is_number(value) or not 0 <= value <= 1:
        raise ParameterError(f"offset must be a number from 0 to 1, 'mean' or 'predicted'; got {offset!r}.")
    constant = float(value)
    return lambda contests: np.full(len(contests.row), constant)


def _between(predicted: NDArray[np.float64], contests: Contests) -> NDArray[np.float64]:
    return np.asarray((predicted[contests.left] + predicted[contests.right]) / 2)


def _predicted(log: ActionLog, x: Matrix, a: Matrix, seed: int) -> NDArray[np.float64]:
    """Return the reward of every pair as a ridge regression predicts it that has not learned from the pair's row.

    But for the mean of all rewards and the penalty, which are those of all rows.
    """
    n_x, n_a, n_rows = x.shape[1], a.shape[1], len(log.scaled)
    products, weight = with_products(n_x, n_a), np.ones(n_rows)
    table = design(x, a[log.pair], products)
    by_id, scale = folds_of(log.sets.ids[log.pair], seed), np.ones(table.shape[1])
    ridge = GroupedRidge().fit(table, log.scaled, weight, by_id, [scale])
    fold = np.random.RandomState(seed).permutation(n_rows) % N_FOLDS
    row = np.repeat(np.arange(n_rows), log.sets.sizes)
    found = np.empty(len(row))
    for each, coef in enumerate(ridge.coefs_without(table, log.scaled, weight, fold)):
        here = np.flatnonzero(fold[row] == each)
        model = linear_pairs(coef, n_x, n_a, ridge.level - ridge.center @ coef, products=products)
        found[here] = model.scores(x, a[here], row[here])
    return found
