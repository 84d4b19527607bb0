"""Kernels of online reward regression: a linear reward model per action, the largest is chosen. See `_layout`.

Rewards are scaled to [-1, 1]. A model predicts `starts` plus its linear part; `starts` is the mean reward when the
action was first seen, NaN before.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from offsettree._jit import kernel, part
from offsettree.online._kernels_explore import explore, propensity_of, reward_of
from offsettree.online._kernels_lists import fold, has_zeros, list_margin, table_margin
from offsettree.online._kernels_rates import adapt, add_directions
from offsettree.online._kernels_rows import (
    add_row,
    is_plain_row,
    learning_buffers,
    product,
    read_row,
    read_to_choose,
    square,
)

__all__ = [
    "choose_from_table",
    "choose_one",
    "choose_rows",
    "choose_within",
    "fold",
    "learn_one",
    "learn_rows",
    "run",
    "score_rows",
]

N_ROWS, SQUARES, REWARDS = 0, 1, 2  # places in `totals`


@kernel
def learn_rows(
    layout: Any,
    weights: Any,
    scales: Any,
    starts: Any,
    totals: Any,
    rate: Any,
    size: Any,
    keys: Any,
    data: Any,
    indices: Any,
    indptr: Any,
    action: Any,
    reward: Any,
    propensity: Any,
) -> Any:
    """Learn from rows in their order."""
    values, squares, directions, square_sums = learning_buffers(size)
    for i in range(action.shape[0]):
        n = read_row(layout, scales, scales, data, indices, indptr, i, values, keys)
        learn_row(
            layout, weights, scales, starts, totals, rate,
            values, squares, keys, directions, square_sums, n, action[i], reward[i],
        )  # fmt: skip


@kernel
def learn_one(
    layout: Any,
    weights: Any,
    scales: Any,
    starts: Any,
    totals: Any,
    rate: Any,
    size: Any,
    keys: Any,
    data: Any,
    indices: Any,
    indptr: Any,
    action: Any,
    reward: Any,
    propensity: Any,
) -> Any:
    """Learn from one row if it needs no further checks; return whether it was learned from."""
    if not is_plain_row(layout, data, indices, indptr):
        return False
    values, squares, directions, square_sums = learning_buffers(size)
    n = read_row(layout, scales, scales, data, indices, indptr, 0, values, keys)
    learn_row(
        layout, weights, scales, starts, totals, rate,
        values, squares, keys, directions, square_sums, n, action, reward,
    )  # fmt: skip
    return True


@kernel
def choose_rows(
    layout: Any,
    weights: Any,
    scales: Any,
    starts: Any,
    totals: Any,
    size: Any,
    keys: Any,
    data: Any,
    indices: Any,
    indptr: Any,
    out: Any,
) -> Any:
    """Choose for each row."""
    values, entry_scales = np.zeros(size, np.float32), np.empty(size, np.float32)
    for i in range(out.shape[0]):
        n = read_to_choose(layout, scales, data, indices, indptr, i, values, entry_scales, keys)
        out[i] = choose_row(layout, weights, starts, totals, values, entry_scales, keys, n)


@kernel
def choose_within(
    layout: Any,
    weights: Any,
    scales: Any,
    starts: Any,
    totals: Any,
    size: Any,
    keys: Any,
    data: Any,
    indices: Any,
    indptr: Any,
    mask: Any,
    out: Any,
) -> Any:
    """Choose for each row among the actions that its mask allows."""
    values, entry_scales = np.zeros(size, np.float32), np.empty(size, np.float32)
    mean = _mean(totals)
    for i in range(out.shape[0]):
        n = read_to_choose(layout, scales, data, indices, indptr, i, values, entry_scales, keys)
        best, largest = -1, -np.inf
        for model in range(starts.shape[0]):
            if mask[i, model]:
                score = _score(layout, weights, starts, mean, model, values, entry_scales, keys, n)
                if best < 0 or score > largest:
                    best, largest = model, score
        out[i] = best


@kernel
def choose_from_table(
    layout: Any,
    weights: Any,
    scales: Any,
    starts: Any,
    totals: Any,
    table: Any,
    size: Any,
    keys: Any,
    data: Any,
    indices: Any,
    indptr: Any,
    out: Any,
) -> Any:
    """Choose for each row of a CSR matrix by the table of weights times scales from `fold`."""
    values, entry_scales = np.zeros(size, np.float32), np.empty(size, np.float32)
    mean = _mean(totals)
    for row in range(out.shape[0]):
        begin = np.uint64(indptr[row])
        n = np.uint64(indptr[row + 1]) - begin
        if has_zeros(data, begin, n):
            n_listed = read_to_choose(layout, scales, data, indices, indptr, row, values, entry_scales, keys)
            out[row] = choose_row(layout, weights, starts, totals, values, entry_scales, keys, n_listed)
        else:
            best, largest = 0, -np.inf
            for model in range(starts.shape[0]):
                score = mean
                if not math.isnan(starts[model]):
                    score = starts[model] + np.float64(
                        table_margin(layout, table, np.uint64(model), data, indices, begin, n)
                    )
                if score > largest:
                    best, largest = model, score
            out[row] = best


@kernel
def score_rows(
    layout: Any,
    weights: Any,
    scales: Any,
    starts: Any,
    totals: Any,
    size: Any,
    keys: Any,
    data: Any,
    indices: Any,
    indptr: Any,
    out: Any,
) -> Any:
    """Write the predicted reward of each action in each row, on the scale of [-1, 1]."""
    values, entry_scales = np.zeros(size, np.float32), np.empty(size, np.float32)
    mean = _mean(totals)
    for i in range(out.shape[0]):
        n = read_to_choose(layout, scales, data, indices, indptr, i, values, entry_scales, keys)
        for model in range(starts.shape[0]):
            out[i, model] = _score(layout, weights, starts, mean, model, values, entry_scales, keys, n)


@kernel
def choose_one(
    layout: Any,
    weights: Any,
    scales: Any,
    starts: Any,
    totals: Any,
    size: Any,
    keys: Any,
    data: Any,
    indices: Any,
    indptr: Any,
) -> Any:
    """Choose for one row; -1 if it needs further checks."""
    if not is_plain_row(layout, data, indices, indptr):
        return -1
    values, entry_scales = np.zeros(size, np.float32), np.empty(size, np.float32)
    n = read_to_choose(layout, scales, data, indices, indptr, 0, values, entry_scales, keys)
    return choose_row(layout, weights, starts, totals, values, entry_scales, keys, n)


@kernel
def run(
    layout: Any,
    weights: Any,
    scales: Any,
    starts: Any,
    totals: Any,
    learning_rate: Any,
    size: Any,
    keys: Any,
    data: Any,
    indices: Any,
    indptr: Any,
    label: Any,
    rewards: Any,
    rate: Any,
    draws: Any,
    chosen: Any,
    reward: Any,
    propensity: Any,
) -> Any:
    """For each row in turn: choose, explore, look up the reward, learn."""
    values, squares, directions, square_sums = learning_buffers(size)
    n_actions = starts.shape[0]
    for i in range(chosen.shape[0]):
        n = read_to_choose(layout, scales, data, indices, indptr, i, values, directions, keys)
        greedy = choose_row(layout, weights, starts, totals, values, directions, keys, n)
        action = explore(greedy, n_actions, rate[i], draws[i, 0], draws[i, 1])
        chosen[i], propensity[i] = action, propensity_of(action, greedy, n_actions, rate[i])
        reward[i] = reward_of(label, rewards, i, action)
        n = read_row(layout, scales, scales, data, indices, indptr, i, values, keys)
        learn_row(
            layout, weights, scales, starts, totals, learning_rate,
            values, squares, keys, directions, square_sums, n, action, reward[i],
        )  # fmt: skip


@part
def _mean(totals: Any) -> Any:
    """Return the mean reward so far, in [-1, 1]; 0 before the first."""
    return 2 * totals[REWARDS] / totals[N_ROWS] - 1 if totals[N_ROWS] > 0 else 0.0


@part
def _score(
    layout: Any, weights: Any, starts: Any, mean: Any, model: Any, values: Any, entry_scales: Any, keys: Any, n: Any
) -> Any:
    start = starts[model]
    if math.isnan(start):
        return mean
    if keys is None:
        return start + np.float64(product(layout, weights, model, values, None, n))
    return start + np.float64(list_margin(layout, weights, model, values, entry_scales, keys, n))


@part
def choose_row(
    layout: Any, weights: Any, starts: Any, totals: Any, values: Any, entry_scales: Any, keys: Any, n: Any
) -> Any:
    """Return the action of the largest predicted reward, the first of equals."""
    mean = _mean(totals)
    best, largest = 0, -np.inf
    for model in range(starts.shape[0]):
        score = _score(layout, weights, starts, mean, model, values, entry_scales, keys, n)
        if score > largest:
            best, largest = model, score
    return best


@part
def learn_row(
    layout: Any,
    weights: Any,
    scales: Any,
    starts: Any,
    totals: Any,
    rate: Any,
    values: Any,
    squares: Any,
    keys: Any,
    directions: Any,
    square_sums: Any,
    n: Any,
    action: Any,
    reward: Any,
) -> Any:
    """Move the action's prediction towards the reward, as many small gradient steps would, and never beyond."""
    if math.isnan(starts[action]):
        starts[action] = _mean(totals)
    length = np.float64(square(values, n, squares))
    totals[N_ROWS] += 1
    totals[SQUARES] += length
    totals[REWARDS] += reward
    margin = starts[action] + np.float64(product(layout, weights, action, values, keys, n))
    error = (2 * reward - 1) - margin
    if scales is None:
        if length > 0:
            stride = np.float32(error * -math.expm1(-rate[0] * length) / length)
            add_row(layout, weights, action, values, keys, n, stride)
    else:
        # The change of a prediction should not depend on the number of features.
        rate_of_row = rate[0] * math.sqrt(totals[N_ROWS] / totals[SQUARES])
        power = np.float32(error * error)
        gain = rate_of_row * adapt(layout, weights, action, values, squares, keys, directions, square_sums, n, power)
        stride = np.float32(0)
        if gain > 0:
            stride = np.float32(error * -math.expm1(-gain) / gain * rate_of_row)
        add_directions(layout, weights, action, squares, keys, directions, square_sums, n, stride, power)
