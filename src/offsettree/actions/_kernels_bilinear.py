"""Kernels of a linear regression on features of a row, of an action, and on products of two of them.

A constant is one of the features of each, so that products of a row's and an action's features include both as they
are. The weight of a product is at a place given by the hash of its two keys; beside it is the sum of its squared
gradients, from which AdaGrad takes its learning rate.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from offsettree._jit import kernel, part

__all__ = ["choose_rows", "learn_rows", "score_rows"]

# Odd numbers, one per kind of product: of two features of the row, of row and action, of two features of the action.
ROW_ROW, ROW_ACTION, ACTION_ACTION = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
OF_ROWS, OF_ACTIONS = 0x27D4EB2F165667C5, 0x85EBCA77C2B2AE63  # for the scales of features
N_ROWS, SQUARES, REWARDS, WEIGHT = 0, 1, 2, 3  # of the totals
SHIFT = 24


@part
def _base(key: Any, kind: Any) -> Any:
    return (key * np.uint64(kind)) >> np.uint64(SHIFT)


@part
def _read(hashed: Any, row: Any, scales: Any, mask: Any, kind: Any, learns: Any, keys: Any, values: Any, n: Any) -> Any:
    """Append the features of a row, divided by the largest values so far, which are noted if `learns`."""
    all_keys, all_values, starts = hashed
    for entry in range(starts[row], starts[row + 1]):
        value = all_values[entry]
        if value != 0:
            key = all_keys[entry]
            size, at = abs(value), _base(key, kind) & mask
            if size > scales[at]:
                if learns or scales[at] == 0:
                    if learns:
                        scales[at] = size
                    value = np.float32(math.copysign(1.0, value))
                else:
                    value /= scales[at]
            else:
                value /= scales[at]
            keys[n], values[n] = key, value
            n += 1
    return n


@part
def _constant(keys: Any, values: Any) -> Any:
    keys[0], values[0] = np.uint64(0), np.float32(1)
    return 1


@part
def _within(weights: Any, mask: Any, kind: Any, keys: Any, values: Any, n: Any) -> Any:
    """Sum the products of two features of the same list, each with itself included; not those of the constant."""
    total = np.float32(0)
    for first in range(1, n):
        for second in range(first, n):
            low, high = min(keys[first], keys[second]), max(keys[first], keys[second])
            total += weights[0, (_base(low, kind) + high) & mask] * values[first] * values[second]
    return total


@part
def _across(weights: Any, mask: Any, keys: Any, values: Any, n: Any, of_row: Any, x: Any, n_x: Any) -> Any:
    """Sum the products of the action's features and those of the row."""
    total = np.float32(0)
    for j in range(n):
        base, inner = _base(keys[j], ROW_ACTION), np.float32(0)
        for i in range(n_x):
            inner += weights[0, (base + of_row[i]) & mask] * x[i]
        total += inner * values[j]
    return total


@part
def _mean(totals: Any) -> Any:
    return totals[REWARDS] / totals[WEIGHT] if totals[WEIGHT] > 0 else 0.0


@kernel
def score_rows(
    weights: Any,
    scales: Any,
    totals: Any,
    settings: Any,
    x: Any,
    items: Any,
    item: Any,
    pairs: Any,
    id_keys: Any,
    starts: Any,
    size: Any,
    scores: Any,
) -> Any:
    """Write the predicted reward of every pair, on the scale of [-1, 1]."""
    for row in range(starts.shape[0] - 1):
        _score_row(weights, scales, totals, settings, x, items, item, pairs, id_keys, starts, size, row, scores, 0)


@kernel
def choose_rows(
    weights: Any,
    scales: Any,
    totals: Any,
    settings: Any,
    x: Any,
    items: Any,
    item: Any,
    pairs: Any,
    id_keys: Any,
    starts: Any,
    size: Any,
    chosen: Any,
) -> Any:
    """Write for each row the pair of the largest predicted reward, the first of equals."""
    largest = 0
    for row in range(starts.shape[0] - 1):
        largest = max(largest, starts[row + 1] - starts[row])
    scores = np.empty(largest, np.float64)
    for row in range(starts.shape[0] - 1):
        begin = starts[row]
        _score_row(weights, scales, totals, settings, x, items, item, pairs, id_keys, starts, size, row, scores, begin)
        best = 0
        for place in range(1, starts[row + 1] - begin):
            if scores[place] > scores[best]:
                best = place
        chosen[row] = begin + best


