"""One context and its actions, in whatever form they come, as hashed features."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._features import is_sparse, take_rows
from offsettree._sparse import as_csr
from offsettree._validation import shown
from offsettree.actions._hashing import (
    Hashed,
    dense_keys,
    even_starts,
    hash_mapping,
    hash_mappings,
    hash_plain,
    hash_table,
    id_key,
)
from offsettree.actions.eligible import labels_in, labels_of
from offsettree.encoding.plain_rows import plain_rows
from offsettree.exceptions import ActionError, FeatureError
from offsettree.logs import ActionSets


class OneDecision:
    """A context and its actions; `labels` is None where actions have no ids and are known by position."""

    def __init__(self, x: Hashed, pairs: Hashed, labels: list[Any] | None) -> None:
        self.x, self.pairs, self.labels = x, pairs, labels

    def __len__(self) -> int:
        return len(self.pairs.starts) - 1

    def id_keys(self) -> NDArray[np.uint64]:
        """Return the keys of the ids; none where actions have no ids."""
        labels = () if self.labels is None else self.labels
        return np.fromiter(map(id_key, labels), np.uint64, len(labels))


def one_decision(x: Any, actions: Any) -> OneDecision:
    """Return one decision from arrays or mappings."""
    context = hash_mapping(x, "x") if isinstance(x, Mapping) else _numbers(x)
    plain = plain_rows(actions) if type(actions) is list and actions else None
    if plain is not None and (pairs := hash_plain(plain)) is not None:
        return OneDecision(context, pairs, labels_in(plain))
    labels = labels_of(actions)
    if isinstance(actions, ActionSets):
        return OneDecision(context, _of_sets(actions), labels)
    if isinstance(actions, np.ndarray) and actions.dtype.kind in "biuf":
        return OneDecision(context, _dense(actions, "actions"), None)
    return OneDecision(context, hash_mappings(list(actions), "an action"), labels)


def one_taken(x: Any, actions: Any, chosen: Any) -> tuple[OneDecision, int]:
    """Return one decision with the action that was taken alone, and how many it was taken from."""
    labels = labels_of(actions)
    n = len(actions.ids if isinstance(actions, ActionSets) else actions)
    place = place_of(chosen, labels, n)
    own = None if labels is None else [labels[place]]
    if isinstance(actions, ActionSets):
        actions = actions.only(np.array([place]))
    else:
        actions = actions[place : place + 1] if isinstance(actions, np.ndarray) else [list(actions)[place]]
    made = one_decision(x, actions)
    return OneDecision(made.x, made.pairs, own), n


def place_of(label: Any, labels: list[Any] | None, n: int) -> int:
    """Return the position of an action, by its id, or by its position where there are no ids."""
    known = list(range(n)) if labels is None else labels
    label = getattr(label, "item", lambda: label)()
    if isinstance(label, bool) or label not in known:
        what = "the ids of its actions" if labels is not None else "the positions of its actions, from 0 on"
        raise ActionError(f"the chosen action must be one of {what}; {shown(label)} is not among {known[:5]}.")
    return known.index(label)


def _of_sets(sets: ActionSets) -> Hashed:
    parts = [hash_table(sets.pairs, "pairs", sets.n_item_features)]
    if sets.items is not None:
        assert sets.item is not None  # noqa: S101 - both or none
        parts.append(hash_table(take_rows(sets.items, sets.item), "items"))
    there = [part for part in parts if part is not None]
    n = len(sets.ids)
    if not there:
        return Hashed(np.empty(0, np.uint64), np.empty(0, np.float32), np.zeros(n + 1, np.int64))
    order = np.argsort(np.concatenate([np.repeat(np.arange(n), np.diff(part.starts)) for part in there]), kind="stable")
    starts = np.sum([part.starts for part in there], axis=0)
    keys, values = (np.concatenate([getattr(part, name) for part in there])[order] for name in ("keys", "values"))
    return Hashed(keys, values, starts)


@lru_cache(256)
def one_row_of(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return what kernels take for one row of n actions that are not items of a table: items of each, and starts."""
    return np.zeros(n, dtype=np.intp), np.array([0, n], dtype=np.intp)


def _numbers(x: Any) -> Hashed:
    if type(x) is np.ndarray and x.ndim == 1 and x.dtype.kind in "fiu":
        return _dense(x.reshape(1, -1), "x")
    values = as_csr(x).toarray() if is_sparse(x) else x
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise FeatureError(f"x must be numbers, or a mapping of names to values; got {x!r:.80}.") from None
    if array.ndim == 2 and len(array) == 1:
        array = array[0]
    if array.ndim != 1:
        raise FeatureError(f"x must be one context, numbers in one dimension; got shape {array.shape}.")
    return _dense(array[np.newaxis], "x")


def _dense(table: NDArray[Any], what: str) -> Hashed:
    with np.errstate(over="ignore"):
        values = table.astype(np.float32).ravel()
    # A sum is finite if all are, but for numbers that are very large: then each is looked at.
    if not math.isfinite(values.sum(dtype=np.float64)) and not np.isfinite(values).all():
        raise FeatureError(
            f"{what} must be finite; got NaN or infinity. Fill gaps, or pass mappings of names to values."
        )
    return Hashed(dense_keys(*table.shape), values, even_starts(*table.shape))
