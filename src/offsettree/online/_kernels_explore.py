"""What a row of a run is about: another action now and then, how likely that was, and what it earns."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import part

__all__ = ["earned", "explore", "propensity_of"]


@part
def explore(greedy: Any, n_actions: Any, rate: Any, whether: Any, which: Any) -> Any:
    """Return any action with probability `rate`, else the greedy one; the draws are uniform from 0 to 1."""
    return min(np.int64(which * n_actions), n_actions - 1) if whether < rate else greedy


@part
def propensity_of(action: Any, greedy: Any, n_actions: Any, rate: Any) -> Any:
    """Tell how likely it was to come to an action."""
    return rate / n_actions + (1 - rate if action == greedy else 0.0)


@part
def earned(label: Any, rewards: Any, at: Any, action: Any) -> Any:
    """Look up the reward in a table with a row per row; or, where there is a label, [for a miss, for a hit]."""
    if label is None:
        return rewards[at, action]
    return rewards[0, 1 if label[at] == action else 0]
