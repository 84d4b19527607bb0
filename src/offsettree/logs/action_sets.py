"""The eligible actions of each row, with features: of each action, and of each pair of row and action."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._features import Features, count_rows, is_finite, is_frame, is_sparse, take_rows
from offsettree._labels import check_actions
from offsettree._sparse import as_csr
from offsettree._texts import as_texts, is_text, repeat_texts, take_texts
from offsettree._validation import counted, shown
from offsettree.exceptions import ActionError, FeatureError, LogError
from offsettree.logs._item_lookup import find_items

__all__ = ["ActionSets"]


class ActionSets:
    """Which actions each row could choose from, by id, and what is known about them.

    The sets are ragged: a row may have two actions and the next one fifty. Actions are described by a table with one
    row per id (`items`), by features of each pair of row and action (`pairs`), such as an affinity, or by both.

    Parameters
    ----------
    ids : list of lists, or array of shape (n_pairs,)
        The ids of each row's actions, integers or strings, none of them twice in a row. An array holds those of all
        rows, one row after the other.
    starts : array of shape (n_rows + 1,), optional
        Where each row begins in an array of ids, and where the last one ends.
    items : array of shape (n_items, n_item_features), CSR matrix, pandas or polars frame, optional
        The features of each action.
    item_ids : array of shape (n_items,), optional
        The ids that the rows of `items` are about.
    pairs : array of shape (n_pairs, n_pair_features), CSR matrix, pandas or polars frame, optional
        The features of each pair of row and action, in the order of the ids.
    item_since : array of shape (n_items,), optional
        From when on each row of `items` holds, if the features of an id change over time: an id may then have several.
    time : array of shape (n_rows,), optional
        When each row was decided, for `item_since`.
    row_name : function of a row's position, optional
        What errors call a row, such as its place in a file. By default "row 0" and so on.

    Attributes
    ----------
    item : ndarray of shape (n_pairs,) or None
        The row of `items` that describes each pair.

    Examples
    --------
    >>> sets = ActionSets([["a", "b"], ["b", "c", "a"]], items=[[0.1], [0.5], [0.9]], item_ids=["a", "b", "c"])
    >>> sets
    <ActionSets: 2 rows, 2 to 3 actions of 3, 1 feature per action, 0 per pair>
    >>> sets[1]
    ['b', 'c', 'a']
    >>> sets.take([1]).item
    array([1, 2, 0])
    """

    def __init__(
        self,
        ids: Sequence[Any] | ArrayLike,
        starts: ArrayLike | None = None,
        *,
        items: Features | None = None,
        item_ids: ArrayLike | None = None,
        pairs: Features | None = None,
        item_since: ArrayLike | None = None,
        time: ArrayLike | None = None,
        row_name: Callable[[int], str] | None = None,
    ) -> None:
        self._row_name = row_name or position_name
        flat, self.starts = _flattened(ids, starts)
        _refuse_empty(self.starts, self._row_name)
        self.ids = _as_labels(flat, "ids")
        _refuse_duplicates(self.ids, self.starts, self._row_name)
        self.items, self.item_ids, self.item = None, None, None
        self.pairs = None if pairs is None else _as_table(pairs, "pairs", len(self.ids), "eligible action of each row")
        if items is None and (item_ids is not None or item_since is not None):
            raise LogError("item_ids says what the rows of items are about: pass items, the features of each action.")
        if items is not None:
            if item_ids is None:
                raise LogError("items must come with item_ids, the id that each of its rows is about.")
            self.item_ids = _as_labels(item_ids, "item_ids")
            self.items = _as_table(items, "items", len(self.item_ids), "id in item_ids")
            row_of_pair = np.repeat(np.arange(len(self)), self.sizes)
            self.item = find_items(self.ids, row_of_pair, self.item_ids, item_since, time, len(self), self._row_name)

    @classmethod
    def _of(cls, like: ActionSets, ids: NDArray[Any], starts: NDArray[np.intp], pairs: NDArray[np.intp]) -> ActionSets:
        """Return some pairs of sets that have been checked."""
        made = cls.__new__(cls)
        made.ids, made.starts, made._row_name = ids, starts, position_name
        made.items, made.item_ids = like.items, like.item_ids
        made.item = None if like.item is None else like.item[pairs]
        made.pairs = None if like.pairs is None else take_rows(like.pairs, pairs)
        return made

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, row: int) -> list[Any]:
        """Return the ids of one row's actions."""
        row = range(len(self))[row]
        labels: list[Any] = self.ids[self.starts[row] : self.starts[row + 1]].tolist()
        return labels

    def __iter__(self) -> Iterator[list[Any]]:
        return (self[row] for row in range(len(self)))

    @property
    def sizes(self) -> NDArray[np.intp]:
        """How many actions each row may choose from."""
        return np.diff(self.starts)

    @property
    def n_item_features(self) -> int:
        """The number of features of an action."""
        return 0 if self.items is None else int(self.items.shape[1])

    @property
    def n_pair_features(self) -> int:
        """The number of features of a pair."""
        return 0 if self.pairs is None else int(self.pairs.shape[1])

    def take(self, rows: ArrayLike) -> ActionSets:
        """Return the sets of some rows, by position."""
        chosen = np.asarray(rows, dtype=np.intp)
        sizes = self.sizes[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        pairs = np.repeat(self.starts[:-1][chosen] - starts[:-1], sizes) + np.arange(starts[-1])
        return ActionSets._of(self, take_texts(self.ids, pairs), starts, pairs)

    def only(self, pairs: NDArray[np.intp]) -> ActionSets:
        """Return sets of one action each: that of one pair per row."""
        return ActionSets._of(self, take_texts(self.ids, pairs), np.arange(len(pairs) + 1), pairs)

    def without(self, pairs: NDArray[np.intp]) -> ActionSets:
        """Return the sets without some pairs; every row must keep an action."""
        kept = np.ones(len(self.ids), dtype=bool)
        kept[pairs] = False
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts].astype(np.intp)
        _refuse_empty(starts, position_name)
        return ActionSets._of(self, take_texts(self.ids, np.flatnonzero(kept)), starts, np.flatnonzero(kept))

    def find(self, action: ArrayLike) -> NDArray[np.intp]:
        """Return the pair of each row's action: its position in `ids`.

        Parameters
        ----------
        action : array of shape (n_rows,)
            One of each row's own actions.
        """
        labels = _as_labels(action, "action")
        if len(labels) != len(self):
            raise LogError(f"action must have a label per row; got {len(labels)} for {len(self)} rows.")
        wanted = repeat_texts(labels, self.sizes)
        if is_text(wanted) != is_text(self.ids):
            raise ActionError(
                f"the logged actions and the ids must be of one kind; got {shown(labels[0])} among "
                f"{shown(self.ids[0])} and so on. Make both integers or both strings."
            )
        pairs = np.flatnonzero(wanted == self.ids)
        if len(pairs) < len(self):
            found = np.zeros(len(self), dtype=bool)
            found[np.searchsorted(self.starts, pairs, side="right") - 1] = True
            row = int((~found).argmax())
            raise ActionError(
                f"the logged action must be one of its row's eligible actions; {self._row_name(row)} has "
                f"{shown(labels[row])}, "
                f"which is not among {self[row][:5]} ({counted((~found).sum(), 'row')} in all). Add it to the row's "
                "set, with its features, or drop the row."
            )
        return pairs

    def __repr__(self) -> str:
        sizes = self.sizes
        span = f"{sizes.min()}" if sizes.min() == sizes.max() else f"{sizes.min()} to {sizes.max()}"
        n = self.n_item_features
        return (
            f"<ActionSets: {counted(len(self), 'row')}, {span} actions of {len(np.unique(self.ids)):,}, "
            f"{counted(n, 'feature')} per action, {self.n_pair_features:,} per pair>"
        )


