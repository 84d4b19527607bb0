"""Which leaves are below each node of a tree."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.topology import ActionTree

__all__ = ["LeafRanges"]


class LeafRanges(NamedTuple):
    """Which leaves are below each node, counted from left to right: the left side ends where the right one begins."""

    begin: NDArray[np.int32]
    middle: NDArray[np.int32]
    end: NDArray[np.int32]

    @classmethod
    def of(cls, tree: ActionTree) -> Self:
        """Count the leaves of a tree."""
        n_leaves = np.ones(tree.n_nodes + tree.n_actions, dtype=np.int32)  # by child, ~action from the end
        for node in range(tree.n_nodes - 1, -1, -1):
            n_leaves[node] = n_leaves[tree.left[node]] + n_leaves[tree.right[node]]
        begin = np.zeros(tree.n_nodes, dtype=np.int32)
        for node in range(tree.n_nodes):
            for child, first in ((tree.left[node], 0), (tree.right[node], n_leaves[tree.left[node]])):
                if child >= 0:
                    begin[child] = begin[node] + first
        middle = begin + n_leaves[tree.left]
        return cls(begin, middle, begin + n_leaves[: tree.n_nodes])
