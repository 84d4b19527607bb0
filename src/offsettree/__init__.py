"""Policies from logs of decisions: the Offset Tree for learning with partial labels."""

from offsettree.evaluation import Estimate, PropensityEstimate, estimate_propensity, evaluate, make_policy_scorer
from offsettree.learners import Costing, HistogramTree
from offsettree.logs import LoggedData, simulate_log
from offsettree.online import (
    Banditron,
    EpochGreedy,
    EpsilonGreedy,
    OnlineOffsetTree,
    ProgressiveResult,
    progressive_validation,
)
from offsettree.reductions import (
    AllPairs,
    BinaryOffset,
    DoublyRobust,
    ImportanceWeighted,
    OffsetForest,
    OffsetTree,
    RewardRegression,
)
from offsettree.selection import PolicySearch
from offsettree.topology import ActionTree

__all__ = [
    "ActionTree",
    "AllPairs",
    "Banditron",
    "BinaryOffset",
    "Costing",
    "DoublyRobust",
    "EpochGreedy",
    "EpsilonGreedy",
    "Estimate",
    "HistogramTree",
    "ImportanceWeighted",
    "LoggedData",
    "OffsetForest",
    "OffsetTree",
    "OnlineOffsetTree",
    "PolicySearch",
    "ProgressiveResult",
    "PropensityEstimate",
    "RewardRegression",
    "estimate_propensity",
    "evaluate",
    "make_policy_scorer",
    "progressive_validation",
    "simulate_log",
]

__version__ = "0.1.0.dev0"
