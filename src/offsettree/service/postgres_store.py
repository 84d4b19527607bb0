"""The store of several processes: PostgreSQL, behind the same interface (extra `postgres`)."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from offsettree._optional import require
from offsettree.service._changes import Changes
from offsettree.service._sql import SCHEMA, SqlReads
from offsettree.service.store import StoreError

__all__ = ["PostgresStore"]

LEADER = 0x0FF5E77EE  # of the lock that the process which settles and learns holds
SETUP = LEADER + 1
ATTEMPTS = 4  # of a transaction that waited for another one in a circle
TYPES = {
    "INTEGER PRIMARY KEY": "BIGSERIAL PRIMARY KEY",
    "INTEGER": "BIGINT",
    "REAL": "DOUBLE PRECISION",
    "BLOB": "BYTEA",
    "event_id TEXT": 'event_id TEXT COLLATE "C"',  # by bytes, as SQLite: ids of slots are found as a range
}


class PostgresStore(SqlReads):
    """Keeps loops in a database that several processes write to.

    The address is one such as ``postgresql://user@host/database``.
    """

    is_shared = True

    def __init__(self, address: str) -> None:
        self._psycopg = require("psycopg", extra="postgres")
        self._address = address
        self._local = threading.local()
        self._lock = threading.Lock()
        self._connections: list[Any] = []
        self._writer: Any = None
        self._leader: Any = None
        self._leads = False
        self._number = secrets.randbits(62)
        try:
            writer = self._connect()
            with writer.transaction():
                writer.execute("SELECT pg_advisory_xact_lock(%s)", (SETUP,))
                for statement in _schema().split(";"):
                    if statement.strip():
                        writer.execute(statement)
        except self._psycopg.Error as error:
            raise StoreError(f"the database cannot be opened: {error}.") from error

    def _connect(self) -> Any:
        self._writer = self._psycopg.connect(self._address, autocommit=True)
        run = self._writer.execute
        self._changes = Changes(
            lambda query, values=(): run(_translated(query), tuple(values)),
            self._psycopg.errors.UniqueViolation,
            writer=self._number,
            share=" FOR SHARE",
            change=" FOR UPDATE",
        )
        return self._writer

    def apply(self, changes: Sequence[Any]) -> list[Any]:
        """Make changes in one transaction; one that lost a race with another process is made again."""
        errors = self._psycopg.errors
        for attempt in range(ATTEMPTS):
            try:
                if self._writer.closed:
                    self._connect()
                with self._writer.transaction():
                    return self._changes.make(changes)
            except (errors.DeadlockDetected, errors.SerializationFailure, errors.UniqueViolation) as error:
                if attempt + 1 == ATTEMPTS:
                    raise StoreError(f"nothing can be kept now ({error}); nothing was written.") from error
            except self._psycopg.Error as error:
                raise StoreError(f"nothing can be kept now ({error}); nothing was written. Try again later.") from error
        raise StoreError("nothing can be kept now; nothing was written.")  # pragma: no cover

    def leads(self) -> bool:
        """Whether this process settles and learns: the first one that asks, until its connection ends."""
        with self._lock:
            try:
                if self._leader is None or self._leader.closed:
                    self._leader = self._psycopg.connect(self._address, autocommit=True)
                    self._leads = False
                if not self._leads:
                    found = self._leader.execute("SELECT pg_try_advisory_lock(%s)", (LEADER,)).fetchone()
                    self._leads = bool(found[0])
                else:
                    self._leader.execute("SELECT 1")  # a connection that ended has lost the lock
            except self._psycopg.Error:
                self._leader, self._leads = None, False
            return self._leads

    def description(self) -> str:
        """Return the version of PostgreSQL."""
        version = self._writer.info.server_version
        return f"PostgreSQL {version // 10000}.{version % 10000}"

    def close(self) -> None:
        """Close all connections; another process may lead at once."""
        with self._lock:
            with suppress(self._psycopg.Error):
                if self._leader is not None and self._leads:
                    self._leader.execute("SELECT pg_advisory_unlock(%s)", (LEADER,))
                    self._leads = False
            for connection in (*self._connections, self._writer, self._leader):
                if connection is not None:
                    connection.close()
            self._connections.clear()

    def _read(self, query: str, *values: Any) -> list[Any]:
        connection = getattr(self._local, "connection", None)
        try:
            if connection is None or connection.closed:
                connection = self._psycopg.connect(self._address, autocommit=True)
                connection.read_only = True
                self._local.connection = connection
                with self._lock:
                    self._connections.append(connection)
            return list(connection.execute(_translated(query), values).fetchall())
        except self._psycopg.Error as error:
            raise StoreError(f"the database cannot be read now: {error}.") from error


@lru_cache(maxsize=512)
def _translated(query: str) -> str:
    """Return a query with the marks that psycopg knows; no text of ours has a question mark or a percent sign."""
    return query.replace("?", "%s")


def _schema() -> str:
    text = SCHEMA
    for ours, theirs in TYPES.items():
        text = text.replace(ours, theirs)
    return text
