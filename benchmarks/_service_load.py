"""A load generator for the service: keep-alive connections that send one request after another, and nothing else."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import statistics
import time
from typing import Any

CONTEXTS = [
    {"segment": segment, "device": device, "hour": hour, "visits": hour % 7}
    for segment in ("new", "returning", "loyal", "bargain")
    for device in ("phone", "desk")
    for hour in range(0, 24, 3)
]


async def _caller(port: int, path: str, end: float, times: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    bodies = [json.dumps({"context": context}).encode() for context in CONTEXTS]
    requests = [
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n".encode()
        + body
        for body in bodies
    ]
    while (started := time.perf_counter()) < end:
        writer.write(random.choice(requests))  # noqa: S311 - not for secrets
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode())
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        times.append(time.perf_counter() - started)
    writer.close()


async def load(port: int, path: str, connections: int, seconds: float) -> dict[str, Any]:
    """Return decisions per second, and quantiles of the times in milliseconds."""
    times: list[float] = []
    started = time.perf_counter()
    await asyncio.gather(*(_caller(port, path, started + seconds, times) for _ in range(connections)))
    took = time.perf_counter() - started
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
    with contextlib.suppress(ImportError):
        import uvloop

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    print(json.dumps(asyncio.run(load(options.port, options.path, options.connections, options.seconds))))


if __name__ == "__main__":
    main()
