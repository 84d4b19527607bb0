"""X as a few dozen standardised columns, block by block, whatever its form: what reward models are fitted on."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from offsettree._features import Features, is_sparse, take_rows
from offsettree.topology._numbers import as_numbers

__all__ = ["BLOCK_ROWS", "MAX_COLUMNS", "Design"]

MAX_COLUMNS = 64
BLOCK_ROWS = 16_384
_SAMPLE_ROWS = 10_000
_MAX_PROJECTED = 1 << 16


class Design:
    """Columns made of X: standardised, missing values at the mean and flagged, at most 64 of them.

    Where X has more, they are its leading principal directions, found by subspace iteration on a sample of rows (of
    more than 65,536 columns, the most often used ones count). Columns are made for the rows asked for: nothing as
    large as X is held. What is not finite counts as missing; a constant column is zero.

    Attributes
    ----------
    n_columns : int
        How many there are.
    """

    def __init__(self, X: Features, random: np.random.RandomState) -> None:
        self._X = as_numbers(X)
        n_rows = self._X.shape[0]
        scaler = StandardScaler(with_mean=not is_sparse(self._X))
        n_missing, n_used = np.zeros((2, self._X.shape[1]))
        # Squares of huge values overflow: such a column counts as constant.
        with np.errstate(all="ignore"):
            for begin in range(0, n_rows, BLOCK_ROWS):
                values, missing = self._raw(np.arange(begin, min(begin + BLOCK_ROWS, n_rows)))
                scaler.partial_fit(values)
                n_missing += np.asarray(missing.sum(axis=0)).ravel()
                n_used += np.asarray((values != 0).sum(axis=0)).ravel()
        self._flagged = np.flatnonzero(n_missing)
        share = n_missing[self._flagged] / n_rows
        mean = np.concatenate([scaler.mean_, share])
        variance = np.concatenate([scaler.var_, share * (1 - share)])
        with np.errstate(all="ignore"):
            varies = np.isfinite(mean) & np.isfinite(variance) & (np.sqrt(variance) > 1e-12 * np.abs(mean))
        self._filling = np.where(varies, mean, 0.0)
        self._columns = np.flatnonzero(varies)
        if len(self._columns) > _MAX_PROJECTED:
            often = np.concatenate([n_used, n_missing[self._flagged]])[self._columns]
            self._columns = np.sort(self._columns[np.argsort(-often, kind="stable")[:_MAX_PROJECTED]])
        self._deviation = np.sqrt(variance[self._columns])
        self._shift = mean[self._columns] / self._deviation
        self._directions: NDArray[np.float64] | None = None
        if len(self._columns) > MAX_COLUMNS:
            size = min(n_rows, _SAMPLE_ROWS)
            sample = np.sort(random.choice(n_rows, size, replace=False))
            self._directions = _leading_directions(self._scaled(sample), self._shift, random)
        self.n_columns = len(self._columns) if self._directions is None else self._directions.shape[1]

    def rows(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the columns for the rows of the given positions."""
        scaled = self._scaled(rows)
        if self._directions is None:
            return np.asarray((scaled.toarray() if is_sparse(scaled) else scaled) - self._shift)
        return np.asarray(scaled @ self._directions - self._shift @ self._directions)

    def of(self, X: Features | None) -> Design:
        """Return the same columns of another X, numbers only; of None, a design that holds no rows."""
        other = copy.copy(self)
        other._X = X
        return other

    def on_numbers(self, slopes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Turn models of these columns into models of the numbers in X: slopes, and the values at which they count 0.

        What was made of missing values, and of nominal columns, is left out.
        """
        if self._directions is not None:
            slopes = slopes @ self._directions.T
        n_numbers = self._X.shape[1]
        weights = np.zeros((len(slopes), n_numbers))
        real = self._columns < n_numbers
        weights[:, self._columns[real]] = (slopes / self._deviation)[:, real]
        return weights, self._filling[:n_numbers]

    def recipe(self) -> tuple[NDArray[np.intp], NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64], Any]:
        """Return how columns are made, for who makes them of one row alone: source, is_flag, centre, scale, directions.

        A column is ``(value - centre) * scale``, of a missing value 0; or of a flag, 1 where its source is missing.
        Directions, if there are any, are applied last.
        """
        n_numbers = self._X.shape[1]
        is_flag = self._columns >= n_numbers
        source = np.where(
            is_flag,
            self._flagged[np.where(is_flag, self._columns - n_numbers, 0)] if len(self._flagged) else 0,
            self._columns,
        )
        return source, is_flag, self._shift * self._deviation, 1 / self._deviation, self._directions

    def _raw(self, rows: NDArray[np.intp]) -> tuple[Any, Any]:
        """Return the values with NaN for all that is not finite, and where that is, both in the form of X."""
        block = take_rows(self._X, rows).astype(np.float64)
        values = block.data if is_sparse(block) else block
        missing = ~np.isfinite(values)
        values[missing] = np.nan
        if is_sparse(block):
            return block, sp.csr_array((missing, block.indices, block.indptr), shape=block.shape)
        return block, missing

    def _scaled(self, rows: NDArray[np.intp]) -> Any:
        """Return the columns of X and the flags over their standard deviations; not centred, so that zeros stay."""
        block, missing = self._raw(rows)
        if is_sparse(block):
            gaps = np.isnan(block.data)
            block.data[gaps] = self._filling[block.indices[gaps]]
            table = sp.hstack([block, missing[:, self._flagged].astype(np.float64)], format="csr")
            if len(self._columns) < table.shape[1]:
                table = table[:, self._columns]
            return table @ sp.diags_array(1 / self._deviation)
        block = np.where(missing, self._filling[: block.shape[1]], block)
        return np.hstack([block, missing[:, self._flagged]])[:, self._columns] / self._deviation


def _leading_directions(scaled: Any, shift: NDArray[np.float64], random: np.random.RandomState) -> NDArray[np.float64]:
    """Find the leading principal directions of ``scaled - shift``, which is never formed: sparse stays sparse."""

    def project(directions: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(scaled @ directions - shift @ directions)

    basis = random.standard_normal((scaled.shape[1], MAX_COLUMNS + 8))
    for _ in range(4):
        scores = project(basis)
        basis = np.linalg.qr(scaled.T @ scores - np.outer(shift, scores.sum(axis=0)))[0]
    scores = project(basis)
    _, rotation = np.linalg.eigh(scores.T @ scores)
    return np.asarray(basis @ rotation[:, : -MAX_COLUMNS - 1 : -1])
