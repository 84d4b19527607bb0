"""Sums over the rows of each action: the sufficient statistics of linear models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree.topology._design import BLOCK_ROWS, Design

MAX_WEIGHT = 10.0
_BLOCK_ACTIONS = 256


class ActionSums(NamedTuple):
    """Weighted sums for the actions from `begin` on; z is 1 and the columns of a row, t its target."""

    begin: int
    gram: NDArray[np.float64]  # of z z', per action
    product: NDArray[np.float64]  # of z t
    square: NDArray[np.float64]  # of t t


class RowsByAction:
    """The rows of a log, sorted by action; iterating yields the sums of some hundred actions at a time.

    Memory is bounded by a block of rows and the matrices of a block of actions.
    """

    def __init__(
        self,
        design: Design,
        action: NDArray[np.intp],
        target: NDArray[np.float64],
        weight: NDArray[np.float64],
        n_actions: int,
    ) -> None:
        self._design = design
        self._rows = np.argsort(action.astype(np.uint16) if n_actions <= 1 << 16 else action, kind="stable")
        self._ends = np.concatenate([[0], np.cumsum(np.bincount(action, minlength=n_actions))])
        self._target = target
        self._weight = weight

    def __iter__(self) -> Iterator[ActionSums]:
        n_actions = len(self._ends) - 1
        begin = 0
        while begin < n_actions:
            # As many actions as fit into a block of rows, but at least one.
            full = int(np.searchsorted(self._ends, self._ends[begin] + BLOCK_ROWS, side="right")) - 1
            end = min(max(full, begin + 1), begin + _BLOCK_ACTIONS)
            yield self._sums(begin, end)
            begin = end

    def _sums(self, begin: int, end: int) -> ActionSums:
        size = self._design.n_columns + 1
        gram, product = np.zeros((end - begin, size, size)), np.zeros((end - begin, size))
        square = np.zeros(end - begin)
        for first in range(self._ends[begin], self._ends[end], BLOCK_ROWS):
            last = min(first + BLOCK_ROWS, self._ends[end])
            rows = self._rows[first:last]
            z = np.ones((len(rows), size))
            z[:, 1:] = self._design.rows(rows)
            target, weight = self._target[rows], self._weight[rows, np.newaxis]
            cuts = np.clip(self._ends[begin : end + 1], first, last) - first
            for position in np.flatnonzero(np.diff(cuts)):
                here = slice(cuts[position], cuts[position + 1])
                weighted = z[here] * weight[here]
                gram[position] += weighted.T @ z[here]
                product[position] += target[here] @ weighted
                square[position] += target[here] ** 2 @ weight[here, 0]
        return ActionSums(begin, gram, product, square)


def row_weights(
    action: NDArray[np.intp], propensity: NDArray[np.float64] | None, n_actions: int
) -> NDArray[np.float64]:
    """Weight the rows of an action by 1 / propensity, so that they represent all contexts.

    A weight is at most ten times the median weight of its action. The weights of an action sum to its effective sample
    size, so that an action whose weight is on few rows counts as one with few rows.
    """
    if propensity is None:
        return np.ones(len(action))
    n_rows = np.bincount(action, minlength=n_actions)
    by_action = propensity[np.lexsort((propensity, action))]
    middle = np.cumsum(n_rows) - n_rows + np.maximum(n_rows - 1, 0) // 2
    median = by_action[np.minimum(middle, len(action) - 1)]
    weight = np.minimum(median[action] / propensity, MAX_WEIGHT)
    total = np.bincount(action, weights=weight, minlength=n_actions)
    squares = np.bincount(action, weights=weight**2, minlength=n_actions)
    return np.asarray(weight * (total[action] / squares[action]))
