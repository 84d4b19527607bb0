"""Labels of actions: of one kind, all known, and their positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._texts import is_text
from offsettree._validation import as_float, counted, lengths_differ, shown
from offsettree.exceptions import ActionError, LogError, ParameterError

LARGEST_WHOLE = 2.0**53  # beyond, floats no longer tell neighbouring whole numbers apart
MOST_CHARACTERS = 1 << 26  # of all labels of a policy, which an array pads to the longest: 256 MB
DENSE = 1 << 16  # integers within a range of this many are looked up in a table rather than sorted


def check_actions(action: ArrayLike | None, n_rows: int | None = None, *, what: str = "action") -> NDArray[Any]:
    """Return action labels as an array of integers or of strings (dtype object), never of both."""
    if action is None:
        raise ActionError(f"{what} is missing: pass the action that was taken in each row (integers or strings).")
    # A list is read as objects: numpy would make strings of everything where there is one string.
    values = np.asarray(action, dtype=object if isinstance(action, list | tuple) else None)
    if values.dtype.kind == "U" and values.ndim == 1 and not isinstance(action, np.ndarray):
        given: Any = action
        values = np.asarray(list(given), dtype=object)  # whole, of polars for instance: NumPy's end at a zero
    if values.ndim != 1:
        came = f"an array of shape {values.shape}" if values.ndim else f"a {type(action).__name__}"
        raise ActionError(f"{what} must be a list of labels, integers or strings; got {came}.")
    if n_rows is not None and len(values) != n_rows:
        raise LogError(lengths_differ(what, len(values), n_rows))
    if values.dtype.kind in "iu":
        return values
    if values.dtype.kind == "b":
        return values.astype(np.int64)
    if values.dtype.kind == "f":
        return _whole_numbers(values, what)
    if values.dtype.kind in "UT":
        _refuse_odd_texts(values.tolist(), what)
        return values.astype(object)
    labels = values.tolist()
    missing = [row for row, label in enumerate(labels) if label is None or label != label]
    if missing:
        raise ActionError(
            f"{what} is missing in row {missing[0]} ({counted(len(missing), 'row')} in all). Drop such rows."
        )
    kinds = set(map(type, labels))
    if kinds == {str}:
        _refuse_odd_texts(labels, what)
        return values
    if all(issubclass(kind, str) for kind in kinds):  # numpy's strings, enumerations of strings
        _refuse_odd_texts(labels, what)
        return np.array([str.__str__(label) for label in labels], dtype=object)
    if all(issubclass(kind, int | np.integer) for kind in kinds):
        return _integers(labels, what)
    if all(issubclass(kind, int | float | np.integer | np.floating) for kind in kinds):
        return _whole_numbers(np.array([as_float(label) for label in labels]), what)
    row, label = _first_odd_label(labels)
    raise ActionError(
        f"{what} must be all integers or all strings; row {row} has {shown(label)} ({type(label).__name__}), row 0 has "
        f"{shown(labels[0])} ({type(labels[0]).__name__}). Make the labels of one kind."
    )


def _integers(labels: list[Any], what: str) -> NDArray[np.int64]:
    try:
        return np.array(labels, dtype=np.int64)
    except OverflowError:
        row = next(row for row, label in enumerate(labels) if not -(2**63) <= int(label) < 2**63)
        raise ActionError(
            f"{what} must be whole numbers that 64 bits hold; row {row} has {str(labels[row])[:40]}. Pass strings."
        ) from None


def padded(texts: list[str], what: str = "the labels of actions") -> NDArray[np.str_]:
    """Return distinct texts as an array, where each takes as much as the longest; refuse those that take far more."""
    longest = max(map(len, texts), default=0)
    if longest * len(texts) > max(MOST_CHARACTERS, 4 * sum(map(len, texts))):
        label = next(text for text in texts if len(text) == longest)
        raise ActionError(
            f"{what} must be of about the same length; {label[:20]!r}... has {longest:,} characters, and an array, in "
            f"which each of {len(texts):,} takes as much, would need {4 * longest * len(texts):,} bytes. Shorten it."
        )
    return np.array(texts, dtype=str)


def _refuse_odd_texts(labels: list[str], what: str) -> None:
    if "\0" in "".join(labels):
        rows = [row for row, label in enumerate(labels) if "\0" in label]
        raise ActionError(
            f"{what} must be text without the character 0, at which arrays of text end; row {rows[0]} has "
            f"{shown(str(labels[rows[0]]))} ({counted(len(rows), 'row')} in all). Name that action otherwise."
        )
    if not all(map(str.strip, labels)):
        rows = [row for row, label in enumerate(labels) if not label.strip()]
        raise ActionError(
            f"{what} is missing in row {rows[0]}, which has {labels[rows[0]]!r} ({counted(len(rows), 'row')} in all). "
            "Drop such rows, or name what happened there."
        )


def _first_odd_label(labels: list[Any]) -> tuple[int, Any]:
    for row, label in enumerate(labels):
        if not isinstance(label, str | int) or isinstance(label, str) != isinstance(labels[0], str):
            return row, label
    return 0, labels[0]


def _whole_numbers(values: NDArray[Any], what: str) -> NDArray[np.int64]:
    missing = np.isnan(values)
    if missing.any():
        row = int(missing.argmax())
        raise ActionError(f"{what} is missing in row {row} ({counted(missing.sum(), 'row')} in all). Drop such rows.")
    odd, large = bad_whole_numbers(values)
    if odd.any():
        row = int(odd.argmax())
        raise ActionError(
            f"{what} must be integers or strings, not continuous numbers (Unknown label type); row {row} has "
            f"{values[row]} ({counted(odd.sum(), 'row')} in all). Name the actions, or number them."
        )
    if large.any():
        row = int(large.argmax())
        raise ActionError(
            f"{what} must be whole numbers up to 2**53 where they are floats, which beyond no longer tell neighbours "
            f"apart; row {row} has {values[row]} ({counted(large.sum(), 'row')} in all). Pass integers or strings."
        )
    return values.astype(np.int64)


def bad_whole_numbers(values: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which floats are not whole, and which are too large to tell from their neighbours."""
    return ~(np.isfinite(values) & (values == np.round(values))), np.abs(values) > LARGEST_WHOLE


