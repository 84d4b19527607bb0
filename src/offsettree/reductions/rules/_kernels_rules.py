"""Exact search for the best tree of one or two levels over binned columns: numba only.

`codes` has a row per column of X, with the bin of every row of the log; `score` a row per row of the log, with the
score of every action and a 1 behind them, so that sums of scores count rows as well. A split of numbers at `cut` sends
bins of at most `cut` left, and what is missing either right (`way` 0) or left (`way` 1). A split of categories sends
the bin `cut` left, which may be that of what is missing, and all others right. `limits` are the fewest rows of a leaf,
and what a split costs: next to nothing, so that of trees worth the same the smaller one is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import kernel, part
from offsettree.learners._kernels_counts import MISSING, N_BINS

__all__ = ["best_pairs", "best_splits"]


@part
def _largest(total: Any) -> Any:
    """Return the largest sum of any action: what the rows are worth if they are all treated alike."""
    best = total[0]
    for action in range(1, total.shape[0] - 1):
        best = max(best, total[action])
    return best


@part
def _worth_apart(total: Any, left: Any, least: Any) -> Any:
    """Return what rows are worth in two parts, each with an action of its own; -infinity if a part is too small."""
    n_actions = total.shape[0] - 1
    if left[n_actions] < least or total[n_actions] - left[n_actions] < least:
        return -np.inf
    best_left, best_right = left[0], total[0] - left[0]
    for action in range(1, n_actions):
        best_left = max(best_left, left[action])
        best_right = max(best_right, total[action] - left[action])
    return best_left + best_right


@kernel
def _best_split(sums: Any, n_bins: Any, is_category: Any, limits: Any, room: Any) -> Any:
    """Return the worth, cut and way of the best split of one column, given the sums of its bins; cut -1 for none."""
    least, cost = limits
    left, with_missing, total = room
    width = sums.shape[1]
    has_missing = sums[MISSING, width - 1] > 0
    for j in range(width):
        total[j] = sums[MISSING, j]
        left[j] = 0.0
    for code in range(n_bins):
        for j in range(width):
            total[j] += sums[code, j]
    best, best_cut, best_way = _largest(total), -1, 0
    if is_category:
        for code in range(n_bins + 1):
            cut = code if code < n_bins else MISSING
            worth = _worth_apart(total, sums[cut], least) - cost
            if worth > best:
                best, best_cut, best_way = worth, cut, 0
        return best, best_cut, best_way
    for cut in range(n_bins):
        for j in range(width):
            left[j] += sums[cut, j]
        worth = _worth_apart(total, left, least) - cost
        if worth > best:
            best, best_cut, best_way = worth, cut, 0
        if has_missing and cut < n_bins - 1:
            for j in range(width):
                with_missing[j] = left[j] + sums[MISSING, j]
            worth = _worth_apart(total, with_missing, least) - cost
            if worth > best:
                best, best_cut, best_way = worth, cut, 1
    return best, best_cut, best_way


@kernel
def best_splits(codes: Any, score: Any, n_bins: Any, is_category: Any, limits: Any, worth: Any, split: Any) -> None:
    """Write the worth of the best single split of every column, and its cut and way."""
    width = score.shape[1]
    room = np.empty(width), np.empty(width), np.empty(width)
    for column in range(codes.shape[0]):
        sums = np.zeros((N_BINS, width))
        for row in range(score.shape[0]):
            code = codes[column, row]
            for j in range(width):
                sums[code, j] += score[row, j]
        found = _best_split(sums, n_bins[column], is_category[column], limits, room)
        worth[column] = found[0]
        split[column, 0], split[column, 1] = found[1], found[2]


@kernel
def _consider(root: Any, left_sums: Any, all_sums: Any, second: Any, limits: Any, room: Any, best: Any) -> None:
    """Let one column split both sides of a root split; keep what is better than with the columns before it.

    `second` is the column, how many bins it has, and whether they are categories.
    """
    worths, below = best
    right_sums, vectors = room
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
        worth, cut, way = _best_split(sums, n_bins, is_category, limits, vectors)
        if worth > worths[root, side]:
            worths[root, side] = worth
            below[root, side, 0], below[root, side, 1], below[root, side, 2] = column, cut, way


@kernel
def _add_up(own: Any, other: Any, score: Any, joint: Any) -> None:
    """Write the sums of scores of all pairs of bins of two columns."""
    width = score.shape[1]
    for code in range(N_BINS):
        for second in range(N_BINS):
            for j in range(width):
                joint[code, second, j] = 0.0
    for row in range(score.shape[0]):
        for j in range(width):
            joint[own[row], other[row], j] += score[row, j]


@kernel
def _set_to_sum(one: Any, factor: Any, other: Any, out: Any) -> None:
    """Write one table plus another times a factor."""
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
    worths: Any,
    below: Any,
) -> None:
    """Write for every split of the column `first` the worth of both its sides, each split once more where that pays.

    Split s of a column is that at cut s // 2 and way s % 2. Its sides are worth ``worths[s]``, which start at
    -infinity, by the columns, cuts and ways ``below[s]``; a cut of -1 is none.
    """
    width = score.shape[1]
    joint = np.empty((N_BINS, N_BINS, width))
    all_sums, left_sums, with_missing = np.empty((N_BINS, width)), np.empty((N_BINS, width)), np.empty((N_BINS, width))
    room = np.empty((N_BINS, width)), (np.empty(width), np.empty(width), np.empty(width))
    best = worths, below
    for column in range(codes.shape[0]):
        _add_up(codes[first], codes[column], score, joint)
        _set_to_sum(joint[MISSING], 0.0, joint[MISSING], all_sums)
        for code in range(n_bins[first]):
            _set_to_sum(all_sums, 1.0, joint[code], all_sums)
        second = column, n_bins[column], is_category[column]
        if is_category[first]:
            for code in range(n_bins[first] + 1):
                cut = code if code < n_bins[first] else MISSING
                _consider(2 * cut, joint[cut], all_sums, second, limits, room, best)
            continue
        _set_to_sum(joint[MISSING], -1.0, joint[MISSING], left_sums)
        for cut in range(n_bins[first]):
            _set_to_sum(left_sums, 1.0, joint[cut], left_sums)
            _consider(2 * cut, left_sums, all_sums, second, limits, room, best)
            if has_missing[first] and cut < n_bins[first] - 1:
                _set_to_sum(left_sums, 1.0, joint[MISSING], with_missing)
                _consider(2 * cut + 1, with_missing, all_sums, second, limits, room, best)
