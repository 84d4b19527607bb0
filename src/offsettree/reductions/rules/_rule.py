"""A node of a tree of rules, and its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Rule:
    """A node of a `PolicyTree`: a test with a rule on either side, or a leaf with an `action`.

    At a test, `action` is the one that would be best without it. `values` has the estimated reward of each action in
    the `n_rows` rows that reach this node; few rows may lead it out of the range. Of the `column` tested, called
    `name`, rows with at most the `threshold`, or with the `category`, go left: a nominal column has no threshold, and
    infinity separates known values from missing ones; no category stands for missing values and those never seen.
    """

    action: Any
    values: NDArray[np.float64]
    n_rows: int
    column: int | None = None  # none at a leaf
    name: str = ""
    threshold: float | None = None
    category: Any = None
    missing_left: bool = False
    missing_seen: bool = False
    left: Rule | None = None
    right: Rule | None = None

    @property
    def is_leaf(self) -> bool:
        """Whether this node has no test."""
        return self.left is None or self.right is None

    def leaves(self) -> Iterator[Rule]:
        """Yield the leaves from left to right."""
        if self.left is None or self.right is None:
            yield self
        else:
            yield from self.left.leaves()
            yield from self.right.leaves()

    def values_of(self, numbers: NDArray[Any], categories: dict[int, dict[Any, int]]) -> NDArray[np.float64]:
        """Return the values of the leaf that each row reaches; nominal columns hold codes, NaN where there is none."""
        if self.left is None or self.right is None or self.column is None:
            return np.tile(self.values, (len(numbers), 1))
        x = numbers[:, self.column]
        if self.threshold is not None:
            goes_left = np.where(np.isnan(x), self.missing_left, x <= self.threshold)
        elif self.category is None:
            goes_left = np.isnan(x)
        else:
            goes_left = x == categories[self.column][self.category]
        values = np.empty((len(numbers), len(self.values)))
        for here, rule in ((goes_left, self.left), (~goes_left, self.right)):
            values[here] = rule.values_of(numbers[here], categories)
        return values

    def condition(self, left: bool) -> str:
        """Return, as text, which rows go left, or right."""
        if self.threshold is None:
            value = "missing" if self.category is None else str(self.category)
            return f"{self.name} is {value}" if left else f"{self.name} is not {value}"
        if np.isinf(self.threshold):
            return f"{self.name} is known" if left else f"{self.name} is missing"
        text = f"{self.name} {'<=' if left else '>'} {self.threshold:.6g}"
        return f"{text} or missing" if self.missing_seen and self.missing_left == left else text

    def estimate(self, reward_range: Sequence[float]) -> float:
        """Return what the action taken here is said to earn: kept within the range of the rewards."""
        low, high = reward_range
        return min(max(float(self.values.max()), low), high)

    def lines(self, reward_range: Sequence[float], indent: str = "") -> Iterator[str]:
        """Yield the rules as indented lines of text."""
        if self.left is None or self.right is None:
            best = self.estimate(reward_range)
            yield f"{indent}take {self.action}  ({best:.4g} per decision estimated, {self.n_rows:,} rows)"
            return
        for side, rule in ((True, self.left), (False, self.right)):
            yield f"{indent}if {self.condition(side)}:" if side else f"{indent}else ({self.condition(side)}):"
            yield from rule.lines(reward_range, f"{indent}    ")
