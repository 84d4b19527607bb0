"""Trees of contests over the actions: an offset tree, or a forest of them that votes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.models.boosted_contests import BoostedContests
from offsettree.models.committee_contests import CommitteeContests
from offsettree.models.contests import Contests
from offsettree.models.forest import CompiledForest
from offsettree.models.layout import CompiledTree
from offsettree.models.model import Model
from offsettree.models.part import Contents, Part, refusing
from offsettree.models.plane_contests import PlaneContests
from offsettree.models.split_contests import SplitContests
from offsettree.topology import ActionTree

__all__ = ["CONTESTS", "Tournaments", "read_contests"]

CONTESTS: dict[str, type[Contests]] = {
    each.kind: each for each in (SplitContests, PlaneContests, CommitteeContests, BoostedContests)
}


class Tournaments(Model):
    """Trees over the actions with a contest at every node; of several trees, the action that most of them choose.

    Contest c of tree t is number ``t * (n_actions - 1) + c`` of the contests.
    """

    kind = "contests"

    def __init__(self, trees: list[ActionTree], contests: Contests, *, voting: bool) -> None:
        self.trees = trees
        self.contests = contests
        self.voting = voting
        self.n_actions = trees[0].n_actions

    def contents(self) -> Contents:
        shape = {
            name: np.stack([getattr(tree, name) for tree in self.trees]).astype(np.int32) for name in ("left", "right")
        }
        return Contents({"trees": len(self.trees), "voting": self.voting}, shape, {"contests": self.contests})

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        n_trees, n_nodes = part.integer("trees", 1, 1 << 31), n_actions - 1
        left, right = (part.array(name, np.int32, n_trees, n_nodes) for name in ("left", "right"))
        with refusing(f"{part.where}.left.npy and right.npy"):
            trees = [ActionTree(*children) for children in zip(left, right, strict=True)]
        return cls(
            trees, read_contests(part.part("contests"), n_trees * n_nodes, n_columns), voting=part.truth("voting")
        )

    def _compile(self) -> CompiledTree | None:
        n_nodes = self.n_actions - 1
        whole = []
        for place, tree in enumerate(self.trees):
            compiled = self.contests.compile(tree, place * n_nodes)
            if compiled is None:
                return None
            whole.append(compiled)
        return CompiledForest(whole, self.n_actions) if self.voting else whole[0]

    @property
    def takes_missing(self) -> bool:
        return self.contests.takes_missing

    def choose(self, X: Any) -> NDArray[np.intp]:
        compiled = self.compiled() if self.contests.takes(X) else None
        return self._choose(X, None) if compiled is None else compiled.choose(X)

    def choose_within(self, X: Any, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        return self._choose(X, mask)

    def _choose(self, X: Any, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        if not self.voting:
            return self.contests.choose(self.trees[0], 0, X, mask)
        return np.asarray(self._votes(X, mask).argmax(axis=1))

    def probabilities(self, X: Any, mask: NDArray[np.bool_] | None) -> NDArray[np.float64]:
        """See `Model`; of trees that vote, their shares."""
        return self._votes(X, mask) / len(self.trees) if self.voting else super().probabilities(X, mask)

    def _votes(self, X: Any, mask: NDArray[np.bool_] | None) -> NDArray[np.int32]:
        if mask is None and self.contests.takes(X) and isinstance(forest := self.compiled(), CompiledForest):
            return forest.votes(X)
        counts = np.zeros((X.shape[0], self.n_actions), dtype=np.int32)
        for place, tree in enumerate(self.trees):
            chosen = self.contests.choose(tree, place * tree.n_nodes, X, mask)
            counts[np.arange(len(counts)), chosen] += 1
        return counts


def read_contests(part: Part, n_contests: int, n_columns: int) -> Contests:
    """Read contests of any kind."""
    return CONTESTS[part.choice("kind", tuple(CONTESTS))].read(part, n_contests, n_columns)
