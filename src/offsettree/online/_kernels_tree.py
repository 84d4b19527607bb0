"""Online contests of an offset tree: learning from rows and choosing for them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from offsettree._jit import kernel, part
from offsettree.online._kernels_explore import earned, explore, propensity_of
from offsettree.online._kernels_lists import fold, has_zeros, list_margin, table_margin
from offsettree.online._kernels_losses import relative_weight, slope, step
from offsettree.online._kernels_rates import adapt, add_directions
from offsettree.online._kernels_rows import (
    add_row,
    needs_no_care,
    product,
    read_row,
    read_to_choose,
    room_to_learn,
    square,
)

__all__ = ["choose_from_table", "choose_one", "choose_rows", "choose_within", "fold", "learn_one", "learn_rows", "run"]

# Places in `settings`, then in `totals`, and in the rows of `contests` and `links`.
LOSS, RATE, OFFSET, REALIZABLE = 0, 1, 2, 3
N_ROWS, SQUARES, REWARDS = 0, 1, 2
LEFT, RIGHT, PARENT, LEAF_PARENT = 0, 1, 2, 3

ROWS_IN_TURN = 8
ROUNDING = 1e-12  # a reward this near to the offset is equal to it but for the scaling to [0, 1]


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
    values, squares, directions, gathered = room_to_learn(size)
    for i in range(action.shape[0]):
        n = read_row(layout, scales, scales, data, indices, indptr, i, values, keys)
        learn_row(
            layout, weights, scales, contests, totals, links, settings,
            values, squares, keys, directions, gathered, n, action[i], reward[i], propensity[i],
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
    """Learn from one row, unless it must be looked at more closely; tell whether it was learned from."""
    if not needs_no_care(layout, data, indices, indptr):
        return False
    values, squares, directions, gathered = room_to_learn(size)
    n = read_row(layout, scales, scales, data, indices, indptr, 0, values, keys)
    learn_row(
        layout, weights, scales, contests, totals, links, settings,
        values, squares, keys, directions, gathered, n, action, reward, propensity,
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
        several = np.zeros((ROWS_IN_TURN, size), np.float32)
        for first in range(0, out.shape[0], ROWS_IN_TURN):
            _choose_in_turn(layout, weights, scales, links, data, indices, indptr, first, several, out)
    else:
        values, folds = np.zeros(size, np.float32), np.empty(size, np.float32)
        for i in range(out.shape[0]):
            n = read_to_choose(layout, scales, data, indices, indptr, i, values, folds, keys)
            out[i] = choose_row(layout, weights, links, values, folds, keys, n)


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
    """Choose for each row among the actions that its mask leaves."""
    values, folds = np.zeros(size, np.float32), np.empty(size, np.float32)
    is_open = np.empty(links.shape[1], np.bool_)
    for i in range(out.shape[0]):
        _open_nodes(links, mask, i, is_open)
        n = read_to_choose(layout, scales, data, indices, indptr, i, values, folds, keys)
        node = np.int64(0)
        while node >= 0:
            left, right = links[LEFT, node], links[RIGHT, node]
            if not _leads_on(left, mask, i, is_open):
                node = right
            elif not _leads_on(right, mask, i, is_open):
                node = left
            else:
                node = left if _margin(layout, weights, node, values, folds, keys, n) > 0 else right
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
    """Choose for each row of a CSR matrix by a table of weights times scales, which `fold` has filled."""
    values, folds = np.zeros(size, np.float32), np.empty(size, np.float32)
    for row in range(out.shape[0]):
        begin = np.uint64(indptr[row])
        n = np.uint64(indptr[row + 1]) - begin
        if has_zeros(data, begin, n):
            n_listed = read_to_choose(layout, scales, data, indices, indptr, row, values, folds, keys)
            out[row] = choose_row(layout, weights, links, values, folds, keys, n_listed)
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
    """Choose for one row; -1 where it must be looked at more closely."""
    if not needs_no_care(layout, data, indices, indptr):
        return -1
    values = np.zeros(size, np.float32)
    folds = values if keys is None else np.empty(size, np.float32)
    n = read_to_choose(layout, scales, data, indices, indptr, 0, values, folds, keys)
    return choose_row(layout, weights, links, values, folds, keys, n)


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
    """Choose for a row, explore around it, see the reward, learn; then the next row."""
    values, squares, directions, gathered = room_to_learn(size)
    n_actions = links.shape[1]
    for i in range(chosen.shape[0]):
        n = read_to_choose(layout, scales, data, indices, indptr, i, values, directions, keys)
        greedy = choose_row(layout, weights, links, values, directions, keys, n)
        action = explore(greedy, n_actions, rate[i], draws[i, 0], draws[i, 1])
        chosen[i], propensity[i] = action, propensity_of(action, greedy, n_actions, rate[i])
        reward[i] = earned(label, rewards, i, action)
        n = read_row(layout, scales, scales, data, indices, indptr, i, values, keys)
        learn_row(
            layout, weights, scales, contests, totals, links, settings,
            values, squares, keys, directions, gathered, n, action, reward[i], propensity[i],
        )  # fmt: skip


@part
def _choose_in_turn(
    layout: Any, weights: Any, scales: Any, links: Any, data: Any, indices: Any, indptr: Any, first: Any, values: Any,
    out: Any,
) -> Any:  # fmt: skip
    """Walk down with several rows in turn: while one waits for its margin, the processor is at work on the others."""
    last = min(first + ROWS_IN_TURN, out.shape[0])
    n = 0
    for i in range(first, last):
        n = read_row(layout, scales, None, data, indices, indptr, i, values[i - first], None)
        out[i] = 0
    n_walking = last - first
    while n_walking > 0:
        n_walking = 0
        for i in range(first, last):
            node = out[i]
            if node >= 0:
                margin = product(layout, weights, node, values[i - first], None, n)
                node = links[LEFT if margin > 0 else RIGHT, node]
                out[i] = node
                n_walking += node >= 0
    for i in range(first, last):
        out[i] = ~out[i]


@part
def choose_row(layout: Any, weights: Any, links: Any, values: Any, folds: Any, keys: Any, n: Any) -> Any:
    """Walk down from the root."""
    node = 0
    while node >= 0:
        margin = _margin(layout, weights, node, values, folds, keys, n)
        node = links[LEFT if margin > 0 else RIGHT, node]
    return ~node


@part
def _margin(layout: Any, weights: Any, node: Any, values: Any, folds: Any, keys: Any, n: Any) -> Any:
    if keys is None:
        return product(layout, weights, node, values, None, n)
    return list_margin(layout, weights, node, values, folds, keys, n)


@part
def _open_nodes(links: Any, mask: Any, row: Any, is_open: Any) -> Any:
    """Tell of each node whether an action below is available; children are numbered after their parents."""
    for node in range(links.shape[1] - 2, -1, -1):
        is_open[node] = _leads_on(links[LEFT, node], mask, row, is_open) or _leads_on(
            links[RIGHT, node], mask, row, is_open
        )


@part
def _leads_on(child: Any, mask: Any, row: Any, is_open: Any) -> Any:
    return is_open[child] if child >= 0 else mask[row, ~child]


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
    gathered: Any,
    n: Any,
    action: Any,
    reward: Any,
    propensity: Any,
) -> Any:
    """Walk up from the action's leaf while the contests passed choose it, as they did before they learned from the row.

    What a row earned must not decide whether it climbs: asked after they have learned, contests would let rows that
    earned much climb and stop those that earned little, and the contest above would hear mostly good of either side.
    """
    length = np.float64(square(values, n, squares))
    totals[N_ROWS] += 1
    totals[SQUARES] += length
    totals[REWARDS] += reward
    offset = settings[OFFSET]
    if math.isnan(offset):
        offset = totals[REWARDS] / totals[N_ROWS]
    loudness = abs(reward - offset)
    if loudness <= ROUNDING:
        return  # nothing to say, in no contest
    if settings[REALIZABLE] == 0:
        loudness /= propensity
    loss, rate = settings[LOSS], settings[RATE]
    if scales is not None:
        # A step is to change the margin as much however many features a row has.
        rate *= math.sqrt(totals[N_ROWS] / totals[SQUARES])
    child, node = ~np.int64(action), links[LEAF_PARENT, action]
    while node >= 0:
        margin = np.float64(product(layout, weights, node, values, keys, n))
        from_left = links[LEFT, node] == child
        passed = (margin > 0) == from_left
        # +1 is a vote for the left side.
        vote = 1.0 if from_left == (reward > offset) else -1.0
        weight = relative_weight(contests, node, loudness)
        steepness = slope(loss, vote * margin)
        if steepness > 0:
            if scales is None:
                gain = rate * length
                if gain > 0:
                    stride = np.float32(vote * step(loss, vote * margin, weight, gain) * rate)
                    add_row(layout, weights, node, values, keys, n, stride)
            else:
                power = np.float32(weight * steepness * steepness)
                gain = rate * adapt(layout, weights, node, values, squares, keys, directions, gathered, n, power)
                stride = np.float32(0)
                if gain > 0:
                    stride = np.float32(vote * step(loss, vote * margin, weight, gain) * rate)
                add_directions(layout, weights, node, squares, keys, directions, gathered, n, stride, power)
        if not passed:
            break
        child, node = node, links[PARENT, node]
