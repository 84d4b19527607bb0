"""Reductions: from a log to problems that ordinary learners solve, and back to a policy."""

from typing import TYPE_CHECKING

from offsettree._lazy import names_on_demand

if TYPE_CHECKING:
    from offsettree.reductions._action_values import shrunken_from_sums, shrunken_values
    from offsettree.reductions._boosted_rewards import fit_rewards
    from offsettree.reductions._corrections import CorrectionForest
    from offsettree.reductions._reward_models import RewardModel, check_reward_model
    from offsettree.reductions.all_pairs import AllPairs
    from offsettree.reductions.binary_offset import BinaryOffset
    from offsettree.reductions.constant_policy import ConstantPolicy
    from offsettree.reductions.distillation import distill
    from offsettree.reductions.doubly_robust import DoublyRobust
    from offsettree.reductions.importance_weighted import ImportanceWeighted
    from offsettree.reductions.offset_forest import OffsetForest
    from offsettree.reductions.offset_tree import OffsetTree
    from offsettree.reductions.policy_tree import PolicyTree
    from offsettree.reductions.reward_boosting import RewardBoosting
    from offsettree.reductions.reward_regression import RewardRegression

__all__ = [
    "AllPairs",
    "BinaryOffset",
    "ConstantPolicy",
    "CorrectionForest",
    "DoublyRobust",
    "ImportanceWeighted",
    "OffsetForest",
    "OffsetTree",
    "PolicyTree",
    "RewardBoosting",
    "RewardModel",
    "RewardRegression",
    "check_reward_model",
    "distill",
    "fit_rewards",
    "shrunken_from_sums",
    "shrunken_values",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "_action_values": ("shrunken_from_sums", "shrunken_values"),
        "_corrections": ("CorrectionForest",),
        "_boosted_rewards": ("fit_rewards",),
        "_reward_models": ("RewardModel", "check_reward_model"),
        "all_pairs": ("AllPairs",),
        "binary_offset": ("BinaryOffset",),
        "constant_policy": ("ConstantPolicy",),
        "distillation": ("distill",),
        "doubly_robust": ("DoublyRobust",),
        "importance_weighted": ("ImportanceWeighted",),
        "offset_forest": ("OffsetForest",),
        "offset_tree": ("OffsetTree",),
        "policy_tree": ("PolicyTree",),
        "reward_boosting": ("RewardBoosting",),
        "reward_regression": ("RewardRegression",),
    },
)
