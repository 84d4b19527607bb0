"""Hierarchical linear models: one per action, with a common normal prior estimated from the log (empirical Bayes)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree.reductions.boosting._room import IN_MEMORY, Room

ROUNDS = 15
ROUNDS_OF_MANY = 6  # with so many actions that a round takes seconds
ROUNDS_FROM_NEAR = 5  # from models of nearly the same rows
MANY = 1 << 24  # entries in the covariances of all actions
GROUP_ROWS = 20.0  # pseudo-actions that shrink a column's variance towards the mean of its group
LEAST_CURVATURE = 0.01
MOST_LEVERAGE = 0.9
SETTLED = 1e-6


class ShrunkenModels(NamedTuple):
    """Models ``weights[a] @ z``, the leave-one-out score of each row, and the prior covariance and noise."""

    weights: NDArray[np.float64]
    left_out: NDArray[np.float64]
    covariance: NDArray[np.float64]
    noise: float


def sigmoid(score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logistic function of a score."""
    return np.asarray(1 / (1 + np.exp(-np.clip(score, -500, 500))))


def fit_shrunken_models(
    design: NDArray[np.float64],
    action: NDArray[np.int32],
    reward: NDArray[np.float64],
    n_actions: int,
    *,
    mean: NDArray[np.float64],
    groups: list[slice],
    logistic: bool,
    weight: NDArray[np.float64] | None = None,
    known: NDArray[np.float64] | None = None,
    near: ShrunkenModels | None = None,
    room: Room = IN_MEMORY,
) -> ShrunkenModels:
    """Fit w_a ~ N(m, C) for every action a; m, C and the noise are estimated by expectation-maximisation.

    `design` has a row of regressors per row. Rewards are in units of their standard deviation, or 0 and 1 if
    `logistic`: C is then updated along with Newton's steps. `mean` is the prior mean of m, whose prior covariance is C.
    The variances of each group of columns are shrunk together; a group of one column has a flat prior mean. Row weights
    have the mean 1. `known` is a fixed part of every row's score (an offset in the sense of generalised linear models).

    `near` are models of nearly the same rows to start from, to save time. Of their covariance only the mean variance of
    each group is used: its directions are those of their weights, and would tell of rows that are now left out.
    """
    n_rows, n_columns = design.shape
    order = np.argsort(action, kind="stable")
    Z, y_own, own = room.take(design, order), reward[order], action[order]
    counts = np.ones(n_rows) if weight is None else weight[order]
    base: NDArray[Any] = np.zeros(n_rows) if known is None else known[order]
    cut = np.searchsorted(own, np.arange(n_actions + 1))
    rows = [slice(cut[a], cut[a + 1]) for a in range(n_actions)]
    free = [group.start for group in groups if group.stop == group.start + 1]
    noise = 1.0 if logistic else float(np.var(y_own)) + 1e-12
    covariance, expected = np.eye(n_columns) * 0.1 * noise, mean
    score, curvature, target = base + Z @ mean, counts, y_own - base
    n_rounds = ROUNDS if n_actions * n_columns**2 <= MANY else ROUNDS_OF_MANY
    if near is not None:
        covariance, noise = np.diag(_group_means(np.diag(near.covariance), groups)), near.noise
        score, n_rounds = base + np.einsum("ip,ip->i", Z, near.weights[own]), min(n_rounds, ROUNDS_FROM_NEAR)
    gram, product = _sums_by_action(Z, rows, curvature, target)  # constant for the squared loss
    for _ in range(n_rounds):
        if logistic:
            probability = sigmoid(score)
            spread = np.maximum(probability * (1 - probability), LEAST_CURVATURE)
            curvature, target = counts * spread, score - base + (y_own - probability) / spread
            gram, product = _sums_by_action(Z, rows, curvature, target)
        inverse: NDArray[Any] = np.linalg.inv(covariance)
        posterior: NDArray[Any] = np.linalg.inv(gram / noise + inverse)
        mean, of_mean = _find_mean(posterior, product / noise, inverse, covariance, expected, free, noise)
        weights = (posterior @ (product / noise + inverse @ mean)[:, :, np.newaxis])[:, :, 0]
        covariance = _find_covariance(posterior, weights - mean, groups, noise)
        before, score = score, base + np.einsum("ip,ip->i", Z, weights[own])
        if not logistic:
            left = float((counts * (y_own - score) ** 2).sum() + np.einsum("apq,apq->", gram, posterior))
            noise = max(left / float(counts.sum()), 1e-12)
        if np.square(score - before).mean() <= SETTLED * score.var():
            break
    # A row moves its own model, and all models by moving their mean: it is left out of both.
    by_mean = posterior @ inverse
    whole = posterior + by_mean @ of_mean @ by_mean.transpose(0, 2, 1)
    leverage = np.concatenate([((Z[here] @ whole[a]) * Z[here]).sum(axis=1) for a, here in enumerate(rows)])
    leverage = np.minimum(leverage * curvature / noise, MOST_LEVERAGE)
    left_out = np.empty(n_rows)
    left_out[order] = target + base - (target + base - score) / (1 - leverage)
    return ShrunkenModels(weights, left_out, covariance, noise)


def _sums_by_action(
    Z: NDArray[np.float64], rows: list[slice], curvature: NDArray[np.float64], target: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    n_columns = Z.shape[1]
    gram, product = np.empty((len(rows), n_columns, n_columns)), np.empty((len(rows), n_columns))
    for a, here in enumerate(rows):
        scaled = Z[here] * curvature[here, np.newaxis]
        gram[a], product[a] = scaled.T @ Z[here], scaled.T @ target[here]
    return gram, product


def _find_mean(
    posterior: NDArray[np.float64],
    product: NDArray[np.float64],
    inverse: NDArray[np.float64],
    covariance: NDArray[np.float64],
    expected: NDArray[np.float64],
    free: list[int],
    noise: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the posterior mean and covariance of m, with the models integrated out; its prior is N(expected, C)."""
    own = covariance.copy()
    own[free] = 0
    own[:, free] = 0
    own[free, free] = noise
    prior = np.linalg.inv(own)
    left = len(posterior) * inverse - inverse @ posterior.sum(axis=0) @ inverse + prior
    of_mean = np.linalg.inv(left)
    return of_mean @ (inverse @ np.einsum("apq,aq->p", posterior, product) + prior @ expected), of_mean


def _find_covariance(
    posterior: NDArray[np.float64], off: NDArray[np.float64], groups: list[slice], noise: float
) -> NDArray[np.float64]:
    """Return the covariance of models, shrunk towards a diagonal with equal variances within each group."""
    n_actions, n_columns = off.shape
    whole = posterior.sum(axis=0) + off.T @ off
    own = np.diag(whole).copy()
    pull = np.diag(own + GROUP_ROWS * _group_means(own, groups) / n_actions) / (n_actions + GROUP_ROWS)
    return np.asarray((whole + n_columns * pull) / (n_actions + n_columns) + 1e-8 * noise * np.eye(n_columns))


def _group_means(variances: NDArray[np.float64], groups: list[slice]) -> NDArray[np.float64]:
    means = variances.copy()
    for group in groups:
        means[group] = variances[group].mean()
    return means
