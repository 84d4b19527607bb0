"""Columns that are no features, though nobody said so: what was not known before the decision, and what has no use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._messages import Message, Parameter

FEWEST_ROWS = 50  # below, that a column goes with the action may be chance
FIRST_ROWS = 1000
KEEP = Message("name all features, ", Parameter("features", [...]), ", to keep ")


def useless(head: Any, names: Sequence[str]) -> list[str]:
    """List columns of lists, bytes and the like, which no features are made of."""
    import pyarrow as pa

    from offsettree.logs._tables import is_bytes

    def has_use(kind: Any) -> bool:
        return not (pa.types.is_nested(kind) or is_bytes(kind))

    there = set(head.column_names)
    return [name for name in names if name in there and not has_use(head.schema.field(name).type)]


def same_as_action(frame: Any, action: NDArray[Any]) -> list[str]:
    """List columns of a pandas frame that are the action by other names: each value goes with one action only."""
    if len(action) < FEWEST_ROWS:
        return []
    n_labels = len(set(action[:FIRST_ROWS].tolist()))
    found = []
    for name in frame.columns:
        values = frame[name]
        # Most columns are told from the action by their first rows.
        if n_labels > 1 and values.head(FIRST_ROWS).nunique() == n_labels and _goes_with(values, action):
            found.append(str(name))
    return found


def _goes_with(values: Any, action: NDArray[Any]) -> bool:
    for n_rows in (FIRST_ROWS, len(action)):
        codes, found = values.iloc[:n_rows].factorize()
        labels, known = type(values)(action[:n_rows]).factorize()
        n_labels = len(known)
        if codes.min() < 0 or len(found) != n_labels or n_labels > n_rows / 5:
            return False
        if len(np.unique(codes.astype(np.int64) * n_labels + labels)) != n_labels:
            return False
    return True


def left_out_by_name(names: Sequence[str]) -> str:
    """Say which columns were left out by their names, and how to keep them."""
    late = f"Left out of the features, as {_listed(names)} may not have been known before the decision, by the name: "
    return Message(late, KEEP, "it." if len(names) == 1 else "them.")


def left_out_by_type(names: Sequence[str]) -> str:
    """Say which columns hold nothing that can be learned from."""
    return (
        f"Left out of the features: {_listed(names)}, as lists, bytes and the like are neither numbers nor words. "
        "Write parts as columns of their own to learn from them."
    )


def left_out_as_action(names: Sequence[str], action: str) -> str:
    """Say which columns are the action by other names."""
    return Message(
        f"Left out of the features: {_listed(names)}, each value of which goes with one value of the action "
        f"{action!r}, as another name of it does: ",
        KEEP,
        "it." if len(names) == 1 else "them.",
    )


def alike_but_for_blanks(labels: Iterable[Any]) -> list[str]:
    """Say which actions differ in the blanks around them only; nothing where none do."""
    alike: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            alike.setdefault(label.strip(), []).append(label)
    pairs = [sorted(group) for group in alike.values() if len(group) > 1]
    if not pairs:
        return []
    shown = "; ".join(" and ".join(map(repr, group)) for group in pairs[:5]) + "; ..." * (len(pairs) > 5)
    return [f"Actions that differ in blanks only are different actions: {shown}. Trim them if one is meant."]


def left_out_as_group(name: str) -> str:
    """Say that what tells groups apart is no feature."""
    identifier = f"Left out of the features: {name!r}, which tells the groups apart, as an identifier does: "
    return Message(identifier, KEEP, "it.")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:20])) + ", ..." * (len(names) > 20)
