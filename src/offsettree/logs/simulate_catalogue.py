"""Simulated logs of decisions among items of a catalogue that changes from day to day, with the truth beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._validation import as_random_state, check_whole
from offsettree.exceptions import ParameterError
from offsettree.logs.action_sets import ActionSets
from offsettree.logs.logged_data import LoggedData

__all__ = ["SimulatedCatalogue", "simulate_catalogue"]

Kind = Literal["linear", "nonlinear"]
N_LATENT = 3  # directions in which contexts and items meet


@dataclass(frozen=True)
class SimulatedCatalogue:
    """A log of decisions among items, and the expected reward of every eligible item, which no policy sees.

    Parameters
    ----------
    log : LoggedData
        The log, with its action sets.
    expected : ndarray of shape (n_pairs,)
        The expected reward of each pair of row and item, in the order of ``log.action_sets.ids``.
    day : ndarray of shape (n_rows,)
        When each row was decided: 0, 1, ...
    """

    log: LoggedData
    expected: NDArray[np.float64]
    day: NDArray[np.intp]

    @property
    def sets(self) -> ActionSets:
        """The action sets of the log."""
        assert self.log.action_sets is not None  # noqa: S101 - made with sets
        return self.log.action_sets

    def value(self, chosen: ArrayLike) -> float:
        """Return the true value of some decisions: the mean expected reward of one eligible id per row."""
        return float(self.expected[self.sets.find(chosen)].mean())

    @property
    def best_value(self) -> float:
        """The value of the best possible decisions."""
        return float(np.maximum.reduceat(self.expected, self.sets.starts[:-1]).mean())

    @property
    def uniform_value(self) -> float:
        """The value of deciding at random."""
        return float((np.add.reduceat(self.expected, self.sets.starts[:-1]) / self.sets.sizes).mean())

    def split_days(self, n_test_days: int) -> tuple[SimulatedCatalogue, SimulatedCatalogue]:
        """Return the first days, to learn from, and the last ones, to decide in."""
        is_test = self.day > self.day.max() - n_test_days
        return self._rows(np.flatnonzero(~is_test)), self._rows(np.flatnonzero(is_test))

    def _rows(self, rows: NDArray[np.intp]) -> SimulatedCatalogue:
        kept = np.repeat(np.isin(np.arange(len(self.day)), rows), self.sets.sizes)
        return SimulatedCatalogue(self.log[rows], self.expected[kept], self.day[rows])


def simulate_catalogue(
    n_rows: int = 10_000,
    n_items: int = 100,
    n_eligible: int = 10,
    *,
    kind: Kind = "linear",
    n_features: int = 6,
    n_item_features: int = 6,
    n_days: int = 20,
    new_share: float = 0.5,
    id_effect: float = 0.05,
    exploration: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> SimulatedCatalogue:
    """Simulate a catalogue that changes from day to day, and a log of decisions among its items.

    Rewards are 0 or 1. How likely a 1 is depends on the item's features, on those of the context and of both together,
    and a little on the item itself, beyond its features.

    Parameters
    ----------
    n_rows : int, default=10000
        Decisions, spread evenly over the days.
    n_items : int, default=100
        Items in all.
    n_eligible : int, default=10
        How many items each decision is among.
    kind : {"linear", "nonlinear"}, default="linear"
        Whether context and item meet in products of their features, or by distance and with thresholds.
    n_features, n_item_features : int, default=6
        Features of the context and of an item.
    n_days : int, default=20
        Days of the log.
    new_share : float, default=0.5
        The share of items that appear in the second half of the days, one day after the other; as many disappear. With
        0 the items never change.
    id_effect : float, default=0.05
        Standard deviation of what an item earns beyond its features.
    exploration : float, default=1.0
        Share of decisions that the logging policy takes at random; the others are those of a rule of thumb.
    random_state : int, RandomState instance or None, default=None
        Draws everything.

    Returns
    -------
    SimulatedCatalogue
        The log, with exact propensities, and the truth.

    Examples
    --------
    >>> catalogue = simulate_catalogue(1000, random_state=0)
    >>> catalogue.log
    <LoggedData: 1,000 rows, 6 features, 99 actions, mean reward 0.47, a set of eligible actions per row>
    >>> train, test = catalogue.split_days(10)
    >>> len(set(test.sets.ids.tolist()) - set(train.sets.ids.tolist()))
    50
    """
    _check(n_rows, n_items, n_eligible, kind, n_days, new_share, exploration)
    random = as_random_state(random_state)
    first, last = _lifetimes(n_items, n_eligible, n_days, new_share)
    X = random.normal(size=(n_rows, n_features))
    items = random.normal(size=(n_items, n_item_features))
    own = id_effect * random.normal(size=n_items)
    day = np.arange(n_rows) * n_days // n_rows
    sets = np.empty((n_rows, n_eligible), dtype=np.intp)
    for today in range(n_days):
        alive = np.flatnonzero((first <= today) & (today <= last))
        for row in np.flatnonzero(day == today):
            sets[row] = alive[_sample(len(alive), n_eligible, random)]
    expected = _expected(kind, X, items, own, sets, random)
    habit = np.argmax(items[sets][:, :, 0], axis=1)
    explores = random.random_sample(n_rows) < exploration
    place = np.where(explores, random.randint(n_eligible, size=n_rows), habit)
    propensity = exploration / n_eligible + (1 - exploration) * (place == habit)
    rows = np.arange(n_rows)
    reward = (random.random_sample(n_rows) < expected[rows, place]).astype(np.float64)
    action_sets = ActionSets(sets.ravel(), np.arange(n_rows + 1) * n_eligible, items=items, item_ids=np.arange(n_items))
    log = LoggedData(X, sets[rows, place], reward, propensity, action_sets=action_sets)
    return SimulatedCatalogue(log, expected.ravel(), day)


def _lifetimes(
    n_items: int, n_eligible: int, n_days: int, new_share: float
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first and the last day of each item."""
    n_new = min(round(new_share * n_items), n_items - n_eligible)
    first, last = np.zeros(n_items, dtype=np.intp), np.full(n_items, n_days)
    if n_new > 0:
        half = n_days // 2
        appears = half + np.arange(n_new) * (n_days - half) // n_new
        first[n_items - n_new :] = appears
        n_gone = min(n_new, n_items - n_new - n_eligible)
        last[:n_gone] = appears[:n_gone] - 1
    return first, last


