"""What single ids earn beyond their features: ridge regressions of residuals, one per id, shrunken towards nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._labels import code_labels
from offsettree.actions._boosting import boost_folds
from offsettree.actions._id_model import IdModel
from offsettree.reductions.boosting import BoostingSettings

PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, np.inf)  # infinity: no effects
MOST_COLUMNS = 32  # with more, an id has an intercept alone
N_FOLDS = 5
MOST_IDS = 250  # that trees tell apart
FEWEST_ROWS = 100  # of such an id
ID_PRIOR, LEAF_PRIOR = 10.0, 5.0  # rows that shrink an id's value in a leaf to the leaf's, and this to 0
SETTINGS = BoostingSettings(300, 0.1, 4, ID_PRIOR, LEAF_PRIOR, 20, 0.7, 20)
Matrix = NDArray[np.float64]


def fit_id_effects(
    ids: NDArray[Any], x: Matrix, residual: NDArray[np.float64], random: np.random.RandomState
) -> IdModel:
    """Learn from the residuals of predictions by models that did not learn from the same rows.

    The penalty is the one with the least squared error on held-out rows. With no effect at all among the choices, ids
    that tell nothing beyond their features cost nothing. Boosted trees over the most frequent ids may follow, for
    effects that are not linear.
    """
    labels, code = code_labels(ids)
    effects = _Linear(len(labels), x, code, residual, random.permutation(len(ids)) % N_FOLDS)
    seed = int(random.randint(np.iinfo(np.int32).max))
    category, trees = _fit_trees(x, code, residual, effects, seed)
    return IdModel(labels, effects.of_all, category, trees, effects.penalty)


class _Linear:
    """An intercept and slopes in the features of the context for every id, by ridge regressions of a common penalty."""

    def __init__(
        self, n_ids: int, x: Matrix, code: NDArray[np.intp], residual: NDArray[np.float64], fold: NDArray[np.intp]
    ) -> None:
        self.fold = fold
        design = np.ones((len(x), 1)) if x.shape[1] >= MOST_COLUMNS else np.hstack([np.ones((len(x), 1)), x])
        moments = [_moments(n_ids, design, code, residual, fold == each) for each in range(N_FOLDS)]
        gram, total = (np.sum(each, axis=0) for each in zip(*moments, strict=True))
        best, self.penalty = np.inf, np.inf
        for penalty in PENALTIES:
            found = np.empty(len(x))
            for each, (own_gram, own_total) in enumerate(moments):
                rows = fold == each
                effects = _solve(gram - own_gram, total - own_total, penalty)
                found[rows] = (effects[code[rows]] * design[rows]).sum(axis=1)
            loss = float(((residual - found) ** 2).sum())
            if loss < best:
                best, self.penalty, self.left_out = loss, penalty, found
        self.of_all = _solve(gram, total, self.penalty)


def _fit_trees(
    x: Matrix, code: NDArray[np.intp], residual: NDArray[np.float64], linear: _Linear, seed: int
) -> tuple[NDArray[np.int64], dict[str, NDArray[Any]] | None]:
    """Let trees learn what the linear effects leave, of the most frequent ids; kept if held-out rows are better."""
    counts = np.bincount(code)
    frequent = np.argsort(-counts, kind="stable")[:MOST_IDS]
    frequent = frequent[counts[frequent] >= FEWEST_ROWS]
    category = np.full(len(counts), -1, dtype=np.int64)
    category[frequent] = np.arange(len(frequent))
    rows = np.flatnonzero(category[code] >= 0)
    if len(frequent) < 2:
        return category, None
    own, fold = category[code[rows]].astype(np.int32), linear.fold[rows]
    start, target, weight = linear.left_out[rows], residual[rows], np.ones(len(rows))

    def trees_without(parts: range) -> dict[str, NDArray[Any]]:
        held_out = [fold == each for each in parts]
        return boost_folds(x[rows], start, own, len(frequent), target, weight, held_out, SETTINGS, seed)

    tested = fold == 0
    first = trees_without(range(1))
    model = IdModel(np.arange(len(frequent)), np.zeros((len(frequent), 1)), np.arange(len(frequent)), first, np.inf)
    before = target[tested] - start[tested]
    after = before - model.of(own[tested].astype(np.int64), x[rows][tested], np.arange(int(tested.sum())))
    gain = before**2 - after**2
    if not gain.mean() > gain.std() / np.sqrt(len(gain)):
        return category, None
    return category, trees_without(range(N_FOLDS))


def _moments(
    n_ids: int, design: Matrix, code: NDArray[np.intp], residual: NDArray[np.float64], rows: NDArray[np.bool_]
) -> tuple[Matrix, Matrix]:
    """Sum the products of the design, and those with the residuals, by id."""
    width = design.shape[1]
    order = np.flatnonzero(rows)
    order = order[np.argsort(code[order], kind="stable")]
    present, starts = np.unique(code[order], return_index=True)
    gram, total = np.zeros((n_ids, width, width)), np.zeros((n_ids, width))
    if len(order):
        part = design[order]
        for column in range(width):
            gram[present, column] = np.add.reduceat(part * part[:, [column]], starts)
        total[present] = np.add.reduceat(part * residual[order, np.newaxis], starts)
    return gram, total


def _solve(gram: Matrix, total: Matrix, penalty: float) -> Matrix:
    if not np.isfinite(penalty):
        return np.zeros_like(total)
    return np.asarray(np.linalg.solve(gram + penalty * np.eye(gram.shape[1]), total[..., np.newaxis])[..., 0])
