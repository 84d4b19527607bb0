"""Detects by content whether the rows of a log bring the actions that they could choose from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from offsettree.exceptions import LogError
from offsettree.logs.guess import guess_columns
from offsettree.logs.readers import Path, open_reader

__all__ = ["RecognisedSets", "recognise_action_sets"]

HEAD_ROWS = 200
NAMES = ("eligible", "eligible_actions", "action_set", "actions", "candidates", "items", "choices", "available")
MOST_NAMED, MOST_OTHERS = 0.5, 0.9  # shares of rows that list their own action, in a column called so and in others
VW_LABEL = re.compile(r"\s*\d+:[^\s|]+")


class RecognisedSets(NamedTuple):
    """How a log has its eligible actions, by its first rows.

    Parameters
    ----------
    eligible : str or None
        Of tables: the column that lists them.
    has_features : bool
        Whether actions have features; of dsjson, features that are not the same in all decisions.
    varies : bool
        Whether sets differ from row to row.
    """

    eligible: str | None
    has_features: bool
    varies: bool


def recognise_action_sets(
    path: Path,
    *,
    action: str | None = None,
    item_id: str = "id",
    eligible: str | None = None,
    must: bool = False,
    **reading: Any,
) -> RecognisedSets | None:
    r"""Return how a log lists its eligible actions; None if it has labels only.

    Parameters
    ----------
    path : str or path
        A file or a folder.
    action : str, optional
        The column of the action taken; by default guessed by name.
    item_id : str, default="id"
        The name of the id in lists of mappings.
    eligible : str, optional
        The column that lists them, where it is known.
    must : bool, default=False
        Raise what is wrong with decisions that cannot be read; by default a log of such is one of labels.
    **reading : Any
        Options of `scan_tables`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "log.ndjson"
    >>> _ = file.write_text('{"age": 25, "action": "a", "reward": 1, "propensity": 0.5, "shown": ["a", "b"]}\n')
    >>> recognise_action_sets(file)
    RecognisedSets(eligible='shown', has_features=False, varies=False)
    """
    reader = open_reader(path, **reading)
    if reader.roles:
        from offsettree.logs._dsjson import DsjsonReader
        from offsettree.logs._vw import VwReader

        if isinstance(reader, VwReader):
            return RecognisedSets(None, has_features=True, varies=True) if _is_multi_line(reader) else None
        return _of_decisions(reader, must=must) if isinstance(reader, DsjsonReader) else None
    return _of_table(reader, action, item_id, eligible)


def _is_multi_line(reader: Any) -> bool:
    """Return whether some lines have no label and others are blank, or one is shared: decisions of several lines."""
    from offsettree.logs._source import line_blocks

    block = next(iter(line_blocks(reader.sources[0], reader.options.encoding)), b"")
    lines = block.decode(errors="replace").split("\n")[:1000]
    if any(line.lstrip().startswith("shared") for line in lines):
        return True
    there = [line for line in lines if line.strip()]
    return len(there) < len(lines) - 1 and any(not VW_LABEL.match(line) for line in there)


def _of_decisions(reader: Any, *, must: bool) -> RecognisedSets | None:
    from offsettree.logs._decisions import dsjson_decisions

    try:
        read: Iterator[Any] = dsjson_decisions(reader.sources[0], reader.options.encoding, labelled=False)
        decisions = list(islice(read, HEAD_ROWS))
    except LogError:
        if must:
            raise
        return None  # whoever reads it as labels says what is wrong, or needs no lists
    names = {name for each in decisions for one in each.actions for name in one}
    has_features = any(not name.endswith("constant") for name in names)  # which services add to every action
    known = {tuple(each.ids) if each.ids is not None else len(each.actions) for each in decisions}
    varies = len({frozenset(each) if isinstance(each, tuple) else each for each in known}) > 1
    if any(each.ids is None for each in decisions) and not has_features:
        return None  # numbers of actions
    # The same actions in every decision are labels: their features tell nothing that the label does not.
    same = all((each.ids, each.actions) == (decisions[0].ids, decisions[0].actions) for each in decisions)
    return RecognisedSets(None, has_features and not same, varies) if has_features or varies else None


def _of_table(reader: Any, action: str | None, item_id: str, eligible: str | None) -> RecognisedSets | None:
    import pyarrow as pa

    head = reader.head(HEAD_ROWS)
    names = head.column_names
    try:
        # Only the action is looked for: rows to decide for have no reward yet.
        taken = action or guess_columns(names, head, reward="", propensity=1.0).action
    except LogError:
        return None
    if taken not in names:
        return None
    chosen = [str(each) for each in head.column(taken).to_pylist()]
    kind = "i" if pa.types.is_integer(head.schema.field(taken).type) else "O"
    found = []
    for name in names if eligible is None else [eligible]:
        column = head.column(name)
        is_list = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
        if name == taken or not (is_list or pa.types.is_string(column.type) or name == eligible):
            continue
        values = column.to_pylist()
        may_list = name.lower() in NAMES or all(value is None or _is_json_list(value) for value in values)
        if not is_list and eligible is None and not may_list:
            continue  # words between separators are a list only if the column is called so
        rows = [_listed(value, item_id, kind, name, must=eligible is not None) for value in values]
        own = [row for row, label in zip(rows, chosen, strict=True) if row and label in map(str, row[0])]
        known = [row for row in rows if row]
        # Where nearly all rows list their action, the others are in error, and whoever reads them says so. A column of
        # one word each, such as what a customer asked for, is no list because it often names the action.
        are_lists = 2 * sum(len(ids) > 1 for ids, _ in known) > len(known)
        most = MOST_NAMED if name.lower() in NAMES else MOST_OTHERS
        least = 0.0 if eligible is not None else most if are_lists else 1.0
        if len(own) >= least * len(rows) and (own or eligible is not None):
            has_features = any(map(any, (features for _, features in known)))
            found.append(RecognisedSets(name, has_features, len({frozenset(map(str, ids)) for ids, _ in known}) > 1))
    found.sort(key=lambda each: (str(each.eligible).lower() not in NAMES, not each.has_features))
    return found[0] if found else None


def _listed(value: Any, item_id: str, kind: str, name: str, *, must: bool) -> Any:
    """Return ids and features in a cell; None where it has no list, and `must` does not raise that."""
    from offsettree.logs._set_tables import ids_in

    try:
        return ids_in(value, item_id, kind, name)
    except LogError:
        if must:
            raise
        return None


def _is_json_list(value: Any) -> bool:
    return isinstance(value, str) and value.lstrip().startswith("[")
