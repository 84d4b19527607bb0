"""Action sets out of tables: a column that lists the eligible actions, a second table of actions, and pair columns."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._messages import Message, Parameter
from offsettree._texts import as_texts
from offsettree._validation import counted, shown
from offsettree.exceptions import ActionError, LogError
from offsettree.logs._limits import depth
from offsettree.logs._log_columns import frame_of
from offsettree.logs._reader import Chunk, Reader, check_columns
from offsettree.logs._set_block import FileRows, SetBlock, refuse_infinite
from offsettree.logs.action_sets import ActionSets
from offsettree.logs.checked_log import Columns
from offsettree.logs.log_file import LogFile
from offsettree.logs.readers import open_reader

DEEPEST = 64  # levels of JSON in a cell
SEPARATORS = re.compile(r"[|\s]+")
WHOLE = re.compile(r"-?\d{1,20}")  # longer ones are no ids, and Python refuses to read very long ones
ITEMS = Parameter("items", option="actions")
ITEM_ID = Parameter("item_id", option="action-id")
ITEM_SINCE = Parameter("item_since", option="action-since")


class ActionTable:
    """A second table, with the features of each action.

    Parameters
    ----------
    items : str, path, or pandas frame
        The table.
    item_id : str
        Its column of ids.
    since : str, optional
        Its column of times from when on a row holds, where features of an id change.
    """

    def __init__(self, items: Any, item_id: str, since: str | None = None) -> None:
        where = "the table of actions"
        if not hasattr(items, "columns"):
            where, reader = f"the table of actions ({items})", open_reader(items)
            items = frame_of([chunk.table for chunk in reader.all_chunks(None)], categories=False)
        for name, meaning in ((item_id, "their ids"), (since, "the times from when on rows hold")):
            if name is not None and name not in items.columns:
                raise LogError(
                    f"{where} must have a column {name!r} with {meaning}; it has {list(items.columns)}. Name it: ",
                    ITEM_ID if name == item_id else ITEM_SINCE,
                )
        missing = items[item_id].isna().to_numpy()
        if missing.any():
            raise ActionError(
                f"every row of {where} must have its {item_id!r}; row {int(missing.argmax()) + 1} has none "
                f"({counted(missing.sum(), 'row')} in all). Drop such rows, or name the action."
            )
        unnamed = [name for name in items.columns if not str(name).strip()]  # such as an index that pandas wrote
        note = f"A column of {where} without a name, such as an index of rows, was left out."
        self.notes = (note,) if unnamed else ()
        features = items.drop(columns=[item_id, *([since] if since else []), *unnamed])
        self.ids: NDArray[Any] = items[item_id].to_numpy()
        refuse_infinite(features, "features of actions", lambda row: f"row {row + 1} of {where}")
        self.features = features if len(features.columns) else None
        self.since = None if since is None else _times(items[since], since, lambda row: f"row {row + 1} of {where}")
        if since is None and len(set(self.ids.tolist())) < len(self.ids):
            counts = Counter(map(str, self.ids.tolist()))
            most, n_most = counts.most_common(1)[0]
            n_several = sum(count > 1 for count in counts.values())
            raise ActionError(
                f"every id must have one row in {where}; {shown(most)} has {n_most} "
                f"({counted(n_several, 'such id')}). Keep one row of each; where features changed over time, "
                "name the column of times from when on they hold: ",
                ITEM_SINCE,
            )


class SetTables:
    """The decisions of CSV, NDJSON, Parquet or Arrow files.

    Parameters
    ----------
    path : str or path
        The log.
    eligible : str or None
        The column with each row's eligible actions; None for all of `table`.
    table : ActionTable or None
        The features of actions by id.
    item_id : str
        The name of the id in lists of mappings.
    pair_columns : list of str
        Features of pairs, spread over one column per action.
    time : str or None
        The column with the time of each decision, for a table of actions with times.
    labelled : bool
        Whether decisions were taken; else they are to be.
    features : list of str, optional
        The columns of the contexts.
    beside : list of str
        Further columns.
    **arguments : Any
        Of `LogFile`.
    """

    def __init__(
        self,
        path: Any,
        *,
        eligible: str | None,
        table: ActionTable | None,
        item_id: str,
        pair_columns: Sequence[str] = (),
        time: str | None = None,
        labelled: bool = True,
        features: Sequence[str] | None = None,
        beside: Sequence[str] = (),
        **arguments: Any,
    ) -> None:
        self.path, self.eligible, self.table, self.item_id = path, eligible, table, item_id
        self.pair_columns, self.time, self.beside = list(pair_columns), time, list(beside)
        own = [name for name in (eligible, time) if name is not None]
        self.file: LogFile | None = None
        if labelled:
            self.file = LogFile(path, features=features, beside=[*beside, *own], **arguments)
            self.reader: Reader = self.file.reader
            taken, features = self.file.taken, self.file.features
        else:
            reading = {key: value for key, value in arguments.items() if key not in ("action", "reward", "propensity")}
            self.reader, taken = open_reader(path, **reading), []
        names = self.reader.names()
        check_columns([*own, *beside, *(features or [])], names, self.reader.sources[0])
        self.spread = [name for prefix in self.pair_columns for name in names if name.startswith(f"{prefix}_")]
        no_features = {*self.spread, *own, *beside, *taken}
        self.features = [name for name in (names if features is None else features) if name not in no_features]
        if not self.features:
            raise LogError(f"a log must have features of contexts to decide by; {path} has none beside its actions.")
        self.wanted = list(dict.fromkeys([*self.features, *taken, *self.spread, *own, *beside]))

    @property
    def notes(self) -> tuple[str, ...]:
        """Guesses and columns left out."""
        own = () if self.table is None else self.table.notes
        return own if self.file is None else (*self.file.notes, *own)

    def blocks(self, n_rows: int | None) -> Iterator[SetBlock]:
        """Yield blocks of so many rows; None is one block of all."""
        if n_rows is None:
            yield self._block(list(self.reader.chunks(self.wanted, 1 << 20)))
        else:
            for chunk in self.reader.chunks(self.wanted, n_rows):
                yield self._block([chunk])

    def _block(self, chunks: list[Chunk]) -> SetBlock:
        import pandas as pd

        rows = FileRows.of_chunks(chunks)
        columns = None if self.file is None else _joined([self.file.columns(chunk, None).columns for chunk in chunks])
        X = frame_of([chunk.table.select(self.features) for chunk in chunks], categories=False)
        kind = (
            columns.action.dtype.kind if columns is not None else "O" if self.table is None else _kind(self.table.ids)
        )
        refuse_infinite(X, "features of contexts", rows)
        listed, pairs = self._listed(chunks, kind, rows, len(X))
        if self.spread:
            wide = pd.concat([chunk.table.select(self.spread).to_pandas() for chunk in chunks], ignore_index=True)
            found = pd.DataFrame({prefix: _picked(wide, prefix, listed, rows) for prefix in self.pair_columns})
            pairs = found if pairs is None else pd.concat([pairs, found], axis=1)
        elif self.pair_columns:
            _picked(pd.DataFrame(index=range(len(X))), self.pair_columns[0], listed, rows)
        beside = {
            name: pd.concat([chunk.table.column(name).to_pandas() for chunk in chunks], ignore_index=True)
            for name in (*self.beside, *([self.time] if self.time else []))
        }
        if pairs is not None:
            row_of = np.repeat(np.arange(len(listed)), [len(each) for each in listed])
            refuse_infinite(pairs, "features of eligible actions", lambda pair: rows(int(row_of[pair])))
        more: dict[str, Any] = {}
        if self.table is not None and self.table.features is not None:
            more = {"items": self.table.features, "item_ids": _as_kind(self.table.ids, listed)}
            if self.table.since is not None and self.time is not None:
                more |= {"item_since": self.table.since, "time": _times(beside[self.time], self.time, rows)}
        return SetBlock(X, ActionSets(listed, pairs=pairs, row_name=rows, **more), columns, beside)

    def _listed(self, chunks: list[Chunk], kind: str, rows: FileRows, n_rows: int) -> tuple[list[list[Any]], Any]:
        """Return the ids of each row, and the features beside them if there are any."""
        if self.eligible is None:
            assert self.table is not None  # noqa: S101 - one of the two is there
            everything = self.table.ids.tolist()
            return [list(dict.fromkeys(everything))] * n_rows, None
        ids: list[list[Any]] = []
        features: list[dict[str, Any]] = []
        for chunk in chunks:
            for each in chunk.table.column(self.eligible).to_pylist():
                found, beside = ids_in(each, self.item_id, kind, Row(self.eligible, rows, len(ids)))
                if found and ids and bool(beside) != bool(features) and any(ids):
                    raise ActionError(
                        f"{Row(self.eligible, rows, len(ids))} must list its actions as the rows before do, "
                        f"{'as mappings with features' if features else 'by their ids alone'}; it is {each!r:.60}."
                    )
                ids.append(found)
                features += beside
        if len({type(label) for each in ids for label in each}) > 1:
            ids = [[str(label) for label in each] for each in ids]
        return ids, _feature_frame(features) if features and any(features) else None


class Row:
    """A row's list of actions, for errors."""

    def __init__(self, column: str, rows: FileRows, place: int) -> None:
        self.column, self.rows, self.place = column, rows, place

    def __str__(self) -> str:
        return f"column {self.column!r}, {self.rows(self.place)},"


