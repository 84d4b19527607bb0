"""The design matrix of the linear reward models: X of any form as at most 64 standardised columns, block by block."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from offsettree._features import Features, is_sparse, take_rows
from offsettree.topology._numbers import as_numbers

MAX_COLUMNS = 64
BLOCK_ROWS = 16_384
_SAMPLE_ROWS = 10_000
_MAX_PROJECTED = 1 << 16


class Design:
    """Standardised columns of X, at most 64; missing values are mean-filled and get a flag column.

    If X has more columns, they are its leading principal directions, found by subspace iteration on a sample of rows
    (among at most 65,536 columns, those most often nonzero). Rows are computed on demand: nothing as large as X is
    held. Values that are not finite count as missing; a constant column is zero.

    Attributes
    ----------
    n_columns : int
        The number of columns.
    """

    def __init__(self, X: Features, random: np.random.RandomState) -> None:
        self._X = as_numbers(X)
        n_rows = self._X.shape[0]
        scaler = StandardScaler(with_mean=not is_sparse(self._X))
        n_missing, n_used = np.zeros((2, self._X.shape[1]))
        # Squares of huge values overflow: such a column is treated as constant.
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
        """Return the columns of the given rows."""
        scaled = self._scaled(rows)
        if self._directions is None:
            return np.asarray((scaled.toarray() if is_sparse(scaled) else scaled) - self._shift)
        return np.asarray(scaled @ self._directions - self._shift @ self._directions)

    def of(self, X: Features | None) -> Design:
        """Return the same columns of another, numeric X; None gives a design without rows."""
        other = copy.copy(self)
        other._X = X
        return other

    def on_numbers(self, slopes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Convert models of these columns to slopes on the numeric columns of X, and the centres of those columns.

        Flags of missing values and one-hot columns are left out.
        """
        if self._directions is not None:
            slopes = slopes @ self._directions.T
        n_numbers = self._X.shape[1]
        weights = np.zeros((len(slopes), n_numbers))
        real = self._columns < n_numbers
        weights[:, self._columns[real]] = (slopes / self._deviation)[:, real]
        return weights, self._filling[:n_numbers]

    def recipe(self) -> tuple[NDArray[np.intp], NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64], Any]:
        """Return source, is_flag, centre, scale and directions, to compute the columns of a single row elsewhere.

        A column is ``(value - centre) * scale``, or 0 if the value is missing. The value of a flag is 1 if its source
        is missing. Directions, if any, are applied last.
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
        """Return the values, NaN if not finite, and the mask of these, both sparse if X is."""
        block = take_rows(self._X, rows).astype(np.float64)
        values = block.data if is_sparse(block) else block
        missing = ~np.isfinite(values)
        values[missing] = np.nan
        if is_sparse(block):
            return block, sp.csr_array((missing, block.indices, block.indptr), shape=block.shape)
        return block, missing

    def _scaled(self, rows: NDArray[np.intp]) -> Any:
        """Return columns and flags divided by their standard deviations; not centred, so that zeros stay zero."""
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
    """Return the leading principal directions of ``scaled - shift`` without computing it, so sparse stays sparse."""

    def project(directions: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(scaled @ directions - shift @ directions)

    basis = random.standard_normal((scaled.shape[1], MAX_COLUMNS + 8))
    for _ in range(4):
        scores = project(basis)
        basis = np.linalg.qr(scaled.T @ scores - np.outer(shift, scores.sum(axis=0)))[0]
    scores = project(basis)
    _, rotation = np.linalg.eigh(scores.T @ scores)
    return np.asarray(basis @ rotation[:, : -MAX_COLUMNS - 1 : -1])
