"""One request and one answer over ASGI: bodies of bounded size, JSON by msgspec, every problem a clear answer."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

import msgspec

from offsettree.exceptions import OffsetTreeError
from offsettree.service.keys import Keys
from offsettree.service.requests import RequestError, encode
from offsettree.service.settings import ServerSettings
from offsettree.service.store import StoreError

__all__ = [
    "Application",
    "DirectHandler",
    "Done",
    "Gate",
    "Handler",
    "Receive",
    "Reply",
    "Request",
    "Scope",
    "Send",
    "Start",
    "Streamed",
]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
log = logging.getLogger("offsettree.service")
LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "testserver")
JSON = b"application/json"


class Request:
    """A request: its path's parameters, headers, query and body."""

    __slots__ = ("_receive", "headers", "path", "scope")

    def __init__(self, scope: Scope, receive: Receive, headers: dict[bytes, bytes]) -> None:
        self.scope = scope
        self.path: dict[str, str] = scope.get("path_params", {})
        self.headers = headers
        self._receive = receive

    def query(self) -> dict[str, str]:
        """Return the parameters behind the question mark."""
        return {name: values[-1] for name, values in parse_qs(self.scope["query_string"].decode("latin-1")).items()}

    async def body(self, most: int) -> bytes:
        """Read the body; one that is too large is refused before it is read."""
        declared = self.headers.get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > most:
            raise RequestError(413, f"a body must have at most {most:,} bytes; got {int(declared):,}")
        message = await self._receive()
        data = bytes(message.get("body", b""))
        if not message.get("more_body"):
            if len(data) > most:
                raise RequestError(413, f"a body must have at most {most:,} bytes")
            return data
        parts, size = [data], len(data)
        while message.get("more_body"):
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise RequestError(400, "the caller has gone")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise RequestError(413, f"a body must have at most {most:,} bytes")
        return b"".join(parts)


class Reply(msgspec.Struct):
    """An answer: a status, a body and what it is."""

    body: bytes = b""
    status: int = 200
    kind: bytes = JSON
    headers: list[tuple[bytes, bytes]] = []


class Streamed(msgspec.Struct):
    """An answer whose body is made while it is sent."""

    parts: AsyncIterator[bytes]
    kind: bytes
    headers: list[tuple[bytes, bytes]] = []


Handler = Callable[[Request], Awaitable[Reply | Streamed]]
Done = Callable[[Reply | Exception], None]
Start = Callable[[bytes, Done], None]  # takes a body; calls the other once, unless it raises
DirectHandler = Callable[[dict[bytes, bytes], bytes, Callable[[Reply], None]], None]


class Gate:
    """Lets requests in: keys, origins, and how many at once; what goes wrong behind it becomes an answer."""

    def __init__(self, settings: ServerSettings, keys: Keys) -> None:
        self.settings = settings
        self.keys = keys
        self.n_open = 0
        self.observe: Callable[[str, int], None] = lambda name, status: None

    def guard(self, handler: Handler, role: str | None, name: str) -> Any:
        """Return an ASGI application of a handler; a role of None is open to everybody."""

        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            headers = dict(scope["headers"])
            self.n_open += 1
            try:
                self._check(headers, role)
                answer = await handler(Request(scope, receive, headers))
            except Exception as error:  # whatever it is, the caller gets a clear answer
                answer = _as_reply(error, name)
            finally:
                self.n_open -= 1
            self.observe(name, answer.status if isinstance(answer, Reply) else 200)
            await _send(send, answer)

        return _Application(application)

    def guard_direct(self, start: Start, role: str | None, name: str) -> DirectHandler:
        """Return the handler of whole requests, without a task for each: it calls back with the answer."""

        def handle(headers: dict[bytes, bytes], body: bytes, send: Callable[[Reply], None]) -> None:
            def done(answer: Reply | Exception) -> None:
                self.n_open -= 1
                reply = answer if isinstance(answer, Reply) else _as_reply(answer, name)
                self.observe(name, reply.status)
                send(reply)

            self.n_open += 1
            try:
                self._check(headers, role)
                start(body, done)
            except Exception as error:  # whatever it is, the caller gets a clear answer
                done(error)

        return handle

    def _check(self, headers: dict[bytes, bytes], role: str | None) -> None:
        if role is None:
            return
        if self.n_open > self.settings.max_concurrency:
            raise RequestError(
                503, f"at most {self.settings.max_concurrency} requests are taken at once. Try again soon."
            )
        origin, host = headers.get(b"origin"), headers.get(b"host", b"").decode("latin-1")
        # A browser sends a password that it knows to every page's requests, whoever made the page.
        by_browser = headers.get(b"authorization", b"")[:6].lower() == b"basic "
        if origin is not None and (role == "admin" or by_browser):
            own = origin.decode("latin-1").partition("://")[2]
            if own != host and (role == "admin" or own not in self._origins()):
                raise RequestError(
                    403, "requests that change or show the service must not come from another site's page"
                )
        if not self.keys.are_set:
            name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
            if name and name not in LOOPBACK:
                raise RequestError(
                    403, "without keys, the service answers on this machine only, by its loopback address"
                )
            if origin is not None and origin.decode("latin-1").partition("://")[2] not in (host, *self._origins()):
                raise RequestError(403, "without keys, the service does not answer pages of other sites")
        elif not self.keys.allows(role, headers):
            raise RequestError(
                401, f"a key of the role {role} must be sent as a bearer token or Ocp-Apim-Subscription-Key"
            )

    def _origins(self) -> list[str]:
        return [each.partition("://")[2] for each in self.settings.allow_origins]


class _Application:
    """An ASGI application that Starlette does not take for a function of a request."""

    __slots__ = ("_run",)

    def __init__(self, run: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._run = run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._run(scope, receive, send)


def _as_reply(error: Exception, name: str) -> Reply:
    headers: list[tuple[bytes, bytes]] = []
    if isinstance(error, RequestError):
        status, message = error.status, error.message
        if status == 401:
            headers = [(b"www-authenticate", b'Basic realm="offsettree", charset="UTF-8"')]
    elif isinstance(error, StoreError):
        status, message = 503, str(error)
        log.warning("store unavailable", extra={"operation": name, "error": str(error)})
    elif isinstance(error, msgspec.DecodeError | RecursionError | UnicodeDecodeError):
        invalid = isinstance(error, msgspec.ValidationError)
        status, message = (422 if invalid else 400), f"the body must be JSON as /openapi.json describes it: {error}"
    elif isinstance(error, OffsetTreeError):
        status, message = 422, str(error)
    else:
        # Not 500: the caller is to take its fallback, and to try again.
        status, message = 503, "the service could not answer; its log says why. Take your own fallback."
        log.error("unexpected error", extra={"operation": name}, exc_info=error)
    if status == 503:
        headers = [(b"retry-after", b"1")]
    return Reply(encode({"error": {"code": status, "message": message}}), status, headers=headers)


async def _send(send: Send, answer: Reply | Streamed) -> None:
    headers = [(b"content-type", answer.kind), (b"x-content-type-options", b"nosniff"), *answer.headers]
    if isinstance(answer, Reply):
        headers.append((b"content-length", str(len(answer.body)).encode()))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})
        return
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    async for part in answer.parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
