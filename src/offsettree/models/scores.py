"""A number for every action: the largest is chosen."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from offsettree._available import best_of, pieces
from offsettree.models._batches import dense_blocks
from offsettree.models._by_numpy import goes_without, leaves_of
from offsettree.models.boosted_model import Boosted
from offsettree.models.graph import SplitGraph, as_words
from offsettree.models.layout import OneRow
from offsettree.models.model import Model, Whole
from offsettree.models.part import Contents, Part, Stored
from offsettree.models.planes import Planes
from offsettree.models.tree_sums import TreeSums
from offsettree.models.tree_table import NO_SETS, TreeTable

__all__ = ["BoostedRewardScores", "LeafMeans", "LinearScores", "Scores", "TreeScores"]


class Summand(Stored):
    """Numbers for every row and action, which are added to those of others."""

    @abstractmethod
    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return a number for every row and action."""

    def of_one_row(self) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
        """Return the function from one row of float32, float64 or int64 to its numbers, with all else at hand."""
        return lambda x: self.scores(x[np.newaxis])[0]


@dataclass(frozen=True, eq=False)
class LinearScores(Summand):
    """A linear function per action."""

    kind = "linear"
    planes: Planes
    clipped: bool = False  # to where rewards are, from 0 to 1

    def contents(self) -> Contents:
        return Contents({"clipped": self.clipped}, self.planes.arrays())

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        return cls(Planes.read(part, n_actions, n_columns), part.truth("clipped"))

    def scores(self, X: Any) -> NDArray[np.float64]:
        scores = self.planes.scores(X)
        return np.clip(scores, 0, 1) if self.clipped else scores

    def of_one_row(self) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
        numbers_of = self.planes.of_one_row()
        return (lambda x: np.clip(numbers_of(x), 0, 1)) if self.clipped else numbers_of


@dataclass(frozen=True, eq=False)
class TreeScores(Summand):
    """Sums over decision trees."""

    kind = "trees"
    sums: TreeSums
    clipped: bool = False

    def contents(self) -> Contents:
        return Contents({"clipped": self.clipped, **self.sums.settings()}, self.sums.arrays())

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        return cls(TreeSums.read(part, n_actions, n_columns), part.truth("clipped"))

    def scores(self, X: Any) -> NDArray[np.float64]:
        scores = self.sums.scores(X)
        return np.clip(scores, 0, 1) if self.clipped else scores

    def of_one_row(self) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
        numbers_of = self.sums.of_one_row()
        return (lambda x: np.clip(numbers_of(x), 0, 1)) if self.clipped else numbers_of

    def graph(self) -> SplitGraph | None:
        """Return the way from a row to the action of the largest number, where there is one tree for all of them."""
        sums = self.sums
        if not sums.narrow or sums.output.tolist() != [0] or sums.values.shape[1] != sums.n_outputs:
            return None
        numbers = (sums.base + sums.values) / sums.divisor
        best = (np.clip(numbers, 0, 1) if self.clipped else numbers).argmax(axis=1)
        trees, leaf = sums.trees, sums.trees.is_leaf
        place = np.where(leaf, ~best[np.where(leaf, sums.value_of, 0)], np.cumsum(~leaf) - 1).astype(np.int32)
        words, flags = as_words(trees.threshold, trees.missing_left, None)
        left, right = (place[np.where(leaf, 0, below)] for below in (trees.left, trees.right))
        nodes = np.stack([trees.feature, words, left, right], axis=1)
        return SplitGraph(np.ascontiguousarray(nodes[~leaf]), flags[~leaf], NO_SETS, int(place[0]), sums.n_outputs)


