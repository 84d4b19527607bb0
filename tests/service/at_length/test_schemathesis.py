"""schemathesis against the OpenAPI document: no answer of 500."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.servers import Server

TOOL = shutil.which("schemathesis", path=str(Path(sys.executable).parent))


@pytest.mark.skipif(TOOL is None, reason="schemathesis is not installed")
def test_no_request_of_the_document_gives_500(tmp_path: Path) -> None:
    with Server("--demo", "--no-visitors", folder=tmp_path) as server:
        address = f"http://127.0.0.1:{server.port}"
        command = [str(TOOL), "run", f"{address}/openapi.json", "--checks", "not_a_server_error"]
        command += ["--max-examples", "40", "--phases", "examples,coverage,fuzzing", "--workers", "1"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1500, check=False, cwd=tmp_path)  # noqa: S603
        assert server.process.poll() is None
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
