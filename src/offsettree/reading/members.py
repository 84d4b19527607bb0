"""What fitted classifiers are made of: constants, decision trees, planes, and committees of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from offsettree.learners import FlatTree
from offsettree.models.tree_table import TreeTable
from offsettree.reading.trees import table_of_tree

__all__ = ["Committee", "Constant", "Member", "Part", "Plane", "Splits", "Table"]


class Table(NamedTuple):
    """A decision tree of two labels."""

    tree: TreeTable
    shares: NDArray[np.float64]  # of shape (n_entries, 2): of the labels 0 and 1

    @property
    def answer_left(self) -> NDArray[np.bool_]:
        """The label of each entry; a tie goes to the first, 0, as argmax has it."""
        return self.shares[:, 1] > self.shares[:, 0]


@dataclass(frozen=True)
class Constant:
    """Always the same label."""

    label: int

    def table(self) -> Table:
        """Return a tree of one leaf."""
        minus, nowhere = np.array([-1]), np.array([False])
        leaf = TreeTable(np.array([0, 1]), minus, np.zeros(1), minus, minus, nowhere)
        return Table(leaf, np.array([[1.0 - self.label, self.label]]))


@dataclass(frozen=True)
class Splits:
    """A decision tree of scikit-learn or of ours."""

    tree: Any
    columns: NDArray[np.int64]  # the labels that its values are for
    features: NDArray[np.intp] | None = None  # the columns of X that it sees; None for all

    def table(self) -> Table:
        """Return the tree in the layout that graphs are made from."""
        if isinstance(self.tree, FlatTree):
            flat = self.tree
            tree = TreeTable(np.array([0, len(flat.left)]), *flat.arrays())
            shares = np.stack([1 - flat.value, flat.value], axis=1)
        else:
            tree, values = table_of_tree(self.tree)
            shares = np.zeros((len(values), 2))
            shares[:, self.columns] = values[:, 0, : len(self.columns)]
        if self.features is not None:
            tree = replace(tree, feature=np.where(tree.is_leaf, -1, self.features[np.maximum(tree.feature, 0)]))
        return Table(tree, shares)


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
