"""What a histogram tree should be, read plainly: every split tried by counting rows, every pruning by name."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.learners import HistogramTree

MISSING = None


@dataclass(frozen=True)
class Problem:
    """Rows of a few values each; a value is a number, a string, or missing."""

    rows: list[tuple[Any, ...]]
    label: NDArray[np.int64]
    weight: NDArray[np.float64]
    nominal: tuple[bool, ...]

    def split_by(self, here: list[int], every_set: bool) -> Iterator[tuple[list[int], list[int]]]:
        """Every way to divide some of the rows in two by one column.

        Of sets of names every one, or those that hold all names up to some share of the label 1.
        """
        for column, nominal in enumerate(self.nominal):
            values = {self.rows[i][column] for i in here}
            known: list[Any] = sorted(values - {MISSING})
            if nominal:
                share = {value: self.share([i for i in here if self.rows[i][column] == value]) for value in values}
                lefts = [{value for value in values if share[value] <= most + 1e-9} for most in share.values()]
                if every_set:
                    lefts = [set(part) for size in range(1, len(values)) for part in combinations(values, size)]
            else:
                lefts = [set(known[:size]) for size in range(1, len(known) + 1)]
                lefts += [left | {MISSING} for left in lefts[:-1]] if MISSING in values else []
            for left in lefts:
                parts = (
                    [i for i in here if self.rows[i][column] in left],
                    [i for i in here if self.rows[i][column] not in left],
                )
                if all(parts):
                    yield parts

    def heavy(self, rows: list[int]) -> float:
        return math.fsum(self.weight[i] for i in rows)

    def share(self, rows: list[int]) -> float:
        """That of the label 1."""
        return self.heavy([i for i in rows if self.label[i] == 1]) / self.heavy(rows)

    def impurity(self, rows: list[int]) -> float:
        """Weight times Gini."""
        share = self.share(rows)
        return self.heavy(rows) * 2 * share * (1 - share)

    def least_impurity(self, here: list[int], least: float) -> float:
        """That of the best split whose parts are heavy enough; infinite if there is none."""
        # Of sets of names the best is one by shares; but perhaps not the best of those that are heavy enough.
        every_set = all(self.weight[i] >= least for i in here)
        return min(
            (
                self.impurity(left) + self.impurity(right)
                for left, right in self.split_by(here, every_set)
                if min(self.heavy(left), self.heavy(right)) >= least * (1 - 1e-6)
            ),
            default=math.inf,
        )


@dataclass(frozen=True)
class Part:
    """An entry of a fitted tree with the rows of the problem that come by."""

    rows: list[int]
    depth: int
    value: float
    children: tuple[Part, Part] | None

    def parts(self) -> Iterator[Part]:
        yield self
        for child in self.children or ():
            yield from child.parts()

    def leaves(self) -> list[Part]:
        return [part for part in self.parts() if part.children is None]

    def prunings(self) -> Iterator[list[Part]]:
        """Yield the leaves of every tree that is left when some splits are made leaves."""
        yield [self]
        if self.children is not None:
            left, right = self.children
            for one in left.prunings():
                for other in right.prunings():
                    yield [*one, *other]


def read_tree(tree: HistogramTree, numbers: NDArray[np.float64]) -> Part:
    """Send rows, given as the numbers that the tree makes of them, down the flat tree, one by one."""
    flat = tree.flat_tree_

    def goes_left(entry: int, x: float) -> bool:
        if math.isnan(x):
            return bool(flat.missing_left[entry])
        if flat.category_set[entry] >= 0:
            words = flat.sets[flat.category_set[entry]]
            return bool(int(words[int(x) // 32]) >> (int(x) % 32) & 1)
        return bool(np.float32(x) <= flat.threshold[entry])

    def read(entry: int, rows: list[int], depth: int) -> Part:
        children = None
        if flat.feature[entry] >= 0:
            left = [i for i in rows if goes_left(entry, float(numbers[i, flat.feature[entry]]))]
            right = [i for i in rows if i not in set(left)]
            children = read(int(flat.left[entry]), left, depth + 1), read(int(flat.right[entry]), right, depth + 1)
        return Part(rows, depth, float(flat.value[entry]), children)

    return read(0, list(range(len(numbers))), 0)