def _flattened(ids: Any, starts: ArrayLike | None) -> tuple[Any, NDArray[np.intp]]:
    if starts is None:
        if isinstance(ids, np.ndarray) and ids.ndim == 1 and ids.dtype != object:
            raise LogError("an array of all ids needs starts, where each row begins in it; or pass a list of lists.")
        rows = [each.tolist() if isinstance(each, np.ndarray) else each for each in ids]
        if odd := [row for row, each in enumerate(rows) if not isinstance(each, list | tuple)]:
            raise LogError(f"ids must have a list of actions per row; row {odd[0]} has {shown(rows[odd[0]])}.")
        sizes = [len(each) for each in rows]
        return [label for each in rows for label in each], np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    begins = np.asarray(starts)
    n_pairs = len(ids)
    if (
        begins.ndim != 1
        or begins.dtype.kind not in "iu"
        or len(begins) < 2
        or begins[0] != 0
        or begins[-1] != n_pairs
        or (begins[1:] < begins[:-1]).any()  # neighbours are compared: their difference could wrap around
    ):
        raise LogError(
            f"starts must be whole numbers that rise from 0 to the number of ids, {n_pairs}; got {begins!r:.80}."
        )
    return ids, begins.astype(np.intp)


def position_name(row: int) -> str:
    """Return what errors call a row of arrays."""
    return f"row {row}"


