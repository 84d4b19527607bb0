"""Which of a row's eligible actions was taken: a conditional logit over the features of context and action."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from offsettree._features import Features
from offsettree.actions._encoding import ActionEncoding, TablePart
from offsettree.logs import ActionSets

__all__ = ["ConditionalLogit", "log_shares"]

MOST_SLOPES = 2_000  # ids times features of the context; with more, an id has an intercept alone
MOST_ROUNDS = 200
BESIDE_FEATURES = 30.0  # times as much are weights of ids penalised
Column = NDArray[np.float64]
Matrix = NDArray[np.float64]


class ConditionalLogit:
    """Predicts which eligible action is taken: exp(score) of each, divided by their sum within the row.

    A score is linear in the features of the action, their squares and their products with those of the context. Each
    id has an intercept of its own, and slopes in the features of the context where there are few ids. All weights are
    shrunken by a ridge penalty, on features of variance 1, and those of ids thirty times as much where actions have
    features: an id that was never taken starts from these.

    Parameters
    ----------
    penalty : float, default=1.0
        The penalty of half the sum of squared weights, beside the sum of -log(probability) over rows.

    Attributes
    ----------
    ids_ : array of shape (n_ids,)
        The ids that have weights of their own.

    Examples
    --------
    >>> from offsettree import simulate_catalogue
    >>> log = simulate_catalogue(500, 20, 4, random_state=0).log
    >>> model = ConditionalLogit().fit(log.X, log.action_sets, log.action_sets.find(log.action))
    >>> model.scores(log.X, log.action_sets).shape
    (2000,)
    """

    def __init__(self, penalty: float = 1.0) -> None:
        self.penalty = penalty

    def fit(self, X: Features, sets: ActionSets, pair: NDArray[np.intp]) -> Self:
        """Learn from the pair that was taken in each row.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            The contexts.
        sets : ActionSets
            The eligible actions of each row.
        pair : array of shape (n_rows,)
            The position of the action taken in ``sets.ids``.
        """
        self._encoding = ActionEncoding.learn(X, sets, pair) if _has_features(sets) else None
        self._context = TablePart.learn(X, "X") if self._encoding is None else None
        x = self._context_of(X, sets)[0]
        self._center = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-12)
        self.ids_ = np.unique(sets.ids)
        self._with_slopes = len(self.ids_) * x.shape[1] <= MOST_SLOPES
        parts = _Parts(*self._tables(X, sets), sets.starts, len(self.ids_), with_slopes=self._with_slopes)
        taken = np.zeros(len(sets.ids))
        taken[pair] = 1.0

        def loss(weights: Column) -> tuple[float, Column]:
            logs = log_shares(parts.scores(weights), sets.starts)
            value = -float(logs[pair].sum()) + float(weights @ (penalty * weights)) / 2
            return value, parts.gradient(np.exp(logs) - taken) + penalty * weights

        # Where features tell actions apart, ids need little of their own.
        penalty = np.full(parts.n_weights, self.penalty)
        if self._encoding is not None:
            penalty[parts.widths[1] :] *= BESIDE_FEATURES
        start = np.zeros(parts.n_weights)
        self._weights = np.asarray(
            minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": MOST_ROUNDS, "ftol": 1e-7}).x
        )
        return self

    def scores(self, X: Features, sets: ActionSets) -> Column:
        """Return the score of every pair.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            The contexts.
        sets : ActionSets
            The eligible actions of each row, with features as in `fit`.
        """
        parts = _Parts(*self._tables(X, sets), sets.starts, len(self.ids_), with_slopes=self._with_slopes)
        return parts.scores(self._weights)

    def _tables(self, X: Features, sets: ActionSets) -> tuple[Matrix, Matrix, NDArray[np.intp]]:
        """Return the features of rows, those of pairs, and the place of each pair's id, -1 for a new one."""
        x, a = self._context_of(X, sets)
        place = np.minimum(np.searchsorted(self.ids_, sets.ids), len(self.ids_) - 1)
        return (x - self._center[0]) / self._center[1], a, np.where(self.ids_[place] == sets.ids, place, -1)

    def _context_of(self, X: Features, sets: ActionSets) -> tuple[Matrix, Matrix]:
        if self._encoding is not None:
            x, a = self._encoding.tables(X, sets)
            return x, np.hstack([a, a * a - 1])
        assert self._context is not None  # noqa: S101 - one of the two is there
        return self._context.encode(X), np.empty((len(sets.ids), 0))


class _Parts:
    """The linear scores of all pairs and their gradient, without a table of products."""

    def __init__(
        self,
        x: Matrix,
        a: Matrix,
        place: NDArray[np.intp],
        starts: NDArray[np.intp],
        n_ids: int,
        *,
        with_slopes: bool,
    ) -> None:
        self.x, self.a, self.place, self.starts, self.n_ids = x, a, np.where(place < 0, n_ids, place), starts, n_ids
        self.row = np.repeat(np.arange(len(x)), np.diff(starts))
        n_x, n_a = x.shape[1], a.shape[1]
        n_slopes = n_ids * n_x if with_slopes else 0
        self.widths = np.cumsum([n_a, n_x * n_a, n_ids])
        self.with_slopes, self.n_weights = with_slopes, n_a + n_x * n_a + n_ids + n_slopes

    def scores(self, weights: Column) -> Column:
        n_x, n_a = self.x.shape[1], self.a.shape[1]
        own, met, level, slopes = np.split(weights, self.widths)
        found = np.append(level, 0.0)[self.place]
        if n_a:
            found += ((own + self.x @ met.reshape(n_x, n_a))[self.row] * self.a).sum(axis=1)
        if self.with_slopes and n_x:
            of_id = np.vstack([slopes.reshape(self.n_ids, n_x), np.zeros(n_x)])
            found += (self.x[self.row] * of_id[self.place]).sum(axis=1)
        return np.asarray(found)

    def gradient(self, off: Column) -> Column:
        """Return the derivative in all weights of a sum whose derivatives in the scores are `off`."""
        by_row = np.add.reduceat(self.a * off[:, np.newaxis], self.starts[:-1], axis=0)
        level = np.bincount(self.place, off, minlength=self.n_ids + 1)[: self.n_ids]
        slopes: Any = np.empty(0)
        if self.with_slopes:
            columns = [
                np.bincount(self.place, off * column[self.row], minlength=self.n_ids + 1)[: self.n_ids]
                for column in self.x.T
            ]
            slopes = np.column_stack(columns).ravel() if columns else slopes
        return np.concatenate([by_row.sum(axis=0), (self.x.T @ by_row).ravel(), level, slopes])


def log_shares(scores: Column, starts: NDArray[np.intp]) -> Column:
    """Return the logarithm of each pair's share of exp(score) within its row.

    Parameters
    ----------
    scores : array of shape (n_pairs,)
        The scores.
    starts : array of shape (n_rows + 1,)
        Where each row begins, and where the last one ends.
    """
    sizes = np.diff(starts)
    above = scores - np.repeat(np.maximum.reduceat(scores, starts[:-1]), sizes)
    return np.asarray(above - np.repeat(np.log(np.add.reduceat(np.exp(above), starts[:-1])), sizes))


def _has_features(sets: Any) -> bool:
    return bool(sets.n_item_features + sets.n_pair_features)
