"""The first pass over a log of any size: its encoder, its actions, and signs that something is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree._features import is_sparse
from offsettree.encoding import TableEncoder
from offsettree.encoding.table_summary import TableSummary
from offsettree.exceptions import LogError
from offsettree.facts import RewardFacts
from offsettree.logs import LoggedData, alike_but_for_blanks
from offsettree.workflow.inspection import doubts_of_propensities
from offsettree.workflow.leaks import find_leaks

__all__ = ["FirstPass"]

ROUNDING = 1e-9  # smaller relative spreads are errors of rounding


class FirstPass:
    """Reads a log once, chunk by chunk or in parts that are merged, and keeps only sums.

    `path` is the log's name in error messages. `table` is what is known of the columns, of which those in `full` need
    no count of different numbers (see `TableSummary`); `encoder`, once settled, turns the raw rows into numbers.
    `n_by_action` counts the rows of each action, and `reward_ends` are the smallest and the largest reward.
    """

    encoder: TableEncoder
    notes: list[str]

    def __init__(self, path: Any, *, full: Collection[str] = ()) -> None:
        self.path = path
        self.n_by_action: Counter[Any] = Counter()
        self.reward_ends = (np.inf, -np.inf)
        self.table = TableSummary(full=full)
        self._leaks: list[str] = []
        self._total_reward = 0.0
        # Per action, with weight = 1 / propensity: the sums of the terms in `_add`, for a mean and its standard error.
        self._sums: dict[Any, NDArray[np.float64]] = {}

    def read(self, chunks: Iterable[LoggedData], *, seeks_leaks: bool = True) -> Self:
        """Count the rows of chunks; leaks are sought in the first of them."""
        for log in chunks:
            if is_sparse(log.X):
                raise LogError(
                    f"rows may name at most 1,024 features here; those of {self.path} name {log.X.shape[1]:,}. Learn "
                    "in Python: OnlineOffsetTree(n_bits=20).partial_fit on the chunks of LoggedData.scan(...)."
                )
            if seeks_leaks and not self.n_by_action:
                self._leaks = find_leaks(log.X, log.action, log.reward)
            self._add(log)
            self.table.add(log.X)
        return self

    def merge(self, later: FirstPass) -> None:
        """Count the rows of another pass, which come after those of this one."""
        self._total_reward += later._total_reward
        self._widen(*later.reward_ends)
        self.n_by_action.update(later.n_by_action)
        for label, sums in later._sums.items():
            self._sums[label] = self._sums.get(label, 0.0) + sums
        self.table.merge(later.table)

    def settle(self, notes: Iterable[str]) -> Self:
        """Settle the encoder, once all rows are counted; notes of the reader come before those of the columns."""
        self.encoder = TableEncoder.of_summary(self.table)
        self.notes = [*notes, *self.encoder.notes, *alike_but_for_blanks(self.n_by_action)]
        if len(self.n_by_action) < 2:
            raise LogError(
                f"a log must have at least two actions; all rows of {self.path} have the same. Check the action column."
            )
        return self

    @property
    def n_rows(self) -> int:
        """Number of rows of the log."""
        return sum(self.n_by_action.values())

    @property
    def doubts(self) -> list[str]:
        """Reasons not to trust any verdict: features that leak the outcome, impossible propensities."""
        by_action = {label: [n, self._sums[label][1], self._sums[label][0]] for label, n in self.n_by_action.items()}
        inverse, squares = (sum(float(each[i]) for each in self._sums.values()) for i in (0, 2))
        n_rows, n_actions = self.n_rows, len(by_action)
        return [*self._leaks, *doubts_of_propensities(n_rows, n_actions, inverse / n_rows, squares, by_action)]

    @property
    def reward_facts(self) -> RewardFacts:
        """The smallest, the largest and the mean reward."""
        low, high = self.reward_ends
        return RewardFacts(min=low, max=high, mean=self._total_reward / self.n_rows)

    def always(self, label: Any) -> dict[str, float]:
        """Return the value of always taking an action, with its 95 % interval; without one if its rewards are equal."""
        weight, earned, squares, squares_reward, squares_earned = self._sums[label].tolist()
        value = earned / weight
        stderr = max(squares_earned - 2 * value * squares_reward + value**2 * squares, 0.0) ** 0.5 / weight
        if stderr <= ROUNDING * abs(value):  # the rows tell nothing of how rewards differ
            return {"mean_reward": value}
        low, high = self.reward_ends
        return {"mean_reward": value, "low": max(low, value - 1.96 * stderr), "high": min(high, value + 1.96 * stderr)}

    def _widen(self, low: float, high: float) -> None:
        self.reward_ends = min(self.reward_ends[0], low), max(self.reward_ends[1], high)

    def _add(self, log: Any) -> None:
        self._total_reward += float(log.reward.sum())
        self._widen(float(log.reward.min()), float(log.reward.max()))
        found, position = np.unique(log.action, return_inverse=True)
        weight, reward = 1 / log.propensity, log.reward
        terms = (weight, weight * reward, weight**2, weight**2 * reward, (weight * reward) ** 2)
        added = np.stack([np.bincount(position, term) for term in terms], axis=1)
        for label, count, add in zip(found.tolist(), np.bincount(position).tolist(), added, strict=True):
            self.n_by_action[label] += count
            self._sums[label] = self._sums.get(label, 0.0) + add
