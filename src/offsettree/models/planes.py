"""Linear functions of a row, several at once, with a value of their own for what is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.models._batches import is_csr, over_csr, over_tables
from offsettree.models._by_numpy import dot_in_lanes, goes_without
from offsettree.models.part import Part

__all__ = ["Planes"]

KINDS = (np.dtype(np.float32), np.dtype(np.float64))
NONE = np.empty(0)


@dataclass(frozen=True, eq=False)
class Planes:
    """Function f of a row x is ``weights[f] @ x + bias[f]``; a missing x[j] counts as ``at_missing[f, j]`` in the sum.

    Products are added up in one order, whatever the number of rows and functions: one row alone has the same numbers as
    in a table, and functions of the same weights have the same values.
    """

    weights: NDArray[np.float64]  # of shape (n_functions, n_columns)
    bias: NDArray[np.float64]
    at_missing: NDArray[np.float64] | None = None  # as the weights; None where nothing may be missing

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is written, by name."""
        arrays = {"weights": self.weights, "bias": self.bias}
        return arrays if self.at_missing is None else {**arrays, "at_missing": self.at_missing}

    @classmethod
    def read(cls, part: Part, n_functions: int, n_columns: int) -> Self:
        """Read and check what was written."""
        shape = n_functions, n_columns
        return cls(
            part.finite("weights", np.float64, *shape),
            part.finite("bias", np.float64, n_functions),
            part.finite("at_missing", np.float64, *shape) if part.has_array("at_missing") else None,
        )

    def only(self, function: int) -> Planes:
        """Return one of the functions alone."""
        here = slice(function, function + 1)
        missing = None if self.at_missing is None else self.at_missing[here]
        return Planes(self.weights[here], self.bias[here], missing)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return the value of every function for every row, of shape (n_rows, n_functions)."""
        if goes_without("_kernels_scores", X):
            return self._scores_of_one(X[0].astype(np.float64))[np.newaxis]
        from offsettree.models import _kernels_scores as kernels

        n_functions, n_columns = self.weights.shape
        out = np.empty((X.shape[0], n_functions))
        weights, bias = self.weights.reshape(-1), self.bias
        missing = NONE if self.at_missing is None else self.at_missing.reshape(-1)

        def walk(values: NDArray[Any], first: int, last: int) -> int:
            kernels.linear_rows(values, n_columns, weights, bias, missing, out[first:last])
            return 0

        def walk_csr(data: Any, indices: Any, indptr: Any, first: int, last: int) -> int:
            kernels.linear_csr(data, indices, indptr, n_columns, weights, bias, missing, out[first:last])
            return 0

        if is_csr(X):
            over_csr(walk_csr, X, KINDS, n_walks=n_functions)
        else:
            over_tables(walk, X, KINDS, n_walks=n_functions)
        return out

    def of_one_row(self) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
        """Return the function from one row of float32, float64 or int64 to the value of every function."""
        from offsettree.models._kernels_scores import linear_rows

        n_functions, n_columns = self.weights.shape
        weights, bias = self.weights.reshape(-1), self.bias
        missing = NONE if self.at_missing is None else self.at_missing.reshape(-1)

        def numbers_of(x: NDArray[Any]) -> NDArray[np.float64]:
            numbers = np.empty(n_functions)
            values = x if x.dtype in KINDS else x.astype(np.float64)
            linear_rows(values, n_columns, weights, bias, missing, numbers[np.newaxis])
            return numbers

        return numbers_of

    def _scores_of_one(self, row: NDArray[np.float64]) -> NDArray[np.float64]:
        """Do as `scores` for one row, by NumPy, with sums in the same order."""
        if self.at_missing is None:
            return np.asarray(dot_in_lanes(self.weights, row) + self.bias)
        missing = np.isnan(row)
        total = dot_in_lanes(self.weights, np.where(missing, 0.0, row))
        for column in np.flatnonzero(missing):
            total = total + self.at_missing[:, column]
        return np.asarray(total + self.bias)
