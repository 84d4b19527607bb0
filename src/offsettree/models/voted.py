"""Boosted scores plus votes of offset trees: what reward boosting decides by on short logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from offsettree._available import pieces, rank_by_scores
from offsettree.models._by_numpy import boosted_scores_of, count_walks, goes_without
from offsettree.models.boosted_model import Boosted
from offsettree.models.boosted_scores import BoostedScores
from offsettree.models.forest import CompiledForest
from offsettree.models.layout import CompiledTree, OneRow
from offsettree.models.model import Model
from offsettree.models.part import Contents, Part, must_hold
from offsettree.models.split_contests import SplitContests
from offsettree.models.tournaments import Tournaments

__all__ = ["BoostedWithVotes", "VotedScores"]

LARGEST_WEIGHT = 1e9


@dataclass(frozen=True, eq=False)
class VotedScores(CompiledTree):
    """The action of the largest score, of equals the first; every vote of the forest adds `weight` to a score."""

    boosted: BoostedScores
    forest: CompiledForest
    weight: float

    @property
    def n_actions(self) -> int:  # type: ignore[override]
        """How many there are."""
        return self.boosted.n_actions

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every row and action."""
        return self._screened(X)[0]

    def _screened(self, X: Any) -> tuple[NDArray[np.float64], int]:
        score, found = self.boosted.scores_screening(X)
        score += self.weight * self.forest.votes(X)
        return score, found

    def choose_screening(self, X: Any, refused: int) -> NDArray[np.intp] | None:
        position = np.empty(X.shape[0], dtype=np.intp)
        for rows in pieces(X.shape[0], self.n_actions):
            score, found = self._screened(X[rows])
            if found & refused:
                return None
            position[rows] = score.argmax(axis=1)
        return position

    def rank(self, X: Any, n: int, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        """Return the positions of the n largest scores among those that the mask leaves."""
        return rank_by_scores(self.scores, X, self.n_actions, n, mask)

    def one_row_by_numpy(self, refused: int) -> OneRow | None:
        if not goes_without("_kernels_boosted"):
            return None
        scores, votes = boosted_scores_of(self.boosted.arrays, refused), count_walks(*self.forest.graph_and_roots)
        if scores is None:
            return None

        def choose_one(x: NDArray[Any]) -> int:
            score = scores(x)
            return -1 if score is None else int((score + self.weight * votes(x, self.n_actions)).argmax())

        return choose_one

    def one_row(self, refused: int) -> OneRow:
        from offsettree.models._kernels_boosted import choose_one

        trees, linear = self.boosted.tuples()
        count, n_actions, weight = self.forest.count_one(), self.n_actions, self.weight

        def choose(x: NDArray[Any]) -> int:
            votes = np.zeros(n_actions)
            count(x, votes)
            votes *= weight
            return choose_one(x, trees, linear, votes, refused)  # type: ignore[no-any-return]

        return choose


class BoostedWithVotes(Model):
    """The action of the largest sum of a boosted score and weighted votes; of equals the first."""

    kind = "boosted with votes"

    def __init__(self, boosted: Boosted, forest: Tournaments, weight: float) -> None:
        self.boosted = boosted
        self.forest = forest
        self.weight = weight
        self.n_actions = boosted.n_actions

    def contents(self) -> Contents:
        return Contents({"weight": self.weight}, {}, {"boosted": self.boosted, "forest": self.forest})

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        of_forest, of_scores = part.part("forest"), part.part("boosted")
        of_forest.choice("kind", (Tournaments.kind,))
        of_scores.choice("kind", (Boosted.kind,))
        forest = Tournaments.read(of_forest, n_actions, n_columns)
        is_forest = forest.voting and isinstance(forest.contests, SplitContests)
        must_hold(is_forest, of_forest.where, "decision trees that vote")
        weight = part.number("weight", 0.0, LARGEST_WEIGHT)
        return cls(Boosted.read(of_scores, n_actions, n_columns), forest, weight)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every row and action."""
        return self._voted().scores(X)

    def choose(self, X: Any) -> NDArray[np.intp]:
        return self._voted().choose(X)

    def rank(self, X: Any, n: int, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        return self._voted().rank(X, n, mask)

    def _voted(self) -> VotedScores:
        return cast(VotedScores, self.compiled())

    def _compile(self) -> CompiledTree:
        return VotedScores(self.boosted.flat, cast(CompiledForest, self.forest.compiled()), self.weight)
