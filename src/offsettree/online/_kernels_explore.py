"""Kernels of exploration: the action drawn, its propensity and its reward."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import part


@part
def explore(greedy: Any, n_actions: Any, rate: Any, whether: Any, which: Any) -> Any:
    """Return a uniform action with probability `rate`, else the greedy one, by two uniform draws from [0, 1)."""
    return min(np.int64(which * n_actions), n_actions - 1) if whether < rate else greedy


@part
def propensity_of(action: Any, greedy: Any, n_actions: Any, rate: Any) -> Any:
    """Return the probability of an action under exploration."""
    return rate / n_actions + (1 - rate if action == greedy else 0.0)


@part
def reward_of(label: Any, rewards: Any, at: Any, action: Any) -> Any:
    """Return the reward, from a table with one row per row; with labels, from its single row (miss, hit)."""
    if label is None:
        return rewards[at, action]
    return rewards[0, 1 if label[at] == action else 0]
