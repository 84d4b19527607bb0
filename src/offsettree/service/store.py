"""The narrow interface behind which decisions are kept: changes in one transaction, and a few ways to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from offsettree.exceptions import OffsetTreeError
from offsettree.service.records import Decision, LoopRecord, RewardRecord, SwapRecord, Version

__all__ = ["Store", "StoreError"]


class StoreError(OffsetTreeError, RuntimeError):
    """The store cannot keep anything now: the disk is full, or the database is locked. Nothing was written."""


class Store(Protocol):
    """Keeps what loops decide and learn. `apply` is called by one thread only; reading is safe from any thread."""

    is_shared: bool  # whether other processes may use it at the same time

    def apply(self, changes: Sequence[Any]) -> list[Any]:
        """Make changes in one durable transaction; return the answer to each. A `StoreError` means: none was made."""
        ...

    def leads(self) -> bool:
        """Whether this process is the one that settles rows and learns; others follow it."""
        ...

    def description(self) -> str:
        """Return what keeps the data, and its version, for the health page."""
        ...

    def loops(self) -> list[LoopRecord]:
        """Return all loops."""
        ...

    def find(self, loop: int, event_id: str) -> Decision | None:
        """Return one decision."""
        ...

    def matured(self, loop: int, after: int, limit: int) -> list[Decision]:
        """Return matured rows from number `after` + 1 on, in their order."""
        ...

    def scan(self, loop: int, start: float | None = None, end: float | None = None) -> Iterator[Decision]:
        """Yield all decisions of a span of time, in their order."""
        ...

    def rewards(self, loop: int, event_id: str) -> list[RewardRecord]:
        """Return the rewards of an event as they came."""
        ...

    def stray_rewards(self, loop: int, limit: int) -> list[RewardRecord]:
        """Return the latest rewards that were late or of unknown events."""
        ...

    def summary(self, loop: int) -> dict[str, float]:
        """Return counts: decisions, matured, rewards, late, unknown, last matured number, last explorer counter."""
        ...

    def versions(self, loop: int, after: int = 0) -> list[Version]:
        """Return versions behind number `after` without their data, in their order."""
        ...

    def version_data(self, loop: int, version: int) -> bytes:
        """Return the data of a version."""
        ...

    def swaps(self, loop: int) -> list[SwapRecord]:
        """Return which version decided from when on, in the order of time."""
        ...

    def last_swap(self, loop: int) -> SwapRecord | None:
        """Return which version decides, if one ever did."""
        ...

    def state(self, loop: int, key: str) -> bytes | None:
        """Return what was kept under a name."""
        ...

    def close(self) -> None:
        """Release files and connections."""
        ...
