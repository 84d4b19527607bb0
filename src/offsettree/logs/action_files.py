"""Logs in files with a set of eligible actions per row: Vowpal Wabbit's text, dsjson, and tables with a list column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from offsettree._messages import Parameter
from offsettree.exceptions import LogError, ParameterError
from offsettree.logs.readers import CHUNK_ROWS, Path, check_chunk_rows, open_reader

if TYPE_CHECKING:
    from offsettree.logs._set_block import SetBlock
    from offsettree.logs.logged_data import LoggedData

__all__ = ["ActionLogColumns", "ActionLogScan", "scan_eligible"]

STREAM_ROLES: dict[str, Any] = {"action": None, "reward": None, "propensity": None}


class ActionLogColumns(NamedTuple):
    """A log with action sets, read as a whole.

    Parameters
    ----------
    log : LoggedData
        The rows.
    roles : dict
        The columns of "action", "reward" and "propensity"; None in formats that have none.
    notes : tuple of str
        Guesses and oddities.
    beside : dict
        Further columns that were requested, as pandas series by name.
    """

    log: LoggedData
    roles: dict[str, Any]
    notes: tuple[str, ...]
    beside: dict[str, Any]


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
    item_since, time : str, optional
        Where features of an action change: the column of `items` with the time from when on a row holds, and the column
        of the log with the time of each decision. Numbers, dates, or texts such as 2026-11-17.
    action_features : list of str, optional
        Of Vowpal Wabbit's text and dsjson: the features of actions to make columns of; by default all of a chunk.
    beside : list of str, optional
        Of tables: further columns to read, which are no features.
    of : type
        The class of the chunks; `LoggedData.scan` gives its own.
    **arguments : Any
        As `LoggedData.read` takes them: action, reward, propensity, features, format, cost and options of reading. With
        ``without_propensity=True`` propensities are not read and all are 1, until they are estimated.

    Attributes
    ----------
    notes : tuple of str
        What was guessed, and which columns were left out.
    roles : dict
        The columns of "action", "reward" and "propensity".
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
        item_since: str | None = None,
        time: str | None = None,
        action_features: Sequence[str] | None = None,
        beside: Sequence[str] = (),
        of: type[LoggedData],
        **arguments: Any,
    ) -> None:
        check_chunk_rows(chunk_rows)
        self.path, self.chunk_rows, self.of = path, chunk_rows, of
        self._rows = _open(
            path,
            labelled=True,
            eligible=eligible,
            items=items,
            item_id=item_id,
            pair_columns=pair_columns,
            item_since=item_since,
            time=time,
            action_features=action_features,
            beside=beside,
            **arguments,
        )
        self.notes: tuple[str, ...] = getattr(self._rows, "notes", ())
        file = getattr(self._rows, "file", None)
        self.roles: dict[str, Any] = STREAM_ROLES if file is None else file.roles

    def __iter__(self) -> Iterator[LoggedData]:
        return (self._log(block) for block in self._rows.blocks(self.chunk_rows))

    def whole(self) -> LoggedData:
        """Read all rows as one log."""
        return self.columns().log

    def columns(self) -> ActionLogColumns:
        """Read all rows as one log, with what else is known of them."""
        (block,) = self._rows.blocks(None)
        return ActionLogColumns(self._log(block), self.roles, self.notes, block.beside)

    def _log(self, block: SetBlock) -> LoggedData:
        log = self.of(block.X, block.columns, action_sets=block.sets)  # type: ignore[arg-type]
        log.notes = self.notes
        return log


def scan_eligible(path: Path, chunk_rows: int = CHUNK_ROWS, **arguments: Any) -> Iterator[SetBlock]:
    """Read contexts and their eligible actions, to decide among: action, reward and propensity need not be there.

    Parameters
    ----------
    path : str or path
        A file or a folder.
    chunk_rows : int, default=65536
        Decisions of a chunk.
    **arguments : Any
        Of `ActionLogScan`.

    Returns
    -------
    iterator
        Of blocks with `X`, `sets` and `beside`.
    """
    check_chunk_rows(chunk_rows)
    rows: Any = _open(path, labelled=False, **arguments)
    found: Iterator[SetBlock] = rows.blocks(chunk_rows)
    return found


def _open(
    path: Path,
    *,
    labelled: bool,
    eligible: str | None = None,
    items: Any = None,
    item_id: str = "id",
    pair_columns: Sequence[str] = (),
    item_since: str | None = None,
    time: str | None = None,
    action_features: Sequence[str] | None = None,
    beside: Sequence[str] = (),
    features: Sequence[str] | None = None,
    **arguments: Any,
) -> Any:
    """Return what yields the blocks of a path."""
    roles = ("action", "reward", "propensity", "without_propensity", "group")
    reader = open_reader(path, **{name: value for name, value in arguments.items() if name not in roles})
    if reader.roles:
        from offsettree.logs._set_streams import SetStream, refuse_beside

        if eligible or items is not None or pair_columns:
            raise LogError(
                f"{path} has its actions in it: leave out ", Parameter("eligible"), ", ",
                Parameter("items", option="actions"), " and ", Parameter("pair_columns"), ".",
            )  # fmt: skip
        refuse_beside([name for name in (*beside, time) if name], reader)
        return SetStream(
            reader,
            features=features,
            action_features=action_features,
            labelled=labelled,
            with_propensity=not arguments.get("without_propensity", False),
        )
    from offsettree.logs._set_tables import ActionTable, SetTables, needs_eligible

    if eligible is None and items is None:
        raise LogError(needs_eligible(path))
    if (item_since is None) != (time is None):
        raise ParameterError(
            Parameter("item_since", option="action-since"), " and ", Parameter("time"),
            " belong together: from when on features of an action hold, and when each row was decided.",
        )  # fmt: skip
    if item_since is not None and items is None:
        raise ParameterError(
            Parameter("item_since", option="action-since"), " is a column of the table of actions: pass ",
            Parameter("items", option="actions"), ".",
        )  # fmt: skip
    return SetTables(
        path,
        eligible=eligible,
        table=None if items is None else ActionTable(items, item_id, item_since),
        item_id=item_id,
        pair_columns=pair_columns,
        time=time,
        labelled=labelled,
        features=features,
        beside=beside,
        **arguments,
    )
