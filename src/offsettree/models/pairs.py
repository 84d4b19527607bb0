"""Every two classes meet: all pairs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.models.contests import Contests
from offsettree.models.forest import CompiledForest
from offsettree.models.layout import CompiledTree
from offsettree.models.model import Model
from offsettree.models.part import Contents, Part
from offsettree.models.tournaments import read_contests
from offsettree.topology import ActionTree

__all__ = ["Pairs"]

TWO = ActionTree([-1], [-2])


class Pairs(Model):
    """The action that wins most of its meetings; of equals the first. In contest c, ``pairs[c]`` meet."""

    kind = "pairs"

    def __init__(self, pairs: NDArray[np.int32], contests: Contests, n_actions: int) -> None:
        self.pairs = pairs
        self.contests = contests
        self.n_actions = n_actions

    def contents(self) -> Contents:
        return Contents({"count": len(self.pairs)}, {"pairs": self.pairs}, {"contests": self.contests})

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        n_pairs = part.integer("count", 1, 1 << 31)
        pairs = part.positions("pairs", np.int32, n_actions, n_pairs, 2)
        return cls(pairs, read_contests(part.part("contests"), n_pairs, n_columns), n_actions)

    @property
    def takes_missing(self) -> bool:
        return self.contests.takes_missing

    def _compile(self) -> CompiledTree | None:
        """Every contest votes for the winner."""
        trees = []
        for contest, pair in enumerate(self.pairs):
            alone = self.contests.compile(TWO, contest)
            tree = None if alone is None else alone.with_actions(pair, self.n_actions)
            if tree is None:
                return None
            trees.append(tree)
        return CompiledForest(trees, self.n_actions)

    def choose(self, X: Any) -> NDArray[np.intp]:
        compiled = self.compiled() if self.contests.takes(X) else None
        if compiled is not None:
            return compiled.choose(X)
        return np.asarray(self._wins(X, None).argmax(axis=1))

    def choose_within(self, X: Any, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        return np.asarray(np.where(mask, self._wins(X, mask), -1).argmax(axis=1))

    def _wins(self, X: Any, mask: NDArray[np.bool_] | None) -> NDArray[np.int32]:
        wins = np.zeros((X.shape[0], self.n_actions), dtype=np.int32)
        for contest, (first, second) in enumerate(self.pairs.tolist()):
            first_wins = self.contests.prefers_left(contest, X)
            meet = True if mask is None else mask[:, first] & mask[:, second]
            wins[:, first] += first_wins & meet
            wins[:, second] += ~first_wins & meet
        return wins
