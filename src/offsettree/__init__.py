"""Policies from logs of decisions: the Offset Tree for learning with partial labels."""

from offsettree.learners import Costing, HistogramTree
from offsettree.logs import LoggedData, simulate_log
from offsettree.reductions import (
    AllPairs,
    BinaryOffset,
    ImportanceWeighted,
    OffsetForest,
    OffsetTree,
    RewardRegression,
)
from offsettree.topology import ActionTree

__all__ = [
    "ActionTree",
    "AllPairs",
    "BinaryOffset",
    "Costing",
    "HistogramTree",
    "ImportanceWeighted",
    "LoggedData",
    "OffsetForest",
    "OffsetTree",
    "RewardRegression",
    "simulate_log",
]

__version__ = "0.1.0.dev0"
