"""Kernels of the online offset tree.

A contest is the linear classifier at a node, which decides between the node's left and right side.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from offsettree._jit import kernel, part
from offsettree.online._kernels_explore import explore, propensity_of, reward_of
from offsettree.online._kernels_lists import fold, has_zeros, list_margin, table_margin
from offsettree.online._kernels_losses import drawn_weight, relative_weight, slope, step
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

__all__ = ["choose_from_table", "choose_one", "choose_rows", "choose_within", "fold", "learn_one", "learn_rows", "run"]

# Indices into `settings`, into `totals`, and of the rows of `links`.
LOSS, RATE, OFFSET, REALIZABLE, COSTING, SEED = 0, 1, 2, 3, 4, 5
N_ROWS, SQUARES, REWARDS = 0, 1, 2
LEFT, RIGHT, PARENT, LEAF_PARENT = 0, 1, 2, 3

N_INTERLEAVED = 8
ROUNDING = 1e-12  # a reward this near to the offset equals it but for rounding errors of scaling


@kernel
def learn_rows(
    layout: Any,
    weights: Any,
    scales: Any,
    contests: Any,
    totals: Any,
    links: Any,
    settings: Any,
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
            layout, weights, scales, contests, totals, links, settings,
            values, squares, keys, directions, square_sums, n, action[i], reward[i], propensity[i],
        )  # fmt: skip


@kernel
def learn_one(
    layout: Any,
    weights: Any,
    scales: Any,
    contests: Any,
    totals: Any,
    links: Any,
    settings: Any,
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
        layout, weights, scales, contests, totals, links, settings,
        values, squares, keys, directions, square_sums, n, action, reward, propensity,
    )  # fmt: skip
    return True


@kernel
def choose_rows(
    layout: Any,
    weights: Any,
    scales: Any,
    links: Any,
    size: Any,
    keys: Any,
    data: Any,
    indices: Any,
    indptr: Any,
    out: Any,
) -> Any:
    """Choose for each row."""
    if keys is None:
        several = np.zeros((N_INTERLEAVED, size), np.float32)
        for first in range(0, out.shape[0], N_INTERLEAVED):
            _choose_interleaved(layout, weights, scales, links, data, indices, indptr, first, several, out)
    else:
        values, entry_scales = np.zeros(size, np.float32), np.empty(size, np.float32)
        for i in range(out.shape[0]):
            n = read_to_choose(layout, scales, data, indices, indptr, i, values, entry_scales, keys)
            out[i] = choose_row(layout, weights, links, values, entry_scales, keys, n)


@kernel
def choose_within(
    layout: Any,
    weights: Any,
    scales: Any,
    links: Any,
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
    available_below = np.empty(links.shape[1], np.bool_)
    for i in range(out.shape[0]):
        _mark_available(links, mask, i, available_below)
        n = read_to_choose(layout, scales, data, indices, indptr, i, values, entry_scales, keys)
        node = np.int64(0)
        while node >= 0:
            left, right = links[LEFT, node], links[RIGHT, node]
            if not _is_available(left, mask, i, available_below):
                node = right
            elif not _is_available(right, mask, i, available_below):
                node = left
            else:
                node = left if _margin(layout, weights, node, values, entry_scales, keys, n) > 0 else right
        out[i] = ~node


@kernel
def choose_from_table(
    layout: Any,
    weights: Any,
    scales: Any,
    links: Any,
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
    for row in range(out.shape[0]):
        begin = np.uint64(indptr[row])
        n = np.uint64(indptr[row + 1]) - begin
        if has_zeros(data, begin, n):
            n_listed = read_to_choose(layout, scales, data, indices, indptr, row, values, entry_scales, keys)
            out[row] = choose_row(layout, weights, links, values, entry_scales, keys, n_listed)
        else:
            node = np.int64(0)
            while node >= 0:
                margin = table_margin(layout, table, np.uint64(node), data, indices, begin, n)
                node = links[LEFT if margin > 0 else RIGHT, node]
            out[row] = ~node


@kernel
def choose_one(
    layout: Any,
    weights: Any,
    scales: Any,
    links: Any,
    size: Any,
    keys: Any,
    data: Any,
    indices: Any,
    indptr: Any,
) -> Any:
    """Choose for one row; -1 if it needs further checks."""
    if not is_plain_row(layout, data, indices, indptr):
        return -1
    values = np.zeros(size, np.float32)
    entry_scales = values if keys is None else np.empty(size, np.float32)
    n = read_to_choose(layout, scales, data, indices, indptr, 0, values, entry_scales, keys)
    return choose_row(layout, weights, links, values, entry_scales, keys, n)


@kernel
def run(
    layout: Any,
    weights: Any,
    scales: Any,
    contests: Any,
    totals: Any,
    links: Any,
    settings: Any,
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
    n_actions = links.shape[1]
    for i in range(chosen.shape[0]):
        n = read_to_choose(layout, scales, data, indices, indptr, i, values, directions, keys)
        greedy = choose_row(layout, weights, links, values, directions, keys, n)
        action = explore(greedy, n_actions, rate[i], draws[i, 0], draws[i, 1])
        chosen[i], propensity[i] = action, propensity_of(action, greedy, n_actions, rate[i])
        reward[i] = reward_of(label, rewards, i, action)
        n = read_row(layout, scales, scales, data, indices, indptr, i, values, keys)
        learn_row(
            layout, weights, scales, contests, totals, links, settings,
            values, squares, keys, directions, square_sums, n, action, reward[i], propensity[i],
        )  # fmt: skip


@part
def _choose_interleaved(
    layout: Any, weights: Any, scales: Any, links: Any, data: Any, indices: Any, indptr: Any, first: Any, values: Any,
    out: Any,
) -> Any:  # fmt: skip
    """Walk down the tree with several rows interleaved, so that the processor computes their margins in parallel."""
    last = min(first + N_INTERLEAVED, out.shape[0])
    n = 0
    for i in range(first, last):
        n = read_row(layout, scales, None, data, indices, indptr, i, values[i - first], None)
        out[i] = 0
    n_active = last - first
    while n_active > 0:
        n_active = 0
        for i in range(first, last):
            node = out[i]
            if node >= 0:
                margin = product(layout, weights, node, values[i - first], None, n)
                node = links[LEFT if margin > 0 else RIGHT, node]
                out[i] = node
                n_active += node >= 0
    for i in range(first, last):
        out[i] = ~out[i]


@part
def choose_row(layout: Any, weights: Any, links: Any, values: Any, entry_scales: Any, keys: Any, n: Any) -> Any:
    """Walk down from the root."""
    node = 0
    while node >= 0:
        margin = _margin(layout, weights, node, values, entry_scales, keys, n)
        node = links[LEFT if margin > 0 else RIGHT, node]
    return ~node


@part
def _margin(layout: Any, weights: Any, node: Any, values: Any, entry_scales: Any, keys: Any, n: Any) -> Any:
    if keys is None:
        return product(layout, weights, node, values, None, n)
    return list_margin(layout, weights, node, values, entry_scales, keys, n)


@part
def _mark_available(links: Any, mask: Any, row: Any, available_below: Any) -> Any:
    """Mark the nodes with an available action below; children are numbered after their parents."""
    for node in range(links.shape[1] - 2, -1, -1):
        available_below[node] = _is_available(links[LEFT, node], mask, row, available_below) or _is_available(
            links[RIGHT, node], mask, row, available_below
        )


@part
def _is_available(child: Any, mask: Any, row: Any, available_below: Any) -> Any:
    return available_below[child] if child >= 0 else mask[row, ~child]


@part
def learn_row(
    layout: Any,
    weights: Any,
    scales: Any,
    contests: Any,
    totals: Any,
    links: Any,
    settings: Any,
    values: Any,
    squares: Any,
    keys: Any,
    directions: Any,
    square_sums: Any,
    n: Any,
    action: Any,
    reward: Any,
    propensity: Any,
) -> Any:
    """Walk up from the action's leaf, as long as each contest chose the action before it learned from the row.

    The reward must not decide whether a row goes on: asked after learning, contests would let rows of high reward pass
    and stop rows of low reward, and the contests above would see mostly high rewards of both sides.
    """
    length = np.float64(square(values, n, squares))
    totals[N_ROWS] += 1
    totals[SQUARES] += length
    totals[REWARDS] += reward
    offset = settings[OFFSET]
    if math.isnan(offset):
        offset = totals[REWARDS] / totals[N_ROWS]
    importance = abs(reward - offset)
    if importance <= ROUNDING:
        return  # weight 0 in all contests
    if settings[REALIZABLE] == 0:
        importance /= propensity
    loss, rate = settings[LOSS], settings[RATE]
    draws = settings.shape[0] > COSTING and settings[COSTING] == 1  # models of former versions have fewer settings
    if scales is not None:
        # The change of a margin should not depend on the number of features.
        rate *= math.sqrt(totals[N_ROWS] / totals[SQUARES])
    child, node = ~np.int64(action), links[LEAF_PARENT, action]
    while node >= 0:
        margin = np.float64(product(layout, weights, node, values, keys, n))
        from_left = links[LEFT, node] == child
        passed = (margin > 0) == from_left
        # +1 is a vote for the left side.
        vote = 1.0 if from_left == (reward > offset) else -1.0
        if draws:
            weight = drawn_weight(contests, node, importance, settings[SEED], totals[N_ROWS])
        else:
            weight = relative_weight(contests, node, importance)
        derivative = slope(loss, vote * margin)
        if derivative > 0 and weight > 0:
            if scales is None:
                gain = rate * length
                if gain > 0:
                    stride = np.float32(vote * step(loss, vote * margin, weight, gain) * rate)
                    add_row(layout, weights, node, values, keys, n, stride)
            else:
                power = np.float32(weight * derivative * derivative)
                gain = rate * adapt(layout, weights, node, values, squares, keys, directions, square_sums, n, power)
                stride = np.float32(0)
                if gain > 0:
                    stride = np.float32(vote * step(loss, vote * margin, weight, gain) * rate)
                add_directions(layout, weights, node, squares, keys, directions, square_sums, n, stride, power)
        if not passed:
            break
        child, node = node, links[PARENT, node]
