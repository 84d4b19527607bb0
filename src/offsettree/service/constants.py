"""The gain of the running policy over every constant action at once: the best one need not be known beforehand.

A term of a gain depends on the constant in two kinds of rows only: in those where the action taken is the constant's.
All other terms are the same for all constants, so that they are counted once, and each row costs the same however many
constants there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.service.requests import Action
from offsettree.service.rows import MaturedRow
from offsettree.service.wealth import GAINS, WAITING, Wealth

__all__ = ["ConstantGains"]

MOST_CONSTANTS = 100
Floats = NDArray[np.float64]


class ConstantGains:
    """Bounds the gain over the best constant action from below: by the least of the bounds over all of them.

    A constant counts from the first row on in which it is eligible; where it is not, it takes the row's first action.

    `wealth` is a bettor on one such gain, without rows.
    """

    def __init__(self, wealth: Wealth) -> None:
        self._wealth = wealth
        self._common: Floats = np.zeros((1, 1))  # logarithms of wealth, of terms that all constants share
        self._own: dict[str, Floats] = {}  # what is to be added for each
        self._waiting: list[float] = []
        self._waiting_of: dict[str, list[tuple[float, float]]] = {}  # its terms, and those in their place
        self._known: list[Action] = []
        self.is_complete = True  # whether all actions that were ever eligible are among the constants

    def add(self, row: MaturedRow, usual: float) -> None:
        """Add a row; `usual` is the mean reward before it, which is taken off."""
        self._meet(row.actions)
        gain = row.weight(row.position) * (row.share - usual)
        agrees = row.greedy == row.position
        common = gain if agrees else 0.0
        self._waiting.append(common)
        theirs = (0.0 if agrees else -gain, common)
        for name in self._takers(row):
            if name in self._waiting_of:
                self._waiting_of[name].append(theirs)
        if len(self._waiting) >= WAITING:
            self._count()

    def _takers(self, row: MaturedRow) -> list[str]:
        """Return the constants that take the action that was taken."""
        names = [row.action.id]
        if row.position == 0:
            eligible = {action.id for action in row.actions}
            names += [name for name in self._own if name not in eligible]
        return names

    def _meet(self, actions: list[Action]) -> None:
        if actions is self._known:
            return
        self._known = actions
        new = [action.id for action in actions if action.id not in self._own]
        if new:
            self._count()
        for name in new:
            if len(self._own) >= MOST_CONSTANTS:
                self.is_complete = False
                return
            self._own[name], self._waiting_of[name] = -self._common, []

    def _count(self) -> None:
        self._common = self._common + self._wealth.logs(np.array(self._waiting))
        self._waiting = []
        for name, pairs in self._waiting_of.items():
            if pairs:
                theirs, common = np.array(pairs).T
                self._own[name] = self._own[name] + self._wealth.logs(theirs) - self._wealth.logs(common)
                self._waiting_of[name] = []

    def lower_end(self, level: float) -> float:
        """Return the lower end of the gain over the best constant, which holds at all times."""
        self._count()
        if not self.is_complete or not self._own:
            return float(GAINS[0])
        return min(self._wealth.lower_end(self._common + own, level) for own in self._own.values())

    def state(self) -> dict[str, Any]:
        """Return all of it as what JSON can hold."""
        self._count()
        own = {name: each.tolist() for name, each in self._own.items()}
        return {"common": self._common.tolist(), "own": own, "is_complete": self.is_complete}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave."""
        self._common = np.array(state["common"])
        self._own = {name: np.array(each) for name, each in state["own"].items()}
        self._waiting_of, self._known = {name: [] for name in self._own}, []
        self.is_complete = bool(state["is_complete"])
