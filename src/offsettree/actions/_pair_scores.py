"""Scores of pairs of a context and an action as flat arrays: the one form by which policies decide, live and loaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.actions._encoding import n_products, products
from offsettree.models import Contents, Part, must_hold
from offsettree.models.boosted import MISSING
from offsettree.models.scores import LinearScores, TreeScores

DEEPEST = 7
LARGE = 1e300
MOST_STACKED = 1 << 22  # numbers
BLOCK_NUMBERS = 1 << 22
TREE_FIELDS = ("edges", "is_category", "feature", "lowest", "span", "values", "output")
Matrix = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]


class PairScores(ABC):
    """A number for every pair: `x` has a row per context, `a` one per pair, and `row` is the context of each."""

    kind: ClassVar[str]

    @abstractmethod
    def scores(self, x: Matrix, a: Matrix, row: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the score of each pair."""

    def contents(self) -> Contents:
        """Return what is written of it."""
        return Contents({}, {})


@dataclass(frozen=True, eq=False)
class BoostedPairs(PairScores):
    """A linear part with products of features, then boosted trees over context, action and how the two meet."""

    kind = "boosted pairs"
    linear: Arrays  # the fields of `_kernels_pairs.Products`, but for the level
    level: float
    trees: Arrays  # those of `models.Trees`

    def contents(self) -> Contents:
        """See `PairScores`."""
        n_trees, n_tests = self.trees["feature"].shape
        settings = {"level": self.level, "trees": n_trees, "depth": int(n_tests + 1).bit_length() - 1}
        return Contents(settings, self.linear | self.trees)

    @classmethod
    def read(cls, part: Part, n_x: int, n_a: int) -> Self:
        """Read and check what was written."""
        to_x = part.finite("to_x", np.float64, n_x, None)
        n_directions = to_x.shape[1]
        linear = {
            "of_x": part.finite("of_x", np.float64, n_x),
            "of_a": part.finite("of_a", np.float64, n_a),
            "met": part.finite("met", np.float64, None, n_a),
            "squares": part.finite("squares", np.float64, None, n_a),
            "to_x": to_x,
            "to_a": part.finite("to_a", np.float64, n_a, n_directions),
        }
        for name, n_rows in (("met", n_x), ("squares", n_a)):
            must_hold(len(linear[name]) in (0, n_rows), f"{part.where}.{name}.npy", f"{n_rows} rows, or none")
        trees = read_trees(part, n_x + n_a + 4 * n_directions + 1, 1)
        return cls(linear, part.number("level", -LARGE, LARGE), trees)

    def scores(self, x: Matrix, a: Matrix, row: NDArray[np.intp]) -> NDArray[np.float64]:
        """See `PairScores`."""
        from offsettree.actions._kernels_pairs import score_pairs

        out = np.empty(len(row))
        score_pairs(x, a, row, *self.tuples(), out)
        return out

    def scores_of_one(self, x: Matrix, a: Matrix, scales: Any, largest: float) -> NDArray[np.float64] | None:
        """Return the scores of one context's actions before these are scaled; None if they must be refused."""
        from offsettree.actions._kernels_one import score_one

        out = np.empty(len(a))
        return out if score_one(x, a, scales, largest, *self.tuples(), out) else None

    def tuples(self) -> tuple[Any, Any]:
        """Return the arrays as kernels take them; made once."""
        if "_tuples" not in self.__dict__:
            from offsettree.actions._kernels_pairs import Products
            from offsettree.models import Trees

            trees = Trees(*(self.trees[name] for name in TREE_FIELDS))
            object.__setattr__(self, "_tuples", (Products(self.level, **self.linear), trees))
        made: tuple[Any, Any] = self.__dict__["_tuples"]
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_tuples"}


