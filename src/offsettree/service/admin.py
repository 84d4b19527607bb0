"""Operations for those who run the service: the log as a file, policies from outside, learning now."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from pathlib import Path

from offsettree.service.api import Operation
from offsettree.service.engine import Engine
from offsettree.service.export import FORMATS, clipped, lines, write_log
from offsettree.service.http import Reply, Request, Streamed
from offsettree.service.records import Decision
from offsettree.service.requests import RequestError, encode
from offsettree.service.training import Trainer

__all__ = ["Admin"]

CHUNK = 1 << 18
Rows = Callable[[], Iterator[Decision]]
LARGEST_POLICY = 1 << 28


class Admin:
    """The handlers."""

    def __init__(self, engine: Engine, trainer: Trainer) -> None:
        self.engine = engine
        self.trainer = trainer

    def operations(self) -> list[Operation]:
        """Return the table of these operations."""
        loop = "/v1/loops/{loop}"
        query = {
            "format": f"one of {', '.join(FORMATS)}",
            "start": "first time: seconds since 1970, or ISO 8601",
            "end": "first time not to be exported",
        }
        return [
            Operation(
                "GET", f"{loop}/log", "admin", "Matured decisions as a file", self.export, query=query,
                kind="application/octet-stream",
            ),
            Operation("POST", f"{loop}/learn", "admin", "Learn a candidate from the log now", self.learn),
            Operation("POST", f"{loop}/versions", "admin", "Add a policy file as a candidate", self.add, bytes),
            Operation("GET", f"{loop}/history", "admin", "Values over time", self.history),
        ]  # fmt: skip

    async def export(self, request: Request) -> Streamed:
        """Return the log as a file."""
        loop, query = self.engine.loop(request.path["loop"]), request.query()
        form = query.get("format", "parquet")
        if form not in FORMATS:
            raise RequestError(422, f"format must be one of {', '.join(FORMATS)}; got {form!r:.40}")
        start, end = _time(query.get("start"), "start"), _time(query.get("end"), "end")

        def rows() -> Iterator[Decision]:
            return clipped(self.engine.store.scan(loop.record.id, start, end), loop.settings.reward_range)

        parts = await _parquet(rows) if form == "parquet" else _lines(rows, form)
        name = f'attachment; filename="{loop.record.name}.{form}"'
        return Streamed(parts, FORMATS[form].encode(), [(b"content-disposition", name.encode())])

    async def learn(self, request: Request) -> Reply:
        """Start learning from the log."""
        self.engine.loop(request.path["loop"])
        if not self.trainer.start(request.path["loop"]):
            raise RequestError(409, "a candidate is being learned already. Try again when it is done.")
        return Reply(encode({"status": "started"}))

    async def add(self, request: Request) -> Reply:
        """Take a policy file as a candidate."""
        loop = self.engine.loop(request.path["loop"])
        data = await request.body(LARGEST_POLICY)
        number = await asyncio.to_thread(
            self.engine.add_candidate, loop.record.name, data, loop.learning.last, "added by hand"
        )
        return Reply(encode({"version": number}))

    async def history(self, request: Request) -> Reply:
        """Return the values over time."""
        loop = self.engine.loop(request.path["loop"])
        names = ["time", "rows", "served", "policy", "policy_low", "policy_high", "baseline", "best_constant"]
        names += ["gain_low", "gain_high", "gain_over_constant_low", "gain_over_constant_high"]
        return Reply(encode({"columns": names, "rows": loop.learning.history()}))


async def _parquet(rows: Rows) -> AsyncIterator[bytes]:
    """Return the parts of a file that is written first: its columns are known at its end only."""
    folder = tempfile.TemporaryDirectory(prefix="offsettree-export-")
    path = Path(folder.name) / "log.parquet"
    try:
        await asyncio.to_thread(write_log, rows, path, "parquet")
    except BaseException:
        folder.cleanup()
        raise

    async def parts() -> AsyncIterator[bytes]:
        with folder, path.open("rb") as file:
            while part := await asyncio.to_thread(file.read, CHUNK):
                yield part

    return parts()


async def _lines(rows: Rows, form: str) -> AsyncIterator[bytes]:
    """Yield lines while they are read from the store."""
    made = lines(rows(), form)
    while part := await asyncio.to_thread(next, made, b""):
        yield part


def _time(text: str | None, name: str) -> float | None:
    if text is None:
        return None
    try:
        return float(text) if text.replace(".", "", 1).isdigit() else datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise RequestError(
            422, f"{name} must be seconds since 1970 or ISO 8601, like 2026-01-31; got {text!r:.40}"
        ) from None
