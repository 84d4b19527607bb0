"""Reductions: from a log to problems that ordinary learners solve, and back to a policy."""

from offsettree.reductions.all_pairs import AllPairs
from offsettree.reductions.binary_offset import BinaryOffset
from offsettree.reductions.doubly_robust import DoublyRobust
from offsettree.reductions.importance_weighted import ImportanceWeighted
from offsettree.reductions.offset_forest import OffsetForest
from offsettree.reductions.offset_tree import OffsetTree
from offsettree.reductions.reward_regression import RewardRegression

__all__ = [
    "AllPairs",
    "BinaryOffset",
    "DoublyRobust",
    "ImportanceWeighted",
    "OffsetForest",
    "OffsetTree",
    "RewardRegression",
]
