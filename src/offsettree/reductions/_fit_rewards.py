"""Reward models by the names that a `reward_model` parameter takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features
from offsettree.reductions._boosted_rewards import BoostedRewards
from offsettree.reductions._reward_models import LinearRewards, RegressedRewards, RewardModel


def fit_rewards(
    reward_model: Any,
    X: Features,
    action: NDArray[np.intp],
    reward: NDArray[np.float64],
    propensity: NDArray[np.float64] | None,
    n_actions: int,
    seed: int,
) -> RewardModel:
    """Fit what a `reward_model` parameter stands for: "linear", "boosting", or a regressor."""
    if isinstance(reward_model, str) and reward_model == "boosting":
        return BoostedRewards(X, action, reward, n_actions, seed)
    if isinstance(reward_model, str):
        return LinearRewards(X, action, reward, propensity, n_actions, seed)
    return RegressedRewards(reward_model, X, action, reward, n_actions, seed)
