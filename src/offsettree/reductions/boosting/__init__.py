"""The engine of `RewardBoosting`: boosted trees shared by all actions, from one reward per row."""

from offsettree.reductions.boosting._boosting import BoostedLog, BoostedModel, BoostingSettings, boost
from offsettree.reductions.boosting._held_out import HeldOut

__all__ = ["BoostedLog", "BoostedModel", "BoostingSettings", "HeldOut", "boost"]
