"""Propensities of actions taken among each row's eligible ones, where they were not recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from offsettree._features import Features, take_rows
from offsettree.actions import ConditionalLogit, log_shares
from offsettree.logs import ActionSets

MOST_PAIRS = 500_000  # that one model learns from
Column = NDArray[np.float64]


def chances_among(
    X: Features,
    sets: ActionSets,
    pair: NDArray[np.intp],
    n_folds: int,
    random: np.random.RandomState,
    *,
    calibrate: bool,
) -> tuple[Column, Column]:
    """Return the probability of every pair of row and action, by models that did not learn from the row.

    Beside it that of the action taken in each row if nothing counts but how often other rows take each id.

    `pair` is the pair that was taken in each row. To `calibrate` is to fit a scale and a share of uniform choice.
    """
    n_rows = len(sets)
    fold = random.permutation(n_rows) % n_folds
    scores, frequency = np.empty(len(sets.ids)), np.empty(n_rows)
    labels, code = np.unique(sets.ids, return_inverse=True)
    expected = np.repeat(1 / sets.sizes, sets.sizes)
    row = np.repeat(np.arange(n_rows), sets.sizes)
    for each in range(n_folds):
        train, test = np.flatnonzero(fold != each), np.flatnonzero(fold == each)
        share = _shares(code, expected, pair[train], fold[row] != each, len(labels))
        frequency[test] = (share[code[pair]] / np.add.reduceat(share[code], sets.starts[:-1]))[test]
        most = max(1, int(MOST_PAIRS / sets.sizes.mean()))
        train = np.sort(random.choice(train, most, replace=False)) if len(train) > most else train
        own = sets.take(train)
        model = ConditionalLogit().fit(take_rows(X, train), own, own.starts[:-1] + (pair - sets.starts[:-1])[train])
        scores[fold[row] == each] = model.scores(take_rows(X, test), sets.take(test))
    rate, uniform = 1.0, 0.0
    if calibrate:
        most = max(1, int(MOST_PAIRS / sets.sizes.mean()))
        some = np.sort(random.choice(n_rows, most, replace=False)) if n_rows > most else np.arange(n_rows)
        part = np.zeros(n_rows, dtype=bool)
        part[some] = True
        own = sets.take(some)
        rate, uniform = _calibrated(scores[part[row]], own, own.starts[:-1] + (pair - sets.starts[:-1])[some])
    chance = (1 - uniform) * np.exp(log_shares(rate * scores, sets.starts)) + uniform / sets.sizes[row]
    return np.asarray(np.maximum(chance, np.finfo(np.float64).tiny)), frequency


def _shares(code: NDArray[np.intp], expected: Column, pair: NDArray[np.intp], there: Any, n_ids: int) -> Column:
    """Return how often each id was taken, by how often it would have been if all were equally likely; of some rows."""
    taken = np.bincount(code[pair], minlength=n_ids)
    return np.asarray((taken + 1) / (np.bincount(code[there], expected[there], minlength=n_ids) + 1))


def _calibrated(scores: Column, sets: ActionSets, pair: NDArray[np.intp]) -> tuple[float, float]:
    """Return what scores are multiplied by, and how much of the choice is uniform: exploring policies often mix so."""
    uniform = 1 / sets.sizes

    def loss(theta: Column) -> float:
        share = 1 / (1 + np.exp(-theta[1]))
        own = np.exp(log_shares(np.exp(theta[0]) * scores, sets.starts)[pair])
        # A penalty of one row's weight, as without one a log of certain choices has no end.
        return float(-np.log((1 - share) * own + share * uniform).sum() + theta[0] ** 2 / 2 + theta[1] ** 2 / 200)

    found = [minimize(loss, np.array([0.0, start]), method="Nelder-Mead") for start in (-6.0, -1.0)]
    best = min(found, key=lambda each: float(each.fun)).x
    return float(np.exp(best[0])), float(1 / (1 + np.exp(-best[1])))
