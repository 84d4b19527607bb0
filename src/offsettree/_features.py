"""X in its forms: numpy array, scipy CSR, pandas or polars frame; and the few things done to all of them alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from offsettree.exceptions import FeatureError

__all__ = [
    "Features",
    "append_indicator",
    "as_one_row",
    "count_rows",
    "is_frame",
    "is_numeric_frame",
    "is_sparse",
    "take_rows",
]

# An array, a CSR matrix or a frame: no protocol covers the three, so the alias is for the reader.
Features: TypeAlias = Any


def is_frame(X: Features) -> bool:
    """Tell a pandas or polars frame from everything else."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def is_sparse(X: Features) -> bool:
    """Tell scipy's sparse matrices and arrays from everything else."""
    return bool(sp.issparse(X))


def is_numeric_frame(X: Features) -> bool:
    """Tell whether every column is a number or a truth value, so that the frame is an array with names."""
    return all(_is_numeric(dtype) for dtype in X.dtypes)


def _is_numeric(dtype: Any) -> bool:
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
    return getattr(dtype, "kind", "O") in "biuf"


def count_rows(X: Features) -> int:
    """Count the rows of any form of X."""
    return int(_num_samples(X))


def take_rows(X: Features, rows: NDArray[np.intp]) -> Features:
    """Copy the rows of the given positions, in the given order."""
    if isinstance(X, np.ndarray):
        return np.take(X, rows, axis=0)  # half the time of X[rows]
    if is_sparse(X):
        return X[rows]
    return _safe_indexing(X, rows)


def as_one_row(x: Any, names: NDArray[np.object_] | None, frame_type: type | None) -> Features:
    """Make a one-row X of a single context: a sequence, a mapping of names to values, or a one-row X as it is.

    `frame_type` is the kind of frame the learners were trained on, or None where they were given arrays.
    """
    if isinstance(x, Mapping):
        if names is None:
            raise FeatureError("a context given by name needs a policy fitted on named columns; pass a sequence.")
        if missing := [name for name in names if name not in x]:
            raise FeatureError(f"a context given by name must have every feature; {', '.join(missing)} missing.")
        values = {name: x[name] for name in names}
        return np.array([list(values.values())]) if frame_type is None else frame_type([values])
    if is_frame(x) or is_sparse(x):
        return x
    array = np.asarray(x)
    return array[np.newaxis, :] if array.ndim == 1 else array


def append_indicator(X: Features, index: NDArray[np.intp], n_values: int, name: str) -> Features:
    """Append `index` as `n_values` columns of zeros and ones, a form that trees and linear models both can use.

    A sparse X stays sparse; a frame gets columns called ``name=0``, ``name=1``, ...
    """
    if is_sparse(X):
        ones = np.ones(len(index), dtype=X.dtype)
        indicator = sp.csr_matrix((ones, index, np.arange(len(index) + 1)), shape=(len(index), n_values))
        return sp.hstack([X, indicator], format="csr")
    columns = index[:, np.newaxis] == np.arange(n_values)
    if not is_frame(X):
        return np.hstack([X, columns.astype(X.dtype if X.dtype.kind == "f" else np.float64)])
    frame = type(X)({f"{name}={value}": columns[:, value].astype(np.float64) for value in range(n_values)})
    if hasattr(X, "hstack"):  # polars
        return X.hstack(frame)
    return X.reset_index(drop=True).join(frame)
