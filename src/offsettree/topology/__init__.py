"""Shapes of the tree over the actions."""

from offsettree.topology.action_tree import ActionTree
from offsettree.topology.specification import tree_from

__all__ = ["ActionTree", "tree_from"]
