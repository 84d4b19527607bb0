"""Turn the splits found into a tree of rules, with the estimated values of every node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree._available import Available
from offsettree.learners import MISSING, Bins
from offsettree.reductions.rules._rule import Rule
from offsettree.reductions.rules._search import Split, Table


class RewardEstimates(NamedTuple):
    """The estimated reward of every action in every row: the row's mean, and each action's advantage over it."""

    mean: NDArray[np.float64]  # of the available actions
    advantage: NDArray[np.float64]  # over that mean; 0 if an action is not available
    available: NDArray[np.bool_] | None

    @classmethod
    def of(
        cls, estimate: NDArray[np.float64], available: Available | None, reward_range: Sequence[float]
    ) -> RewardEstimates:
        """Split estimates, scaled to [0, 1], into means and advantages in units of the reward."""
        low, high = reward_range
        estimate = low + (high - low) * estimate
        if available is None:
            mean = estimate.mean(axis=1)
            return cls(mean, estimate - mean[:, np.newaxis], None)
        offered = available.dense()
        mean = np.where(offered, estimate, 0).sum(axis=1) / offered.sum(axis=1)
        return cls(mean, np.where(offered, estimate - mean[:, np.newaxis], 0), offered)

    def values(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the mean estimate of each action in some rows; an action never available there gets their mean."""
        total = self.advantage[rows].sum(axis=0)
        count = np.full(len(total), len(rows)) if self.available is None else self.available[rows].sum(axis=0)
        return np.asarray(self.mean[rows].mean() + total / np.maximum(count, 1))


class _Grower(NamedTuple):
    table: Table
    bins: Bins
    rewards: RewardEstimates
    names: list[str]
    actions: NDArray[np.generic]

    def grow(self, split: Split | None, rows: NDArray[np.intp]) -> Rule:
        values = self.rewards.values(rows)
        leaf = Rule(self.actions[values.argmax()].item(), values, len(rows))
        if split is None:
            return leaf
        goes_left = self.table.goes_left(split)[rows]
        left, right = self.grow(split.left, rows[goes_left]), self.grow(split.right, rows[~goes_left])
        if left.is_leaf and right.is_leaf and left.action == right.action:
            return leaf  # the test makes no difference
        threshold, category = self._test(split)
        return Rule(
            leaf.action,
            values,
            len(rows),
            split.column,
            self.names[split.column],
            threshold,
            category,
            split.missing_left,
            bool((self.table.codes[split.column] == MISSING).any()),
            left,
            right,
        )

    def _test(self, split: Split) -> tuple[float | None, object]:
        column = split.column
        if self.table.is_category[column]:
            value_of = {code: value for value, code in self.bins.categories[column].items()}
            return None, value_of.get(split.cut)
        return float(self.bins.edges[column, split.cut]), None


def grow_rules(
    top: Split | None,
    table: Table,
    bins: Bins,
    rewards: RewardEstimates,
    names: list[str],
    actions: NDArray[np.generic],
) -> Rule:
    """Return the rules of a tree of splits; a test whose sides lead to the same action is left out."""
    return _Grower(table, bins, rewards, names, actions).grow(top, np.arange(len(rewards.mean)))
