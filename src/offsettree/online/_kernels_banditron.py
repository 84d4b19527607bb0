"""Kernels of the Banditron: k linear models, the largest score is chosen. See `_layout` for the arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import kernel, part
from offsettree.online._kernels_explore import explore, propensity_of, reward_of
from offsettree.online._kernels_rows import add_row, is_plain_row, product, read_row
from offsettree.online._layout import N_MODELS

__all__ = ["choose_one", "choose_rows", "choose_within", "learn_one", "learn_rows", "run"]

MOST = 1e15  # largest reward / propensity: larger steps would swamp all other weights in float32


@kernel
def learn_rows(
    layout: Any,
    weights: Any,
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
    values = np.zeros(size, np.float32)
    for i in range(action.shape[0]):
        n = read_row(layout, None, None, data, indices, indptr, i, values, keys)
        learn_row(layout, weights, values, keys, n, action[i], reward[i], propensity[i])


@kernel
def learn_one(
    layout: Any,
    weights: Any,
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
    values = np.zeros(size, np.float32)
    n = read_row(layout, None, None, data, indices, indptr, 0, values, keys)
    learn_row(layout, weights, values, keys, n, action, reward, propensity)
    return True


@kernel
def choose_rows(layout: Any, weights: Any, size: Any, keys: Any, data: Any, indices: Any, indptr: Any, out: Any) -> Any:
    """Choose for each row."""
    values = np.zeros(size, np.float32)
    for i in range(out.shape[0]):
        n = read_row(layout, None, None, data, indices, indptr, i, values, keys)
        out[i] = choose_row(layout, weights, values, keys, n)


@kernel
def choose_within(
    layout: Any, weights: Any, size: Any, keys: Any, data: Any, indices: Any, indptr: Any, mask: Any, out: Any
) -> Any:
    """Choose for each row among the actions that its mask allows."""
    values = np.zeros(size, np.float32)
    for i in range(out.shape[0]):
        n = read_row(layout, None, None, data, indices, indptr, i, values, keys)
        best, largest = -1, np.float32(-np.inf)
        for model in range(np.int64(layout[N_MODELS])):
            if mask[i, model]:
                score = product(layout, weights, model, values, keys, n)
                if best < 0 or score > largest:
                    best, largest = model, score
        out[i] = best


@kernel
def choose_one(layout: Any, weights: Any, size: Any, keys: Any, data: Any, indices: Any, indptr: Any) -> Any:
    """Choose for one row; -1 if it needs further checks."""
    if not is_plain_row(layout, data, indices, indptr):
        return -1
    values = np.zeros(size, np.float32)
    n = read_row(layout, None, None, data, indices, indptr, 0, values, keys)
    return choose_row(layout, weights, values, keys, n)


@kernel
def run(
    layout: Any,
    weights: Any,
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
    values = np.zeros(size, np.float32)
    n_actions = np.int64(layout[N_MODELS])
    for i in range(chosen.shape[0]):
        n = read_row(layout, None, None, data, indices, indptr, i, values, keys)
        greedy = choose_row(layout, weights, values, keys, n)
        action = explore(greedy, n_actions, rate[i], draws[i, 0], draws[i, 1])
        chosen[i], propensity[i] = action, propensity_of(action, greedy, n_actions, rate[i])
        reward[i] = reward_of(label, rewards, i, action)
        learn_row(layout, weights, values, keys, n, action, reward[i], propensity[i])


@part
def choose_row(layout: Any, weights: Any, values: Any, keys: Any, n: Any) -> Any:
    """Return the model with the largest score, the first of equals."""
    best, largest = 0, -np.inf
    for model in range(np.int64(layout[N_MODELS])):
        score = product(layout, weights, model, values, keys, n)
        if score > largest:
            best, largest = model, score
    return best


@part
def learn_row(
    layout: Any, weights: Any, values: Any, keys: Any, n: Any, action: Any, reward: Any, propensity: Any
) -> Any:
    """Subtract the row from the greedy action's model; add it, times reward / propensity, to the action's model."""
    add_row(layout, weights, choose_row(layout, weights, values, keys, n), values, keys, n, np.float32(-1))
    add_row(layout, weights, action, values, keys, n, np.float32(min(reward / propensity, MOST)))
