"""Build the tree from the user's `tree` parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.exceptions import ParameterError, TopologyError
from offsettree.topology.action_tree import ActionTree
from offsettree.topology.builders import relabel_pairs
from offsettree.topology.reward_models import RewardModels

__all__ = ["tree_from"]


def tree_from(
    tree: Any,
    actions: NDArray[Any],
    mean_rewards: Callable[[], NDArray[np.float64]],
    reward_models: Callable[[], RewardModels],
    random_state: np.random.RandomState,
    randomize: float = 0.0,
) -> ActionTree:
    """Build the tree from a name, an `ActionTree`, or nested pairs of labels.

    `mean_rewards` and `reward_models` are called only for "similar" and "learned"; `randomize` is for learned trees.
    """
    if isinstance(tree, ActionTree):
        if tree.n_actions != len(actions):
            raise TopologyError(
                f"the leaves of the tree must be the actions; it has {tree.n_actions} leaves for {len(actions)} "
                "actions. If some were never logged, name them all: actions=[...]."
            )
        return tree
    if isinstance(tree, tuple | list):
        return ActionTree.from_pairs(relabel_pairs(tree, actions))
    if isinstance(tree, str) and tree == "balanced":
        return ActionTree.balanced(len(actions))
    if isinstance(tree, str) and tree == "random":
        return ActionTree.random(len(actions), random_state)
    if isinstance(tree, str) and tree == "similar":
        return ActionTree.similar(mean_rewards())
    if isinstance(tree, str) and tree == "learned":
        return ActionTree(*reward_models().children(random_state, randomize))
    raise ParameterError(
        "tree must be 'balanced', 'random', 'similar', 'learned', an ActionTree, or nested pairs of action labels; "
        f"got {tree!r}."
    )
