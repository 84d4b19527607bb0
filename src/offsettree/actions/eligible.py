"""The labels of one row's eligible actions, in whatever form these come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from offsettree._features import is_frame, is_sparse
from offsettree._validation import shown
from offsettree.encoding.plain_rows import PlainRows
from offsettree.exceptions import ActionError
from offsettree.logs import ActionSets

__all__ = ["ID", "labels_in", "labels_of", "without"]

ID = "id"  # the name of the id in a mapping of an action


def labels_of(actions: Any) -> list[Any] | None:
    """Return the ids of one row's actions; None where they have none and are known by position.

    Parameters
    ----------
    actions : list of mappings, array of shape (n_actions, n_features), or ActionSets of one row
        The eligible actions.

    Examples
    --------
    >>> labels_of([{"id": "a", "price": 3.0}, {"id": "b", "price": 5.0}])
    ['a', 'b']
    """
    if isinstance(actions, ActionSets):
        if len(actions) != 1:
            raise ActionError(f"actions must be the set of one row; got {len(actions)} rows. Use predict for several.")
        return actions[0]
    if isinstance(actions, np.ndarray) and actions.dtype.kind in "biuf":
        if actions.ndim != 2 or len(actions) == 0:
            raise ActionError(
                f"actions must have a row of features per eligible action, at least one; got shape {actions.shape}."
            )
        return None
    rows = [] if is_frame(actions) or is_sparse(actions) or not hasattr(actions, "__iter__") else list(actions)
    # Nearly all are dicts, and to ask about those by type takes a tenth of the time.
    if not rows or not all(type(each) is dict or isinstance(each, Mapping) for each in rows):
        # A sparse matrix that is put together wrongly cannot be shown.
        got = f"a {type(actions).__name__}" if is_sparse(actions) else f"{actions!r:.80}"
        raise ActionError(
            "actions must be the eligible actions: a mapping of features per action, an array of shape (n_actions, "
            f"n_features), or ActionSets of one row, and at least one action; got {got}."
        )
    with_ids = sum(ID in each for each in rows)
    if with_ids not in (0, len(rows)):
        raise ActionError(
            f"either all actions have an {ID!r} or none; {len(rows) - with_ids} of {len(rows)} have none."
        )
    if not with_ids:
        return None
    return _checked([each[ID] for each in rows])


def labels_in(rows: PlainRows) -> list[Any] | None:
    """Return the ids of actions that were read at once, as `labels_of` does.

    Parameters
    ----------
    rows : PlainRows
        The eligible actions.
    """
    return _checked(rows.column(ID)) if ID in rows.names else None


def _checked(labels: list[Any]) -> list[Any]:
    kinds = set(map(type, labels))
    if not kinds <= {int, str} and (odd := [each for each in labels if not _is_label(each)]):
        raise ActionError(f"the id of an action must be a whole number or a text; got {odd[0]!r:.60}.")
    # To look at all at once takes a tenth of the time.
    if "\0" in ("".join(labels) if kinds == {str} else "".join(map(str, labels))):
        odd = [each for each in labels if "\0" in str(each)]
        raise ActionError(f"the id of an action must be text without the character 0; got {odd[0]!r:.60}.")
    if len(set(labels)) < len(labels):
        twice = next(each for each in labels if labels.count(each) > 1)
        raise ActionError(f"the ids of the actions must differ; {shown(twice)} is there twice.")
    return labels


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)


def without(actions: Any, place: int) -> Any:
    """Return one row's actions without the one at a position.

    Parameters
    ----------
    actions : list of mappings, array of shape (n_actions, n_features), or ActionSets of one row
        The eligible actions.
    place : int
        The position of the one to leave out.
    """
    if isinstance(actions, ActionSets):
        return actions.without(np.array([place]))
    if isinstance(actions, np.ndarray):
        return np.delete(actions, place, axis=0)
    return [each for other, each in enumerate(actions) if other != place]
