"""Connections: simple calls that are answered without ASGI, and all others, over raw sockets."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from offsettree.service import BackgroundServer, LoopSettings, Settings
from offsettree.service.records import AddDecisions
from offsettree.service.store import StoreError

BODY = b'{"context": {"x": 1}}'


@pytest.fixture
def server(tmp_path: Path) -> Iterator[BackgroundServer]:
    settings = Settings({"shop": LoopSettings(actions=("a", "b"), waiting_time="1h")})
    with BackgroundServer(settings, tmp_path) as server:
        yield server


def opened(server: BackgroundServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(server.address.rpartition(":")[2])), timeout=20)


def request(
    body: bytes = BODY,
    *lines: str,
    path: str = "/v1/loops/shop/decide",
    version: str = "1.1",
    host: str = "localhost",
) -> bytes:
    """Return a request; without lines of its own, it has the length of the body."""
    head = [f"POST {path} HTTP/{version}", f"Host: {host}", *(lines or (f"Content-Length: {len(body)}",)), "", ""]
    return "\r\n".join(head).encode() + body


def answers(connection: socket.socket, count: int) -> list[tuple[int, dict[str, str], Any]]:
    """Read some answers of one connection, with their headers."""
    file, found = connection.makefile("rb"), []
    for _ in range(count):
        status = int(file.readline().split()[1])
        headers = {}
        while line := file.readline().strip():
            name, _, value = line.decode().partition(": ")
            headers[name.lower()] = value
        body = file.read(int(headers.get("content-length", 0)))
        found.append((status, headers, json.loads(body) if body else None))
    return found


def test_calls_one_after_another_and_all_at_once_are_answered_in_their_order(server: BackgroundServer) -> None:
    with opened(server) as connection:
        bodies = [json.dumps({"event_id": f"e{i}", "context": {}}).encode() for i in range(5)]
        connection.sendall(b"".join(map(request, bodies)))
        assert [each[2]["event_id"] for each in answers(connection, 5)] == [f"e{i}" for i in range(5)]
        connection.sendall(request(b'{"event_id": "last"}') + b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        first, second = answers(connection, 2)
        assert (first[2]["event_id"], second[2]) == ("last", {"status": "alive"})


def test_a_call_in_pieces_is_whole_only_with_its_last_byte(server: BackgroundServer) -> None:
    with opened(server) as connection:
        for byte in request():
            connection.sendall(bytes([byte]))
        ((status, headers, answer),) = answers(connection, 1)
    assert (status, answer["probability"]) == (200, 0.5)
    assert headers["content-type"] == "application/json"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "sent",
    [
        request(b"15\r\n" + BODY + b"\r\n0\r\n\r\n", "Transfer-Encoding: chunked"),
        request(BODY, f"Content-Length: {len(BODY)}", "Connection: close"),
        request(version="1.0"),
        request(path="/v1/loops/shop/decide?more=1"),
        request(BODY[:-1] + b" " * 80_000 + b"}"),
        request(BODY, f"Content-Length: {len(BODY)}", "Origin: http://localhost"),
    ],
)
def test_calls_that_are_not_simple_are_answered_alike(server: BackgroundServer, sent: bytes) -> None:
    with opened(server) as connection:
        connection.sendall(sent)
        ((status, _, answer),) = answers(connection, 1)
    assert (status, answer["probability"]) == (200, 0.5)


def test_a_caller_that_asks_before_it_sends_its_body_is_told_to_go_on(server: BackgroundServer) -> None:
    with opened(server) as connection:
        connection.sendall(request(b"", f"Content-Length: {len(BODY)}", "Expect: 100-continue"))
        assert connection.recv(100).startswith(b"HTTP/1.1 100")
        connection.sendall(BODY)
        assert answers(connection, 1)[0][0] == 200


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (request(b"{"), 400),
        (request(b'{"context": 1}'), 422),
        (request(b'{"unknown": 1}'), 422),
        (request(b'{"context": {"x": NaN}}'), 400),
        (request(host="shop.example"), 403),
        (request(b"", "Content-Length: 99999999"), 413),
    ],
)
def test_wrong_calls_are_answered_and_the_next_one_is_heard(server: BackgroundServer, sent: bytes, status: int) -> None:
    with opened(server) as connection:
        connection.sendall(sent)
        ((got, _, answer),) = answers(connection, 1)
        assert (got, answer["error"]["code"]) == (status, status)
        if status != 413:
            connection.sendall(request())
            assert answers(connection, 1)[0][0] == 200


def test_a_store_that_keeps_nothing_is_503_with_a_time_to_try_again(
    server: BackgroundServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(changes: Any) -> Any:
        raise StoreError("nothing can be kept now")

    monkeypatch.setattr(server.engine.store, "apply", refuse)
    with opened(server) as connection:
        connection.sendall(request())
        ((status, headers, answer),) = answers(connection, 1)
    assert (status, headers["retry-after"]) == (503, "1")
    assert "nothing can be kept" in answer["error"]["message"]


def test_a_fault_within_an_answer_is_503_and_others_are_answered(
    server: BackgroundServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = server.engine.loops["shop"]
    right = loop.answer

    def wrong_once(rows: Any, digest: bytes) -> Any:
        if rows[0].event_id == "wrong":
            raise ZeroDivisionError
        return right(rows, digest)

    monkeypatch.setattr(loop, "answer", wrong_once)
    with opened(server) as one, opened(server) as other:
        one.sendall(request(b'{"event_id": "wrong"}'))
        other.sendall(request(b'{"event_id": "right"}'))
        assert answers(one, 1)[0][0] == 503
        assert answers(other, 1)[0][2]["event_id"] == "right"


def test_a_caller_that_goes_leaves_its_decision_and_nothing_open(server: BackgroundServer) -> None:
    engine = server.engine
    loop = engine.loops["shop"].record.id
    for i in range(20):
        with opened(server) as connection:
            connection.sendall(request(f'{{"event_id": "gone-{i}"}}'.encode()))
    end = time.monotonic() + 20
    while engine.store.summary(loop)["decisions"] < 20 and time.monotonic() < end:
        time.sleep(0.05)
    assert engine.store.summary(loop)["decisions"] == 20
    with opened(server) as connection:
        connection.sendall(request())
        assert answers(connection, 1)[0][0] == 200


def test_a_repeated_call_gets_its_first_answer_and_another_context_is_refused(server: BackgroundServer) -> None:
    with opened(server) as connection:
        for body in (
            b'{"event_id": "e", "context": {"x": 1, "y": 2.0}}',
            b'{"event_id":"e","context":{"y":2,"x":1.0}}',
        ):
            connection.sendall(request(body))
        first, second = answers(connection, 2)
        assert first[2] == second[2]
        connection.sendall(request(b'{"event_id": "e", "context": {"x": 2, "y": 2}}'))
        assert answers(connection, 1)[0][0] == 409


def test_a_call_that_is_under_way_is_answered_when_the_server_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings({"shop": LoopSettings(actions=("a", "b"), waiting_time="1h")})
    reached, goes_on = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool, BackgroundServer(settings, tmp_path) as server:
        apply = server.engine.store.apply

        def slow(changes: Any) -> Any:
            if any(isinstance(each, AddDecisions) for each in changes):
                reached.set()
                goes_on.wait(20)
            return apply(changes)

        monkeypatch.setattr(server.engine.store, "apply", slow)
        connection = opened(server)
        connection.sendall(request())
        assert reached.wait(20)
        answer = pool.submit(answers, connection, 1)
        server._server.should_exit = True
        time.sleep(0.5)  # it has begun to stop
        goes_on.set()
        ((status, headers, _),) = answer.result(20)
        assert (status, headers.get("connection")) == (200, "close")
        assert connection.recv(1) == b""
        connection.close()
