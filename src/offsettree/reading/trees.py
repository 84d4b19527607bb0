"""Decision trees of scikit-learn whose leaves hold numbers, in one table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.models.tree_sums import ENTRY_FIELDS, TreeSums
from offsettree.reading.cannot_flatten import CannotFlatten

__all__ = ["TreeList", "fields_of_tree", "read_boosting", "read_tree"]

Fields = dict[str, NDArray[Any]]


@dataclass
class TreeList:
    """Trees one after the other: the fields of their entries, a row of values for each, and the output they add to."""

    tables: list[Fields] = field(default_factory=list)
    values: list[NDArray[np.float64]] = field(default_factory=list)  # of shape (n_entries, n_values)
    output: list[int] = field(default_factory=list)

    def add(self, table: Fields, values: NDArray[np.float64], output: int = 0) -> None:
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
            table | {"feature": np.where(table["feature"] < 0, -1, columns[table["feature"]]).astype(np.int32)}
            for table in self.tables
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
        sizes = [len(table["feature"]) for table in self.tables]
        nothing = {name: np.empty(0, dtype) for name, dtype in ENTRY_FIELDS.items()}
        fields = {
            name: np.concatenate([table[name] for table in self.tables] or [nothing[name]]).astype(dtype)
            for name, dtype in ENTRY_FIELDS.items()
        }
        values = np.concatenate(self.values or [np.empty((0, 1))])
        leaf = fields["feature"] < 0
        value_of = np.where(leaf, np.cumsum(leaf) - 1, -1).astype(np.int32)
        return TreeSums(
            np.cumsum([0, *sizes]).astype(np.int64),
            fields,
            value_of,
            np.ascontiguousarray(values[leaf], dtype=np.float64),
            np.array(self.output, dtype=np.int32),
            np.full(len(base), -1, dtype=np.int32) if which is None else which,
            base.astype(np.float64),
            divisor.astype(np.float64),
            narrow,
        )


def fields_of_tree(tree: Any) -> Fields:
    """Return the entries of one of scikit-learn's trees."""
    nodes = tree.__getstate__()["nodes"]
    leaf = nodes["left_child"] < 0
    return {
        "feature": np.where(leaf, -1, nodes["feature"]).astype(np.int32),
        "threshold": np.where(leaf, 0.0, nodes["threshold"]),
        "left": np.where(leaf, -1, nodes["left_child"]).astype(np.int32),
        "right": np.where(leaf, -1, nodes["right_child"]).astype(np.int32),
        "missing_left": nodes["missing_go_to_left"] != 0,
    }


def read_tree(tree: Any, trees: TreeList, output: int = 0) -> None:
    """Append one of scikit-learn's trees: several outputs, or the classes of one."""
    values = tree.value
    if values.shape[1] > 1 and values.shape[2] > 1:
        raise CannotFlatten("trees of several outputs with several classes")
    trees.add(fields_of_tree(tree), values.reshape(len(values), -1), output)


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
            fields = {
                "feature": np.where(leaf, -1, nodes["feature_idx"]).astype(np.int32),
                "threshold": np.where(leaf, 0.0, nodes["num_threshold"]),
                "left": np.where(leaf, -1, nodes["left"].astype(np.int64)).astype(np.int32),
                "right": np.where(leaf, -1, nodes["right"].astype(np.int64)).astype(np.int32),
                "missing_left": nodes["missing_go_to_left"] != 0,
            }
            trees.add(fields, nodes["value"][:, np.newaxis].astype(np.float64), output)
    return trees