def _sample(n: int, size: int, random: np.random.RandomState) -> NDArray[np.intp]:
    """Draw without replacement."""
    if size * 4 > n:
        return random.permutation(n)[:size].astype(np.intp)
    while True:
        drawn = random.randint(n, size=size)
        if len(set(drawn.tolist())) == size:
            return drawn.astype(np.intp)


def _expected(
    kind: Kind,
    X: NDArray[np.float64],
    items: NDArray[np.float64],
    own: NDArray[np.float64],
    sets: NDArray[np.intp],
    random: np.random.RandomState,
) -> NDArray[np.float64]:
    to_row = random.normal(size=(X.shape[1], N_LATENT)) / np.sqrt(X.shape[1])
    to_item = random.normal(size=(items.shape[1], N_LATENT)) / np.sqrt(items.shape[1])
    quality = random.normal(size=items.shape[1]) / np.sqrt(items.shape[1])
    wanted, offered = X @ to_row, (items @ to_item)[sets]
    if kind == "linear":
        fit = 0.2 * (offered * wanted[:, np.newaxis, :]).sum(axis=2) + 0.1 * (items @ quality)[sets]
    else:
        near = np.exp(-((offered - wanted[:, np.newaxis, :]) ** 2).sum(axis=2) / N_LATENT)
        step = np.where((X[:, :1] > 0) == (offered[:, :, 0] > 0.3), 0.25, 0.0)
        fit = 0.6 * near + step + 0.1 * np.sin(2 * items @ quality)[sets] - 0.35
    return np.asarray(np.clip(0.5 + fit + own[sets], 0.02, 0.98))


def _check(
    n_rows: Any, n_items: Any, n_eligible: Any, kind: Any, n_days: Any, new_share: Any, exploration: Any
) -> None:
    for name, value in (("n_rows", n_rows), ("n_items", n_items), ("n_eligible", n_eligible), ("n_days", n_days)):
        check_whole(name, value, 1)
    if n_eligible > n_items:
        raise ParameterError(f"n_eligible must be at most n_items, {n_items}; got {n_eligible}.")
    if kind not in ("linear", "nonlinear"):
        raise ParameterError(f"kind must be 'linear' or 'nonlinear'; got {kind!r}.")
    for name, value in (("new_share", new_share), ("exploration", exploration)):
        if not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ParameterError(f"{name} must be a number from 0 to 1; got {value!r}.")
