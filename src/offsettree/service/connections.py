"""Connections of the server: answers by one call of the system, and the most frequent requests without ASGI."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from offsettree.service.http import DirectHandler, Reply

__all__ = ["Connection", "JoinedWrites", "protocol_of"]

LARGEST = 1 << 16  # bytes of a body that is taken at once; uvicorn stops reading above
STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


class JoinedWrites:
    """A transport that sends what is written in one turn of the event loop together, in its order."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._written: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send soon."""
        if not self._written:
            self._loop.call_soon(self.flush)
        self._written.append(data)

    def write_now(self, data: bytes) -> None:
        """Send at once, behind what was written before."""
        if self._written:
            self._written.append(data)
            self.flush()
        elif not self._transport.is_closing():
            self._transport.write(data)

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
    """uvicorn's protocol over a transport that joins writes; some paths are answered without ASGI.

    A task, an event and three messages per request are more work than a decision. Whole and simple requests of the
    paths in `at_once` go straight to their handlers; all others, also of these paths, go the usual way.
    """

    def __init__(self, *args: Any, at_once: Mapping[bytes, DirectHandler], **options: Any) -> None:
        super().__init__(*args, **options)
        self._at_once = at_once
        self._joined: JoinedWrites

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        self._joined = JoinedWrites(transport, asyncio.get_running_loop())
        super().connection_made(cast("asyncio.Transport", self._joined))

    def on_headers_complete(self) -> None:
        """Choose the way of a request."""
        handler = self._at_once.get(self.url)
        if handler is None or not self._is_simple():
            super().on_headers_complete()
        else:
            self.cycle = cast("Any", _Call(handler))

    def _is_simple(self) -> bool:
        """Whether a request has a body of a known, small size, and nothing is asked for but its answer."""
        parser = self.parser
        if parser.get_method() != b"POST" or parser.get_http_version() != "1.1" or not parser.should_keep_alive():
            return False
        if parser.should_upgrade() or self.expect_100_continue or self.flow.write_paused:
            return False
        if self.cycle is not None and not self.cycle.response_complete:
            return False
        length = b""
        for name, value in self.headers:
            if name == b"content-length":
                length = value
            elif name == b"origin":  # of a page: its rules are among the layers around the application
                return False
        return length.isdigit() and len(length) <= 5 and int(length) <= LARGEST

    def on_message_complete(self) -> None:
        """Answer a request that is whole."""
        super().on_message_complete()
        call = cast("Any", self.cycle)
        if isinstance(call, _Call) and not call.response_complete:
            call.handler(dict(self.headers), bytes(call.body), lambda reply: self._send(call, reply))

    def _send(self, call: _Call, reply: Reply) -> None:
        call.response_complete = True
        if call.disconnected:
            return
        lines = [STATUS_LINES[reply.status], b"content-type: ", reply.kind, b"\r\nx-content-type-options: nosniff\r\n"]
        for name, value in reply.headers:
            lines += [name, b": ", value, b"\r\n"]
        if not call.keep_alive:
            lines.append(b"connection: close\r\n")
        self._joined.write_now(b"%bcontent-length: %d\r\n\r\n%b" % (b"".join(lines), len(reply.body), reply.body))
        if not call.keep_alive:
            self.transport.close()
        self.on_response_complete()


def protocol_of(at_once: Mapping[bytes, DirectHandler]) -> Any:
    """Return what makes connections, as uvicorn's setting `http` takes it."""
    return partial(Connection, at_once=at_once)


class _Call:
    """A request that is answered without ASGI, in the place of uvicorn's cycle of a request and its response."""

    message_event = SimpleNamespace(set=lambda: None)  # nobody waits

    def __init__(self, handler: DirectHandler) -> None:
        self.handler = handler
        self.body = bytearray()
        self.more_body = True
        self.response_complete = False
        self.disconnected = False
        self.keep_alive = True  # until the server shuts down
