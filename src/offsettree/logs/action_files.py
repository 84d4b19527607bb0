"""Logs in files with a set of eligible actions per row: Vowpal Wabbit's text, dsjson, and tables with a list column."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from offsettree._features import Features
from offsettree.exceptions import ActionError, LogError
from offsettree.logs.action_sets import ActionSets
from offsettree.logs.log_file import LogFile
from offsettree.logs.readers import CHUNK_ROWS, Path, check_chunk_rows, open_reader

if TYPE_CHECKING:
    from offsettree.logs._decisions import Decision
    from offsettree.logs.logged_data import LoggedData

__all__ = ["ActionLogScan"]

MOST_NAMES = 1024  # with more, names are hashed to the columns of a sparse matrix
N_HASHED = 1 << 18
SEPARATORS = re.compile(r"[|\s]+")
WHOLE = 1 << 62  # rows of a chunk that has all


class ActionLogScan:
    """A log in a file, as chunks of `LoggedData` with action sets; it can be iterated repeatedly.

    Parameters
    ----------
    path : str or path
        A file or a folder: Vowpal Wabbit's multi-line text, dsjson, NDJSON, Parquet, Arrow or CSV.
    chunk_rows : int, default=65536
        Decisions of a chunk.
    eligible : str, optional
        Of tables: the column with each row's eligible actions. A list of mappings, with an ``id`` and features each; a
        list of ids; or in CSV ids separated by blanks or bars. By default all actions of `items` are eligible.
    items : str, path, or pandas frame, optional
        Of tables: a second table with the features of each action.
    item_id : str, default="id"
        The column of `items` with the ids, and the name of the id in mappings.
    pair_columns : list of str, optional
        Of tables: features of pairs, spread over one column per action. ``affinity`` stands for ``affinity_ID``.
    of : type
        The class of the chunks; `LoggedData.scan` gives its own.
    **arguments : Any
        As `LoggedData.read` takes them: action, reward, propensity, features, format, cost and options of reading.
    """

    def __init__(
        self,
        path: Path,
        chunk_rows: int = CHUNK_ROWS,
        *,
        eligible: str | None = None,
        items: Any = None,
        item_id: str = "id",
        pair_columns: Sequence[str] = (),
        of: type[LoggedData],
        **arguments: Any,
    ) -> None:
        check_chunk_rows(chunk_rows)
        self.path, self.chunk_rows, self.of = path, chunk_rows, of
        self.eligible, self.item_id, self.pair_columns = eligible, item_id, list(pair_columns)
        self.arguments = arguments
        names = ("action", "reward", "propensity", "features")
        self.reader = open_reader(path, **{name: value for name, value in arguments.items() if name not in names})
        self.items = None if items is None else _item_table(items, item_id)
        self.is_stream = bool(self.reader.roles)
        if self.is_stream and (eligible or items is not None or pair_columns):
            raise LogError(f"{path} has its actions in it: leave out eligible, items and pair_columns.")
        if not self.is_stream and eligible is None and items is None:
            raise LogError(
                f"{path} must say which actions each row could choose from: name the column with the list of them, "
                "eligible=, or pass a table of actions, items=, all of which are eligible."
            )

    def __iter__(self) -> Iterator[LoggedData]:
        return self._streamed() if self.is_stream else self._tabled()

    def whole(self) -> LoggedData:
        """Read all rows as one log."""
        made = ActionLogScan.__new__(ActionLogScan)
        made.__dict__ = self.__dict__ | {"chunk_rows": WHOLE}
        parts = list(made)
        if len(parts) == 1:
            return parts[0]
        raise LogError(
            f"{self.path} must be one file to be read as a whole; it is {len(parts)}. Use scan, or join them."
        )

    def _streamed(self) -> Iterator[LoggedData]:
        from offsettree.logs._decisions import dsjson_decisions, vw_decisions
        from offsettree.logs._vw import VwReader

        is_vw = isinstance(self.reader, VwReader)
        read, encoding = vw_decisions if is_vw else dsjson_decisions, self.reader.options.encoding
        base = 1.0 if self.reader.options.cost == "one_minus_reward" else 0.0
        n_rows = 0
        for source in self.reader.sources:
            decisions = read(source, encoding)
            while block := list(islice(decisions, min(self.chunk_rows, 1 << 40))):
                n_rows += len(block)
                yield _log_of(block, base, 0.0 if is_vw else np.nan, self.of)
        if n_rows == 0:
            raise LogError(f"a log must have rows; {self.path} has no decision.")

    def _tabled(self) -> Iterator[LoggedData]:
        import pandas as pd

        from offsettree.logs._log_columns import frame_of

        beside = [self.eligible] if self.eligible else []
        file = LogFile(self.path, **self.arguments)
        spread = {
            name: prefix
            for prefix in self.pair_columns
            for name in file.reader.names()
            if name.startswith(f"{prefix}_")
        }
        features = [name for name in file.features if name not in {*spread, *beside}]
        for chunk in file.reader.chunks([*features, *file.taken, *spread, *beside], min(self.chunk_rows, 1 << 40)):
            columns = file.columns(chunk, None)
            X = frame_of([chunk.table.select(features)], categories=False)
            pairs = None
            if self.eligible is None:
                assert self.items is not None  # noqa: S101 - one of the two is there
                listed: list[list[Any]] = [self.items[0].tolist()] * len(columns.action)
            else:
                listed, pairs = self._listed(chunk.table.column(self.eligible).to_pylist(), columns.action.dtype.kind)
            if spread:
                wide = chunk.table.select(list(spread)).to_pandas()
                found = pd.DataFrame({prefix: _picked(wide, prefix, listed) for prefix in self.pair_columns})
                pairs = found if pairs is None else pd.concat([pairs, found], axis=1)
            table = {} if self.items is None else {"items": self.items[1], "item_ids": self.items[0]}
            sets = ActionSets(listed, pairs=pairs, **table)
            yield self.of(X, columns.columns, action_sets=sets)

    def _listed(self, lists: list[Any], kind: str) -> tuple[list[list[Any]], Any]:
        """Return the ids of each row, and the features beside them if there are any."""
        import pandas as pd

        ids: list[list[Any]] = []
        features: list[dict[str, Any]] = []
        for row, each in enumerate(lists, start=1):
            if isinstance(each, str) and each.startswith("["):  # lists whose entries differ in their names
                each = json.loads(each)
            elif isinstance(each, str):
                each = [int(word) if kind in "iu" else word for word in SEPARATORS.split(each.strip()) if word]
            if not isinstance(each, list):
                raise ActionError(
                    f"column {self.eligible!r} must list the eligible actions; row {row} has {each!r:.60}. Drop such "
                    "rows, or list what could have been chosen."
                )
            if each and isinstance(each[0], dict):
                if missing := [one for one in each if one.get(self.item_id) is None]:
                    raise ActionError(
                        f"every eligible action must have its {self.item_id!r}; one of row {row} has none: "
                        f"{missing[0]!r:.60}."
                    )
                features += [{name: value for name, value in one.items() if name != self.item_id} for one in each]
                each = [one[self.item_id] for one in each]
            ids.append(each)
        return ids, pd.DataFrame(features) if features and any(features) else None


def _picked(wide: Any, prefix: str, listed: list[list[Any]]) -> list[float]:
    """Return each pair's value of a feature that has one column per action."""
    rows = wide.to_dict("records")
    try:
        return [rows[row][f"{prefix}_{label}"] for row, each in enumerate(listed) for label in each]
    except KeyError as error:
        raise LogError(f"every eligible action must have a column {prefix}_ID; there is none called {error}.") from None


