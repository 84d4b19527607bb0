"""Refuse sparse matrices put together wrongly: kernels, scipy's too, would read and write beside their arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.exceptions import FeatureError

INDICES = (np.dtype(np.int32), np.dtype(np.int64))  # the types that scipy's own code takes


def check_sparse(X: Any) -> None:
    """Refuse a sparse matrix put together wrongly: kernels, scipy's too, would read and write beside their arrays."""
    if X.ndim != 2:
        raise FeatureError(
            f"a sparse matrix must have rows and columns; got one of shape {X.shape}. Use X.reshape(1, -1) for one row."
        )
    if X.format == "lil":
        _refuse_odd_lists(X)
    if X.format in ("lil", "dok"):
        X = _as_entries(X)
    _refuse_odd_parts(X)
    if X.format in ("csr", "csc", "bsr"):
        height, width = X.blocksize if X.format == "bsr" else (1, 1)
        n_rows, n_columns = X.shape[0] // height, X.shape[1] // width
        if X.format == "csc":
            n_rows, n_columns = n_columns, n_rows
        _refuse_stray_rows(X, n_rows)
        _refuse_stray_indices(X, X.indices, n_columns, "row" if X.format == "csc" else "column")
    elif X.format == "coo":
        for axis, indices, end in zip(("row", "column"), X.coords, X.shape, strict=True):
            _refuse_stray_indices(X, indices, end, axis)
    elif X.format == "dia":
        _refuse_stray_diagonals(X)


def as_csr(X: Any) -> Any:
    """Return a sparse matrix of any format as CSR, checked first; entries behind the last row are left out."""
    check_sparse(X)
    made = X.tocsr()
    end = int(made.indptr[-1])
    if len(made.data) == end:
        return made
    return type(made)((made.data[:end], made.indices[:end], made.indptr), shape=made.shape)


def _refuse_odd_parts(X: Any) -> None:
    """Refuse arrays that are not of numbers, of too many dimensions, or of other lengths than those beside them."""
    n_axes = {"bsr": 3, "dia": 2}.get(X.format, 1)
    places = list(X.coords) if X.format == "coo" else [X.offsets] if X.format == "dia" else [X.indices, X.indptr]
    if X.data.dtype.kind not in "biuf" or X.data.dtype == np.float16 or X.data.ndim != n_axes:
        what = f"data of numbers, in {n_axes} dimension(s); got {X.data.dtype} of shape {X.data.shape}"
    elif odd := [array for array in places if array.dtype not in INDICES or array.ndim != 1]:
        what = f"places that are whole numbers of 32 or 64 bits; got {odd[0].dtype} of shape {odd[0].shape}"
    elif X.format == "bsr" and any(n == 0 or m % n for m, n in zip(X.shape, X.data.shape[1:], strict=True)):
        what = f"blocks that fill its shape, {X.shape}; got some of shape {X.data.shape[1:]}"
    elif X.format in ("coo", "dia") and any(len(array) != len(X.data) for array in places):
        what = f"a place for each of {len(X.data):,} entries; got {', '.join(f'{len(array):,}' for array in places)}"
    else:
        return
    raise FeatureError(f"a sparse matrix must have {what}. Put it together anew: scipy.sparse.csr_matrix(table).")


def _as_entries(X: Any) -> Any:
    """Return the entries of a matrix made of lists or of a dictionary, whose parts may be anything."""
    try:
        return X.tocoo()
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        raise FeatureError(f"a sparse matrix must be put together rightly; scipy says: {error}.") from error


def _refuse_odd_lists(X: Any) -> None:
    """Refuse lists of other lengths than those beside them: scipy makes room for one, and writes the other there."""
    parts = (X.rows, X.data)
    if not all(
        isinstance(part, np.ndarray) and part.dtype == object and part.shape == X.shape[:1] for part in parts
    ) or not all(
        type(places) is list and type(values) is list and len(places) == len(values)
        for places, values in zip(*parts, strict=True)
    ):
        raise FeatureError(
            f"a LIL matrix must have a list of columns and one of values for each of its {X.shape[0]:,} rows, both of "
            "one length. Put it together anew: scipy.sparse.lil_matrix(table)."
        )


def _refuse_stray_diagonals(X: Any) -> None:
    """Refuse diagonals so far off that scipy's sums with their places, often of 32 bits, would wrap around."""
    longest = max(X.shape)
    most = (1 << 31) - 1 - longest if longest < 1 << 31 else 1 << 62
    if len(X.offsets) and (X.offsets.min() < -most or X.offsets.max() > most):
        raise FeatureError(
            f"a DIA matrix must have diagonals within its shape, {X.shape}, or near it; got some from "
            f"{X.offsets.min()} to {X.offsets.max()}. Put it together anew: scipy.sparse.dia_matrix(table)."
        )


def _refuse_stray_rows(X: Any, n_rows: int) -> None:
    """Refuse rows, or the columns of a CSC matrix, that begin or end outside of what is stored."""
    indptr, n_stored = X.indptr, min(len(X.data), len(X.indices))
    # Neighbours are compared: their difference would wrap around where one is near the largest number.
    risen = len(indptr) == n_rows + 1 and indptr[0] == 0 and not (indptr[1:] < indptr[:-1]).any()
    # Blocks behind the last row: scipy leaves them out of some conversions, and fails in others.
    ends = risen and (indptr[-1] == n_stored if X.format == "bsr" else indptr[-1] <= n_stored)
    if not ends or len(X.data) != len(X.indices):
        raise FeatureError(
            f"a {X.format.upper()} matrix must have data and indices of one length, and an indptr of {n_rows + 1:,} "
            f"numbers that rise from 0 to the number of entries, here {n_stored:,} (data has {len(X.data):,}, "
            f"indices {len(X.indices):,}); got {len(indptr):,} from {indptr.min(initial=0):,} to "
            f"{indptr.max(initial=0):,}. Put it together anew: scipy.sparse.csr_matrix((data, (row, column)))."
        )


def _refuse_stray_indices(X: Any, indices: NDArray[Any], end: int, axis: str) -> None:
    """Refuse entries where the shape has no place."""
    # Seen as unsigned, one below zero is the largest of all: one pass.
    if len(indices) and indices.view(f"u{indices.itemsize}").max() >= end:
        raise FeatureError(
            f"a {X.format.upper()} matrix must have {axis} indices from 0 to {end - 1}, as its shape is {X.shape}; got "
            f"some from {indices.min()} to {indices.max()}. Put it together with its true shape."
        )