@kernel
def _score_row(
    weights: Any,
    scales: Any,
    totals: Any,
    settings: Any,
    x: Any,
    items: Any,
    item: Any,
    pairs: Any,
    id_keys: Any,
    starts: Any,
    size: Any,
    row: Any,
    scores: Any,
    offset: Any,
) -> Any:
    _, is_quadratic, _ = settings
    mask = np.uint64(weights.shape[1] - 1)
    x_keys, x_values = np.empty(size, np.uint64), np.empty(size, np.float32)
    keys, values = np.empty(size, np.uint64), np.empty(size, np.float32)
    n_x = _read(x, row, scales, mask, OF_ROWS, False, x_keys, x_values, _constant(x_keys, x_values))
    common = _mean(totals)
    if is_quadratic:
        common += np.float64(_within(weights, mask, ROW_ROW, x_keys, x_values, n_x))
    for pair in range(starts[row], starts[row + 1]):
        n = _constant(keys, values)
        n = _read(items, item[pair], scales, mask, OF_ACTIONS, False, keys, values, n)
        n = _read(pairs, pair, scales, mask, OF_ACTIONS, False, keys, values, n)
        score = common
        if is_quadratic:
            score += np.float64(_within(weights, mask, ACTION_ACTION, keys, values, n))
        if id_keys.shape[0] > 0:
            keys[n], values[n] = id_keys[pair], np.float32(1)
            n += 1
        score += np.float64(_across(weights, mask, keys, values, n, x_keys, x_values, n_x))
        scores[pair - offset] = score


@part
def _list_within(
    mask: Any, kind: Any, keys: Any, values: Any, n: Any, places: Any, products: Any, n_listed: Any
) -> Any:
    for first in range(1, n):
        for second in range(first, n):
            low, high = min(keys[first], keys[second]), max(keys[first], keys[second])
            places[n_listed] = (_base(low, kind) + high) & mask
            products[n_listed] = values[first] * values[second]
            n_listed += 1
    return n_listed


@kernel
def learn_rows(
    weights: Any,
    scales: Any,
    totals: Any,
    settings: Any,
    x: Any,
    items: Any,
    item: Any,
    pairs: Any,
    id_keys: Any,
    starts: Any,
    size: Any,
    target: Any,
    importance: Any,
) -> Any:
    """Learn from each row's logged pair, in order; `starts` are those of pairs, one per row."""
    rate, is_quadratic, id_prior = settings
    mask = np.uint64(weights.shape[1] - 1)
    x_keys, x_values = np.empty(size, np.uint64), np.empty(size, np.float32)
    keys, values = np.empty(size, np.uint64), np.empty(size, np.float32)
    places, products = np.empty(3 * size * size, np.uint64), np.empty(3 * size * size, np.float32)
    directions = np.empty(3 * size * size, np.float32)
    for row in range(target.shape[0]):
        n_x = _read(x, row, scales, mask, OF_ROWS, True, x_keys, x_values, _constant(x_keys, x_values))
        n = _constant(keys, values)
        n = _read(items, item[row], scales, mask, OF_ACTIONS, True, keys, values, n)
        n = _read(pairs, row, scales, mask, OF_ACTIONS, True, keys, values, n)
        n_listed = 0
        if is_quadratic:
            n_listed = _list_within(mask, ROW_ROW, x_keys, x_values, n_x, places, products, n_listed)
            n_listed = _list_within(mask, ACTION_ACTION, keys, values, n, places, products, n_listed)
        if id_keys.shape[0] > 0:
            keys[n], values[n] = id_keys[row], np.float32(1)
            n += 1
        for j in range(n):
            base, value = _base(keys[j], ROW_ACTION), values[j]
            for i in range(n_x):
                places[n_listed + i] = (base + x_keys[i]) & mask
                products[n_listed + i] = value * x_values[i]
            n_listed += n_x
        n_of_features = n_listed - n_x if id_keys.shape[0] > 0 else n_listed
        weight = importance[row]
        totals[N_ROWS] += 1
        totals[WEIGHT] += weight
        totals[REWARDS] += weight * target[row]
        _learn_row(
            weights, totals, rate, id_prior, places, products, directions, n_listed, n_of_features,
            target[row], weight,
        )  # fmt: skip


@part
def _learn_row(
    weights: Any,
    totals: Any,
    rate: Any,
    id_prior: Any,
    places: Any,
    products: Any,
    directions: Any,
    n: Any,
    n_of_features: Any,
    target: Any,
    weight: Any,
) -> Any:
    """Move the prediction towards the target, as many small gradient steps would, and never beyond."""
    margin, length = np.float32(0), np.float32(0)
    for k in range(n):
        margin += weights[0, places[k]] * products[k]
        length += products[k] * products[k]
    totals[SQUARES] += np.float64(length)
    error = target - _mean(totals) - np.float64(margin)
    power = np.float32(weight * error * error)
    gain = np.float32(0)
    for k in range(n):
        # The weights of a new id move slowly at first: it starts from its features.
        prior = np.float32(id_prior if k >= n_of_features else 1e-30)
        square = products[k] * products[k]
        total = weights[1, places[k]] + power * square
        pace = np.float32(1) / math.sqrt(total + prior)
        directions[k] = products[k] * pace
        gain += square * pace
    # The change of a prediction should not depend on the number of features.
    rate_of_row = rate * math.sqrt(totals[N_ROWS] / totals[SQUARES])
    full = np.float64(gain) * rate_of_row
    stride = np.float32(0)
    if full > 0:
        stride = np.float32(error * -math.expm1(-full * weight) / full * rate_of_row)
    for k in range(n):
        weights[0, places[k]] += stride * directions[k]
        weights[1, places[k]] += power * products[k] * products[k]
