"""Sums over decision trees of numbers: forests of regressors, of multiclass trees, and boosting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.models._batches import dense_blocks, over_tables
from offsettree.models._by_numpy import goes_without, leaves_of
from offsettree.models.part import Part, must_hold
from offsettree.models.tree_table import TreeTable

__all__ = ["TreeSums"]

KINDS = (np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.float64))


@dataclass(frozen=True, eq=False)
class TreeSums:
    """Output o of a row is ``(base[o] + the sum of leaves) / divisor[o]``, in the order of the trees.

    Tree t adds the row ``value_of[leaf]`` of `values` to the outputs from ``output[t]`` on. An ``output`` of -1 adds to
    all: the tree then has columns beyond those of X, and to output o the one of ``which[o]`` is 1, others 0; a `which`
    of -1 is left out. Rows are compared in float32 where `narrow`, as scikit-learn's trees do, else in float64.
    """

    trees: TreeTable
    value_of: NDArray[np.int32]
    values: NDArray[np.float64]
    output: NDArray[np.int32]
    which: NDArray[np.int32]
    base: NDArray[np.float64]
    divisor: NDArray[np.float64]
    narrow: bool

    @property
    def n_outputs(self) -> int:
        """How many there are."""
        return len(self.base)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is written, by name."""
        names = ("value_of", "values", "output", "which", "base", "divisor")
        return {**{name: getattr(self, name) for name in names}, **self.trees.arrays()}

    def settings(self) -> dict[str, Any]:
        """Return what the manifest says of it."""
        return {"narrow": self.narrow, "trees": len(self.output), "indicators": int(self.which.max(initial=-1)) + 1}

    @classmethod
    def read(cls, part: Part, n_outputs: int, n_columns: int) -> Self:
        """Read and check what was written."""
        n_trees = part.integer("trees", 0, 1 << 31)
        n_indicators = part.integer("indicators", 0, 1 << 31)
        output = part.array("output", np.int32, n_trees)
        to_all = output == -1
        # Only trees that add to all outputs are shown indicators.
        n_shown = n_columns + (n_indicators if to_all.any() else 0)
        trees = TreeTable.read(part, n_trees, n_shown, np.float64)
        values = part.finite("values", np.float64, None, None)
        value_of = part.array("value_of", np.int32, len(trees.feature))
        must_hold(
            (trees.feature >= 0) | ((value_of >= 0) & (value_of < len(values))),
            f"{part.where}.value_of.npy",
            f"at every leaf a number from 0 to {len(values) - 1}",
        )
        must_hold(
            to_all | ((output >= 0) & (output.astype(np.int64) + values.shape[1] <= n_outputs)),
            f"{part.where}.output.npy",
            f"outputs below {n_outputs}, or -1",
        )
        must_hold(not to_all.any() or values.shape[1] == 1, f"{part.where}.values.npy", "one number per leaf")
        which = part.array("which", np.int32, n_outputs)
        must_hold((which >= -1) & (which < n_indicators), f"{part.where}.which.npy", "indicators that there are, or -1")
        base = part.finite("base", np.float64, n_outputs)
        divisor = part.finite("divisor", np.float64, n_outputs)
        must_hold(divisor > 0, f"{part.where}.divisor.npy", "numbers above 0")
        return cls(trees, value_of, values, output, which, base, divisor, part.truth("narrow"))

    def of_one_row(self) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
        """Return the function from one row of float32, float64 or int64 to its outputs."""
        from offsettree.models._kernels_scores import sum_trees

        parts = (*self.trees.for_sums(), self.values, self.value_of, self.output, self.which)
        base, divisor, narrow = self.base[np.newaxis], self.divisor, self.narrow

        def numbers_of(x: NDArray[Any]) -> NDArray[np.float64]:
            out = base.copy()
            sum_trees(*parts, x[np.newaxis], narrow, out)
            return np.asarray(out[0] / divisor)

        return numbers_of

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return the outputs for every row, of shape (n_rows, n_outputs)."""
        out = np.repeat(self.base[np.newaxis], X.shape[0], axis=0)
        if (self.output >= 0).all() and goes_without("_kernels_scores", X):
            with np.errstate(over="ignore"):
                row = X[0].astype(np.float32 if self.narrow else np.float64).astype(np.float64)
            for leaf, first in zip(leaves_of(*self.trees.for_sums(), row), self.output, strict=True):
                out[0, first : first + self.values.shape[1]] += self.values[self.value_of[leaf]]
            return np.asarray(out / self.divisor)
        from offsettree.models._kernels_scores import sum_trees

        trees, rest = self.trees.for_sums(), (self.values, self.value_of, self.output, self.which)

        for begin, table in dense_blocks(X):
            here = out[begin : begin + len(table)]

            def walk(values: NDArray[Any], first: int, last: int, here: NDArray[Any] = here) -> int:
                sum_trees(*trees, *rest, values.reshape(last - first, -1), self.narrow, here[first:last])
                return 0

            over_tables(walk, table, KINDS, n_walks=max(1, len(self.output)))
        out /= self.divisor
        return out