def ids_in(listed: Any, item_id: str, kind: str, where: object) -> tuple[list[Any], list[dict[str, Any]]]:
    """Return the ids in a list of actions, and their features, which may be empty.

    Parameters
    ----------
    listed : Any
        A list of mappings or of ids, the same as JSON, or ids between blanks or bars.
    item_id : str
        The name of the id in mappings.
    kind : str
        "i" where ids are numbers.
    where : object
        What errors call the place.
    """
    if isinstance(listed, str) and listed.lstrip().startswith("["):  # lists whose entries differ in their names
        listed = _from_json(listed, where)
    elif isinstance(listed, str):
        words = [word for word in SEPARATORS.split(listed.strip()) if word]
        listed = [int(word) for word in words] if kind in "iu" and all(map(WHOLE.fullmatch, words)) else words
    elif isinstance(listed, int) and kind in "iu":  # a CSV column in which every row has one action
        listed = [listed]
    if not isinstance(listed, list):
        raise ActionError(
            f"{where} must list the eligible actions; it is {'empty' if listed is None else repr(listed)[:60]}. Drop "
            "such rows, or list what could have been chosen."
        )
    if not any(isinstance(one, dict) for one in listed):
        if any(one is None or isinstance(one, list | bool) for one in listed):
            raise ActionError(f"{where} must list ids or mappings with an {item_id!r}; it is {listed!r:.60}.")
        return [int(one) if isinstance(one, float) and one.is_integer() else one for one in listed], []
    for one in listed:
        if not isinstance(one, dict) or one.get(item_id) is None:
            raise ActionError(
                f"{where} must give every eligible action its {item_id!r}; one has none: {one!r:.60}. Name it, or name "
                "what the id is called: ",
                ITEM_ID,
            )
    features = [flat({name: value for name, value in one.items() if name != item_id}) for one in listed]
    return [one[item_id] for one in listed], features


