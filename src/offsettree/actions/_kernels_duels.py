"""Kernels of the online offset tree over features: contests between two actions, by a score of each side.

The score of an action in a context is linear in hashed products of features, as in `_kernels_bilinear`, without those
of the context alone, which both sides share. The higher score wins a contest, so to swap the sides flips the answer;
the smaller rank decides a tie. Contests of different heights above the leaves have the same weights, or their own,
which lie in the same table at other places.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from offsettree._jit import kernel, part
from offsettree.actions._kernels_bilinear import (
    ACTION_ACTION,
    ROW_ACTION,
    _base,
    append_id,
    learn_products,
    longest,
    mask_of,
    new_features,
    new_products,
    read_action,
    read_context,
    sum_across,
    sum_within,
)

PER_HEIGHT = 0x9E3779B97F4A7C15  # moves the places of one height away from those of the others
MOST_TIMES = 1000.0  # a contest counts at most as so many
N_LOGGED, LOGGED, N_CONTESTS, CONTESTS = 2, 3, 4, 5  # of the totals: rewards of all rows, and weights of all contests


class Order(NamedTuple):
    """The leaves of each row from left to right, and the rank of every pair's id, by which ties are won."""

    leaves: Any
    rank: Any


class ToPlay(NamedTuple):
    """Buffers for a tournament."""

    action: Any
    alive: Any
    scores: Any


class ToLearn(NamedTuple):
    """Buffers for the tournaments on the way of a row, and to learn from its contests."""

    action: Any
    alive: Any
    scores: Any
    met: Any
    heights: Any
    sums: Any
    listed: Any


@part
def _shift(height: Any, is_shared: Any) -> Any:
    return np.uint64(0) if is_shared else np.uint64(height - 1) * np.uint64(PER_HEIGHT)


@part
def _score(model: Any, data: Any, pair: Any, x: Any, n_x: Any, height: Any, action: Any) -> Any:
    """Return the score of an action, at a height, in the context whose features are given."""
    shift = _shift(height, model.settings[3])
    n = read_action(data, pair, model, False, action)
    total = np.float32(0)
    if model.settings[1]:
        total = sum_within(model, ACTION_ACTION, shift, action, n)
    n = append_id(data, pair, action, n)
    return sum_across(total, model, shift, action, n, x, n_x)


@part
def _wins(score: Any, rank: Any, other_score: Any, other_rank: Any) -> Any:
    return score > other_score or (score == other_score and rank < other_rank)


@part
def _winner(model: Any, data: Any, order: Any, begin: Any, end: Any, x: Any, n_x: Any, room: Any) -> Any:
    """Play the tournament of the leaves from `begin` to `end` - 1; return the pair that wins it."""
    leaves, rank = order
    alive, scores = room.alive, room.scores
    n, height = end - begin, 1
    for place in range(n):
        alive[place] = leaves[begin + place]
    while n > 1:
        if height == 1 or not model.settings[3]:
            for place in range(n):
                scores[place] = _score(model, data, alive[place], x, n_x, height, room.action)
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
def play_rows(model: Any, data: Any, starts: Any, order: Any, size: Any, chosen: Any) -> Any:
    """Write for each row the pair that wins its tournament (Algorithm 3)."""
    largest = longest(starts)
    room = ToPlay(new_features(size), np.empty(largest, np.int64), np.empty(largest, np.float32))
    x = new_features(size)
    for row in range(starts.shape[0] - 1):
        n_x = read_context(data, row, model, False, x)
        chosen[row] = _winner(model, data, order, starts[row], starts[row + 1], x, n_x, room)


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
    model: Any, data: Any, sides: Any, x: Any, n_x: Any, height: Any, target: Any, weight: Any, room: Any
) -> None:
    """Move the difference of the two scores, left less right, towards the target."""
    action, sums, places = room.action, room.sums, room.listed.places
    mask, shift = mask_of(model), _shift(height, model.settings[3])
    n = 0
    for side in range(2):
        sign = np.float32(1 - 2 * side)
        n_a = read_action(data, sides[side], model, True, action)
        keys, values = action.keys, action.values
        if model.settings[1]:
            for first in range(1, n_a):
                for second in range(first, n_a):
                    low, high = min(keys[first], keys[second]), max(keys[first], keys[second])
                    place = (_base(low, ACTION_ACTION) + high + shift) & mask
                    product = values[first] * values[second] - np.float32(first == second)
                    n = _add(place, sign * product, sums, places, n)
        for j in range(1, n_a):  # what the constant adds is the same on both sides
            base = _base(keys[j], ROW_ACTION) + shift
            for i in range(n_x):
                n = _add((base + x.keys[i]) & mask, sign * values[j] * x.values[i], sums, places, n)
    n = _gather(sums, places, 0, n, room.listed.products)
    n_of_features, n_before_slopes = n, n
    if data.id_keys.shape[0] > 0:
        n = n_before_slopes = _list_ids(data, sides, x, 0, 1, shift, mask, sums, room.listed, n)
        n = _list_ids(data, sides, x, 1, n_x, shift, mask, sums, room.listed, n)
    learn_products(model, room.listed, n, n_of_features, n_before_slopes, target, weight)


