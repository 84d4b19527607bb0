"""Contests that are sums over decision trees, as boosting makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.models.contests import ContestsOrConstants, read_constants
from offsettree.models.part import Contents, Part, must_hold
from offsettree.models.tree_sums import TreeSums
from offsettree.topology import ActionTree

__all__ = ["BoostedContests"]


@dataclass(frozen=True, eq=False)
class BoostedContests(ContestsOrConstants):
    """The left side of contest c wins where ``base[c]`` and its trees sum to more than zero.

    Contest c owns the trees ``tree_start[c]`` to ``tree_start[c + 1] - 1``.
    """

    kind = "boosted"

    constant: NDArray[np.int8]
    tree_start: NDArray[np.int64]
    sums: TreeSums

    def contents(self) -> Contents:
        own: dict[str, NDArray[Any]] = {"constant": self.constant, "tree_start": self.tree_start}
        return Contents(self.sums.settings(), {**own, **self.sums.arrays()})

    @classmethod
    def read(cls, part: Part, n_contests: int, n_columns: int) -> Self:
        sums = TreeSums.read(part, n_contests, n_columns)
        tree_start = part.starts("tree_start", n_contests, len(sums.output))
        owner = np.repeat(np.arange(n_contests), np.diff(tree_start))
        must_hold((sums.output == owner) & (sums.values.shape[1] == 1), part.where, "trees of one contest each")
        return cls(read_constants(part, n_contests), tree_start, sums)

    def compile(self, tree: ActionTree, first: int) -> None:
        """See `Contests`: there is no such form."""
        return

    def _ask(self, contest: int, X: Any) -> NDArray[np.bool_]:
        first, last = int(self.tree_start[contest]), int(self.tree_start[contest + 1])
        begin, end = int(self.sums.trees.start[first]), int(self.sums.trees.start[last])
        only = TreeSums(
            self.sums.trees.only(first, last),
            self.sums.value_of[begin:end],
            self.sums.values,
            np.zeros(last - first, dtype=np.int32),
            np.full(1, -1, dtype=np.int32),
            self.sums.base[contest : contest + 1],
            self.sums.divisor[contest : contest + 1],
            self.sums.narrow,
        )
        return np.asarray(only.scores(X)[:, 0] > 0)
