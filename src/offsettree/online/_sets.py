"""Online models that choose among some of their actions only."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from offsettree.online._layout import N_FEATURES, WIDTH, make_layout
from offsettree.topology import ActionTree

__all__ = ["by_set", "functions_within", "links_of", "links_within"]


def by_set(mask: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.intp]]]:
    """Yield each set of available actions that there is, and the rows that have it."""
    sets, number = np.unique(mask, axis=0, return_inverse=True)
    order = np.argsort(number.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(number.ravel(), minlength=len(sets)))
    yield from zip(sets, np.split(order, ends[:-1]), strict=True)


def links_of(tree: ActionTree) -> NDArray[np.int64]:
    """Return left, right and parent of each node, and the node above each leaf, as kernels walk them."""
    links = np.zeros((4, tree.n_actions), dtype=np.int64)
    links[:3, :-1] = tree.left, tree.right, tree.parent
    links[3] = tree.leaf_parent
    return links


def links_within(tree: ActionTree, links: NDArray[np.int64], among: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the links with which a walk down ends at one of some actions."""
    links = links.copy()
    has_action = np.zeros(tree.n_nodes, dtype=bool)
    for node in tree.bottom_up():
        left, right = int(tree.left[node]), int(tree.right[node])
        has_left, has_right = (has_action[side] if side >= 0 else among[~side] for side in (left, right))
        has_action[node] = has_left or has_right
        if has_left != has_right:
            # Whatever the contest says, there is one way to go.
            links[:2, node] = left if has_left else right
    return links


def functions_within(
    layout: NDArray[np.uint64], weights: NDArray[np.float32], among: NDArray[np.bool_]
) -> tuple[NDArray[np.uint64], NDArray[np.float32], NDArray[np.intp]]:
    """Return layout and weights of the linear functions of some actions, not hashed and without bias, and these."""
    position = np.flatnonzero(among)
    of_some = make_layout(int(layout[N_FEATURES]), len(position), bias=False)
    if layout[WIDTH] > 0:
        return of_some, weights[position], position
    by_feature = weights.reshape(-1, len(among))
    return of_some, np.ascontiguousarray(by_feature[:, position]).reshape(1, -1), position