@part
def _list_ids(
    data: Any, sides: Any, x: Any, begin: Any, end: Any, shift: Any, mask: Any, sums: Any, listed: Any, n_before: Any
) -> Any:  # fmt: skip
    """List the products of the two ids with some features of the context, of which the first is the constant."""
    n = n_before
    for side in range(2):
        base = _base(data.id_keys[sides[side]], ROW_ACTION) + shift
        for i in range(begin, end):
            n = _add((base + x.keys[i]) & mask, np.float32(1 - 2 * side) * x.values[i], sums, listed.places, n)
    return _gather(sums, listed.places, n_before, n, listed.products)


@part
def _climb(model: Any, data: Any, order: Any, begin: Any, end: Any, place: Any, x: Any, n_x: Any, room: Any) -> Any:
    """Write whom the action at a leaf meets at which heights, as long as it wins; return how many."""
    leaves, rank = order
    own = leaves[begin + place]
    n_met, height, width = 0, 1, 1
    while width < end - begin:
        # The block of leaves beside the one that the action has won.
        first = begin + ((place // width) ^ 1) * width
        if first < end:
            other = _winner(model, data, order, first, min(first + width, end), x, n_x, room)
            room.met[n_met], room.heights[n_met] = other, height
            n_met += 1
            mine = _score(model, data, own, x, n_x, height, room.action)
            theirs = _score(model, data, other, x, n_x, height, room.action)
            if not _wins(mine, rank[own], theirs, rank[other]):
                break
        height += 1
        width *= 2
    return n_met


@kernel
def duel_rows(
    model: Any, data: Any, starts: Any, order: Any, size: Any, logged: Any, reward: Any, propensity: Any, offset: Any,
    sums: Any, counts: Any,
) -> Any:  # fmt: skip
    """Learn from rows, in order (Algorithm 2): from the logged action's contests, as long as it wins those below.

    Whom it meets is found before anything is learned from the row: the reward must not decide whether a row goes on.
    An `offset` below 0 stands for the mean reward of the rows so far. `sums` are as many zeros as there are places, and
    remain so; `counts` are the rows that reached each height.
    """
    totals, largest = model.totals, longest(starts)
    alive, scores = np.empty(largest, np.int64), np.empty(largest, np.float32)
    met, heights = np.empty(64, np.int64), np.empty(64, np.int64)
    room = ToLearn(new_features(size), alive, scores, met, heights, sums, new_products(6 * size * size))
    x = new_features(size)
    for row in range(reward.shape[0]):
        begin, end, own = starts[row], starts[row + 1], logged[row]
        n_x = read_context(data, row, model, True, x)
        middle = offset
        if offset < 0:
            middle = totals[LOGGED] / totals[N_LOGGED] if totals[N_LOGGED] > 0 else 0.5
        totals[N_LOGGED] += 1
        totals[LOGGED] += reward[row]
        place = 0
        while order.leaves[begin + place] != own:
            place += 1
        n_met = _climb(model, data, order, begin, end, place, x, n_x, room)
        weight = abs(reward[row] - middle) / propensity[row]
        target = 1.0 if reward[row] >= middle else -1.0
        for contest in range(n_met):
            counts[min(heights[contest], counts.shape[0]) - 1] += 1
            if weight > 0:
                totals[N_CONTESTS] += 1
                totals[CONTESTS] += weight
                scaled = min(weight * totals[N_CONTESTS] / totals[CONTESTS], MOST_TIMES)
                _learn_contest(model, data, (own, met[contest]), x, n_x, heights[contest], target, scaled, room)
