"""Kernels of the Banditron: k linear models, the largest score is chosen. See `_layout` for the arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import kernel, part
from offsettree.online._kernels_explore import explore, propensity_of, reward_of
from offsettree.online._kernels_rows import add_row, is_plain_row, product, read_row
from offsettree.online._layout import N_MODELS, BanditronModel, KernelRows

ToChoose = BanditronModel
MOST = 1e15  # largest reward / propensity: larger steps would swamp all other weights in float32


@kernel
def learn_rows(model: Any, table: Any, action: Any, reward: Any, propensity: Any) -> Any:
    """Learn from rows in their order."""
    values = np.zeros(table.size, np.float32)
    for i in range(action.shape[0]):
        n = read_row(model.layout, None, None, table, i, values)
        learn_row(model, values, table.keys, n, action[i], reward[i], propensity[i])


@kernel
def learn_one(action: Any, reward: Any, propensity: Any, *model_and_row: Any) -> Any:
    """Learn from one row if it needs no further checks; return whether it was learned from."""
    model, table = BanditronModel(*model_and_row[:2]), KernelRows(*model_and_row[2:])
    if not is_plain_row(model.layout, table.data, table.indices, table.indptr):
        return False
    values = np.zeros(table.size, np.float32)
    n = read_row(model.layout, None, None, table, 0, values)
    learn_row(model, values, table.keys, n, action, reward, propensity)
    return True


@kernel
def choose_rows(model: Any, table: Any, out: Any) -> Any:
    """Choose for each row."""
    values = np.zeros(table.size, np.float32)
    for i in range(out.shape[0]):
        n = read_row(model.layout, None, None, table, i, values)
        out[i] = choose_row(model, values, table.keys, n)


@kernel
def choose_within(mask: Any, out: Any, *model_and_rows: Any) -> Any:
    """Choose for each row among the actions that its mask allows."""
    model, table = BanditronModel(*model_and_rows[:2]), KernelRows(*model_and_rows[2:])
    values = np.zeros(table.size, np.float32)
    for i in range(out.shape[0]):
        n = read_row(model.layout, None, None, table, i, values)
        best, largest = -1, np.float32(-np.inf)
        for action in range(np.int64(model.layout[N_MODELS])):
            if mask[i, action]:
                score = product(model.layout, model.weights, action, values, table.keys, n)
                if best < 0 or score > largest:
                    best, largest = action, score
        out[i] = best


@kernel
def choose_one(*model_and_row: Any) -> Any:
    """Choose for one row; -1 if it needs further checks."""
    model, table = BanditronModel(*model_and_row[:2]), KernelRows(*model_and_row[2:])
    if not is_plain_row(model.layout, table.data, table.indices, table.indptr):
        return -1
    values = np.zeros(table.size, np.float32)
    n = read_row(model.layout, None, None, table, 0, values)
    return choose_row(model, values, table.keys, n)


@kernel
def run(
    model: Any, table: Any, label: Any, rewards: Any, rate: Any, draws: Any, chosen: Any, reward: Any, propensity: Any
) -> Any:
    """For each row in turn: choose, explore, look up the reward, learn."""
    values = np.zeros(table.size, np.float32)
    n_actions = np.int64(model.layout[N_MODELS])
    for i in range(chosen.shape[0]):
        n = read_row(model.layout, None, None, table, i, values)
        greedy = choose_row(model, values, table.keys, n)
        action = explore(greedy, n_actions, rate[i], draws[i, 0], draws[i, 1])
        chosen[i], propensity[i] = action, propensity_of(action, greedy, n_actions, rate[i])
        reward[i] = reward_of(label, rewards, i, action)
        learn_row(model, values, table.keys, n, action, reward[i], propensity[i])


@part
def choose_row(model: Any, values: Any, keys: Any, n: Any) -> Any:
    """Return the action of the largest score, the first of equals."""
    best, largest = 0, -np.inf
    for action in range(np.int64(model.layout[N_MODELS])):
        score = product(model.layout, model.weights, action, values, keys, n)
        if score > largest:
            best, largest = action, score
    return best


@part
def learn_row(model: Any, values: Any, keys: Any, n: Any, action: Any, reward: Any, propensity: Any) -> Any:
    """Subtract the row from the greedy action's model; add it, times reward / propensity, to the action's model."""
    layout, weights = model.layout, model.weights
    add_row(layout, weights, choose_row(model, values, keys, n), values, keys, n, np.float32(-1))
    add_row(layout, weights, action, values, keys, n, np.float32(min(reward / propensity, MOST)))
