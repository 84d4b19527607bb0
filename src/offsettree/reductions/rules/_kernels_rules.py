"""Kernels of the exact search for the best tree of one or two levels over binned columns.

`codes` has shape (n_columns, n_rows): the bin of every row. `score` has a row per row of the log: the score of every
action and a 1 at the end, so that sums of scores also count rows. A split of a numeric column at `cut` sends bins of at
most `cut` left, and missing values right (`missing_left` 0) or left (1). A split of a nominal column sends the bin
`cut`, which may be that of missing values, left and all others right. `limits` are the smallest number of rows in a
leaf and the cost of a split: tiny, so that of trees of equal value the smaller one is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import kernel, part
from offsettree.learners._kernels_counts import MISSING, N_BINS


@part
def _largest(total: Any) -> Any:
    """Return the largest sum of any action: the value of the rows without a split."""
    best = total[0]
    for action in range(1, total.shape[0] - 1):
        best = max(best, total[action])
    return best


@part
def _split_value(total: Any, left: Any, least: Any) -> Any:
    """Return the value of rows in two parts, each with its own best action; -infinity if a part is too small."""
    n_actions = total.shape[0] - 1
    if left[n_actions] < least or total[n_actions] - left[n_actions] < least:
        return -np.inf
    best_left, best_right = left[0], total[0] - left[0]
    for action in range(1, n_actions):
        best_left = max(best_left, left[action])
        best_right = max(best_right, total[action] - left[action])
    return best_left + best_right


@kernel
def _best_split(sums: Any, n_bins: Any, is_category: Any, limits: Any, buffers: Any) -> Any:
    """Return value, cut and missing_left of the best split of a column, from the sums of its bins; cut -1 is none."""
    least, cost = limits
    left, with_missing, total = buffers
    width = sums.shape[1]
    has_missing = sums[MISSING, width - 1] > 0
    for j in range(width):
        total[j] = sums[MISSING, j]
        left[j] = 0.0
    for code in range(n_bins):
        for j in range(width):
            total[j] += sums[code, j]
    best, best_cut, best_missing_left = _largest(total), -1, 0
    if is_category:
        for code in range(n_bins + 1):
            cut = code if code < n_bins else MISSING
            value = _split_value(total, sums[cut], least) - cost
            if value > best:
                best, best_cut, best_missing_left = value, cut, 0
        return best, best_cut, best_missing_left
    for cut in range(n_bins):
        for j in range(width):
            left[j] += sums[cut, j]
        value = _split_value(total, left, least) - cost
        if value > best:
            best, best_cut, best_missing_left = value, cut, 0
        if has_missing and cut < n_bins - 1:
            for j in range(width):
                with_missing[j] = left[j] + sums[MISSING, j]
            value = _split_value(total, with_missing, least) - cost
            if value > best:
                best, best_cut, best_missing_left = value, cut, 1
    return best, best_cut, best_missing_left


@kernel
def best_splits(codes: Any, score: Any, n_bins: Any, is_category: Any, limits: Any, value: Any, split: Any) -> None:
    """Write the value of the best single split of every column, and its cut and missing_left."""
    width = score.shape[1]
    buffers = np.empty(width), np.empty(width), np.empty(width)
    for column in range(codes.shape[0]):
        sums = np.zeros((N_BINS, width))
        for row in range(score.shape[0]):
            code = codes[column, row]
            for j in range(width):
                sums[code, j] += score[row, j]
        found = _best_split(sums, n_bins[column], is_category[column], limits, buffers)
        value[column] = found[0]
        split[column, 0], split[column, 1] = found[1], found[2]


@kernel
def _consider(root: Any, left_sums: Any, all_sums: Any, second: Any, limits: Any, buffers: Any, best: Any) -> None:
    """Try the best splits of one column on both sides of a root split, and keep those better than earlier columns'.

    `second` is the column, its number of bins, and whether it is nominal.
    """
    values, below = best
    right_sums, vectors = buffers
    column, n_bins, is_category = second
    width = left_sums.shape[1]
    n_left, n_all = 0.0, 0.0
    for code in range(N_BINS):
        n_left += left_sums[code, width - 1]
        n_all += all_sums[code, width - 1]
    if n_left < limits[0] or n_all - n_left < limits[0]:
        return
    for code in range(N_BINS):
        for j in range(width):
            right_sums[code, j] = all_sums[code, j] - left_sums[code, j]
    for side in range(2):
        sums = left_sums if side == 0 else right_sums
        value, cut, missing_left = _best_split(sums, n_bins, is_category, limits, vectors)
        if value > values[root, side]:
            values[root, side] = value
            below[root, side, 0], below[root, side, 1], below[root, side, 2] = column, cut, missing_left


@kernel
def _joint_sums(own: Any, other: Any, score: Any, joint: Any) -> None:
    """Write the sums of scores for all pairs of bins of two columns."""
    width = score.shape[1]
    for code in range(N_BINS):
        for second in range(N_BINS):
            for j in range(width):
                joint[code, second, j] = 0.0
    for row in range(score.shape[0]):
        for j in range(width):
            joint[own[row], other[row], j] += score[row, j]


@kernel
def _add_scaled(one: Any, factor: Any, other: Any, out: Any) -> None:
    """Write `one` plus `factor` times `other`."""
    for code in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[code, j] = one[code, j] + factor * other[code, j]


@kernel
def best_pairs(
    first: Any,
    codes: Any,
    score: Any,
    n_bins: Any,
    is_category: Any,
    has_missing: Any,
    limits: Any,
    values: Any,
    below: Any,
) -> None:
    """Write, for every split of the column `first`, the values of its two sides, each with its best further split.

    Split s has the cut s // 2 and missing_left s % 2. The values of its sides are ``values[s]``, which must be
    -infinity at first; ``below[s]`` are the column, cut and missing_left of their splits, with a cut of -1 for none.
    """
    width = score.shape[1]
    joint = np.empty((N_BINS, N_BINS, width))
    all_sums, left_sums, with_missing = np.empty((N_BINS, width)), np.empty((N_BINS, width)), np.empty((N_BINS, width))
    buffers = np.empty((N_BINS, width)), (np.empty(width), np.empty(width), np.empty(width))
    best = values, below
    for column in range(codes.shape[0]):
        _joint_sums(codes[first], codes[column], score, joint)
        _add_scaled(joint[MISSING], 0.0, joint[MISSING], all_sums)
        for code in range(n_bins[first]):
            _add_scaled(all_sums, 1.0, joint[code], all_sums)
        second = column, n_bins[column], is_category[column]
        if is_category[first]:
            for code in range(n_bins[first] + 1):
                cut = code if code < n_bins[first] else MISSING
                _consider(2 * cut, joint[cut], all_sums, second, limits, buffers, best)
            continue
        _add_scaled(joint[MISSING], -1.0, joint[MISSING], left_sums)
        for cut in range(n_bins[first]):
            _add_scaled(left_sums, 1.0, joint[cut], left_sums)
            _consider(2 * cut, left_sums, all_sums, second, limits, buffers, best)
            if has_missing[first] and cut < n_bins[first] - 1:
                _add_scaled(left_sums, 1.0, joint[MISSING], with_missing)
                _consider(2 * cut + 1, with_missing, all_sums, second, limits, buffers, best)
