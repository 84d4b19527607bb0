"""Shapes of the tree over the actions."""

from offsettree.topology.action_tree import ActionTree
from offsettree.topology.reward_models import RewardModels
from offsettree.topology.specification import tree_from

__all__ = ["ActionTree", "RewardModels", "tree_from"]
