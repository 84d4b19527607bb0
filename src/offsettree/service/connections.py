"""Connections of the server: the head and the body of an answer are sent by one call of the system, not by two."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["Connection", "JoinedWrites"]


class JoinedWrites:
    """A transport that sends what is written in one turn of the event loop together, in its order.

    Parameters
    ----------
    transport : asyncio.Transport
        What sends.
    loop : asyncio.AbstractEventLoop
        Whose turns they are.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._written: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send soon."""
        if not self._written:
            self._loop.call_soon(self.flush)
        self._written.append(data)

    def flush(self) -> None:
        """Send what was written."""
        if self._written:
            data = b"".join(self._written)
            self._written.clear()
            if data and not self._transport.is_closing():
                self._transport.write(data)

    def close(self) -> None:
        """Send what was written, then close."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Connection(HttpToolsProtocol):
    """uvicorn's protocol over a transport that joins writes."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        joined = JoinedWrites(transport, asyncio.get_running_loop())
        super().connection_made(cast("asyncio.Transport", joined))
