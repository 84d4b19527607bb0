"""Walking a tree of linear contests: numba only, loaded when the first decision is taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import kernel, kernel_reordering_sums
from offsettree.compiled._kernels_rows import load

__all__ = ["choose_csr", "choose_rows", "dot", "dot_sparse"]

BLOCK = 64  # rows that take turns


@kernel_reordering_sums
def dot(weights: Any, at: Any, row: Any) -> Any:
    """Add up in the order that suits the machine."""
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


@kernel_reordering_sums
def choose_rows(weights: Any, bias: Any, left: Any, right: Any, root: Any, values: Any, out: Any, refused: Any) -> Any:
    """Walk every row of a table given as one long array of `values`; see `_kernels_graph.choose_rows`.

    The rows of a block take one step each, then the next: weights come from memory while others are multiplied.
    """
    width = values.shape[0] // out.shape[0]
    rows = np.empty((min(BLOCK, out.shape[0]), width), np.float64)
    flat = rows.reshape(-1)
    found = 0
    for first in range(0, out.shape[0], BLOCK):
        n_rows = min(BLOCK, out.shape[0] - first)
        found |= load(values, first * width, (first + n_rows) * width, flat)
        if found & refused:
            return found
        here = out[first : first + n_rows]
        here[:] = root
        n_walking = n_rows if root >= 0 else 0
        while n_walking > 0:
            n_walking = 0
            for i in range(n_rows):
                at = here[i]
                if at >= 0:
                    margin = 0.0
                    for j in range(width):
                        margin += weights[at, j] * rows[i, j]
                    at = left[at] if margin + bias[at] > 0 else right[at]
                    here[i] = at
                    n_walking += at >= 0
        for i in range(n_rows):
            here[i] = ~here[i]
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
