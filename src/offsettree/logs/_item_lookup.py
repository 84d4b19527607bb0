"""Which row of a table of actions describes each pair, also where features of an action change over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._texts import is_text, join_texts
from offsettree._validation import counted, shown
from offsettree.exceptions import ActionError, LogError


def find_items(
    ids: NDArray[Any],
    row_of_pair: NDArray[np.intp],
    item_ids: NDArray[Any],
    item_since: ArrayLike | None,
    time: ArrayLike | None,
    n_rows: int,
    row_name: Callable[[int], str],
) -> NDArray[np.intp]:
    """Return the row of the table for each pair; with times, the newest one that is not after the row's time."""
    if is_text(ids) != is_text(item_ids):
        raise ActionError(
            f"ids and item_ids must be of one kind; got {shown(ids[0])} and {shown(item_ids[0])}. Make both integers "
            "or both strings."
        )
    if (item_since is None) != (time is None):
        raise LogError("item_since and time belong together: from when features hold, and when rows were decided.")
    labels, code = np.unique(join_texts([item_ids, ids]), return_inverse=True)
    of_items, of_pairs = code[: len(item_ids)], code[len(item_ids) :]
    counts = np.bincount(of_items, minlength=len(labels))
    if item_since is None and counts.max() > 1:
        twice = int((counts[of_items] > 1).argmax())
        raise ActionError(
            f"item_ids must differ; {shown(item_ids[twice])} is there {counts[of_items[twice]]} times. If its features "
            "changed over time, pass item_since and time."
        )
    _refuse(counts[of_pairs] == 0, ids, row_of_pair, "items has no row for it", row_name)
    if item_since is None or time is None:
        item_of = np.empty(len(labels), dtype=np.intp)
        item_of[of_items] = np.arange(len(of_items))
        return item_of[of_pairs]
    since, when = np.asarray(item_since), np.asarray(time)
    if since.shape != item_ids.shape or when.shape != (n_rows,):
        raise LogError(
            f"item_since must have a time per row of items, {len(item_ids)}, and time one per row of the log, "
            f"{n_rows}; got shapes {since.shape} and {when.shape}."
        )
    # Times by rank, so that numbers, dates and texts in ISO form are all compared as they compare themselves.
    try:
        rank = np.unique(join_texts([since, when]), return_inverse=True)[1]
    except TypeError as error:
        raise LogError(f"item_since and time must be of one kind: numbers, dates or texts; {error}.") from None
    order = np.lexsort((rank[: len(since)], of_items))
    n_ranks = int(rank.max()) + 1
    keys = of_items[order] * n_ranks + rank[: len(since)][order]
    place = np.searchsorted(keys, of_pairs * n_ranks + rank[len(since) :][row_of_pair], side="right") - 1
    item = order[np.maximum(place, 0)]
    too_early = (place < 0) | (of_items[item] != of_pairs)
    _refuse(too_early, ids, row_of_pair, "items has no row for it at that time", row_name)
    return np.asarray(item, dtype=np.intp)


def _refuse(
    wrong: NDArray[np.bool_], ids: NDArray[Any], row_of_pair: NDArray[np.intp], why: str, row_name: Callable[[int], str]
) -> None:
    if wrong.any():
        pair = int(wrong.argmax())
        names = np.unique(ids[wrong])
        raise ActionError(
            f"every eligible action must have features; {row_name(int(row_of_pair[pair]))} has {shown(ids[pair])}, and "
            f"{why} "
            f"({counted(len(names), 'id')} in all). Add {'it' if len(names) == 1 else 'them'} to the table, or take "
            "such actions out of the sets."
        )
