"""Real servers in processes of their own, and real calls to them."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


class Server:
    """`offsettree serve` in a process, on a port of its own."""

    def __init__(self, *arguments: str, folder: Path, port: int | None = None, **environment: str) -> None:
        self.port = port or free_port()
        self.log = folder / "server.log"
        command = [sys.executable, "-m", "offsettree", "serve", *arguments]
        command += ["--port", str(self.port), "--folder", str(folder)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | environment)  # noqa: S603

    def wait(self, seconds: float = 600.0) -> Self:
        """Wait until the server is ready; one that is not is ended."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text()
            try:
                if call(self.port, "GET", "/health/ready")[0] == 200:
                    return self
            except OSError:
                pass
            time.sleep(0.05)
        self.kill()
        raise TimeoutError(self.log.read_text())

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def __enter__(self) -> Self:
        return self.wait()

    def __exit__(self, *exception: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def call(port: int, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        data = answer.read()
        return answer.status, json.loads(data) if data[:1] in (b"{", b"[") else data
    finally:
        connection.close()
