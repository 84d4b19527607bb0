"""Shapes of the tree over the actions."""

from typing import TYPE_CHECKING

from offsettree._lazy import names_on_demand

if TYPE_CHECKING:
    from offsettree.topology._design import BLOCK_ROWS, Design
    from offsettree.topology.action_tree import ActionTree
    from offsettree.topology.reward_models import RewardModels
    from offsettree.topology.specification import tree_from

__all__ = ["BLOCK_ROWS", "ActionTree", "Design", "RewardModels", "tree_from"]

__getattr__ = names_on_demand(
    __name__,
    {
        "_design": ("BLOCK_ROWS", "Design"),
        "action_tree": ("ActionTree",),
        "reward_models": ("RewardModels",),
        "specification": ("tree_from",),
    },
)
