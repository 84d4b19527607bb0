"""The action labels of an evaluation: of the policies, of tables' columns and of the log."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._features import is_frame
from offsettree._labels import check_actions, encode_actions, find_actions, padded, some_labels, unique_labels
from offsettree.exceptions import ActionError, ParameterError


def find_space(
    labels: NDArray[Any], actions: ArrayLike | None, policies: list[Any]
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return all action labels (the space), and the position of each logged action in it.

    Labels are those given. By default they are the first policy's, in its order (the log's, sorted, if it has none),
    then those of the other policies, then those only in the log.
    """
    if actions is not None:
        space = find_actions(labels, actions, least=1)
        return space, encode_actions(labels, space)
    own, *others = [known_labels(policy) for policy in policies]
    space = unique_labels(labels) if own is None else own
    for known in others:
        if known is not None:
            space = _united(space, known)
    try:
        return space, encode_actions(labels, space)
    except ActionError:
        space = _united(space, unique_labels(labels))
        return space, encode_actions(labels, space)


def table_columns(labels: NDArray[Any], actions: ArrayLike | None) -> NDArray[Any]:
    """Return the labels of the columns of tables: those given, or those of the log, sorted.

    Labels of policies do not matter: the meaning of a table must not depend on what it is compared with.
    """
    return unique_labels(labels) if actions is None else find_actions(labels, actions, least=1)


def column_positions(table: Any, columns: NDArray[Any], space: NDArray[Any], what: str) -> NDArray[np.intp]:
    """Return the position in the space of each column of a table; a frame's columns are matched by name."""
    if not is_frame(table):
        return known_positions(columns, space, what)
    names = [str(name) for name in table.columns]
    where = {str(label): position for position, label in enumerate(space.tolist())}
    if sorted(names) not in (sorted(map(str, columns.tolist())), sorted(where)):
        shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
        raise ParameterError(
            f"columns of the {what} must be named after the {len(columns)} actions, {some_labels(columns)}, in any "
            f"order; got {shown}. Rename them, or pass the values alone, .to_numpy(), with columns in that order. If "
            "there are actions that the log never took, name all: actions=[...]."
        )
    return np.array([where[name] for name in names], dtype=np.intp)


def known_labels(policy: Any) -> NDArray[Any] | None:
    """Return a policy's `actions_` or `classes_`; None if it has neither."""
    if not (hasattr(policy, "predict") or hasattr(policy, "predict_proba")) or isinstance(policy, type):
        return None
    known = getattr(policy, "actions_", getattr(policy, "classes_", None))
    if known is None:
        return None
    labels = check_actions(known, what="the policy's actions_")
    return padded(labels.tolist()) if labels.dtype.kind == "O" else labels


def _united(space: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    if (space.dtype.kind == "U") != (more.dtype.kind == "U"):
        raise ActionError(
            f"action labels must be all integers or all strings; got both {some_labels(space)} and "
            f"{some_labels(more)}. Give the log the labels that the policies were trained on."
        )
    return np.concatenate([space, more[~np.isin(more, space)]])


def known_positions(labels: NDArray[Any], space: NDArray[Any], what: str) -> NDArray[np.intp]:
    labels = labels.astype(object) if labels.dtype.kind == "U" else labels
    try:
        return encode_actions(labels, space)
    except ActionError:
        known = set(map(str, space.tolist()))
        unknown = np.array([str(label) not in known for label in labels.tolist()])
        row = int(unknown.argmax())
        answer = labels[[row]].tolist()[0]
        or_logging = ", or be 'logging' (the logged actions)" if what == "baseline" else ""
        raise ActionError(
            f"the {what} must answer with one of the {len(space)} known actions, {some_labels(space)}{or_logging}; row "
            f"{row} has {answer!r} ({int(unknown.sum()):,} in all). If it is an action that the log never took, name "
            "all actions: actions=[...]."
        ) from None