def find_actions(action: NDArray[Any], actions: ArrayLike | None, least: int = 2) -> NDArray[Any]:
    """Return the labels of all actions: those given, in the given order, or those logged, sorted; `least` of them."""
    if actions is None:
        labels = unique_labels(action)
        if len(labels) < least:
            raise ActionError(
                f"a policy needs at least two actions to choose from; the log has one class only, {shown(labels[0])}. "
                "If there are others that were never logged, name them all: actions=[...]."
            )
        return labels
    labels = check_actions(actions, what="actions")
    if labels.dtype.kind == "O":
        labels = padded(labels.tolist(), what="actions")
    names, counts = np.unique(labels, return_counts=True)
    if len(names) < len(labels):
        raise ParameterError(f"actions must differ from each other; {shown(names[counts.argmax()])} is named twice.")
    if len(labels) < least:
        wanted = "two actions" if least == 2 else "one action"
        raise ParameterError(f"actions must name at least {wanted}; got {labels.tolist()!r}.")
    return labels


def unique_labels(action: NDArray[Any]) -> NDArray[Any]:
    """Return the labels that occur, sorted."""
    # Hashing beats sorting for Python strings.
    return padded(sorted(set(action.tolist()))) if is_text(action) else _unique_integers(action)


def code_labels(action: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the labels that occur, sorted, and the position among them of each row's."""
    labels = unique_labels(action)
    return labels, encode_actions(action.astype(object) if action.dtype.kind == "U" else action, labels)


def _unique_integers(values: NDArray[Any]) -> NDArray[Any]:
    low, high = int(values.min()), int(values.max())
    if high - low > len(values) + DENSE or high > np.iinfo(np.int64).max:
        return np.unique(values)
    # To count is several times as fast as to sort.
    return np.asarray(low + np.flatnonzero(np.bincount(values.astype(np.int64, copy=False) - low)), dtype=values.dtype)


def encode_actions(
    action: NDArray[Any], actions: NDArray[Any], what: str = "action", *, first_row: int = 0
) -> NDArray[np.intp]:
    """Return each label's position in `actions`; an unknown label is an error, counted from row `first_row` on."""
    if (action.dtype.kind == "O") != (actions.dtype.kind in "OU"):
        kinds = ("strings", "integers") if action.dtype.kind == "O" else ("integers", "strings")
        raise ActionError(f"the log's actions are {kinds[0]}, but the policy's are {kinds[1]}: {some_labels(actions)}.")
    if action.dtype.kind == "O":
        where = {label: position for position, label in enumerate(actions.tolist())}
        position = np.fromiter((where.get(label, -1) for label in action.tolist()), dtype=np.intp, count=len(action))
        unknown = position < 0
    elif _is_dense(actions) and np.can_cast(action.dtype, np.int64):
        # A table is several times as fast as a search.
        low, high = int(actions.min()), int(actions.max())
        is_known = len(action) == 0 or (action.min() >= low and action.max() <= high)
        if is_known and low == 0 and np.array_equal(actions, np.arange(len(actions))):
            return action.astype(np.intp)
        table = np.full(high - low + 1, -1, dtype=np.intp)
        table[actions.astype(np.int64) - low] = np.arange(len(actions))
        unknown = (action < low) | (action > high)
        place = action if low == 0 and is_known else np.where(unknown, 0, action.astype(np.int64) - low)
        position = table[place]
        unknown |= position < 0
    else:
        order = np.argsort(actions)
        found = np.minimum(np.searchsorted(actions, action, sorter=order), len(actions) - 1)
        position = order[found]
        unknown = actions[position] != action
    if unknown.any():
        row = int(unknown.argmax())
        raise ActionError(
            f"{what} must be one of the policy's {len(actions)} actions, {some_labels(actions)}; row "
            f"{first_row + row} has {shown(action[row])} ({counted(unknown.sum(), 'row')} in all). Drop those rows, or "
            "name every action when the policy is made: actions=[...]."
        )
    return position


def check_positions(action: ArrayLike | None, n_rows: int, n_actions: int | None) -> tuple[NDArray[np.intp], int]:
    """Return actions given by position, and how many there are: by default the largest position, plus 1."""
    position = check_actions(action, n_rows)
    if len(position) == 0:
        raise ActionError("action is empty: pass the action that was taken in each row, and at least one row.")
    if position.dtype.kind == "O":
        raise ActionError(
            f"action must be positions, whole numbers from 0 on; row 0 has {shown(position[0])}. For labels take their "
            "positions: np.unique(action, return_inverse=True)[1]."
        )
    if n_actions is None:
        n_actions = int(position.max(initial=0)) + 1
    outside = (position < 0) | (position >= n_actions)
    if outside.any():
        row = int(outside.argmax())
        raise ActionError(
            f"action must be positions from 0 to n_actions - 1 = {n_actions - 1}; row {row} has {position[row]} "
            f"({counted(outside.sum(), 'row')} in all). For labels take their positions: "
            "np.unique(action, return_inverse=True)[1]."
        )
    return position.astype(np.intp), n_actions


def _is_dense(actions: NDArray[Any]) -> bool:
    low, high = int(actions.min()), int(actions.max())
    return high <= np.iinfo(np.int64).max and high - low < 16 * len(actions) + DENSE


def some_labels(labels: NDArray[Any]) -> str:
    """Show the first few labels."""
    shown = ", ".join(repr(label) for label in labels[:5].tolist())
    return shown + (", ..." if len(labels) > 5 else "")
