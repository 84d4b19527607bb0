"""Boolean masks of the available actions of each row, as an array or a CSR matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from offsettree._features import is_sparse
from offsettree._labels import check_actions, encode_actions, some_labels
from offsettree._sparse import check_sparse
from offsettree.exceptions import ActionError, FeatureError

VALUES_AT_ONCE = 1 << 24  # entries of a dense mask held at a time


class Available:
    """A checked boolean mask: the actions that each row may choose from.

    Parameters
    ----------
    mask : boolean array or CSR array of shape (n_rows, n_actions)
        In a CSR array, the stored entries are the available actions.
    """

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def dense(self) -> NDArray[np.bool_]:
        """Return the mask as a dense array."""
        return np.asarray(self.mask.toarray() if is_sparse(self.mask) else self.mask, dtype=bool)

    def take(self, rows: NDArray[np.intp]) -> Available:
        """Return the mask of some rows."""
        return Available(self.mask[rows])

    def in_order(self, order: NDArray[np.intp]) -> Available:
        """Return the mask with its columns in another order, such as that of a tree's leaves."""
        return Available(self.mask[:, order])

    def count(self) -> NDArray[np.intp]:
        """Count the actions available to each row."""
        if is_sparse(self.mask):
            return np.asarray(np.diff(self.mask.indptr), dtype=np.intp)
        return np.asarray(np.count_nonzero(self.mask, axis=1))

    def share(self) -> NDArray[np.float64]:
        """Return the share of the rows to which each action is available."""
        return np.asarray(np.ravel(self.mask.sum(axis=0)) / self.mask.shape[0])

    def any_of(self, rows: NDArray[np.intp], begin: int, end: int) -> NDArray[np.bool_]:
        """Return which of the rows may choose any of the columns from `begin` to `end` - 1."""
        if is_sparse(self.mask):
            return np.asarray(np.diff(self.mask[rows][:, begin:end].indptr) > 0)
        return np.asarray(self.mask[:, begin:end][rows].any(axis=1))

    def has(self, position: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return for each row whether the action at its own position is available."""
        if is_sparse(self.mask):
            own = sp.csr_array(
                (np.ones(len(position), dtype=bool), position, np.arange(len(position) + 1)), shape=self.mask.shape
            )
            return np.asarray(np.diff(self.mask.multiply(own).tocsr().indptr) > 0)
        return np.asarray(self.mask[np.arange(len(position)), position])

    def part(self, rows: slice) -> NDArray[np.bool_]:
        """Return the dense mask of consecutive rows."""
        return Available(self.mask[rows]).dense()


def pieces(n_rows: int, n_actions: int) -> Iterator[slice]:
    """Cut rows into pieces that are small enough for a dense mask."""
    step = max(1, VALUES_AT_ONCE // n_actions)
    for first in range(0, n_rows, step):
        yield slice(first, min(first + step, n_rows))


def best_of(score: NDArray[np.float64], n: int, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
    """Return the positions of the n largest scores among the available actions; the first of equal ones.

    NaN counts as the lowest score. Unavailable actions rank below all available ones, even those with NaN or minus
    infinity.
    """
    loss = np.where(np.isnan(score), np.inf, -score)
    if mask is None:
        return np.argsort(loss, axis=1, kind="stable")[:, :n]
    best = np.argsort(np.where(mask, loss, np.inf), axis=1, kind="stable")[:, :n]
    # An infinite loss ties with unavailable actions: the few rows that have one are sorted by the mask first.
    tied = ~np.take_along_axis(mask, best, axis=1).all(axis=1)
    if tied.any():
        best[tied] = np.lexsort((loss[tied], ~mask[tied]), axis=1)[:, :n]
    return best


def rank_by_scores(
    scores: Callable[[Any], NDArray[np.float64]],
    X: Any,
    n_actions: int,
    n: int,
    mask: NDArray[np.bool_] | None,
) -> NDArray[np.intp]:
    """Return the positions of the n largest scores among the available actions, for rows in pieces."""
    position = np.empty((X.shape[0], n), dtype=np.intp)
    for rows in pieces(X.shape[0], n_actions):
        position[rows] = best_of(scores(X[rows]), n, None if mask is None else mask[rows])
    return position


def rank_by_choosing(
    choose: Callable[[NDArray[np.bool_] | None], NDArray[np.intp]],
    n_actions: int,
    n: int,
    mask: NDArray[np.bool_] | None,
) -> NDArray[np.intp]:
    """Return the positions of the n best: each is what `choose` answers when those before it are not available."""
    first = choose(mask)
    position = np.empty((len(first), n), dtype=np.intp)
    position[:, 0] = first
    left = np.ones((len(first), n_actions), dtype=bool) if mask is None else mask.copy()
    for place in range(1, n):
        left[np.arange(len(first)), position[:, place - 1]] = False
        position[:, place] = choose(left)
    return position


def certain(position: NDArray[np.intp], n_actions: int) -> NDArray[np.float64]:
    """Return the probabilities of a policy that always takes the action at these positions."""
    probability = np.zeros((len(position), n_actions))
    probability[np.arange(len(position)), position] = 1.0
    return probability


def check_available(available: Any, n_rows: int, actions: NDArray[Any], n_wanted: int = 1) -> Available:
    """Check that a mask has the right shape and at least `n_wanted` actions in every row, and return it."""
    n_actions = len(actions)
    if is_sparse(available):
        try:
            check_sparse(available)
            mask: Any = sp.csr_array(available).astype(bool)  # a copy: the caller's is not changed
        except FeatureError as error:
            raise ActionError(f"available cannot be used: {error}") from None
        mask.sum_duplicates()
        mask.eliminate_zeros()
        mask.sort_indices()
    else:
        mask = _as_array(available)
        if mask.dtype.kind != "b" and not (mask.dtype.kind in "iuf" and bool(((mask == 0) | (mask == 1)).all())):
            raise ActionError(
                f"available must hold true or false for every row and action; got {_first_odd(mask)}. Pass a mask of "
                "shape (n_rows, n_actions) in the order of actions_; only decide takes labels."
            )
        mask = mask.astype(bool, copy=False)
    if mask.shape != (n_rows, n_actions):
        raise ActionError(
            f"available must be of shape (n_rows, n_actions) = ({n_rows}, {n_actions}), a column per action in the "
            f"order of actions_, {some_labels(actions)}; got {mask.shape}."
        )
    sets = Available(mask)
    few = sets.count() < n_wanted
    if few.any():
        row = int(few.argmax())
        wanted = "at least one action" if n_wanted == 1 else f"at least {n_wanted} actions"
        raise ActionError(
            f"available must leave {wanted} to every row; row {row} has {int(sets.count()[row])} "
            f"({int(few.sum()):,} such rows in all). "
            + ("Leave such rows out: there is nothing to decide." if n_wanted == 1 else "Ask for fewer.")
        )
    return sets


def check_available_to_log(available: Any, position: NDArray[np.intp], actions: NDArray[Any]) -> Available:
    """Check the mask of a log, in which the action that was taken must be available, and return it."""
    sets = check_available(available, len(position), actions)
    missing = ~sets.has(position)
    if missing.any():
        row = int(missing.argmax())
        raise ActionError(
            f"the logged action must be available; row {row} has {actions[position[row]].item()!r}, which its mask "
            f"excludes ({int(missing.sum()):,} such rows in all). Correct the mask: its columns are in the order of "
            f"actions_, {some_labels(actions)}."
        )
    return sets


def check_available_for_one(available: Any, actions: NDArray[Any]) -> Available:
    """Return the mask of one context, of shape (1, n_actions); it may be given as booleans or as labels."""
    if is_sparse(available):
        return check_available(available, 1, actions)
    values = _as_array(list(available) if isinstance(available, set | frozenset) else available)
    if values.dtype.kind == "b":
        return check_available(values.reshape(1, -1) if values.ndim == 1 else values, 1, actions)
    if values.size == 0:
        raise ActionError("available must leave at least one action to choose from; got none.")
    labels = check_actions(values.tolist() if values.ndim == 1 else values, what="available")
    mask = np.zeros((1, len(actions)), dtype=bool)
    mask[0, encode_actions(labels, actions, "available")] = True
    return Available(mask)


def _as_array(available: Any) -> NDArray[Any]:
    if isinstance(available, list | tuple) and any(isinstance(each, str) for each in available):
        return np.array([*available, None], dtype=object)[:-1]  # whole: NumPy's texts end at a zero character
    try:
        return np.asarray(available)
    except (ValueError, OverflowError):  # rows of different lengths
        return np.asarray(available, dtype=object)


def _first_odd(mask: NDArray[Any]) -> str:
    if mask.dtype.kind not in "iuf" or mask.ndim == 0:
        return f"an array of type {mask.dtype} and shape {mask.shape}"
    row = int(np.argmax(((mask != 0) & (mask != 1)).reshape(len(mask), -1).any(axis=1)))
    return f"other numbers in row {row}"
