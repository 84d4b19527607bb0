"""Kernels of the online offset tree.

A contest is the linear classifier at a node, which decides between the node's left and right side.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from offsettree._jit import kernel, part
from offsettree.online._kernels_explore import explore, propensity_of, reward_of
from offsettree.online._kernels_lists import has_zeros, table_margin
from offsettree.online._kernels_losses import drawn_weight, relative_weight, slope, step
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
from offsettree.online._layout import KernelRows, TreeModel
from offsettree.online._layout import TreeToChoose as ToChoose

# Indices into `settings`, into `totals`, and of the rows of `links`.
LOSS, RATE, OFFSET, REALIZABLE, COSTING, SEED = 0, 1, 2, 3, 4, 5
N_ROWS, SQUARES, REWARDS = 0, 1, 2
LEFT, RIGHT, PARENT, LEAF_PARENT = 0, 1, 2, 3

N_INTERLEAVED = 8
ROUNDING = 1e-12  # a reward this near to the offset equals it but for rounding errors of scaling


@kernel
def learn_rows(model: Any, table: Any, action: Any, reward: Any, propensity: Any) -> Any:
    """Learn from rows in their order."""
    row = learning_buffers(table.size)
    for i in range(action.shape[0]):
        n = read_row(model.layout, model.scales, model.scales, table, i, row.values)
        learn_row(model, row, table.keys, n, action[i], reward[i], propensity[i])


@kernel
def learn_one(action: Any, reward: Any, propensity: Any, *model_and_row: Any) -> Any:
    """Learn from one row if it needs no further checks; return whether it was learned from."""
    model, table = TreeModel(*model_and_row[:7]), KernelRows(*model_and_row[7:])
    if not is_plain_row(model.layout, table.data, table.indices, table.indptr):
        return False
    row = learning_buffers(table.size)
    n = read_row(model.layout, model.scales, model.scales, table, 0, row.values)
    learn_row(model, row, table.keys, n, action, reward, propensity)
    return True


@kernel
def choose_rows(model: Any, table: Any, out: Any) -> Any:
    """Choose for each row."""
    _choose_all(model, table, table.keys, out)


@kernel
def _choose_all(model: Any, table: Any, keys: Any, out: Any) -> Any:
    if keys is None:
        several = np.zeros((N_INTERLEAVED, table.size), np.float32)
        for first in range(0, out.shape[0], N_INTERLEAVED):
            _choose_interleaved(model, table, first, several, out)
    else:
        entries = choosing_buffers(table.size, table.keys)
        for i in range(out.shape[0]):
            n = read_to_choose(model, table, i, entries)
            out[i] = choose_row(model, entries, keys, n)


@kernel
def choose_within(mask: Any, out: Any, *model_and_rows: Any) -> Any:
    """Choose for each row among the actions that its mask allows."""
    model, table = ToChoose(*model_and_rows[:4]), KernelRows(*model_and_rows[4:])
    entries, links = choosing_buffers(table.size, table.keys), model.links
    available_below = np.empty(links.shape[1], np.bool_)
    for i in range(out.shape[0]):
        _mark_available(links, mask, i, available_below)
        n = read_to_choose(model, table, i, entries)
        node = np.int64(0)
        while node >= 0:
            left, right = links[LEFT, node], links[RIGHT, node]
            if not _is_available(left, mask, i, available_below):
                node = right
            elif not _is_available(right, mask, i, available_below):
                node = left
            else:
                node = left if margin_of(model, node, entries, table.keys, n) > 0 else right
        out[i] = ~node


@kernel
def choose_from_table(model: Any, folded: Any, table: Any, out: Any) -> Any:
    """Choose for each row of a CSR matrix by the table of weights times scales from `fold`."""
    entries, links = choosing_buffers(table.size, table.keys), model.links
    data, indices, indptr = table.data, table.indices, table.indptr
    for row in range(out.shape[0]):
        begin = np.uint64(indptr[row])
        n = np.uint64(indptr[row + 1]) - begin
        if has_zeros(data, begin, n):
            n_listed = read_to_choose(model, table, row, entries)
            out[row] = choose_row(model, entries, table.keys, n_listed)
        else:
            node = np.int64(0)
            while node >= 0:
                margin = table_margin(model.layout, folded, np.uint64(node), data, indices, begin, n)
                node = links[LEFT if margin > 0 else RIGHT, node]
            out[row] = ~node


@kernel
def choose_one(*model_and_row: Any) -> Any:
    """Choose for one row; -1 if it needs further checks."""
    model, table = ToChoose(*model_and_row[:4]), KernelRows(*model_and_row[4:])
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
    n_actions = model.links.shape[1]
    for i in range(chosen.shape[0]):
        n = read_to_choose(model, table, i, entries)
        greedy = choose_row(model, entries, table.keys, n)
        action = explore(greedy, n_actions, rate[i], draws[i, 0], draws[i, 1])
        chosen[i], propensity[i] = action, propensity_of(action, greedy, n_actions, rate[i])
        reward[i] = reward_of(label, rewards, i, action)
        n = read_row(model.layout, model.scales, model.scales, table, i, row.values)
        learn_row(model, row, table.keys, n, action, reward[i], propensity[i])


@part
def _choose_interleaved(model: Any, table: Any, first: Any, values: Any, out: Any) -> Any:
    """Walk down the tree with several rows interleaved, so that the processor computes their margins in parallel."""
    last = min(first + N_INTERLEAVED, out.shape[0])
    n = 0
    for i in range(first, last):
        n = read_row(model.layout, model.scales, None, table, i, values[i - first])
        out[i] = 0
    n_active = last - first
    while n_active > 0:
        n_active = 0
        for i in range(first, last):
            node = out[i]
            if node >= 0:
                margin = product(model.layout, model.weights, node, values[i - first], None, n)
                node = model.links[LEFT if margin > 0 else RIGHT, node]
                out[i] = node
                n_active += node >= 0
    for i in range(first, last):
        out[i] = ~out[i]


@part
def choose_row(model: Any, entries: Any, keys: Any, n: Any) -> Any:
    """Walk down from the root."""
    node = 0
    while node >= 0:
        margin = margin_of(model, node, entries, keys, n)
        node = model.links[LEFT if margin > 0 else RIGHT, node]
    return ~node


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
def learn_row(model: Any, row: Any, keys: Any, n: Any, action: Any, reward: Any, propensity: Any) -> Any:
    """Walk up from the action's leaf, as long as each contest chose the action before it learned from the row.

    The reward must not decide whether a row goes on: asked after learning, contests would let rows of high reward pass
    and stop rows of low reward, and the contests above would see mostly high rewards of both sides.
    """
    layout, weights, contests, totals = model.layout, model.weights, model.contests, model.totals
    links, settings = model.links, model.settings
    length = np.float64(square(row.values, n, row.squares))
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
    if model.scales is not None:
        # The change of a margin should not depend on the number of features.
        rate *= math.sqrt(totals[N_ROWS] / totals[SQUARES])
    child, node = ~np.int64(action), links[LEAF_PARENT, action]
    while node >= 0:
        margin = np.float64(product(layout, weights, node, row.values, keys, n))
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
            if model.scales is None:
                gain = rate * length
                if gain > 0:
                    stride = np.float32(vote * step(loss, vote * margin, weight, gain) * rate)
                    add_row(layout, weights, node, row.values, keys, n, stride)
            else:
                power = np.float32(weight * derivative * derivative)
                gain = rate * adapt(model, node, row, keys, n, power)
                stride = np.float32(0)
                if gain > 0:
                    stride = np.float32(vote * step(loss, vote * margin, weight, gain) * rate)
                add_directions(model, node, row, keys, n, stride, power)
        if not passed:
            break
        child, node = node, links[PARENT, node]
