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
from offsettree.online._kernels_lists import has_zeros, table_margin
from offsettree.online._kernels_rates import adapt, add_directions
from offsettree.online._kernels_rows import (
    RowToChoose,
    add_row,
    choosing_buffers,
    is_plain_row,
    learning_buffers,
    margin_of,
    product,
    read_row,
    read_to_choose,
    square,
)
from offsettree.online._layout import KernelRows, RegressionModel
from offsettree.online._layout import RegressionToChoose as ToChoose

N_ROWS, SQUARES, REWARDS = 0, 1, 2  # places in `totals`


@kernel
def learn_rows(model: Any, table: Any, action: Any, reward: Any, propensity: Any) -> Any:
    """Learn from rows in their order."""
    row = learning_buffers(table.size)
    for i in range(action.shape[0]):
        n = read_row(model.layout, model.scales, model.scales, table, i, row.values)
        learn_row(model, row, table.keys, n, action[i], reward[i])


@kernel
def learn_one(action: Any, reward: Any, propensity: Any, *model_and_row: Any) -> Any:
    """Learn from one row if it needs no further checks; return whether it was learned from."""
    model, table = RegressionModel(*model_and_row[:6]), KernelRows(*model_and_row[6:])
    if not is_plain_row(model.layout, table.data, table.indices, table.indptr):
        return False
    row = learning_buffers(table.size)
    n = read_row(model.layout, model.scales, model.scales, table, 0, row.values)
    learn_row(model, row, table.keys, n, action, reward)
    return True


@kernel
def choose_rows(model: Any, table: Any, out: Any) -> Any:
    """Choose for each row."""
    entries = choosing_buffers(table.size, table.keys)
    for i in range(out.shape[0]):
        n = read_to_choose(model, table, i, entries)
        out[i] = choose_row(model, entries, table.keys, n)


@kernel
def choose_within(mask: Any, out: Any, *model_and_rows: Any) -> Any:
    """Choose for each row among the actions that its mask allows."""
    model, table = ToChoose(*model_and_rows[:5]), KernelRows(*model_and_rows[5:])
    entries = choosing_buffers(table.size, table.keys)
    mean = _mean(model.totals)
    for i in range(out.shape[0]):
        n = read_to_choose(model, table, i, entries)
        best, largest = -1, -np.inf
        for action in range(model.starts.shape[0]):
            if mask[i, action]:
                score = _score(model, mean, action, entries, table.keys, n)
                if best < 0 or score > largest:
                    best, largest = action, score
        out[i] = best


@kernel
def choose_from_table(model: Any, folded: Any, table: Any, out: Any) -> Any:
    """Choose for each row of a CSR matrix by the table of weights times scales from `fold`."""
    entries = choosing_buffers(table.size, table.keys)
    starts, data, indices, indptr = model.starts, table.data, table.indices, table.indptr
    mean = _mean(model.totals)
    for row in range(out.shape[0]):
        begin = np.uint64(indptr[row])
        n = np.uint64(indptr[row + 1]) - begin
        if has_zeros(data, begin, n):
            n_listed = read_to_choose(model, table, row, entries)
            out[row] = choose_row(model, entries, table.keys, n_listed)
        else:
            best, largest = 0, -np.inf
            for action in range(starts.shape[0]):
                score = mean
                if not math.isnan(starts[action]):
                    margin = table_margin(model.layout, folded, np.uint64(action), data, indices, begin, n)
                    score = starts[action] + np.float64(margin)
                if score > largest:
                    best, largest = action, score
            out[row] = best


@kernel
def score_rows(model: Any, table: Any, out: Any) -> Any:
    """Write the predicted reward of each action in each row, on the scale of [-1, 1]."""
    entries = choosing_buffers(table.size, table.keys)
    mean = _mean(model.totals)
    for i in range(out.shape[0]):
        n = read_to_choose(model, table, i, entries)
        for action in range(model.starts.shape[0]):
            out[i, action] = _score(model, mean, action, entries, table.keys, n)


@kernel
def choose_one(*model_and_row: Any) -> Any:
    """Choose for one row; -1 if it needs further checks."""
    model, table = ToChoose(*model_and_row[:5]), KernelRows(*model_and_row[5:])
    if not is_plain_row(model.layout, table.data, table.indices, table.indptr):
        return -1
    entries = choosing_buffers(table.size, table.keys)
    n = read_to_choose(model, table, 0, entries)
    return choose_row(model, entries, table.keys, n)


@kernel
def run(
    model: Any, table: Any, label: Any, rewards: Any, rate: Any, draws: Any, chosen: Any, reward: Any, propensity: Any
) -> Any:
    """For each row in turn: choose, explore, look up the reward, learn."""
    row = learning_buffers(table.size)
    entries = RowToChoose(row.values, row.directions)
    n_actions = model.starts.shape[0]
    for i in range(chosen.shape[0]):
        n = read_to_choose(model, table, i, entries)
        greedy = choose_row(model, entries, table.keys, n)
        action = explore(greedy, n_actions, rate[i], draws[i, 0], draws[i, 1])
        chosen[i], propensity[i] = action, propensity_of(action, greedy, n_actions, rate[i])
        reward[i] = reward_of(label, rewards, i, action)
        n = read_row(model.layout, model.scales, model.scales, table, i, row.values)
        learn_row(model, row, table.keys, n, action, reward[i])


@part
def _mean(totals: Any) -> Any:
    """Return the mean reward so far, in [-1, 1]; 0 before the first."""
    return 2 * totals[REWARDS] / totals[N_ROWS] - 1 if totals[N_ROWS] > 0 else 0.0


@part
def _score(model: Any, mean: Any, action: Any, entries: Any, keys: Any, n: Any) -> Any:
    start = model.starts[action]
    if math.isnan(start):
        return mean
    return start + np.float64(margin_of(model, action, entries, keys, n))


@part
def choose_row(model: Any, entries: Any, keys: Any, n: Any) -> Any:
    """Return the action of the largest predicted reward, the first of equals."""
    mean = _mean(model.totals)
    best, largest = 0, -np.inf
    for action in range(model.starts.shape[0]):
        score = _score(model, mean, action, entries, keys, n)
        if score > largest:
            best, largest = action, score
    return best


@part
def learn_row(model: Any, row: Any, keys: Any, n: Any, action: Any, reward: Any) -> Any:
    """Move the action's prediction towards the reward, as many small gradient steps would, and never beyond."""
    layout, weights, starts, totals, rate = model.layout, model.weights, model.starts, model.totals, model.rate
    if math.isnan(starts[action]):
        starts[action] = _mean(totals)
    length = np.float64(square(row.values, n, row.squares))
    totals[N_ROWS] += 1
    totals[SQUARES] += length
    totals[REWARDS] += reward
    margin = starts[action] + np.float64(product(layout, weights, action, row.values, keys, n))
    error = (2 * reward - 1) - margin
    if model.scales is None:
        if length > 0:
            stride = np.float32(error * -math.expm1(-rate[0] * length) / length)
            add_row(layout, weights, action, row.values, keys, n, stride)
    else:
        # The change of a prediction should not depend on the number of features.
        rate_of_row = rate[0] * math.sqrt(totals[N_ROWS] / totals[SQUARES])
        power = np.float32(error * error)
        gain = rate_of_row * adapt(model, action, row, keys, n, power)
        stride = np.float32(0)
        if gain > 0:
            stride = np.float32(error * -math.expm1(-gain) / gain * rate_of_row)
        add_directions(model, action, row, keys, n, stride, power)