def _item_table(items: Any, item_id: str) -> tuple[Any, Any]:
    """Return the ids of the actions, and their features."""
    if not hasattr(items, "columns"):
        from offsettree.logs._log_columns import frame_of

        reader = open_reader(items)
        items = frame_of([chunk.table for chunk in reader.all_chunks(None)], categories=False)
    if item_id not in items.columns:
        raise LogError(
            f"the table of actions must have a column {item_id!r} with their ids; it has {list(items.columns)}."
        )
    features = items.drop(columns=[item_id])
    return items[item_id].to_numpy(), features if len(features.columns) else None


def _log_of(block: list[Decision], base: float, absent: float, of: type[LoggedData]) -> LoggedData:
    named = (
        all(each.ids is not None for each in block) and len({type(i) for each in block for i in each.ids or []}) == 1
    )
    ids: list[list[Any]] = [
        list(each.ids) if named and each.ids is not None else list(range(len(each.actions))) for each in block
    ]
    X = _table_of([each.context for each in block], absent)
    pairs = _table_of([action for each in block for action in each.actions], absent)
    sets = ActionSets(ids, pairs=pairs if pairs.shape[1] else None)
    return of(
        X,
        [labels[each.place] for labels, each in zip(ids, block, strict=True)],
        [base - each.cost for each in block],
        [each.propensity for each in block],
        action_sets=sets,
    )


def _table_of(rows: list[dict[str, float | str]], absent: float) -> Features:
    import pandas as pd

    names = list(dict.fromkeys(name for row in rows for name in row))
    if len(names) <= MOST_NAMES:
        texts = {name for row in rows for name, value in row.items() if isinstance(value, str)}
        return pd.DataFrame(
            {
                name: [None if name not in row else str(row[name]) for row in rows]
                if name in texts
                else [row.get(name, absent) for row in rows]
                for name in names
            },
            index=range(len(rows)),
        )
    indices, data, starts = [], [], [0]
    for row in rows:
        for name, value in row.items():
            is_text = isinstance(value, str)
            indices.append(zlib.crc32((f"{name}={value}" if is_text else name).encode()) % N_HASHED)
            data.append(1.0 if is_text else float(value))
        starts.append(len(indices))
    table = sp.csr_matrix((data, indices, starts), shape=(len(rows), N_HASHED), dtype=np.float64)
    table.sum_duplicates()
    return table