@dataclass(frozen=True, eq=False)
class LeafMeans(Summand):
    """A forest whose leaves hold numbers of some actions only: of entry e, those of row e of a CSR matrix."""

    kind = "leaf means"
    trees: TreeTable
    means: Any

    def contents(self) -> Contents:
        means = dict(zip(("data", "indices", "indptr"), self._rows_of_means, strict=True))
        return Contents({"trees": self.trees.n_trees}, self.trees.arrays() | means)

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        trees = TreeTable.read(part, part.integer("trees", 1, 1 << 31), n_columns, np.float64)
        n_entries = len(trees.feature)
        data = part.finite("data", np.float64, None)
        indices = part.positions("indices", np.int32, n_actions, len(data))
        indptr = part.starts("indptr", n_entries, len(data))
        return cls(trees, sp.csr_array((data, indices, indptr), shape=(n_entries, n_actions)))

    def scores(self, X: Any) -> NDArray[np.float64]:
        out = np.zeros((X.shape[0], self.means.shape[1]))
        without_kernels = goes_without("_kernels_scores", X)
        for first, table in dense_blocks(X):
            with np.errstate(over="ignore"):  # too large for float32 is infinite to a threshold as well
                narrow = np.ascontiguousarray(table, dtype=np.float32)
            if without_kernels:
                for leaf in leaves_of(*self.trees.for_sums(), narrow[0].astype(np.float64)):
                    here = slice(self.means.indptr[leaf], self.means.indptr[leaf + 1])
                    out[0, self.means.indices[here]] += self.means.data[here] * (1 / self.trees.n_trees)
                continue
            from offsettree.models._kernels_scores import add_leaf_means

            add_leaf_means(*self.trees.for_sums(), *self._rows_of_means, narrow, out[first : first + len(narrow)])
        return out

    def of_one_row(self) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
        from offsettree.models._kernels_scores import add_leaf_means

        parts, n_actions = (*self.trees.for_sums(), *self._rows_of_means), self.means.shape[1]

        def numbers_of(x: NDArray[Any]) -> NDArray[np.float64]:
            numbers = np.zeros(n_actions)
            with np.errstate(over="ignore"):
                add_leaf_means(*parts, x.astype(np.float32)[np.newaxis], numbers[np.newaxis])
            return numbers

        return numbers_of

    @property
    def _rows_of_means(self) -> tuple[Any, Any, Any]:
        return self.means.data, self.means.indices.astype(np.int32), self.means.indptr.astype(np.int64)


@dataclass(frozen=True, eq=False)
class BoostedRewardScores(Summand):
    """The logistic function of boosted scores; or the scores times `unit`, kept within 0 and 1."""

    kind = "boosted"
    model: Boosted
    logistic: bool
    unit: float

    def contents(self) -> Contents:
        of_model = self.model.contents()
        return Contents({"logistic": self.logistic, "unit": self.unit, **of_model.settings}, of_model.arrays)

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        model = Boosted.read(part, n_actions, n_columns)
        return cls(model, part.truth("logistic"), part.number("unit", 0, 1))

    def scores(self, X: Any) -> NDArray[np.float64]:
        score = self.model.flat.scores(X)
        if self.logistic:
            return np.asarray(1 / (1 + np.exp(-np.clip(score, -500, 500))))
        return np.clip(score * self.unit, 0, 1)


SCORES: dict[str, type[Summand]] = {
    each.kind: each for each in (LinearScores, TreeScores, LeafMeans, BoostedRewardScores)
}


class LargestSum(Whole):
    """Scores that decide on one row with as little as possible in between."""

    model: Scores

    def one_row_by_numpy(self, refused: int) -> OneRow | None:
        return super().one_row(refused) if goes_without("_kernels_scores") else None

    def one_row(self, refused: int) -> OneRow:
        from offsettree.models._kernels_rows import scan

        first, *others = (each.of_one_row() for each in self.model.summands)

        def choose_one(x: NDArray[Any]) -> int:
            if scan(x) & refused:
                return -1
            total = first(x)
            for numbers_of in others:
                total = total + numbers_of(x)
            return int(total.argmax())

        return choose_one


@dataclass(eq=False)
class Scores(Model):
    """The action of the largest sum of scores; of equals the first."""

    kind = "scores"
    _row_by_row = LargestSum

    summands: Sequence[Summand]
    n_actions: int

    def contents(self) -> Contents:
        return Contents({}, {}, {"summands": list(self.summands)})

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        parts = part.parts("summands")
        return cls(
            [SCORES[each.choice("kind", tuple(SCORES))].read(each, n_actions, n_columns) for each in parts], n_actions
        )

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return the sum of the scores of every row and action."""
        total = self.summands[0].scores(X)
        for summand in self.summands[1:]:
            total = total + summand.scores(X)
        return total

    def _compile(self) -> SplitGraph | None:
        only = self.summands[0]
        return only.graph() if len(self.summands) == 1 and isinstance(only, TreeScores) else None

    @property
    def takes_missing(self) -> bool:
        return all(not isinstance(each, LinearScores) or each.planes.at_missing is not None for each in self.summands)

    def choose(self, X: Any) -> NDArray[np.intp]:
        graph = self.compiled()
        if graph is not None:
            return graph.choose(X)
        position = np.empty(X.shape[0], dtype=np.intp)
        for rows in pieces(X.shape[0], self.n_actions):
            position[rows] = self.scores(X[rows]).argmax(axis=1)
        return position

    def rank(self, X: Any, n: int, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        return best_of(self.scores(X), n, mask)
