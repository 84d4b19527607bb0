"""Policies from logs of decisions: the Offset Tree for learning with partial labels."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from offsettree.actions import (
        ActionOffsetTree,
        ActionRegression,
        OnlineActionOffsetTree,
        OnlineActionRegression,
        PopularAction,
    )
    from offsettree.evaluation import Estimate, PropensityEstimate, estimate_propensity, evaluate, make_policy_scorer
    from offsettree.learners import Costing, HistogramTree
    from offsettree.logs import ActionSets, LoggedData, TableEncoder, simulate_catalogue, simulate_log
    from offsettree.online import (
        Banditron,
        EpochGreedy,
        EpsilonGreedy,
        OnlineOffsetTree,
        OnlineRewardRegression,
        ProgressiveResult,
        SquareCB,
        progressive_validation,
    )
    from offsettree.policy import Policy
    from offsettree.policy_file import SavedPolicy, export_onnx, load, load_action_policy, save
    from offsettree.reductions import (
        AllPairs,
        BinaryOffset,
        ConstantPolicy,
        DoublyRobust,
        ImportanceWeighted,
        OffsetForest,
        OffsetTree,
        PolicyTree,
        RewardBoosting,
        RewardRegression,
        distill,
    )
    from offsettree.registry import register_format, register_learner, register_policy
    from offsettree.selection import PolicySearch
    from offsettree.topology import ActionTree

__all__ = [
    "ActionOffsetTree",
    "ActionRegression",
    "ActionSets",
    "ActionTree",
    "AllPairs",
    "Banditron",
    "BinaryOffset",
    "ConstantPolicy",
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
    "OnlineActionOffsetTree",
    "OnlineActionRegression",
    "OnlineOffsetTree",
    "OnlineRewardRegression",
    "Policy",
    "PolicySearch",
    "PolicyTree",
    "PopularAction",
    "ProgressiveResult",
    "PropensityEstimate",
    "RewardBoosting",
    "RewardRegression",
    "SavedPolicy",
    "SquareCB",
    "TableEncoder",
    "distill",
    "estimate_propensity",
    "evaluate",
    "export_onnx",
    "load",
    "load_action_policy",
    "make_policy_scorer",
    "progressive_validation",
    "register_format",
    "register_learner",
    "register_policy",
    "save",
    "simulate_catalogue",
    "simulate_log",
]

__version__ = "0.2.0"

# Where each public name is. Imported when first asked for: the command line answers at once, and a saved policy
# decides without scikit-learn.
_HOMES = {
    "actions": (
        "ActionOffsetTree",
        "ActionRegression",
        "OnlineActionOffsetTree",
        "OnlineActionRegression",
        "PopularAction",
    ),
    "evaluation": ("Estimate", "PropensityEstimate", "estimate_propensity", "evaluate", "make_policy_scorer"),
    "learners": ("Costing", "HistogramTree"),
    "logs": ("ActionSets", "LoggedData", "TableEncoder", "simulate_catalogue", "simulate_log"),
    "online": (
        "Banditron",
        "EpochGreedy",
        "EpsilonGreedy",
        "OnlineOffsetTree",
        "OnlineRewardRegression",
        "ProgressiveResult",
        "SquareCB",
        "progressive_validation",
    ),
    "policy": ("Policy",),
    "policy_file": ("SavedPolicy", "export_onnx", "load", "load_action_policy", "save"),
    "reductions": (
        "AllPairs",
        "BinaryOffset",
        "ConstantPolicy",
        "DoublyRobust",
        "ImportanceWeighted",
        "OffsetForest",
        "OffsetTree",
        "PolicyTree",
        "RewardBoosting",
        "RewardRegression",
        "distill",
    ),
    "registry": ("register_format", "register_learner", "register_policy"),
    "selection": ("PolicySearch",),
    "topology": ("ActionTree",),
}
_FOLDERS = {*_HOMES, "datasets", "exceptions", "experiments", "facts", "report", "theory", "workflow"}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


if "joblib.externals.loky" in sys.modules:  # perhaps in one of its worker processes
    import_module("offsettree._workers").end_with_parent()


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        value = getattr(import_module(f"offsettree.{_HOME_OF[name]}"), name)
    elif name in _FOLDERS:
        value = import_module(f"offsettree.{name}")
    else:
        raise AttributeError(f"module 'offsettree' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
