"""What fitted classifiers are made of: constants, decision trees, planes, and committees of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from offsettree.learners._flat_tree import FlatTree

__all__ = ["Committee", "Constant", "Member", "Part", "Plane", "Splits", "Table"]


class Table(NamedTuple):
    """A decision tree as `graph_from_tables` takes it."""

    feature: NDArray[Any]
    threshold: NDArray[Any]
    left: NDArray[Any]
    right: NDArray[Any]
    missing_left: NDArray[np.bool_]
    category_set: NDArray[Any]
    sets: NDArray[np.uint32]
    shares: NDArray[np.float64]  # of shape (n_entries, 2): of the labels 0 and 1

    @property
    def answer_left(self) -> NDArray[np.bool_]:
        """The label of each entry; a tie goes to the first, 0, as argmax has it."""
        return self.shares[:, 1] > self.shares[:, 0]


NO_SETS = np.empty((0, 8), dtype=np.uint32)


@dataclass(frozen=True)
class Constant:
    """Always the same label."""

    label: int

    def table(self) -> Table:
        """Return a tree of one leaf."""
        minus = np.array([-1])
        shares = np.array([[1.0 - self.label, self.label]])
        return Table(minus, np.zeros(1), minus, minus, np.array([False]), minus, NO_SETS, shares)


@dataclass(frozen=True)
class Splits:
    """A decision tree of scikit-learn or of ours."""

    tree: Any
    columns: NDArray[np.int64]  # the labels that its values are for
    features: NDArray[np.intp] | None = None  # the columns of X that it sees; None for all

    def table(self) -> Table:
        """Return the tree in the layout that graphs are made from."""
        table = _flat_table(self.tree) if isinstance(self.tree, FlatTree) else self._table_of_sklearn()
        if self.features is None:
            return table
        return table._replace(feature=np.where(table.left < 0, -1, self.features[np.maximum(table.feature, 0)]))

    def _table_of_sklearn(self) -> Table:
        # As for a pickle: both arrays at once, without a copy for every field.
        state = self.tree.__getstate__()
        nodes, values = state["nodes"], state["values"]
        shares = np.zeros((len(nodes), 2))
        shares[:, self.columns] = values[:, 0, : len(self.columns)]
        return Table(
            nodes["feature"],
            nodes["threshold"],
            nodes["left_child"],
            nodes["right_child"],
            nodes["missing_go_to_left"] != 0,
            np.full(len(nodes), -1),
            NO_SETS,
            shares,
        )


def _flat_table(tree: FlatTree) -> Table:
    shares = np.stack([1 - tree.value, tree.value], axis=1)
    parts = (tree.feature, tree.threshold, tree.left, tree.right, tree.missing_left, tree.category_set, tree.sets)
    return Table(*parts, shares)


@dataclass(frozen=True)
class Plane:
    """A linear classifier: the label 1 where the margin is positive."""

    weights: NDArray[np.float64]
    bias: float
    logistic: bool = False  # whether its probabilities are the logistic function of the margin


Member: TypeAlias = Constant | Splits | Plane


@dataclass(frozen=True)
class Part:
    """Members whose shares are added and divided; a hard part gives all to the larger sum."""

    members: list[Member]
    divisor: float = 1.0
    weight: float = 1.0
    hard: bool = False


@dataclass(frozen=True)
class Committee:
    """Parts whose shares are added and divided; or a constant."""

    parts: list[Part] = field(default_factory=list)
    divisor: float = 1.0
    constant: int | None = None
