"""Kernels of a linear regression on features of a row, of an action, and on products of two of them.

A constant is one of the features of each, so that products of a row's and an action's features include both as they
are. The weight of a product is at a place given by the hash of its two keys; beside it is its precision, the inverse of
the weight's variance, less that before any row.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from offsettree._jit import kernel, part

# Odd numbers, one per kind of product: of two features of the row, of row and action, of two features of the action.
ROW_ROW, ROW_ACTION, ACTION_ACTION = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
OF_ROWS, OF_ACTIONS = 0x27D4EB2F165667C5, 0x85EBCA77C2B2AE63  # for the scales of features
ROWS_READ, ACTIONS_READ, N_ROWS, REWARDS, WEIGHT = 0, 1, 2, 3, 4  # of the totals
MEAN, SPREAD, SEEN = 0, 1, 2  # of the scales
MOST_SEEN = 1 << 24  # more cannot be counted in single precision
OFTEN, NEARLY_ALWAYS = 0.5, 0.95  # shares of the reads: see `_scaled`
SHIFT = 24
SLOPES = 10.0  # priors of an id's products with the context, in those of the id itself
REMEMBERED = 1e6  # rows; after so many, the oldest are forgotten


class HashedModel(NamedTuple):
    """What is learned, and the settings."""

    weights: Any  # in two rows: the weights, and their precisions
    scales: Any  # in three rows: mean, standard deviation and number of each feature's values
    totals: Any
    settings: Any  # prior of features, whether all products of two features count, prior of ids


class PairFeatures(NamedTuple):
    """The features of rows, and of the pairs of a row and an action that is eligible in it."""

    x: Any  # of rows; this, the items and the pairs are hashed tables
    items: Any
    item: Any  # of each pair
    pairs: Any
    id_keys: Any  # of each pair; none where ids have no weights


class FeatureList(NamedTuple):
    """Buffers for the features of a row or of an action."""

    keys: Any
    values: Any


class ProductList(NamedTuple):
    """Buffers for products of features."""

    places: Any
    products: Any
    directions: Any
    weights: Any  # before the step
    precisions: Any


@part
def _base(key: Any, kind: Any) -> Any:
    return (key * np.uint64(kind)) >> np.uint64(SHIFT)


@kernel
def new_features(size: Any) -> Any:
    """Return buffers for so many features."""
    return FeatureList(np.empty(size, np.uint64), np.empty(size, np.float32))


@kernel
def new_products(size: Any) -> Any:
    """Return buffers for so many products."""
    return ProductList(
        np.empty(size, np.uint64),
        np.empty(size, np.float32),
        np.empty(size, np.float32),
        np.empty(size, np.float32),
        np.empty(size, np.float32),
    )


@part
def mask_of(model: Any) -> Any:
    """Return what a hash is masked with to be a place."""
    return np.uint64(model.weights.shape[1] - 1)


@part
def _note(scales: Any, at: Any, value: Any) -> None:
    """Add a value to the mean and the variance of a feature where it is not 0 (Welford's way)."""
    seen, mean = min(scales[SEEN, at] + 1, np.float64(MOST_SEEN)), np.float64(scales[MEAN, at])
    now = mean + (value - mean) / seen
    variance = np.float64(scales[SPREAD, at]) ** 2
    scales[SPREAD, at] = math.sqrt(variance + ((value - mean) * (value - now) - variance) / seen)
    scales[MEAN, at], scales[SEEN, at] = now, seen


@part
def _scaled(scales: Any, at: Any, value: Any, n_read: Any) -> Any:
    """Return a value in standard deviations from the mean if its feature is nearly always there, else in its size.

    In between, what it is measured from moves from the mean to 0, without a jump: weights that were learned in one unit
    would be wrong in the other.
    """
    mean, spread = np.float64(scales[MEAN, at]), np.float64(scales[SPREAD, at])
    if spread > 0 and scales[SEEN, at] >= NEARLY_ALWAYS * n_read:
        return (value - mean) / spread
    zero = mean * max((scales[SEEN, at] / n_read - OFTEN) / (NEARLY_ALWAYS - OFTEN), 0.0) if spread > 0 else 0.0
    size = math.sqrt(spread * spread + (mean - zero) ** 2)
    return (value - zero) / size if size > 0 else math.copysign(1.0, value)


@part
def _read(hashed: Any, row: Any, model: Any, kind: Any, learns: Any, n_read: Any, into: Any, n: Any) -> Any:
    """Append the features of a row, scaled by what is known of them so far; note them as well if `learns`."""
    all_keys, all_values, starts = hashed
    scales, mask = model.scales, mask_of(model)
    for entry in range(starts[row], starts[row + 1]):
        value = np.float64(all_values[entry])
        if value != 0:
            at = _base(all_keys[entry], kind) & mask
            if learns:
                _note(scales, at, value)
            into.keys[n], into.values[n] = all_keys[entry], np.float32(_scaled(scales, at, value, n_read))
            n += 1
    return n


@part
def _count(model: Any, which: Any) -> None:
    """Count one read; before there are too many, halve all counts, which leaves the share of each feature as it is."""
    totals, scales = model.totals, model.scales
    if totals[which] >= MOST_SEEN:
        totals[ROWS_READ] /= 2
        totals[ACTIONS_READ] /= 2
        for at in range(scales.shape[1]):
            scales[SEEN, at] /= np.float32(2)
    totals[which] += 1


@part
def read_context(data: Any, row: Any, model: Any, learns: Any, into: Any) -> Any:
    """Write the features of a row, a constant first; return how many there are."""
    if learns:
        _count(model, ROWS_READ)
    return _read(data.x, row, model, OF_ROWS, learns, model.totals[ROWS_READ], into, _constant(into))


@part
def read_action(data: Any, pair: Any, model: Any, learns: Any, into: Any) -> Any:
    """Write the features of an action, a constant first; return how many there are."""
    if learns:
        _count(model, ACTIONS_READ)
    n_read = model.totals[ACTIONS_READ]
    n = _read(data.items, data.item[pair], model, OF_ACTIONS, learns, n_read, into, _constant(into))
    return _read(data.pairs, pair, model, OF_ACTIONS, learns, n_read, into, n)


@part
def _constant(into: Any) -> Any:
    into.keys[0], into.values[0] = np.uint64(0), np.float32(1)
    return 1


@part
def sum_within(model: Any, kind: Any, shift: Any, of: Any, n: Any) -> Any:
    """Sum the products of two features of the same list, each with itself included; not those of the constant.

    The square of a feature is less 1, its mean: so it says nothing of what is always there.
    """
    keys, values, mask = of.keys, of.values, mask_of(model)
    total = np.float32(0)
    for first in range(1, n):
        for second in range(first, n):
            low, high = min(keys[first], keys[second]), max(keys[first], keys[second])
            product = values[first] * values[second] - np.float32(first == second)
            total += model.weights[0, (_base(low, kind) + high + shift) & mask] * product
    return total


@part
def sum_across(total: Any, model: Any, shift: Any, of: Any, n: Any, x: Any, n_x: Any) -> Any:
    """Add to a total the products of the action's features and those of the row, one by one."""
    mask = mask_of(model)
    for j in range(n):
        base, inner = _base(of.keys[j], ROW_ACTION) + shift, np.float32(0)
        for i in range(n_x):
            inner += model.weights[0, (base + x.keys[i]) & mask] * x.values[i]
        total += inner * of.values[j]
    return total


@part
def append_id(data: Any, pair: Any, of: Any, n: Any) -> Any:
    """Append an action's id to its features, where ids have weights; return how many there are."""
    if data.id_keys.shape[0] > 0:
        of.keys[n], of.values[n] = data.id_keys[pair], np.float32(1)
        n += 1
    return n


@part
def _mean(totals: Any) -> Any:
    return totals[REWARDS] / totals[WEIGHT] if totals[WEIGHT] > 0 else 0.0


@part
def longest(starts: Any) -> Any:
    """Count the pairs of the row that has most."""
    largest = 0
    for row in range(starts.shape[0] - 1):
        largest = max(largest, starts[row + 1] - starts[row])
    return largest


@kernel
def score_rows(model: Any, data: Any, starts: Any, size: Any, scores: Any) -> Any:
    """Write the predicted reward of every pair, on the scale of [-1, 1]."""
    for row in range(starts.shape[0] - 1):
        _score_row(model, data, starts, size, row, scores, 0)


@kernel
def choose_rows(model: Any, data: Any, starts: Any, size: Any, chosen: Any) -> Any:
    """Write for each row the pair of the largest predicted reward, the first of equals."""
    scores = np.empty(longest(starts), np.float64)
    for row in range(starts.shape[0] - 1):
        begin = starts[row]
        _score_row(model, data, starts, size, row, scores, begin)
        best = 0
        for place in range(1, starts[row + 1] - begin):
            if scores[place] > scores[best]:
                best = place
        chosen[row] = begin + best


@kernel
def _score_row(model: Any, data: Any, starts: Any, size: Any, row: Any, scores: Any, offset: Any) -> Any:
    is_quadratic, no_shift = model.settings[1], np.uint64(0)
    x, action = new_features(size), new_features(size)
    n_x = read_context(data, row, model, False, x)
    common = _mean(model.totals)
    if is_quadratic:
        common += np.float64(sum_within(model, ROW_ROW, no_shift, x, n_x))
    for pair in range(starts[row], starts[row + 1]):
        n = read_action(data, pair, model, False, action)
        score = common
        if is_quadratic:
            score += np.float64(sum_within(model, ACTION_ACTION, no_shift, action, n))
        n = append_id(data, pair, action, n)
        score += np.float64(sum_across(np.float32(0), model, no_shift, action, n, x, n_x))
        scores[pair - offset] = score


@part
def _list_within(mask: Any, kind: Any, of: Any, n: Any, listed: Any, n_listed: Any) -> Any:
    keys, values = of.keys, of.values
    for first in range(1, n):
        for second in range(first, n):
            low, high = min(keys[first], keys[second]), max(keys[first], keys[second])
            listed.places[n_listed] = (_base(low, kind) + high) & mask
            listed.products[n_listed] = values[first] * values[second] - np.float32(first == second)
            n_listed += 1
    return n_listed


@kernel
def learn_rows(model: Any, data: Any, size: Any, target: Any, importance: Any) -> Any:
    """Learn from each row's logged pair, in order: there is one pair per row."""
    totals, mask, has_ids = model.totals, mask_of(model), data.id_keys.shape[0] > 0
    x, action, listed = new_features(size), new_features(size), new_products(3 * size * size)
    for row in range(target.shape[0]):
        n_x = read_context(data, row, model, True, x)
        n = read_action(data, row, model, True, action)
        n_listed = 0
        if model.settings[1]:
            n_listed = _list_within(mask, ROW_ROW, x, n_x, listed, n_listed)
            n_listed = _list_within(mask, ACTION_ACTION, action, n, listed, n_listed)
        n = append_id(data, row, action, n)
        for j in range(n):
            base, value = _base(action.keys[j], ROW_ACTION), action.values[j]
            for i in range(n_x):
                listed.places[n_listed + i] = (base + x.keys[i]) & mask
                listed.products[n_listed + i] = value * x.values[i]
            n_listed += n_x
        n_of_features, n_before_slopes = n_listed, n_listed
        if has_ids:
            n_of_features, n_before_slopes = n_listed - n_x, n_listed - n_x + 1
        weight = importance[row]
        totals[N_ROWS] += 1
        totals[WEIGHT] += weight
        totals[REWARDS] += weight * target[row]
        learn_products(model, listed, n_listed, n_of_features, n_before_slopes, target[row] - _mean(totals), weight)


@part
def learn_products(
    model: Any, listed: Any, n: Any, n_of_features: Any, n_before_slopes: Any, target: Any, weight: Any
) -> Any:
    """Move the prediction towards the target: a Kalman filter of weights that are taken as independent.

    Each weight moves by its variance, which falls with every row that it was part of. Products from `n_of_features` on
    are of ids, and those from `n_before_slopes` on of ids and the context.
    """
    weights, prior, id_prior = model.weights, np.float32(model.settings[0]), np.float32(model.settings[2])
    places, products, directions, old, precisions = listed
    for k in range(n):
        old[k], precisions[k] = weights[0, places[k]], weights[1, places[k]]
    _add_to(precisions, 0, n_of_features, prior)
    _add_to(precisions, n_of_features, n_before_slopes, id_prior)
    _add_to(precisions, n_before_slopes, n, np.float32(SLOPES) * id_prior)
    margin, spread = np.float32(0), np.float32(0)
    for k in range(n):
        margin += old[k] * products[k]
        directions[k] = products[k] / precisions[k]
        spread += directions[k] * products[k]
    # The variances of a reward, which is 1 for a row that counts once, and of its prediction.
    noise = np.float32(1 / weight)
    total = noise + spread
    step = np.float32((target - np.float64(margin)) / total)
    for k in range(n):  # what the row tells of each weight
        precisions[k] = products[k] * products[k] / max(total - directions[k] * products[k], noise)
    is_shared = False
    for k in range(n):
        place = places[k]
        is_shared |= weights[0, place] != old[k]
        weights[0, place] += step * directions[k]
        weights[1, place] = min(weights[1, place] + precisions[k], np.float32(REMEMBERED))
    if is_shared:
        _shorten(weights, listed, n, margin, step, noise, spread)


@part
def _add_to(values: Any, begin: Any, end: Any, addend: Any) -> None:
    for k in range(begin, end):
        values[k] += addend


@part
def _shorten(weights: Any, listed: Any, n: Any, margin: Any, step: Any, noise: Any, spread: Any) -> None:
    """Take back what a step is too long by: a place that several products share has moved for each of them."""
    places, products, directions, _, _ = listed
    moved = -margin
    for k in range(n):
        moved += weights[0, places[k]] * products[k]
    back = step - step * (noise + spread) / (noise + max(moved / step, spread))
    for k in range(n):
        weights[0, places[k]] -= back * directions[k]
