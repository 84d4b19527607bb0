"""Kernels of the online offset tree over features: contests between two actions, by a score of each side.

The score of an action in a context is linear in hashed products of features, as in `_kernels_bilinear`, without those
of the context alone, which both sides share. The higher score wins a contest, so to swap the sides flips the answer;
the smaller rank decides a tie. Contests of different heights above the leaves have the same weights, or their own,
which lie in the same table at other places.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import kernel, part
from offsettree.actions._kernels_bilinear import (
    ACTION_ACTION,
    OF_ACTIONS,
    OF_ROWS,
    ROW_ACTION,
    _base,
    _constant,
    _learn_row,
    _read,
)

__all__ = ["duel_rows", "play_rows"]

PER_HEIGHT = 0x9E3779B97F4A7C15  # moves the places of one height away from those of the others
N_ROWS, SQUARES, REWARDS, WEIGHT = 0, 1, 2, 3  # of the totals; of a contest the mean is 0, so the last two stay 0
MOST_TIMES = 1000.0  # a contest counts at most as so many
N_LOGGED, LOGGED, N_CONTESTS, CONTESTS = 4, 5, 6, 7  # rewards of all rows, and weights of all contests


@part
def _shift(height: Any, is_shared: Any) -> Any:
    return np.uint64(0) if is_shared else np.uint64(height - 1) * np.uint64(PER_HEIGHT)


@part
def _read_action(data: Any, scales: Any, mask: Any, pair: Any, learns: Any, keys: Any, values: Any) -> Any:
    """Write the features of an action, a constant first; return how many there are."""
    n = _read(data[1], data[2][pair], scales, mask, OF_ACTIONS, learns, keys, values, _constant(keys, values))
    return _read(data[3], pair, scales, mask, OF_ACTIONS, learns, keys, values, n)


@part
def _score(
    weights: Any, scales: Any, is_quadratic: Any, data: Any, pair: Any, x_keys: Any, x_values: Any, n_x: Any,
    shift: Any, keys: Any, values: Any,
) -> Any:  # fmt: skip
    """Return the score of an action in the context whose features are given."""
    mask, id_keys = np.uint64(weights.shape[1] - 1), data[4]
    n = _read_action(data, scales, mask, pair, False, keys, values)
    total = np.float32(0)
    if is_quadratic:
        for first in range(1, n):
            for second in range(first, n):
                low, high = min(keys[first], keys[second]), max(keys[first], keys[second])
                place = (_base(low, ACTION_ACTION) + high + shift) & mask
                total += weights[0, place] * values[first] * values[second]
    if id_keys.shape[0] > 0:
        keys[n], values[n] = id_keys[pair], np.float32(1)
        n += 1
    for j in range(n):
        base, inner = _base(keys[j], ROW_ACTION) + shift, np.float32(0)
        for i in range(n_x):
            inner += weights[0, (base + x_keys[i]) & mask] * x_values[i]
        total += inner * values[j]
    return total


@part
def _wins(score: Any, rank: Any, other_score: Any, other_rank: Any) -> Any:
    return score > other_score or (score == other_score and rank < other_rank)


@part
def _winner(
    weights: Any, scales: Any, settings: Any, data: Any, leaves: Any, rank: Any, begin: Any, end: Any,
    x_keys: Any, x_values: Any, n_x: Any, keys: Any, values: Any, alive: Any, scores: Any,
) -> Any:  # fmt: skip
    """Play the tournament of the leaves from `begin` to `end` - 1; return the pair that wins it."""
    is_quadratic, is_shared = settings[1], settings[3]
    n, height = end - begin, 1
    for place in range(n):
        alive[place] = leaves[begin + place]
    while n > 1:
        shift = _shift(height, is_shared)
        if height == 1 or not is_shared:
            for place in range(n):
                scores[place] = _score(
                    weights, scales, is_quadratic, data, alive[place], x_keys, x_values, n_x, shift, keys, values
                )
        n_next = 0
        for place in range(0, n, 2):
            best = place
            if place + 1 < n and _wins(scores[place + 1], rank[alive[place + 1]], scores[place], rank[alive[place]]):
                best = place + 1
            alive[n_next], scores[n_next] = alive[best], scores[best]
            n_next += 1
        n = n_next
        height += 1
    return alive[0]


@kernel
def play_rows(
    weights: Any, scales: Any, settings: Any, data: Any, starts: Any, leaves: Any, rank: Any, size: Any, chosen: Any
) -> Any:  # fmt: skip
    """Write for each row the pair that wins its tournament (Algorithm 3)."""
    mask, largest = np.uint64(weights.shape[1] - 1), 0
    for row in range(starts.shape[0] - 1):
        largest = max(largest, starts[row + 1] - starts[row])
    alive, scores = np.empty(largest, np.int64), np.empty(largest, np.float32)
    x_keys, x_values = np.empty(size, np.uint64), np.empty(size, np.float32)
    keys, values = np.empty(size, np.uint64), np.empty(size, np.float32)
    for row in range(starts.shape[0] - 1):
        n_x = _read(data[0], row, scales, mask, OF_ROWS, False, x_keys, x_values, _constant(x_keys, x_values))
        chosen[row] = _winner(
            weights, scales, settings, data, leaves, rank, starts[row], starts[row + 1], x_keys, x_values, n_x,
            keys, values, alive, scores,
        )  # fmt: skip


@part
def _add(place: Any, product: Any, sums: Any, places: Any, n: Any) -> Any:
    """Add a product to the sum of its place, and list the place the first time."""
    if sums[place] == 0:
        places[n] = place
        n += 1
    sums[place] += product
    return n


@part
def _gather(sums: Any, places: Any, n_before: Any, n: Any, products: Any) -> Any:
    """Write the sums of the places listed from `n_before` on, and clear them; return how many are not zero."""
    kept = n_before
    for k in range(n_before, n):
        value = sums[places[k]]
        sums[places[k]] = 0
        if value != 0:
            places[kept], products[kept] = places[k], value
            kept += 1
    return kept


@part
def _learn_contest(
    weights: Any, scales: Any, totals: Any, settings: Any, data: Any, left: Any, right: Any, x_keys: Any,
    x_values: Any, n_x: Any, shift: Any, target: Any, weight: Any, keys: Any, values: Any, sums: Any, places: Any,
    products: Any, directions: Any,
) -> None:  # fmt: skip
    """Move the difference of the two scores towards the target."""
    rate, is_quadratic, id_prior, _ = settings
    mask, id_keys = np.uint64(weights.shape[1] - 1), data[4]
    n = 0
    for side in range(2):
        sign = np.float32(1 - 2 * side)
        n_a = _read_action(data, scales, mask, right if side else left, True, keys, values)
        if is_quadratic:
            for first in range(1, n_a):
                for second in range(first, n_a):
                    low, high = min(keys[first], keys[second]), max(keys[first], keys[second])
                    place = (_base(low, ACTION_ACTION) + high + shift) & mask
                    n = _add(place, sign * values[first] * values[second], sums, places, n)
        for j in range(1, n_a):  # what the constant adds is the same on both sides
            base = _base(keys[j], ROW_ACTION) + shift
            for i in range(n_x):
                n = _add((base + x_keys[i]) & mask, sign * values[j] * x_values[i], sums, places, n)
    n = _gather(sums, places, 0, n, products)
    n_of_features = n
    if id_keys.shape[0] > 0:
        for side in range(2):
            base = _base(id_keys[right if side else left], ROW_ACTION) + shift
            for i in range(n_x):
                n = _add((base + x_keys[i]) & mask, np.float32(1 - 2 * side) * x_values[i], sums, places, n)
        n = _gather(sums, places, n_of_features, n, products)
    totals[N_ROWS] += 1
    _learn_row(weights, totals, rate, id_prior, places, products, directions, n, n_of_features, target, weight)


@part
def _climb(
    weights: Any, scales: Any, settings: Any, data: Any, leaves: Any, rank: Any, begin: Any, end: Any, place: Any,
    x_keys: Any, x_values: Any, n_x: Any, keys: Any, values: Any, alive: Any, scores: Any, met: Any, heights: Any,
) -> Any:  # fmt: skip
    """Write whom the action at a leaf meets at which heights, as long as it wins; return how many."""
    own = leaves[begin + place]
    n_met, height, width = 0, 1, 1
    while width < end - begin:
        # The block of leaves beside the one that the action has won.
        first = begin + ((place // width) ^ 1) * width
        if first < end:
            other = _winner(
                weights, scales, settings, data, leaves, rank, first, min(first + width, end), x_keys, x_values, n_x,
                keys, values, alive, scores,
            )  # fmt: skip
            met[n_met], heights[n_met] = other, height
            n_met += 1
            shift = _shift(height, settings[3])
            mine = _score(weights, scales, settings[1], data, own, x_keys, x_values, n_x, shift, keys, values)
            theirs = _score(weights, scales, settings[1], data, other, x_keys, x_values, n_x, shift, keys, values)
            if not _wins(mine, rank[own], theirs, rank[other]):
                break
        height += 1
        width *= 2
    return n_met


@kernel
def duel_rows(
    weights: Any, scales: Any, totals: Any, settings: Any, data: Any, starts: Any, leaves: Any, rank: Any, size: Any,
    logged: Any, reward: Any, propensity: Any, offset: Any, sums: Any, counts: Any,
) -> Any:  # fmt: skip
    """Learn from rows, in order (Algorithm 2): from the logged action's contests, as long as it wins those below.

    Whom it meets is found before anything is learned from the row: the reward must not decide whether a row goes on.
    An `offset` below 0 stands for the mean reward of the rows so far. `sums` are as many zeros as there are places, and
    remain so; `counts` are the rows that reached each height.
    """
    mask, largest = np.uint64(weights.shape[1] - 1), 0
    for row in range(starts.shape[0] - 1):
        largest = max(largest, starts[row + 1] - starts[row])
    alive, scores = np.empty(largest, np.int64), np.empty(largest, np.float32)
    x_keys, x_values = np.empty(size, np.uint64), np.empty(size, np.float32)
    keys, values = np.empty(size, np.uint64), np.empty(size, np.float32)
    places, products = np.empty(6 * size * size, np.uint64), np.empty(6 * size * size, np.float32)
    directions = np.empty(6 * size * size, np.float32)
    met, heights = np.empty(64, np.int64), np.empty(64, np.int64)
    for row in range(reward.shape[0]):
        begin, end, own = starts[row], starts[row + 1], logged[row]
        n_x = _read(data[0], row, scales, mask, OF_ROWS, True, x_keys, x_values, _constant(x_keys, x_values))
        middle = offset
        if offset < 0:
            middle = totals[LOGGED] / totals[N_LOGGED] if totals[N_LOGGED] > 0 else 0.5
        totals[N_LOGGED] += 1
        totals[LOGGED] += reward[row]
        place = 0
        while leaves[begin + place] != own:
            place += 1
        n_met = _climb(
            weights, scales, settings, data, leaves, rank, begin, end, place, x_keys, x_values, n_x, keys, values,
            alive, scores, met, heights,
        )  # fmt: skip
        weight = abs(reward[row] - middle) / propensity[row]
        target = 1.0 if reward[row] >= middle else -1.0
        for contest in range(n_met):
            counts[min(heights[contest], counts.shape[0]) - 1] += 1
            if weight > 0:
                totals[N_CONTESTS] += 1
                totals[CONTESTS] += weight
                scaled = min(weight * totals[N_CONTESTS] / totals[CONTESTS], MOST_TIMES)
                _learn_contest(
                    weights, scales, totals, settings, data, own, met[contest], x_keys, x_values, n_x,
                    _shift(heights[contest], settings[3]), target, scaled, keys, values, sums, places, products,
                    directions,
                )  # fmt: skip
