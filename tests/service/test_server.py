"""One real server on SQLite: from a start to decisions, rewards and the page; a kill, a restart, a stop."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.servers import Server, call


def test_the_demo_serves_decides_survives_a_kill_and_stops(tmp_path: Path) -> None:
    with Server("--demo", "--no-visitors", folder=tmp_path) as server:
        status, answer = call(
            server.port, "POST", "/v1/loops/demo/decide", {"context": {"segment": "new"}, "event_id": "e"}
        )
        assert status == 200
        assert {"event_id", "action", "probability", "policy_version"} <= set(answer)
        assert call(server.port, "POST", "/v1/loops/demo/events/e/reward", {"reward": 1})[1] == {"status": "kept"}
        rank = {"contextFeatures": [{"a": 1}], "actions": [{"id": "x", "features": []}, {"id": "y", "features": []}]}
        assert call(server.port, "POST", "/personalizer/v1.0/rank", rank)[0] == 201
        status, page = call(server.port, "GET", "/")
        assert (status, b"Is it learning?" in page) == (200, True)
        server.kill()
    with Server("--demo", "--no-visitors", folder=tmp_path) as server:
        again = call(server.port, "POST", "/v1/loops/demo/decide", {"context": {"segment": "new"}, "event_id": "e"})
        assert again == (200, answer)
        assert call(server.port, "GET", "/v1/loops/demo/events/e")[1]["rewards"][0]["value"] == 1
        assert call(server.port, "GET", "/v1/loops/demo")[1]["decisions"] == 1
        assert server.stop() in (0, -15, 143)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "--demo"),
        (["--demo", "--host", "0.0.0.0"], "loopback"),  # noqa: S104 - refused
        (["nowhere.toml"], "nowhere.toml"),
        (["--demo", "loops.toml"], "either"),
    ],
)
def test_a_wrong_command_line_is_refused(arguments: list[str], word: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "offsettree.cli", "serve", *arguments, "--folder", str(tmp_path)]
    done = subprocess.run(  # noqa: S603 - our own command
        command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
    )
    assert done.returncode == 2
    assert word in done.stderr
