"""Statistics of a log in a store: tasks add up stretches of it, in the order in which numpy adds an array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.distributed._graph import Runner
from offsettree.distributed._route import Routed
from offsettree.distributed.store import Blob, Store
from offsettree.reductions.parts import (
    LogStatistics,
    RoutedLog,
    Rows,
    Tally,
    Values,
    Votes,
    pairwise_leaves,
    sums_from_leaves,
)

TASK_ROWS = 1 << 22  # of a stretch that one task adds up


class SpreadStatistics(LogStatistics):
    """Statistics made by tasks; samples are what was kept when the rows were sorted."""

    def __init__(self, log: RoutedLog, parts: Sequence[Routed], runner: Runner, digest: str) -> None:
        super().__init__(log)
        self._parts = parts
        self._runner = runner
        self._digest = digest
        self._log: Blob | None = None
        self._n_asked = 0

    def sum_of(self, values: Values) -> float:
        """Have the values of all rows added up."""
        sums = self._spread(partial(add_up, values))
        return sums_from_leaves(iter([each for part in sums for each in part]), self.log.n_rows)

    def is_uniform(self) -> bool:
        """Tell by the ends that were noted when the rows were sorted."""
        ends = [part.seen.leaks["propensity"].ends for part in self._parts]
        return min(low for low, _ in ends) == max(high for _, high in ends)

    def tally(self, offset: float) -> Tally:
        """Have the votes of all rows counted."""
        whole: Tally = reduce(Tally.plus, self._spread(partial(count, offset)))
        return whole

    def mean_rewards(self) -> NDArray[np.float64]:
        """Have one worker add up the rewards of each action, in the order of the log."""
        return np.asarray(self._whole("mean_rewards"))

    def median_reward(self) -> float:
        """Have one worker find the median."""
        return float(self._whole("median_reward"))

    def rows_at(self, numbers: NDArray[np.int64]) -> Rows:
        """Return rows of the samples."""
        first, found = 0, []
        for source, part in enumerate(self._parts):
            rows: Rows = self._runner.store.get(part.sample)
            rows = rows._replace(number=rows.number + first, action=self.log.positions[source][rows.action])
            wanted = np.isin(rows.number, numbers)
            found.append(rows.take(wanted))
            first += part.seen.n_rows
        whole = Rows(*(np.concatenate(columns) for columns in zip(*found, strict=True)))
        place = np.searchsorted(whole.number, numbers)  # a number may be wanted twice
        return whole.take(place)

    def _spread(self, function: Any) -> list[Any]:
        self._n_asked += 1
        stretches = enumerate(_stretches(self.log.n_rows))
        key = f"sum-{self._digest}-{self._n_asked}"
        given = {f"{key}-{number}": (self._stored(), function, leaves) for number, leaves in stretches}
        return self._runner.run_each(over_stretch, given)

    def _whole(self, name: str) -> Any:
        key = f"{name.replace('_', '-')}-{self._digest}"
        return self._runner.run_each(over_all, {key: (self._stored(), name)})[0]

    def _stored(self) -> Blob:
        if self._log is None:
            self._log = self._runner.store.put("log", self.log)
        return self._log


def _stretches(n_rows: int) -> Iterator[list[tuple[int, int]]]:
    """Yield the leaves of pairwise sums, a few million rows at a time."""
    leaves: list[tuple[int, int]] = []
    for leaf in pairwise_leaves(0, n_rows):
        leaves.append(leaf)
        if leaf[1] - leaves[0][0] >= TASK_ROWS:
            yield leaves
            leaves = []
    if leaves:
        yield leaves


def over_stretch(store: Store, log: Blob, function: Any, leaves: list[tuple[int, int]]) -> Any:
    """Apply a function to some leaves of the log."""
    return function(fetch(store, log), leaves)


def over_all(store: Store, log: Blob, name: str) -> Any:
    """Compute a statistic in one go."""
    return getattr(LogStatistics(fetch(store, log)), name)()


def add_up(values: Values, log: RoutedLog, leaves: list[tuple[int, int]]) -> list[float]:
    """Add up each leaf."""
    read = log.in_order(values)
    return [float(np.add.reduce(read(first, last))) for first, last in leaves]


def count(offset: float, log: RoutedLog, leaves: list[tuple[int, int]]) -> Tally:
    """Count the votes of the rows of all leaves."""
    reward, propensity = log.in_order(_reward), log.in_order(_propensity)
    tallies = (Votes.cast(reward(first, last), propensity(first, last), offset).tally() for first, last in leaves)
    return reduce(Tally.plus, tallies)


def _reward(reward: NDArray[np.float64], propensity: NDArray[np.float64]) -> NDArray[np.float64]:
    return reward


def _propensity(reward: NDArray[np.float64], propensity: NDArray[np.float64]) -> NDArray[np.float64]:
    return propensity


@lru_cache(maxsize=2)
def fetch(store: Store, blob: Blob) -> Any:
    """Read what many tasks share; a worker keeps the last ones."""
    return store.get(blob)
