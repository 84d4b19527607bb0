"""Walking a tree of linear contests: numba only, loaded when the first decision is taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree.compiled._jit import kernel, kernel_reordering_sums
from offsettree.compiled._kernels_rows import load

__all__ = ["choose_csr", "choose_rows", "dot", "dot_sparse"]


@kernel_reordering_sums
def dot(weights: Any, at: Any, row: Any) -> Any:
    """Add up in the order that suits the machine: one row alone must go through the same kernel as a batch."""
    total = 0.0
    for i in range(row.shape[0]):
        total += weights[at, i] * row[i]
    return total


@kernel
def dot_sparse(weights: Any, at: Any, data: Any, indices: Any, begin: Any, end: Any) -> Any:
    """Add up over the entries of a sparse row alone."""
    total = 0.0
    for j in range(begin, end):
        total += weights[at, indices[j]] * data[j]
    return total


@kernel
def _walk(weights: Any, bias: Any, left: Any, right: Any, root: Any, row: Any) -> Any:
    at = root
    while at >= 0:
        at = left[at] if dot(weights, at, row) + bias[at] > 0 else right[at]
    return ~at


@kernel
def choose_rows(weights: Any, bias: Any, left: Any, right: Any, root: Any, values: Any, out: Any, refused: Any) -> Any:
    """Walk every row of a table given as one long array of `values`; see `_kernels_graph.choose_rows`."""
    n_features = values.shape[0] // out.shape[0]
    row = np.empty(n_features, np.float64)
    found = 0
    for i in range(out.shape[0]):
        found |= load(values, i * n_features, (i + 1) * n_features, row)
        if found & refused:
            return found
        out[i] = _walk(weights, bias, left, right, root, row)
    return found


@kernel
def choose_csr(
    weights: Any, bias: Any, left: Any, right: Any, root: Any, data: Any, indices: Any, indptr: Any, out: Any
) -> Any:
    """Walk the rows of a CSR matrix."""
    for i in range(out.shape[0]):
        at = root
        while at >= 0:
            margin = dot_sparse(weights, at, data, indices, indptr[i], indptr[i + 1]) + bias[at]
            at = left[at] if margin > 0 else right[at]
        out[i] = ~at
    return 0
