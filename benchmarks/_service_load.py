"""A load generator for the service: keep-alive connections that send one request after another, and nothing else.

Bare sockets and requests encoded beforehand, in one process: what it takes from the server's cores is small.
"""

from __future__ import annotations

import argparse
import json
import random
import selectors
import socket
import statistics
import time
from typing import Any

CONTEXTS = [
    {"segment": segment, "device": device, "hour": hour, "visits": hour % 7}
    for segment in ("new", "returning", "loyal", "bargain")
    for device in ("phone", "desk")
    for hour in range(0, 24, 3)
]
LARGEST_ANSWER = 1 << 16


def encoded(path: str) -> list[bytes]:
    """Return requests as they are sent, one per context."""
    bodies = [json.dumps({"context": context}).encode() for context in CONTEXTS]
    return [
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n".encode()
        + body
        for body in bodies
    ]


def is_whole(answer: bytes) -> bool:
    """Whether an answer has come as a whole; one that is no decision is an error."""
    head, found, body = answer.partition(b"\r\n\r\n")
    if not found:
        return False
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(answer.decode("latin-1"))
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return len(body) >= int(length)


def load(port: int, path: str, connections: int, seconds: float) -> dict[str, Any]:
    """Return decisions per second, and quantiles of the times in milliseconds."""
    requests, times = encoded(path), []
    clock, choice = time.perf_counter, random.choice
    selector = selectors.DefaultSelector()
    sent: dict[socket.socket, float] = {}
    parts: dict[socket.socket, bytes] = {}
    started = clock()
    end = started + seconds
    for _ in range(connections):
        opened = socket.create_connection(("127.0.0.1", port))
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(opened, selectors.EVENT_READ)
        sent[opened] = clock()
        opened.sendall(choice(requests))
    while sent:
        for key, _ in selector.select():
            opened = key.fileobj  # type: ignore[assignment]
            answer = parts.pop(opened, b"") + opened.recv(LARGEST_ANSWER)
            if not answer:
                raise RuntimeError("the server has closed a connection")
            if not is_whole(answer):
                parts[opened] = answer
                continue
            now = clock()
            times.append(now - sent[opened])
            if now < end:
                sent[opened] = now
                opened.sendall(choice(requests))
            else:
                selector.unregister(opened)
                opened.close()
                del sent[opened]
    took = clock() - started
    cuts = statistics.quantiles(times, n=100)
    return {"per_second": len(times) / took, "p50_ms": 1000 * cuts[49], "p99_ms": 1000 * cuts[98], "n": len(times)}


def main() -> None:
    """Run the load of the command line, and print what came of it as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--path", default="/v1/loops/demo/decide")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    print(json.dumps(load(options.port, options.path, options.connections, options.seconds)))


if __name__ == "__main__":
    main()
