"""The store of one machine: SQLite in WAL mode, one connection that writes and checkpoints, readers read-only."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

from offsettree.service._changes import Changes
from offsettree.service._sql import SCHEMA, SqlReads
from offsettree.service.store import StoreError

__all__ = ["SqliteStore"]

# Pages in the write-ahead log before they are moved to the database. The default, 1,000, would stop the only writer
# several times a second under load; a larger log only takes longer to read at a start.
CHECKPOINT_PAGES = 8000
# Counts decisions in the statement that inserts them, which then is a transaction by itself.
COUNTED = """
CREATE TRIGGER IF NOT EXISTS decisions_counted AFTER INSERT ON decisions BEGIN
  UPDATE totals SET decisions=decisions+1, count=max(count, new.count) WHERE loop=new.loop AND writer=0;
END;
"""


class SqliteStore(SqlReads):
    """Keeps loops in one file. A lock file beside it keeps a second server away until this one ends.

    Parameters
    ----------
    path : str or Path
        The file; it is made if it is not there.
    wait : float, default=2.0
        Seconds to wait for a lock that another program holds.
    """

    is_shared = False

    def __init__(self, path: str | Path, *, wait: float = 2.0) -> None:
        self.path = Path(path)
        self._wait = wait
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._held = _hold(self.path.with_suffix(".lock"))
        try:
            self._writer = sqlite3.connect(
                self.path, timeout=wait, isolation_level=None, check_same_thread=False, cached_statements=512
            )
            for setting in ("journal_mode=WAL", "synchronous=FULL", f"wal_autocheckpoint={CHECKPOINT_PAGES}"):
                self._writer.execute(f"PRAGMA {setting}").fetchall()
            self._writer.executescript(f"BEGIN IMMEDIATE; {SCHEMA} {COUNTED} COMMIT;")
        except sqlite3.Error as error:
            self._release()
            raise StoreError(f"{self.path} cannot be opened as a database of decisions: {error}.") from error
        self._changes = Changes(self._writer.execute, sqlite3.IntegrityError, goes_on=True, counted=True)

    def apply(self, changes: Sequence[Any]) -> list[Any]:
        """Make changes in one transaction, on the disk when this returns."""
        try:
            added = self._changes.add_alone(changes)
            if added is not None:
                return added
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                answers = self._changes.make(changes)
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise
        except sqlite3.OperationalError as error:
            raise StoreError(f"nothing can be kept now ({error}); nothing was written. Try again later.") from error
        return answers

    def leads(self) -> bool:
        """Whether this process is the one that settles and learns: there is no other."""
        return True

    def description(self) -> str:
        """Return the version of SQLite."""
        return f"SQLite {sqlite3.sqlite_version}"

    def close(self) -> None:
        """Close all connections; the last one moves the write-ahead log to the database."""
        with self._lock:
            for reader in self._readers:
                reader.close()
            self._readers.clear()
        self._writer.close()
        self._release()

    def _release(self) -> None:
        if self._held is not None:
            self._held.close()

    def _read(self, query: str, *values: Any) -> list[Any]:
        connection = getattr(self._local, "connection", None)
        try:
            if connection is None:
                address = f"file:{quote(str(self.path.resolve()))}?mode=ro"
                connection = sqlite3.connect(address, uri=True, timeout=self._wait, check_same_thread=False)
                self._local.connection = connection
                with self._lock:
                    self._readers.append(connection)
            return connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"{self.path} cannot be read now: {error}.") from error


def _hold(path: Path) -> IO[bytes] | None:
    """Return a lock file that this process holds; the system frees it when the process ends, however it ends."""
    if fcntl is None:  # pragma: no cover - Windows
        return None
    try:
        file = path.open("ab")
    except OSError as error:
        raise StoreError(f"{path} must be a file that can be written: {error}.") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise StoreError(
            f"only one server may use {path.parent}; another one holds {path.name} ({error}). Stop it, choose another "
            "folder, or use PostgreSQL for several servers."
        ) from error
    return file
