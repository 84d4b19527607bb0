"""Compiled: the way through a tree of histogram trees, past the contests in which a row has no choice."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import kernel
from offsettree.learners._kernels_scores import centre_row, weigh


@kernel
def choose_within(nodes: Any, contests: Any, X: Any, mask: Any, out: Any) -> None:
    """Write the position of the action of every row, of those that its mask leaves."""
    left, right, leaves, begin, middle, end = nodes
    n_before = np.zeros(leaves.shape[0] + 1, np.int32)  # actions available at the leaves before each
    n_columns = X.shape[1]
    scores = contests[-1]
    centred = np.zeros(n_columns, np.float32)
    for i in range(X.shape[0]):
        if scores.shape[0] > 0:
            centre_row(X[i], scores[:n_columns], centred)
        for place in range(leaves.shape[0]):
            n_before[place + 1] = n_before[place] + mask[i, leaves[place]]
        node = 0
        while node >= 0:
            goes_left = n_before[middle[node]] > n_before[begin[node]]
            if goes_left and n_before[end[node]] > n_before[middle[node]]:
                goes_left = left_wins(contests, node, X, i, centred)
            node = left[node] if goes_left else right[node]
        out[i] = ~node


@kernel
def left_wins(contests: Any, node: int, X: Any, i: int, centred: Any) -> bool:
    """Ask the histogram tree of a contest, as `find_leaves` does."""
    start, feature, threshold, left, right, missing_left, category_set, sets, answer, scores = contests
    first = start[node]
    t = first
    while feature[t] >= 0:
        if feature[t] < X.shape[1]:
            x = np.float32(X[i, feature[t]])
        else:
            x = weigh(scores, (node + 1) * X.shape[1], centred, 0, X.shape[1])
        goes_left = missing_left[t]
        if category_set[t] >= 0:
            if x >= 0 and x < 256:
                code = np.int64(x)
                goes_left = (sets[category_set[t], code >> 5] >> np.uint32(code & 31)) & np.uint32(1) == 1
        elif not np.isnan(x):
            goes_left = x <= threshold[t]
        t = first + (left[t] if goes_left else right[t])
    return bool(answer[t])
