"""The engine of `RewardBoosting`: trees that all actions share, boosted on the one reward that each row has."""

from offsettree.reductions.boosting._held_out import HeldOut

__all__ = ["HeldOut"]
