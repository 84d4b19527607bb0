"""Kernels that grow a tree on parts of the rows: sums of levels, tests chosen from their totals, rows divided by these.

Each does on a part, or on totals, what `_kernels_grow.grow` does on all rows.
"""

from __future__ import annotations

from typing import Any

from offsettree._jit import kernel
from offsettree.reductions.boosting._kernels_grow import add_rows, choose_test, divide, set_leaf, sum_leaf


@kernel
def sum_level(rows: Any, work: Any, columns: Any, bounds: Any, nodes: Any, sums: Any) -> None:
    """Sum the rows of some nodes by column, bin and share."""
    for place in range(nodes.shape[0]):
        begin, end = bounds[nodes[place]], bounds[nodes[place] + 1]
        for c in range(columns.shape[0]):
            add_rows(rows.codes[columns[c]], work, begin, end, work.left.shape[1], sums[place, c])


@kernel
def choose_tests(
    work: Any, columns: Any, is_category: Any, sums: Any, settings: Any, units: Any, first: Any, nodes: Any, tree: Any
) -> None:
    """Choose the tests of some nodes of a level, which begins at `first`; the feature is -1 where none helps."""
    for place in range(nodes.shape[0]):
        node = first + nodes[place]
        where, lowest, span = choose_test(work, columns, is_category, sums[place], settings, units)
        tree.feature[node], tree.lowest[node], tree.span[node] = where, lowest, span


@kernel
def divide_level(rows: Any, work: Any, bounds: Any, first: Any, tree: Any, below: Any) -> None:
    """Partition the rows of all nodes of a level; write the bounds of the level below."""
    below[0] = 0
    for node in range(bounds.shape[0] - 1):
        begin, middle, end = bounds[node], bounds[node + 1], bounds[node + 1]
        where = tree.feature[first + node]
        if where >= 0:
            lowest, span = tree.lowest[first + node], tree.span[first + node]
            middle = divide(rows.codes[where], work, begin, end, lowest, span)
        below[2 * node + 1], below[2 * node + 2] = middle, end


@kernel
def sum_leaves(rows: Any, work: Any, bounds: Any, sums: Any) -> None:
    """Sum the rows of every leaf by action."""
    for leaf in range(sums.shape[0]):
        sum_leaf(rows, work, bounds[leaf], bounds[leaf + 1], sums[leaf])


@kernel
def set_values(sums: Any, settings: Any, units: Any, values: Any) -> None:
    """Write the values of all leaves."""
    for leaf in range(sums.shape[0]):
        set_leaf(sums[leaf], settings, units, values[leaf])
