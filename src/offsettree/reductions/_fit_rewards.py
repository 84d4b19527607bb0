"""Reward models by the names that a `reward_model` parameter takes."""

from __future__ import annotations

from typing import Any

from offsettree.logs import CheckedLog
from offsettree.reductions._boosted_rewards import BoostedRewards
from offsettree.reductions._reward_models import LinearRewards, RegressedRewards, RewardModel


def fit_rewards(reward_model: Any, log: CheckedLog, seed: int, *, weighted: bool = True) -> RewardModel:
    """Fit what a `reward_model` parameter stands for: "linear", "boosting", or a regressor."""
    if isinstance(reward_model, str) and reward_model == "boosting":
        return BoostedRewards(log, seed)
    if isinstance(reward_model, str):
        return LinearRewards(log, seed, weighted=weighted)
    return RegressedRewards(reward_model, log, seed)
