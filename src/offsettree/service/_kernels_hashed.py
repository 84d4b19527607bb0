"""Kernels of the online learner: a microsecond or two per row, so that they keep the interpreter's lock."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import brief_kernel, part

MIX_CONTEXT, MIX_ACTION, MIX = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93
TINY = 1e-15
PRIOR = 3.0  # inverse of a weight's variance before any row
KEPT = 1 - 1 / 20000  # of the precision, at each row: after so many rows, the oldest are forgotten


@part
def _scale_at(hash_: Any, shift: Any) -> Any:
    return np.int64((hash_ * np.uint64(MIX)) >> shift)


@part
def _place(of_context: Any, of_action: Any, shift: Any) -> Any:
    """Return where the weight of a pair of features is."""
    return np.int64(((of_context ^ of_action) * np.uint64(MIX)) >> shift)


@part
def _scaled(hashes: Any, x: Any, scales: Any, shift: Any, i: Any) -> Any:
    """Return a feature as a share of the largest absolute value of it so far."""
    size = max(scales[_scale_at(hashes[i], shift)], abs(x[i]))
    return x[i] / max(size, np.float32(TINY))


@brief_kernel
def score_actions(
    weights: Any, scales: Any, shift: Any, hashes: Any, x: Any, features: Any, values: Any, starts: Any, scores: Any
) -> Any:
    """Write the predicted reward of each action; `starts` says where the features of each begin."""
    n_x = hashes.shape[0]
    scaled, mixed = np.empty(n_x, np.float32), np.empty(n_x, np.uint64)
    for i in range(n_x):
        scaled[i] = _scaled(hashes, x, scales, shift, i)
        mixed[i] = hashes[i] * np.uint64(MIX_CONTEXT)
    for action in range(scores.shape[0]):
        total = np.float32(0)
        for entry in range(starts[action], starts[action + 1]):
            of_action, inner = features[entry] * np.uint64(MIX_ACTION), np.float32(0)
            for i in range(n_x):
                inner += weights[_place(mixed[i], of_action, shift)] * scaled[i]
            total += inner * values[entry]
        scores[action] = total


@brief_kernel
def learn_row(
    weights: Any,
    squares: Any,
    scales: Any,
    shift: Any,
    hashes: Any,
    x: Any,
    shared: Any,
    features: Any,
    values: Any,
    target: Any,
) -> Any:
    """Move the prediction of one row's action towards its target: a Kalman filter of independent weights.

    The action's features are `shared`, of value 1, then its own ones.

    Each weight moves by its variance, which falls with every row that it was part of; `squares` are the inverses of the
    variances, less the prior's. A step as a whole never goes beyond the target.
    """
    n_x = hashes.shape[0]
    scaled, mixed = np.empty(n_x, np.float32), np.empty(n_x, np.uint64)
    for i in range(n_x):
        at = _scale_at(hashes[i], shift)
        scales[at] = max(scales[at], abs(x[i]))
    for i in range(n_x):
        scaled[i] = _scaled(hashes, x, scales, shift, i)
        mixed[i] = hashes[i] * np.uint64(MIX_CONTEXT)
    n = n_x * (features.shape[0] + 1)
    places, inputs, variances = np.empty(n, np.int64), np.empty(n, np.float32), np.empty(n, np.float32)
    predicted, k = np.float32(0), 0
    for entry in range(-1, features.shape[0]):
        feature, value = (shared, np.float32(1)) if entry < 0 else (features[entry], values[entry])
        of_action = feature * np.uint64(MIX_ACTION)
        for i in range(n_x):
            places[k] = _place(mixed[i], of_action, shift)
            inputs[k] = value * scaled[i]
            predicted += weights[places[k]] * inputs[k]
            k += 1
    error = np.float32(target) - predicted
    total = 1.0  # the variance of the noise, as the unit, and that of the prediction
    for k in range(n):
        variances[k] = np.float32(1) / (np.float32(PRIOR) + squares[places[k]])
        total += np.float64(variances[k]) * inputs[k] * inputs[k]
    for k in range(n):
        told = variances[k] * inputs[k] / total
        weights[places[k]] += np.float32(told * error)
        precision = np.float64(np.float32(PRIOR) + squares[places[k]]) / (1 - min(told * inputs[k], 1 - 1e-9))
        squares[places[k]] = np.float32(max(precision - PRIOR, 0.0) * KEPT)


@brief_kernel
def learn_rows(
    weights: Any,
    squares: Any,
    scales: Any,
    shift: Any,
    hashes: Any,
    x: Any,
    contexts: Any,
    shared: Any,
    features: Any,
    values: Any,
    starts: Any,
    rewards: Any,
    n_rows: Any,
    total: Any,
) -> Any:
    """Learn from rows one after another; `contexts` and `starts` say where the features of each begin.

    The target is the reward less the mean of all rewards before; that is 0.5 before any. Returns their sum.
    """
    for row in range(rewards.shape[0]):
        mean = total / n_rows if n_rows > 0 else 0.5
        first, last = contexts[row], contexts[row + 1]
        begin, end = starts[row], starts[row + 1]
        learn_row(
            weights,
            squares,
            scales,
            shift,
            hashes[first:last],
            x[first:last],
            shared,
            features[begin:end],
            values[begin:end],
            rewards[row] - mean,
        )
        n_rows += 1
        total += rewards[row]
    return total
