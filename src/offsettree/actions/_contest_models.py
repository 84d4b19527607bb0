"""Who wins a contest between two actions with features, as flat arrays: antisymmetric by construction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.actions._encoding import n_products, products
from offsettree.actions._pair_scores import BoostedPairs
from offsettree.actions._tournament import Contests
from offsettree.models import Contents, Part
from offsettree.models.scores import LinearScores, TreeScores

BLOCK_NUMBERS = 1 << 22
Matrix = NDArray[np.float64]


class ContestModel(ABC):
    """Says by how much the left action of each contest wins: below zero where it loses, zero for a tie."""

    kind: ClassVar[str]

    @abstractmethod
    def margin(self, x: Matrix, a: Matrix, contests: Contests) -> NDArray[np.float64]:
        """Return the margin of the left one; `x` has a row per context, `a` one per pair."""

    def contents(self) -> Contents:
        """Return what is written of it."""
        return Contents({}, {})


@dataclass(frozen=True, eq=False)
class ScoredContest(ContestModel):
    """A linear classifier of differences: each side has a score, and the larger one wins."""

    kind = "scored"
    scores: BoostedPairs

    def contents(self) -> Contents:
        """See `ContestModel`."""
        return Contents({}, {}, {"scores": self.scores})

    @classmethod
    def read(cls, part: Part, n_x: int, n_a: int) -> Self:
        """Read and check what was written."""
        return cls(BoostedPairs.read(part.part("scores"), n_x, n_a))

    def margin(self, x: Matrix, a: Matrix, contests: Contests) -> NDArray[np.float64]:
        """See `ContestModel`."""
        left, right = (self.scores.scores(x, a[side], contests.row) for side in (contests.left, contests.right))
        return np.asarray(left - right)


@dataclass(frozen=True, eq=False)
class TableContest(ContestModel):
    """Any classifier in flat arrays: what it says of the sides as they are minus what it says of them swapped."""

    kind = "table"
    table: LinearScores | TreeScores  # of two outputs, the second for the left side
    inputs: str

    def contents(self) -> Contents:
        """See `ContestModel`."""
        return Contents({"inputs": self.inputs}, {}, {"table": self.table})

    @classmethod
    def read(cls, part: Part, n_x: int, n_a: int) -> Self:
        """Read and check what was written."""
        inputs, table = part.choice("inputs", ("difference", "both")), part.part("table")
        n_columns = n_products(n_x, n_a) + (n_x + 2 * n_a if inputs == "both" else 0)
        of_kind: Any = {each.kind: each for each in (LinearScores, TreeScores)}
        return cls(of_kind[table.choice("kind", tuple(of_kind))].read(table, 2, n_columns), inputs)

    def margin(self, x: Matrix, a: Matrix, contests: Contests) -> NDArray[np.float64]:
        """See `ContestModel`."""
        return _in_blocks(lambda table: self.table.scores(table)[:, 1], x, a, contests, self.inputs)


@dataclass(frozen=True, eq=False)
class LearnedContest(ContestModel):
    """A fitted classifier that has no form in flat arrays: it is asked itself, and cannot be saved."""

    kind = "learner"
    learner: Any
    inputs: str

    def margin(self, x: Matrix, a: Matrix, contests: Contests) -> NDArray[np.float64]:
        """See `ContestModel`."""
        return _in_blocks(lambda table: _support(self.learner, table), x, a, contests, self.inputs)


class Undecided(ContestModel):
    """Of a height that no row taught anything: all are ties."""

    kind = "undecided"

    @classmethod
    def read(cls, part: Part, n_x: int, n_a: int) -> Self:
        """Read what was written."""
        return cls()

    def margin(self, x: Matrix, a: Matrix, contests: Contests) -> NDArray[np.float64]:
        """See `ContestModel`."""
        return np.zeros(len(contests.row))


def linear_of(contest: ContestModel) -> BoostedPairs | None:
    """Return the scores of the two sides if these are linear; those of ties are 0."""
    if isinstance(contest, Undecided):
        return BoostedPairs({}, 0.0, {})
    if isinstance(contest, ScoredContest) and not len(contest.scores.trees["feature"]):
        return contest.scores
    return None


def read_contest(part: Part, n_x: int, n_a: int) -> ContestModel:
    """Read a model of any kind."""
    of_kind: dict[str, Any] = {each.kind: each for each in (ScoredContest, TableContest, Undecided)}
    found: ContestModel = of_kind[part.choice("kind", tuple(of_kind))].read(part, n_x, n_a)
    return found


def both_ways(x: Matrix, a: Matrix, contests: Contests, inputs: str) -> tuple[Matrix, Matrix]:
    """Return what a classifier sees of contests, with the sides as they are and swapped."""
    context, left, right = x[contests.row], a[contests.left], a[contests.right]
    difference = products(context, left) - products(context, right)
    if inputs == "difference":
        return difference, -difference
    return np.hstack([context, left, right, difference]), np.hstack([context, right, left, -difference])


def _in_blocks(ask: Any, x: Matrix, a: Matrix, contests: Contests, inputs: str) -> NDArray[np.float64]:
    margin = np.empty(len(contests.row))
    step = max(1, BLOCK_NUMBERS // (n_products(x.shape[1], a.shape[1]) + x.shape[1] + 1))
    for first in range(0, len(margin), step):
        part = np.arange(first, min(first + step, len(margin)))
        forth, back = both_ways(x, a, contests.take(part), inputs)
        margin[part] = ask(forth) - ask(back)
    return margin


def _support(model: Any, table: Matrix) -> NDArray[np.float64]:
    """Return how much the classifier speaks for the left one."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(table), dtype=np.float64)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(table)[:, 1], dtype=np.float64)
    return np.asarray(model.predict(table), dtype=np.float64)
