"""Builders of trees: each returns the arrays (left, right) of an `ActionTree`."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._labels import some_labels
from offsettree._validation import as_random_state, is_whole
from offsettree.exceptions import TopologyError

__all__ = [
    "Children",
    "balanced",
    "check_n_actions",
    "from_pairs",
    "order_by_reward",
    "random_order",
    "relabel_pairs",
]

Children: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


def balanced(order: NDArray[np.intp]) -> Children:
    """Split the order in halves recursively; of an odd number the left half gets one more."""
    children = np.empty((len(order) - 1, 2), dtype=np.intp)
    # Level by level from the root, in the order of node numbers.
    begin, end, n_done = np.array([0]), np.array([len(order)]), 0
    while len(begin) > 0:
        middle = (begin + end + 1) // 2
        low, high = np.column_stack([begin, middle]).ravel(), np.column_stack([middle, end]).ravel()
        is_node = high - low > 1
        next_level = n_done + len(begin)
        number = next_level - 1 + np.cumsum(is_node)
        children[n_done:next_level] = np.where(is_node, number, ~order[low]).reshape(-1, 2)
        begin, end, n_done = low[is_node], high[is_node], next_level
    return children[:, 0].copy(), children[:, 1].copy()


def random_order(n_actions: int, random_state: int | np.random.RandomState | None) -> NDArray[np.intp]:
    """Shuffle the actions."""
    return np.asarray(as_random_state(random_state).permutation(check_n_actions(n_actions)), dtype=np.intp)


def order_by_reward(mean_rewards: ArrayLike) -> NDArray[np.intp]:
    """Sort the actions by mean reward; equal ones keep their order."""
    means = np.asarray(mean_rewards, dtype=np.float64)
    if means.ndim != 1 or not np.isfinite(means).all():
        raise TopologyError(f"mean_rewards must be one finite number per action; got {mean_rewards!r}.")
    check_n_actions(len(means))
    return np.argsort(means, kind="stable")


def from_pairs(pairs: Any) -> Children:
    """Flatten nested pairs of whole numbers, breadth first; not recursive, so that chains may be long."""
    left: list[int] = []
    right: list[int] = []
    pending = deque([pairs])
    n_numbered = 1
    leaves = []
    while pending:
        for children, child in zip((left, right), _check_pair(pending.popleft()), strict=True):
            if isinstance(child, tuple | list):
                children.append(n_numbered)
                pending.append(child)
                n_numbered += 1
            elif is_whole(child):
                children.append(~int(child))
                leaves.append(int(child))
            else:
                raise TopologyError(f"a leaf must be the position of an action, a whole number; got {child!r}.")
    _check_leaves(leaves, range(len(leaves)))
    return np.array(left, dtype=np.intp), np.array(right, dtype=np.intp)


def relabel_pairs(pairs: Any, actions: NDArray[Any]) -> Any:
    """Replace action labels by their positions in `actions`, in nested pairs."""
    position = {label: where for where, label in enumerate(actions.tolist())}
    leaves: list[Hashable] = []
    root: list[Any] = []
    # A pair becomes a two-element list that is filled later, to avoid recursion.
    pending = deque([(pairs, root)])
    while pending:
        pair, filled = pending.popleft()
        for child in _check_pair(pair):
            if isinstance(child, tuple | list):
                filled.append([])
                pending.append((child, filled[-1]))
            elif not isinstance(child, Hashable):
                raise TopologyError(f"a leaf must be an action's label; got {child!r}.")
            else:
                leaves.append(child)
                filled.append(position.get(child, -1))
    _check_leaves(leaves, actions.tolist())
    return root


def _check_pair(pair: Any) -> Any:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TopologyError(f"a tree must be nested pairs, such as ((0, 1), 2); got {pair!r} where a pair should be.")
    return pair


def _check_leaves(leaves: list[Any], actions: Iterable[Any]) -> None:
    expected = set(actions)
    found = set(leaves)
    if found == expected and len(leaves) == len(expected):
        return
    parts = []
    if unknown := sorted(found - expected, key=repr):
        parts.append(f"unknown: {some_labels(np.array(unknown, dtype=object))}")
    if missing := sorted(expected - found, key=repr):
        parts.append(f"missing: {some_labels(np.array(missing, dtype=object))}")
    if len(leaves) > len(found):
        parts.append("some appear twice")
    raise TopologyError(
        f"the leaves of the tree must be the {len(expected)} actions, each exactly once; {'; '.join(parts)}."
    )


def check_n_actions(n_actions: int) -> int:
    """Refuse a tree over fewer than two actions."""
    if not isinstance(n_actions, int | np.integer) or n_actions < 2:
        raise TopologyError(f"a tree needs at least two actions; got {n_actions!r}.")
    return int(n_actions)
