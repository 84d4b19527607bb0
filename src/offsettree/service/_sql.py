"""Tables, and the ways to read them, that SQLite and PostgreSQL share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from offsettree.service.records import Decision, LoopRecord, RewardRecord, SwapRecord, Version
from offsettree.service.store import StoreError

SCHEMA = """
CREATE TABLE IF NOT EXISTS loops(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, secret BLOB NOT NULL,
  created REAL NOT NULL);
CREATE TABLE IF NOT EXISTS decisions(loop INTEGER NOT NULL, event_id TEXT NOT NULL, time REAL NOT NULL,
  context TEXT NOT NULL, actions TEXT NOT NULL, probabilities TEXT NOT NULL, position INTEGER NOT NULL,
  action TEXT NOT NULL, probability REAL NOT NULL, version INTEGER NOT NULL, exploration TEXT NOT NULL,
  mode TEXT NOT NULL, greedy INTEGER NOT NULL, count INTEGER NOT NULL, digest BLOB NOT NULL, customer TEXT, due REAL,
  activated REAL, seq INTEGER PRIMARY KEY, matured INTEGER, reward REAL, n_rewards INTEGER NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX IF NOT EXISTS decisions_event ON decisions(loop, event_id);
CREATE INDEX IF NOT EXISTS decisions_due ON decisions(loop, due, seq) WHERE matured IS NULL AND due IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS decisions_matured ON decisions(loop, matured) WHERE matured IS NOT NULL;
CREATE INDEX IF NOT EXISTS decisions_customer ON decisions(loop, customer) WHERE customer IS NOT NULL;
CREATE TABLE IF NOT EXISTS rewards(seq INTEGER PRIMARY KEY, loop INTEGER NOT NULL, event_id TEXT NOT NULL,
  time REAL NOT NULL, value REAL NOT NULL, metrics TEXT, reward_id TEXT, status TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS rewards_event ON rewards(loop, event_id);
CREATE UNIQUE INDEX IF NOT EXISTS rewards_id ON rewards(loop, event_id, reward_id) WHERE reward_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS rewards_stray ON rewards(loop, status) WHERE status <> 'kept';
CREATE TABLE IF NOT EXISTS versions(loop INTEGER NOT NULL, version INTEGER NOT NULL, created REAL NOT NULL,
  kind TEXT NOT NULL, parent INTEGER, note TEXT NOT NULL, trained_to INTEGER NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY(loop, version));
CREATE TABLE IF NOT EXISTS swaps(seq INTEGER PRIMARY KEY, loop INTEGER NOT NULL, time REAL NOT NULL,
  version INTEGER NOT NULL, reason TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS state(loop INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,
  PRIMARY KEY(loop, key));
CREATE TABLE IF NOT EXISTS totals(loop INTEGER NOT NULL, writer INTEGER NOT NULL, decisions INTEGER NOT NULL DEFAULT 0,
  matured INTEGER NOT NULL DEFAULT 0, defaults INTEGER NOT NULL DEFAULT 0, rewards INTEGER NOT NULL DEFAULT 0,
  late INTEGER NOT NULL DEFAULT 0, unknown INTEGER NOT NULL DEFAULT 0, count INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(loop, writer));
"""
TOTALS = ("decisions", "matured", "defaults", "rewards", "late", "unknown", "count")
FIELDS = ", ".join(Decision.__struct_fields__)
CHUNK = 500


class SqlReads(ABC):
    """Mixin of stores: reads by queries with question marks."""

    @abstractmethod
    def _read(self, query: str, *values: Any) -> list[Any]:
        """Return the rows of a query, on a connection that only reads."""

    def loops(self) -> list[LoopRecord]:
        """Return all loops."""
        return [LoopRecord(*row) for row in self._read("SELECT id, name, secret, created FROM loops ORDER BY id")]

    def find(self, loop: int, event_id: str) -> Decision | None:
        """Return one decision."""
        rows = self._read(f"SELECT {FIELDS} FROM decisions WHERE loop=? AND event_id=?", loop, event_id)
        return Decision(*rows[0]) if rows else None

    def matured(self, loop: int, after: int, limit: int) -> list[Decision]:
        """Return matured rows, in the order in which they matured."""
        query = f"SELECT {FIELDS} FROM decisions WHERE loop=? AND matured>? ORDER BY matured LIMIT ?"
        return [Decision(*row) for row in self._read(query, loop, after, limit)]

    def scan(self, loop: int, start: float | None = None, end: float | None = None) -> Iterator[Decision]:
        """Yield decisions in the order of their numbers, a chunk per query, so that no transaction stays open."""
        last = 0
        low, high = -1e300 if start is None else start, 1e300 if end is None else end
        query = f"SELECT {FIELDS} FROM decisions WHERE loop=? AND seq>? AND time>=? AND time<? ORDER BY seq LIMIT ?"
        while rows := [Decision(*row) for row in self._read(query, loop, last, low, high, CHUNK)]:
            yield from rows
            last = rows[-1].seq

    def rewards(self, loop: int, event_id: str) -> list[RewardRecord]:
        """Return the rewards of an event in the order in which they came."""
        return self._rewards("loop=? AND event_id=? ORDER BY seq", loop, event_id)

    def stray_rewards(self, loop: int, limit: int) -> list[RewardRecord]:
        """Return the latest rewards that count nowhere."""
        return self._rewards("loop=? AND status<>'kept' ORDER BY seq DESC LIMIT ?", loop, limit)

    def _rewards(self, condition: str, *values: Any) -> list[RewardRecord]:
        query = f"SELECT loop, event_id, time, value, metrics, reward_id, status FROM rewards WHERE {condition}"
        return [RewardRecord(*row) for row in self._read(query, *values)]

    def summary(self, loop: int) -> dict[str, float]:
        """Return the totals, which are kept in the transactions of what they count."""
        sums = ", ".join(f"coalesce(sum({name}), 0)" for name in TOTALS[:-1])
        (row,) = self._read(f"SELECT {sums}, coalesce(max(count), 0) FROM totals WHERE loop=?", loop)
        return dict(zip(TOTALS, map(int, row), strict=True))

    def versions(self, loop: int, after: int = 0) -> list[Version]:
        """Return versions without their data."""
        fields = [name for name in Version.__struct_fields__ if name != "data"]
        query = f"SELECT {', '.join(fields)} FROM versions WHERE loop=? AND version>? ORDER BY version"
        return [Version(*row) for row in self._read(query, loop, after)]

    def version_data(self, loop: int, version: int) -> bytes:
        """Return the data of a version."""
        rows = self._read("SELECT data FROM versions WHERE loop=? AND version=?", loop, version)
        if not rows:
            raise StoreError(f"there must be a version {version} of this loop; there is none.")
        return bytes(rows[0][0])

    def swaps(self, loop: int) -> list[SwapRecord]:
        """Return which version decided from when on."""
        query = "SELECT time, version, reason, seq FROM swaps WHERE loop=? ORDER BY seq"
        return [SwapRecord(*row) for row in self._read(query, loop)]

    def last_swap(self, loop: int) -> SwapRecord | None:
        """Return which version decides."""
        query = "SELECT time, version, reason, seq FROM swaps WHERE loop=? ORDER BY seq DESC LIMIT 1"
        rows = self._read(query, loop)
        return SwapRecord(*rows[0]) if rows else None

    def state(self, loop: int, key: str) -> bytes | None:
        """Return what was kept under a name."""
        rows = self._read("SELECT value FROM state WHERE loop=? AND key=?", loop, key)
        return bytes(rows[0][0]) if rows else None
