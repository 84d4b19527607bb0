"""One classifier for all contests, seen from one of them: the columns that tell the contest have known values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from offsettree.models.tree_table import TreeTable
from offsettree.reading.members import Plane, Splits, Table


class TableMember(Splits):
    """A decision tree whose table is at hand."""

    def __init__(self, table: Table) -> None:
        super().__init__(None, np.array([0, 1]))
        object.__setattr__(self, "_table", table)

    def table(self) -> Table:
        """Return it."""
        table: Table = self.__dict__["_table"]
        return table


def fixed_plane(plane: Plane, n_columns: int, which: int) -> Plane:
    """Add the weight of the one indicator that is 1 to the bias."""
    return replace(plane, weights=plane.weights[:n_columns], bias=plane.bias + float(plane.weights[n_columns + which]))


def fixed_table(table: Table, n_columns: int, which: int) -> Table:
    """Leave out the splits on indicators, beyond the first columns, of which that of `which` is 1 and others 0."""
    tree = table.tree
    feature, threshold, left, right = (
        np.asarray(values).tolist() for values in (tree.feature, tree.threshold, tree.left, tree.right)
    )

    def land(entry: int) -> int:
        while left[entry] >= 0 and feature[entry] >= n_columns:
            value = 1.0 if feature[entry] - n_columns == which else 0.0
            entry = left[entry] if value <= threshold[entry] else right[entry]
        return entry

    kept, new_left, new_right = [land(0)], list[int](), list[int]()
    for entry in kept:  # grows on the way: every entry comes after its parent
        if left[entry] < 0:
            new_left.append(-1)
            new_right.append(-1)
            continue
        new_left.append(len(kept))
        new_right.append(len(kept) + 1)
        kept += [land(left[entry]), land(right[entry])]
    category = None if tree.category_set is None else tree.category_set[kept]
    start, children = np.array([0, len(kept)]), (np.array(new_left), np.array(new_right))
    fixed = TreeTable(
        start, tree.feature[kept], tree.threshold[kept], *children, tree.missing_left[kept], category, tree.sets
    )
    return Table(fixed, table.shares[kept])