@dataclass(frozen=True, eq=False)
class TableScores(PairScores):
    """A linear function, or a sum over trees, of one table: context, action, and with `interactions` products."""

    kind = "table"
    table: LinearScores | TreeScores
    interactions: bool

    def contents(self) -> Contents:
        """See `PairScores`."""
        return Contents({"interactions": self.interactions}, {}, {"table": self.table})

    @classmethod
    def read(cls, part: Part, n_x: int, n_a: int) -> Self:
        """Read and check what was written."""
        interactions, table = part.truth("interactions"), part.part("table")
        n_columns = n_x + (n_products(n_x, n_a) if interactions else n_a)
        of_kind: Any = {each.kind: each for each in (LinearScores, TreeScores)}
        return cls(of_kind[table.choice("kind", tuple(of_kind))].read(table, 1, n_columns), interactions)

    def scores(self, x: Matrix, a: Matrix, row: NDArray[np.intp]) -> NDArray[np.float64]:
        """See `PairScores`."""
        n_x, n_a = x.shape[1], a.shape[1]
        step = max(1, BLOCK_NUMBERS // max(1, n_x + (n_products(n_x, n_a) if self.interactions else n_a)))
        out = np.empty(len(row))
        for first in range(0, len(row), step):  # even one row may have very many pairs
            here = slice(first, first + step)
            out[here] = self.table.scores(design(x[row[here]], a[here], self.interactions))[:, 0]
        return out


@dataclass(frozen=True, eq=False)
class LearnerScores(PairScores):
    """A fitted regressor that has no form in flat arrays: it is asked itself, and cannot be saved."""

    kind = "learner"
    learner: Any
    interactions: bool

    def scores(self, x: Matrix, a: Matrix, row: NDArray[np.intp]) -> NDArray[np.float64]:
        """See `PairScores`."""
        return np.asarray(self.learner.predict(design(x[row], a, self.interactions)), dtype=np.float64)


def design(x: Matrix, a: Matrix, interactions: bool) -> Matrix:
    """Return the table that a regressor learns from: features of the context, then of the action, then products."""
    return np.hstack([x, products(x, a) if interactions else a])


def read_pair_scores(part: Part, n_x: int, n_a: int) -> PairScores:
    """Read scores of any kind."""
    of_kind: dict[str, Any] = {each.kind: each for each in (BoostedPairs, TableScores)}
    found: PairScores = of_kind[part.choice("kind", tuple(of_kind))].read(part, n_x, n_a)
    return found


def stack_products(models: list[BoostedPairs | None], n_x: int, n_a: int) -> Any:
    """Return linear parts, one after the other, as the kernel of one tournament takes them.

    None if one is not linear, or all are too large. A model without arrays has only zeros, which take memory here.
    """
    from offsettree.actions._kernels_pairs import Products

    if not 0 < len(models) * (n_x + n_a) * n_a <= MOST_STACKED:
        return None
    shapes = {"of_x": (n_x,), "of_a": (n_a,), "met": (n_x, n_a), "squares": (n_a, n_a)}
    stacked = {name: np.zeros((len(models), *shape)) for name, shape in shapes.items()}
    for height, model in enumerate(models):
        if model is None or model.linear.get("to_x", np.empty((0, 0))).shape[1]:
            return None
        for name, array in model.linear.items():
            if name in stacked and len(array):
                stacked[name][height] = array
    level: Any = np.array([0.0 if model is None else model.level for model in models])
    return Products(level, **stacked, to_x=np.zeros((n_x, 0)), to_a=np.zeros((n_a, 0)))


def as_products(
    coef: NDArray[np.float64], n_x: int, n_a: int, *, with_products: bool, n_directions: int
) -> dict[str, NDArray[Any]]:
    """Return the coefficients of the design as the fields of `_kernels_pairs.Products`."""
    of_x, of_a = coef[:n_x].copy(), coef[n_x : n_x + n_a].copy()
    if not with_products:
        none = {"met": np.zeros((0, n_a)), "squares": np.zeros((0, n_a))}
        return {"of_x": of_x, "of_a": of_a, **none, "to_x": np.zeros((n_x, 0)), "to_a": np.zeros((n_a, 0))}
    met = coef[n_x + n_a : n_x + n_a + n_x * n_a].reshape(n_x, n_a).copy()
    squares = np.zeros((n_a, n_a))
    squares[np.triu_indices(n_a)] = coef[n_x + n_a + n_x * n_a :]
    left, _, right = np.linalg.svd(met, full_matrices=False)
    to_x = np.ascontiguousarray(left[:, :n_directions])
    to_a = np.ascontiguousarray(right[:n_directions].T)
    return {"of_x": of_x, "of_a": of_a, "met": met, "squares": squares, "to_x": to_x, "to_a": to_a}


def linear_pairs(coef: NDArray[np.float64], n_x: int, n_a: int, level: float, *, products: bool) -> BoostedPairs:
    """Return the scores of a linear model of the design, without trees."""
    linear = as_products(coef, n_x, n_a, with_products=products, n_directions=0)
    return BoostedPairs(linear, float(level), empty_trees(n_x + n_a + 1))


def empty_trees(n_columns: int, n_outputs: int = 1) -> Arrays:
    """Return the arrays of no trees."""
    return {
        "edges": np.zeros((n_columns, MISSING), dtype=np.float32),
        "is_category": np.zeros(n_columns, dtype=bool),
        "feature": np.zeros((0, 1), dtype=np.int32),
        "lowest": np.zeros((0, 1), dtype=np.uint8),
        "span": np.zeros((0, 1), dtype=np.uint8),
        "values": np.zeros((0, 2, n_outputs), dtype=np.float32),
        "output": np.zeros(0, dtype=np.int32),
    }


def read_trees(part: Part, n_columns: int, n_outputs: int) -> Arrays:
    """Read and check trees whose leaves have a number per output."""
    n_trees = part.integer("trees", 0, 1 << 31)
    n_tests = 2 ** part.integer("depth", 1, DEEPEST) - 1
    tests = n_trees, n_tests
    arrays: Arrays = {
        "edges": part.array("edges", np.float32, n_columns, MISSING),
        "is_category": part.array("is_category", np.bool_, n_columns),
        "feature": part.positions("feature", np.int32, n_columns, *tests),
        "lowest": part.array("lowest", np.uint8, *tests),
        "span": part.array("span", np.uint8, *tests),
        "values": part.finite("values", np.float32, n_trees, n_tests + 1, n_outputs),
        "output": part.positions("output", np.int32, 1, n_trees),
    }
    must_hold(~arrays["is_category"], f"{part.where}.is_category.npy", "columns of numbers only")
    return arrays