def _from_json(text: str, where: object) -> Any:
    try:
        if text.count("[") + text.count("{") > DEEPEST and depth(text.encode()) > DEEPEST:
            raise ValueError(f"it must not nest more than {DEEPEST} deep")  # noqa: TRY301
        listed = json.loads(text)
        if "\\u" in text:
            json.dumps(listed, ensure_ascii=False).encode()  # half a character has no bytes
    except ValueError as error:
        raise ActionError(f"{where} must be a list of actions in JSON; {error}: {text[:60]!r}.") from None
    return listed


def flat(features: dict[str, Any], above: str = "") -> dict[str, Any]:
    """Return nested features by dotted names; a list of words becomes one-hot features."""
    found: dict[str, Any] = {}
    for name, value in features.items():
        full = f"{above}{name}"
        if isinstance(value, dict):
            found |= flat(value, f"{full}.")
        elif isinstance(value, list):
            found |= {f"{full}={each}": 1.0 for each in value if isinstance(each, str)}
        else:
            found[full] = float(value) if isinstance(value, bool) else value
    return found


def _feature_frame(features: list[dict[str, Any]]) -> Any:
    """Return features as a frame: a column with any text is text."""
    import pandas as pd

    names = list(dict.fromkeys(name for each in features for name in each))
    columns = {}
    for name in names:
        values = [each.get(name) for each in features]
        if any(isinstance(value, str) for value in values):
            columns[name] = pd.Series([None if value is None else str(value) for value in values], dtype=object)
        else:
            columns[name] = pd.Series([np.nan if value is None else value for value in values])
    return pd.DataFrame(columns, index=range(len(features)))


def _picked(wide: Any, prefix: str, listed: list[list[Any]], rows: FileRows) -> list[float]:
    """Return each pair's value of a feature that has one column per action."""
    known = {name: place for place, name in enumerate(wide.columns)}
    values = wide.to_numpy()
    found = []
    for row, each in enumerate(listed):
        for label in each:
            place = known.get(f"{prefix}_{label}")
            if place is None:
                raise LogError(
                    f"every eligible action must have a column {prefix}_ID; {rows(row)} may choose {label!r}, and "
                    f"there is none called '{prefix}_{label}'. Add the column, or leave out ",
                    Parameter("pair_columns"),
                    ".",
                )
            found.append(values[row, place])
    return found


def _times(values: Any, name: str, row_name: Any) -> NDArray[Any]:
    """Return times that can be compared."""
    missing = values.isna().to_numpy()
    if missing.any():
        raise LogError(
            f"column {name!r} must have a time in every row; that of {row_name(int(missing.argmax()))} is missing "
            f"({counted(missing.sum(), 'row')} in all). Fill it, or drop the row."
        )
    if values.dtype != object:
        return np.asarray(values.to_numpy())
    return as_texts(np.array(list(map(str, values.tolist())), dtype=object))


def _as_kind(ids: NDArray[Any], listed: list[list[Any]]) -> NDArray[Any]:
    """Return the ids of the table as those of the log are written: a CSV column of numbers may be text elsewhere."""
    is_text = any(isinstance(label, str) for label in listed[0])
    return ids.astype(str) if is_text and ids.dtype.kind in "iu" else ids


def _kind(ids: NDArray[Any]) -> str:
    return ids.dtype.kind


def _joined(parts: list[Columns]) -> Columns:
    return parts[0] if len(parts) == 1 else Columns(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def needs_eligible(path: Any) -> Message:
    """Say that a table must tell what is eligible."""
    return Message(
        f"{path} must say which actions each row could choose from: name the column with the list of them, ",
        Parameter("eligible"),
        ", or pass a table of actions, ",
        ITEMS,
        ", all of which are eligible.",
    )
