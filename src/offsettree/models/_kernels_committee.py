"""Walking a tree of committees: numba only, loaded when the first decision is taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import kernel
from offsettree.learners._kernels_scores import dot
from offsettree.models._kernels_graph import walk
from offsettree.models._kernels_rows import load
from offsettree.models.layout import BY_LEAF, BY_MARGIN, BY_SPLITS

__all__ = ["choose_csr", "choose_rows"]


NO_SCORES = np.empty((0, 0), np.float32)
NOT_CENTRED = np.empty(0, np.float32)


@kernel
def _sends_left(
    contest: Any, asked: Any, parts: Any, members: Any, splits: Any, margins: Any, row: Any, wide: Any
) -> Any:
    """Hold one contest: sums, quotients and ties as the committee's own `predict` has them."""
    part_start, divisor = asked
    member_start, part_divisor, weight, hard = parts
    kind, place = members
    nodes, flags, sets, shares = splits
    weights, bias = margins
    thresholds = nodes.view(np.float32)
    total_right = 0.0
    total_left = 0.0
    for part in range(part_start[contest], part_start[contest + 1]):
        right = 0.0
        left = 0.0
        for member in range(member_start[part], member_start[part + 1]):
            at = place[member]
            if kind[member] == BY_LEAF:
                right += shares[at, 0]
                left += shares[at, 1]
            elif kind[member] == BY_SPLITS:
                leaf = walk(nodes, thresholds, flags, sets, NO_SCORES, at, row, NOT_CENTRED)
                right += shares[leaf, 0]
                left += shares[leaf, 1]
            else:
                margin = dot(weights, at * wide.shape[0], wide, 0, wide.shape[0]) + bias[at]
                share = np.float64(margin > 0) if kind[member] == BY_MARGIN else 1.0 / (1.0 + np.exp(-margin))
                right += 1.0 - share
                left += share
        right /= part_divisor[part]
        left /= part_divisor[part]
        if hard[part]:
            left = np.float64(left > right)
            right = 1.0 - left
        total_right += weight[part] * right
        total_left += weight[part] * left
    return total_left / divisor[contest] > total_right / divisor[contest]


@kernel
def _walk(way: Any, asked: Any, parts: Any, members: Any, splits: Any, margins: Any, row: Any, wide: Any) -> Any:
    left, right, root = way
    at = root
    while at >= 0:
        at = left[at] if _sends_left(at, asked, parts, members, splits, margins, row, wide) else right[at]
    return ~at


@kernel
def choose_rows(
    way: Any, asked: Any, parts: Any, members: Any, splits: Any, margins: Any, values: Any, out: Any, refused: Any
) -> Any:
    """Walk every row of a table given as one long array of `values`; see `_kernels_graph.choose_rows`."""
    n_features = values.shape[0] // out.shape[0]
    row = np.empty(n_features, np.float32)
    wide = np.empty(n_features, np.float64)
    found = 0
    for i in range(out.shape[0]):
        begin = i * n_features
        found |= load(values, begin, begin + n_features, wide)
        if found & refused:
            return found
        for column in range(n_features):
            row[column] = values[begin + column]
        out[i] = _walk(way, asked, parts, members, splits, margins, row, wide)
    return found


@kernel
def choose_csr(
    way: Any,
    asked: Any,
    parts: Any,
    members: Any,
    splits: Any,
    margins: Any,
    data: Any,
    indices: Any,
    indptr: Any,
    n_features: Any,
    out: Any,
) -> Any:
    """Walk the rows of a CSR matrix, one at a time spread out in scratch rows that are wiped afterwards."""
    row = np.zeros(n_features, np.float32)
    wide = np.zeros(n_features, np.float64)
    for i in range(out.shape[0]):
        for j in range(indptr[i], indptr[i + 1]):
            row[indices[j]] = data[j]
            wide[indices[j]] += data[j]
        out[i] = _walk(way, asked, parts, members, splits, margins, row, wide)
        for j in range(indptr[i], indptr[i + 1]):
            row[indices[j]] = 0
            wide[indices[j]] = 0
    return 0
