"""Linear regressions of many actions, each shrunk towards their mean (empirical Bayes)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 25


@dataclass(frozen=True)
class Shrinkage:
    """A basis, the mean to shrink to, and the penalty, which turn an action's sums into its coefficients.

    The basis has the intercept first. Its other columns are uncorrelated, with mean 0 and variance 1 over the log.
    """

    basis: NDArray[np.float64]
    mean: NDArray[np.float64]
    penalty: NDArray[np.float64]

    @classmethod
    def estimate(
        cls,
        pooled: NDArray[np.float64],
        gram: NDArray[np.float64],
        product: NDArray[np.float64],
        square: NDArray[np.float64],
    ) -> Self:
        """Estimate the basis from the sums of all rows, and the rest from the sums of a sample of actions.

        The model: an action's coefficients are normal around the mean, with one variance for intercepts and another,
        times the variance of the principal direction, for slopes; rewards have normal noise. Variances, mean and
        noise are estimated by expectation-maximisation. Targets must have variance 1.
        """
        basis, spread = _orthonormal_basis(pooled)
        gram, product = basis.T @ gram @ basis, product @ basis
        n_rows = gram[:, 0, 0].sum()
        is_slope = np.arange(len(spread)) > 0
        mean = np.linalg.lstsq(gram.sum(axis=0), product.sum(axis=0))[0]
        noise, prior = 1.0, spread / len(spread)
        for _ in range(_ROUNDS):
            uncertain = np.linalg.inv(gram / noise + np.diag(1 / prior))
            coefficients = mean + _apply(uncertain, product - gram @ mean) / noise
            mean = coefficients.mean(axis=0)
            second = ((coefficients - mean) ** 2).mean(axis=0) + np.diagonal(uncertain.mean(axis=0))
            for group in (is_slope, ~is_slope):
                # Floors keep matrices invertible if rewards are exactly linear, or equal for all actions.
                prior[group] = spread[group] * np.maximum((second / spread)[group].mean(), 1e-8) if group.any() else 0
            explained = 2 * coefficients * product - coefficients * _apply(gram, coefficients)
            left = square.sum() - explained.sum() + (gram * uncertain).sum()
            noise = max(left / n_rows, 1e-6)
        return cls(basis, mean, noise / prior)

    def coefficients(self, gram: NDArray[np.float64], product: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients of actions, in the basis, from their sums; an action without rows has the mean."""
        gram, product = self.basis.T @ gram @ self.basis, product @ self.basis
        residual = (product - gram @ self.mean)[:, :, np.newaxis]
        return np.asarray(self.mean + np.linalg.solve(gram + np.diag(self.penalty), residual)[:, :, 0])


def _orthonormal_basis(pooled: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return intercept and principal directions, scaled to variance 1, and the variances before (their mean is 1)."""
    second = pooled / pooled[0, 0]
    centre = second[0, 1:]
    variance, direction = np.linalg.eigh(second[1:, 1:] - np.outer(centre, centre))
    real = variance > 1e-9 * max(1.0, variance.max(initial=0.0))
    variance, direction = variance[real], direction[:, real]
    scaled = direction / np.sqrt(variance)
    basis = np.zeros((len(pooled), len(variance) + 1))
    basis[0, 0] = 1
    basis[0, 1:] = -centre @ scaled
    basis[1:, 1:] = scaled
    return basis, np.concatenate([[1.0], variance / variance.mean() if len(variance) else variance])


def _apply(matrices: NDArray[Any], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((matrices @ vectors[:, :, np.newaxis])[:, :, 0])
