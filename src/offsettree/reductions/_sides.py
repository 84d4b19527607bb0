"""The two sides of a contest where rows may not choose every action: who has a choice to make there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree._available import Available
from offsettree._features import Features, count_rows, take_rows
from offsettree.reductions._nodes import prefers_left
from offsettree.topology import ActionTree
from offsettree.topology.action_tree import LeafRanges


@dataclass(frozen=True)
class Sides:
    """What each side of each contest has to offer to each row of a log."""

    available: Available  # columns in the order of the leaves
    ranges: LeafRanges

    @classmethod
    def of(cls, tree: ActionTree, available: Available) -> Self:
        """See the actions of a log as leaves of a tree."""
        return cls(available.in_order(tree.leaves), tree.leaf_ranges)

    def meet(self, node: int, rows: NDArray[np.intp], from_left: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell which rows of a contest find anything available on the side that they did not come from."""
        begin, middle, end = (int(bound[node]) for bound in self.ranges)
        meets = np.empty(len(rows), dtype=bool)
        meets[from_left] = self.available.any_of(rows[from_left], middle, end)
        meets[~from_left] = self.available.any_of(rows[~from_left], begin, middle)
        return meets

    def offers(self, node: int, rows: NDArray[np.intp]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Tell for which rows the left side, and for which the right side, has anything available."""
        begin, middle, end = (int(bound[node]) for bound in self.ranges)
        return self.available.any_of(rows, begin, middle), self.available.any_of(rows, middle, end)


def descend(
    tree: ActionTree, classifiers: Sequence[Any], X: Features, available: Available | None = None
) -> NDArray[np.intp]:
    """Send each row from the root to the leaf that every contest on its way prefers (Algorithm 3).

    Where rows may not choose every action, only contests between two open sides are asked.
    """
    sides = None if available is None else Sides.of(tree, available)
    action = np.empty(count_rows(X), dtype=np.intp)
    pending: list[tuple[int, NDArray[np.intp]]] = [(0, np.arange(len(action)))]
    while pending:
        node, rows = pending.pop()
        if sides is None:
            sent_left = prefers_left(classifiers[node], take_rows(X, rows) if node else X)
        else:
            sent_left, right_open = sides.offers(node, rows)
            asked = np.flatnonzero(sent_left & right_open)
            if len(asked):
                sent_left[asked] = prefers_left(classifiers[node], take_rows(X, rows[asked]))
        for child, moved in ((tree.left[node], rows[sent_left]), (tree.right[node], rows[~sent_left])):
            if child < 0:
                action[moved] = ~child
            elif len(moved):
                pending.append((int(child), moved))
    return action
