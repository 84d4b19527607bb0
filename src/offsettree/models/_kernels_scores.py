"""Numbers for every row and action, by linear functions or by sums over decision trees: numba only."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import kernel
from offsettree.learners._kernels_scores import dot

BLOCK = 512


@kernel
def linear_rows(values: Any, n_columns: Any, weights: Any, bias: Any, at_missing: Any, out: Any) -> None:
    """Write the value of every function for every row of a table, given as one long array."""
    row = np.empty(n_columns, np.float64)
    missing = np.empty(n_columns, np.int64)
    for i in range(out.shape[0]):
        n_missing = 0
        for j in range(n_columns):
            x = np.float64(values[i * n_columns + j])
            if at_missing.shape[0] > 0 and x != x:
                missing[n_missing] = j
                n_missing += 1
                x = np.float64(0.0)
            row[j] = x
        for f in range(bias.shape[0]):
            total = dot(weights, f * n_columns, row, 0, n_columns)
            for k in range(n_missing):
                total += at_missing[f * n_columns + missing[k]]
            out[i, f] = total + bias[f]


@kernel
def linear_csr(
    data: Any, indices: Any, indptr: Any, n_columns: Any, weights: Any, bias: Any, at_missing: Any, out: Any
) -> None:
    """Do as `linear_rows`, over the entries of a CSR matrix."""
    for i in range(out.shape[0]):
        for f in range(bias.shape[0]):
            total = 0.0
            for j in range(indptr[i], indptr[i + 1]):
                place = f * n_columns + indices[j]
                x = np.float64(data[j])
                if at_missing.shape[0] > 0 and x != x:
                    total += at_missing[place]
                else:
                    total += weights[place] * x
            out[i, f] = total + bias[f]


@kernel
def _leaf_of(tables: Any, begin: Any, row: Any, which: Any, narrow: Any) -> Any:
    """Walk one tree; columns beyond the row are 0, but for that of `which`."""
    feature, threshold, left, right, missing_left = tables
    n_columns = row.shape[0]
    at = begin
    while feature[at] >= 0:
        if feature[at] < n_columns:
            x = np.float64(np.float32(row[feature[at]])) if narrow else np.float64(row[feature[at]])
        else:
            x = np.float64(feature[at] - n_columns == which)
        goes_left = missing_left[at] if x != x else x <= threshold[at]
        at = begin + (left[at] if goes_left else right[at])
    return at


@kernel
def add_leaf_means(tables: Any, start: Any, data: Any, indices: Any, indptr: Any, X: Any, out: Any) -> None:
    """Add to `out`, in the order of the trees, an equal share of what is known at the leaf where each row ends."""
    n_trees = start.shape[0] - 1
    share = 1 / n_trees
    for i in range(X.shape[0]):
        for tree in range(n_trees):
            leaf = _leaf_of(tables, start[tree], X[i], -1, True)
            for place in range(indptr[leaf], indptr[leaf + 1]):
                out[i, indices[place]] += data[place] * share


@kernel
def sum_trees(
    tables: Any, start: Any, values: Any, value_of: Any, output: Any, which: Any, X: Any, narrow: Any, out: Any
) -> None:
    """Add to `out`, in the order of the trees, the values of the leaf where each row ends.

    Tree t adds to the outputs from ``output[t]`` on; where ``output[t]`` is below zero, to every output, each with the
    indicator column of its own.
    """
    n_values = values.shape[1]
    for first in range(0, X.shape[0], BLOCK):
        last = min(first + BLOCK, X.shape[0])
        for tree in range(start.shape[0] - 1):  # comes from far off, and once for all rows of a block
            for i in range(first, last):
                if output[tree] >= 0:
                    place = value_of[_leaf_of(tables, start[tree], X[i], -1, narrow)]
                    for j in range(n_values):
                        out[i, output[tree] + j] += values[place, j]
                    continue
                for action in range(which.shape[0]):
                    if which[action] >= 0:
                        place = value_of[_leaf_of(tables, start[tree], X[i], which[action], narrow)]
                        out[i, action] += values[place, 0]
