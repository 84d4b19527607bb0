"""Decision trees of scikit-learn whose leaves hold numbers, in one table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.models.tree_sums import TreeSums
from offsettree.models.tree_table import TreeTable
from offsettree.reading.cannot_flatten import CannotFlatten

__all__ = ["TreeList", "read_boosting", "read_tree", "table_of_tree"]


@dataclass
class TreeList:
    """Trees one after the other: the fields of their entries, a row of values for each, and the output they add to."""

    tables: list[TreeTable] = field(default_factory=list)
    values: list[NDArray[np.float64]] = field(default_factory=list)  # of shape (n_entries, n_values)
    output: list[int] = field(default_factory=list)

    def add(self, table: TreeTable, values: NDArray[np.float64], output: int = 0) -> None:
        """Append a tree."""
        self.tables.append(table)
        self.values.append(values)
        self.output.append(output)

    def extend(self, other: TreeList, output: int) -> None:
        """Append all trees of another list, which now add to the outputs from `output` on."""
        for table, values, own in zip(other.tables, other.values, other.output, strict=True):
            self.add(table, values, output if output < 0 else output + own)

    def on_columns(self, columns: NDArray[np.intp] | None) -> TreeList:
        """Let the trees speak of the columns of X rather than of those that they see."""
        if columns is None:
            return self
        tables = [
            replace(each, feature=np.where(each.is_leaf, -1, columns[np.maximum(each.feature, 0)]))
            for each in self.tables
        ]
        return TreeList(tables, self.values, self.output)

    def sums(
        self,
        base: NDArray[np.float64],
        divisor: NDArray[np.float64],
        *,
        narrow: bool,
        which: NDArray[np.int32] | None = None,
    ) -> TreeSums:
        """Return the table of all; only leaves keep their values."""
        trees = TreeTable.joined(self.tables, np.float64)
        values = np.concatenate(self.values or [np.empty((0, 1))])
        leaf = trees.is_leaf
        return TreeSums(
            trees,
            np.where(leaf, np.cumsum(leaf) - 1, -1).astype(np.int32),
            np.ascontiguousarray(values[leaf], dtype=np.float64),
            np.array(self.output, dtype=np.int32),
            np.full(len(base), -1, dtype=np.int32) if which is None else which,
            base.astype(np.float64),
            divisor.astype(np.float64),
            narrow,
        )


def table_of_tree(tree: Any) -> tuple[TreeTable, NDArray[np.float64]]:
    """Return the entries of one of scikit-learn's trees, and values of shape (n_entries, n_outputs, n_classes)."""
    state = tree.__getstate__()  # as for a pickle: both arrays at once, without a copy for every field
    nodes = state["nodes"]
    return TreeTable(
        np.array([0, len(nodes)]),
        nodes["feature"],
        nodes["threshold"],
        nodes["left_child"],
        nodes["right_child"],
        nodes["missing_go_to_left"] != 0,
    ), state["values"]


def read_tree(tree: Any, trees: TreeList, output: int = 0) -> None:
    """Append one of scikit-learn's trees: several outputs, or the classes of one."""
    table, values = table_of_tree(tree)
    if values.shape[1] > 1 and values.shape[2] > 1:
        raise CannotFlatten("trees of several outputs with several classes")
    trees.add(table, values.reshape(len(values), -1), output)


def read_boosting(model: Any) -> TreeList:
    """Return the trees of histogram gradient boosting, each adding to the output of its class."""
    if model._preprocessor is not None or model.is_categorical_ is not None:
        raise CannotFlatten(f"{type(model).__name__} with categories")
    trees = TreeList()
    for iteration in model._predictors:
        for output, predictor in enumerate(iteration):
            nodes = predictor.nodes
            leaf = nodes["is_leaf"] != 0
            if nodes["is_categorical"].any():
                raise CannotFlatten(f"{type(model).__name__} with categories")
            table = TreeTable(
                np.array([0, len(nodes)]),
                nodes["feature_idx"],
                nodes["num_threshold"],
                np.where(leaf, -1, nodes["left"].astype(np.int64)),
                np.where(leaf, -1, nodes["right"].astype(np.int64)),
                nodes["missing_go_to_left"] != 0,
            )
            trees.add(table, nodes["value"][:, np.newaxis].astype(np.float64), output)
    return trees
