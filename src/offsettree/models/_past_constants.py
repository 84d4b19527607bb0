"""The way through a tree whose constant contests are left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from offsettree.topology import ActionTree


def way_past_constants(
    tree: ActionTree, constant: Sequence[int | None]
) -> tuple[list[int], NDArray[np.int32], NDArray[np.int32], int]:
    """Return the contests that are real, and for each of them what comes next; constants are walked past beforehand.

    `constant` has a label, 1 for the left side, where the contest has always the same answer, else None. Children are
    numbers among the contests returned, or ``~action``; the last value is where the walk begins.
    """
    real = [node for node, label in enumerate(constant) if label is None]
    entry = np.empty(tree.n_nodes, dtype=np.int32)
    entry[real] = np.arange(len(real))
    children = tree.left.tolist(), tree.right.tolist()
    for node in range(tree.n_nodes - 1, -1, -1):
        label = constant[node]
        if label is not None:
            child = children[0][node] if label == 1 else children[1][node]
            entry[node] = entry[child] if child >= 0 else child
    left, right = (
        np.array([entry[side[node]] if side[node] >= 0 else side[node] for node in real], dtype=np.int32)
        for side in children
    )
    return real, left, right, int(entry[0])
