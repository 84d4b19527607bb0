"""A forest shared by all actions, for short logs: randomised trees, averaged instead of boosted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree.reductions.boosting._boosting import (
    MOST_COLUMNS,
    MOST_SHARES,
    BoostedLog,
    BoostedModel,
    empty_tree,
    stacked,
)
from offsettree.reductions.boosting._shrunken import sigmoid

N_TREES = 20  # per fold
DEPTH = 5
ACTION_PRIOR, LEAF_PRIOR = 2.0, 1.0  # in rows
MIN_ROWS = 3
LEAST_CURVATURE = 1e-9


class _Rows(NamedTuple):
    """The training rows of a tree, with gradients and curvatures."""

    codes: Any
    is_category: Any
    action: Any
    share: Any  # of each action: see MOST_SHARES
    gradient: Any
    curvature: Any


def grow_forest(log: BoostedLog, score: NDArray[np.float64], seed: int) -> BoostedModel:
    """Return trees whose mean predicts the residuals of the scores; each is grown independently."""
    from offsettree.reductions.boosting._kernels_random import grow_random

    random = np.random.default_rng(seed)
    n_columns, n_tests, n_actions = len(log.codes), 2**DEPTH - 1, log.n_actions
    weight = np.ones(len(log.reward)) if log.weight is None else log.weight
    mean = sigmoid(score) if log.logistic else score
    curvature = weight * np.maximum(mean * (1 - mean), LEAST_CURVATURE) if log.logistic else weight
    one_row = float(curvature.mean())
    trees = []
    for _ in range(N_TREES):
        columns = np.sort(random.permutation(n_columns)[:MOST_COLUMNS])
        share = random.permutation(n_actions).astype(np.uint32) % np.uint32(min(n_actions, MOST_SHARES))
        rows = _Rows(log.codes, log.is_category, log.action, share, weight * (log.reward - mean), curvature)
        tree = empty_tree(DEPTH, n_actions)
        draws = random.random((n_tests, len(columns)))
        grow_random(rows, columns, draws, ACTION_PRIOR * one_row, MIN_ROWS, LEAF_PRIOR * one_row, tree)
        trees.append(tree)
    model = stacked(trees, n_tests, n_actions)
    return model._replace(values=model.values / np.float32(N_TREES))
