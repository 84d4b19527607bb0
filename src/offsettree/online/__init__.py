"""Online learning, one row at a time, with exploration (section 7.2 of the paper)."""

from typing import TYPE_CHECKING

from offsettree._lazy import names_on_demand

if TYPE_CHECKING:
    from offsettree.online._models import OnlineBanditron, OnlineRegression, OnlineTree
    from offsettree.online.banditron import Banditron
    from offsettree.online.exploration import EpochGreedy, EpsilonGreedy
    from offsettree.online.online_regression import OnlineRewardRegression
    from offsettree.online.online_tree import OnlineOffsetTree
    from offsettree.online.progressive import ProgressiveResult, progressive_validation
    from offsettree.online.square_cb import SquareCB

__all__ = [
    "Banditron",
    "EpochGreedy",
    "EpsilonGreedy",
    "OnlineBanditron",
    "OnlineOffsetTree",
    "OnlineRegression",
    "OnlineRewardRegression",
    "OnlineTree",
    "ProgressiveResult",
    "SquareCB",
    "progressive_validation",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "_models": ("OnlineBanditron", "OnlineRegression", "OnlineTree"),
        "banditron": ("Banditron",),
        "exploration": ("EpochGreedy", "EpsilonGreedy"),
        "online_regression": ("OnlineRewardRegression",),
        "online_tree": ("OnlineOffsetTree",),
        "progressive": ("ProgressiveResult", "progressive_validation"),
        "square_cb": ("SquareCB",),
    },
)
