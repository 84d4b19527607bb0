"""The tree over the actions in the form of kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offsettree.topology import ActionTree


def links_of(tree: ActionTree) -> NDArray[np.int64]:
    """Return four rows: left child, right child and parent of each node, and the node above each leaf."""
    links = np.zeros((4, tree.n_actions), dtype=np.int64)
    links[:3, :-1] = tree.left, tree.right, tree.parent
    links[3] = tree.leaf_parent
    return links
