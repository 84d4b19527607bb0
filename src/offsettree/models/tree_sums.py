"""Sums over decision trees of numbers: forests of regressors, of multiclass trees, and boosting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.models._batches import is_csr, over_tables
from offsettree.models._tables import check_entries
from offsettree.models.part import Part, must_hold

__all__ = ["ENTRY_FIELDS", "TreeSums", "dense_blocks"]

ENTRY_FIELDS: dict[str, Any] = {
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "missing_left": np.bool_,
}
KINDS = (np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.float64))
VALUES_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class TreeSums:
    """Output o of a row is ``(base[o] + the sum of leaves) / divisor[o]``, in the order of the trees.

    Tree t owns the entries ``start[t]`` to ``start[t + 1] - 1``, and adds the row ``value_of[leaf]`` of `values` to the
    outputs from ``output[t]`` on. An ``output`` of -1 adds to all: the tree then has columns beyond those of X, and to
    output o the one of ``which[o]`` is 1, others 0; a `which` of -1 is left out. Rows are compared in float32 where
    `narrow`, as scikit-learn's trees do, else in float64.
    """

    start: NDArray[np.int64]
    fields: dict[str, NDArray[Any]]
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
        names = ("start", "value_of", "values", "output", "which", "base", "divisor")
        return {**{name: getattr(self, name) for name in names}, **self.fields}

    def settings(self) -> dict[str, Any]:
        """Return what the manifest says of it."""
        return {"narrow": self.narrow, "trees": len(self.output), "indicators": int(self.which.max(initial=-1)) + 1}

    @classmethod
    def read(cls, part: Part, n_outputs: int, n_columns: int) -> Self:
        """Read and check what was written."""
        n_trees = part.integer("trees", 0, 1 << 31)
        n_indicators = part.integer("indicators", 0, 1 << 31)
        start = part.starts("start", n_trees)
        n_entries = int(start[-1])
        fields = {name: part.array(name, dtype, n_entries) for name, dtype in ENTRY_FIELDS.items()}
        output = part.array("output", np.int32, n_trees)
        to_all = output == -1
        # Only trees that add to all outputs are shown indicators.
        check_entries(part.where, start, fields, n_columns + (n_indicators if to_all.any() else 0), 0)
        values = part.finite("values", np.float64, None, None)
        value_of = part.array("value_of", np.int32, n_entries)
        must_hold(
            (fields["feature"] >= 0) | ((value_of >= 0) & (value_of < len(values))),
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
        return cls(start, fields, value_of, values, output, which, base, divisor, part.truth("narrow"))

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return the outputs for every row, of shape (n_rows, n_outputs)."""
        from offsettree.models._kernels_scores import sum_trees

        out = np.repeat(self.base[np.newaxis], X.shape[0], axis=0)
        tables = tuple(self.fields[name] for name in ENTRY_FIELDS)
        rest = self.start, self.values, self.value_of, self.output, self.which

        for begin, table in dense_blocks(X):
            here = out[begin : begin + len(table)]

            def walk(values: NDArray[Any], first: int, last: int, here: NDArray[Any] = here) -> int:
                sum_trees(tables, *rest, values.reshape(last - first, -1), self.narrow, here[first:last])
                return 0

            over_tables(walk, table, KINDS, n_walks=max(1, len(self.output)))
        out /= self.divisor
        return out


def dense_blocks(X: Any) -> Any:
    """Yield the first row and a table of as many rows as can be written out at once; an array as it is."""
    if not is_csr(X):
        yield 0, X
        return
    step = max(1, VALUES_AT_ONCE // max(1, X.shape[1]))
    for first in range(0, X.shape[0], step):
        yield first, X[first : first + step].toarray()
