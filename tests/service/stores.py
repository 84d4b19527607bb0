"""Stores under test, and rows to put into them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from offsettree.service.records import AddDecisions, Decision, EnsureLoop
from offsettree.service.sqlite_store import SqliteStore


def open_store(kind: str, folder: Path) -> Any:
    """Open the store of a folder: opened again, it is the same one."""
    if kind == "sqlite":
        return SqliteStore(folder / "decisions.db")
    from offsettree.service.postgres_store import PostgresStore
    from tests.service.postgres import database_for

    return PostgresStore(database_for(folder))


def make_loop(store: Any, name: str = "shop") -> int:
    (loop,) = store.apply([EnsureLoop(name, b"secret", 0.0)])
    return int(loop.id)


def decision(loop: int, event_id: str, time: float = 0.0, **changed: Any) -> Decision:
    row: dict[str, Any] = {
        "loop": loop,
        "event_id": event_id,
        "time": time,
        "context": '{"age":3}',
        "actions": '["a","b"]',
        "probabilities": "[0.25,0.75]",
        "position": 1,
        "action": "b",
        "probability": 0.75,
        "version": 1,
        "exploration": "{}",
        "mode": "explore",
        "greedy": 1,
        "count": 1,
        "due": time + 10,
        "activated": time,
    }
    return Decision(**(row | changed))


def add(store: Any, *rows: Decision) -> list[list[Decision]]:
    answers: list[list[Decision]] = store.apply([AddDecisions([row]) for row in rows])
    return answers
