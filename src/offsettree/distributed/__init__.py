"""The same fit on an engine that already runs: Dask, Ray, or processes of this machine."""

from typing import TYPE_CHECKING

from offsettree._lazy import names_on_demand
from offsettree.engines import Engine, connected

if TYPE_CHECKING:
    from offsettree.distributed.offset_forest import DistributedOffsetForest
    from offsettree.distributed.offset_tree import DistributedOffsetTree
    from offsettree.distributed.reward_boosting import DistributedRewardBoosting
    from offsettree.distributed.reward_regression import DistributedRewardRegression
    from offsettree.distributed.store import Store

__all__ = [
    "DistributedOffsetForest",
    "DistributedOffsetTree",
    "DistributedRewardBoosting",
    "DistributedRewardRegression",
    "Engine",
    "Store",
    "connected",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "offset_forest": ("DistributedOffsetForest",),
        "offset_tree": ("DistributedOffsetTree",),
        "reward_boosting": ("DistributedRewardBoosting",),
        "reward_regression": ("DistributedRewardRegression",),
        "store": ("Store",),
    },
)