def _refuse_empty(starts: NDArray[np.intp], row_name: Callable[[int], str]) -> None:
    if len(starts) < 2:
        raise LogError("ids must have at least one row; it has none.")
    empty = np.diff(starts) == 0
    if empty.any():
        raise ActionError(
            f"every row must have at least one eligible action; {row_name(int(empty.argmax()))} has none "
            f"({counted(empty.sum(), 'row')} in all). Drop such rows: there was nothing to decide."
        )


def _as_labels(labels: Any, what: str) -> NDArray[Any]:
    return as_texts(check_actions(labels, what=what))


def _refuse_duplicates(ids: NDArray[Any], starts: NDArray[np.intp], row_name: Callable[[int], str]) -> None:
    row_of = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    code = np.unique(ids, return_inverse=True)[1]
    order = np.lexsort((code, row_of))
    same = (code[order][1:] == code[order][:-1]) & (row_of[order][1:] == row_of[order][:-1])
    if same.any():
        pair = int(order[1:][same][0])
        raise ActionError(
            f"the ids of a row must differ; {row_name(int(row_of[pair]))} has {shown(ids[pair])} twice "
            f"({counted(len(np.unique(row_of[order[1:][same]])), 'row')} in all). Keep one, or give them different ids."
        )


def _as_table(features: Features, what: str, n_rows: int, per: str) -> Features:
    if not is_frame(features):
        if is_sparse(features):
            features = as_csr(features)
        else:
            try:
                features = np.asarray(features, dtype=np.float64)
            except (TypeError, ValueError, OverflowError) as error:
                raise FeatureError(f"{what} must be a table of numbers, or a frame; {error}.") from None
            if features.ndim != 2:
                raise FeatureError(f"{what} must be a table of rows and features; got shape {features.shape}.")
        values = features.data if is_sparse(features) else features
        # The sum that is looked at first may overflow where no value is infinite.
        if not is_finite(features) and (bad := ~np.isfinite(values)).any():
            row = int(np.argwhere(bad)[0][0])
            row = int(np.searchsorted(features.indptr, row, side="right") - 1) if is_sparse(features) else row
            raise FeatureError(
                f"{what} must be finite; row {row} has NaN or infinity ({counted(bad.sum(), 'value')} in all). Fill "
                "gaps, or pass a frame, in which they are marked as missing."
            )
    if count_rows(features) != n_rows:
        raise FeatureError(f"{what} must have one row per {per}, {n_rows:,}; it has {count_rows(features):,}.")
    return features
