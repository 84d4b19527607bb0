"""Policies over actions with features, which come and go: learned from logs with a set of eligible actions per row."""

from typing import TYPE_CHECKING

from offsettree._lazy import names_on_demand

if TYPE_CHECKING:
    from offsettree.actions.conditional_logit import ConditionalLogit, log_shares
    from offsettree.actions.eligible import labels_of, without
    from offsettree.actions.labelled import LabelledActions
    from offsettree.actions.offset_tree import ActionOffsetTree
    from offsettree.actions.online_offset_tree import OnlineActionOffsetTree
    from offsettree.actions.online_regression import OnlineActionRegression
    from offsettree.actions.policy import ActionPolicy
    from offsettree.actions.popular import PopularAction
    from offsettree.actions.regression import ActionRegression
    from offsettree.actions.saved import SavedActionPolicy, SavedActionRegression, describe_core, read_core

__all__ = [
    "ActionOffsetTree",
    "ActionPolicy",
    "ActionRegression",
    "ConditionalLogit",
    "LabelledActions",
    "OnlineActionOffsetTree",
    "OnlineActionRegression",
    "PopularAction",
    "SavedActionPolicy",
    "SavedActionRegression",
    "describe_core",
    "labels_of",
    "log_shares",
    "read_core",
    "without",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "conditional_logit": ("ConditionalLogit", "log_shares"),
        "eligible": ("labels_of", "without"),
        "labelled": ("LabelledActions",),
        "offset_tree": ("ActionOffsetTree",),
        "online_offset_tree": ("OnlineActionOffsetTree",),
        "online_regression": ("OnlineActionRegression",),
        "policy": ("ActionPolicy",),
        "popular": ("PopularAction",),
        "regression": ("ActionRegression",),
        "saved": ("SavedActionPolicy", "SavedActionRegression", "describe_core", "read_core"),
    },
)
