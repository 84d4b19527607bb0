"""One real server on SQLite: from a start to decisions, rewards and the page; a kill, a restart, a stop."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from offsettree.service import BackgroundServer, LoopSettings, Settings
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
        second = Server("--demo", "--no-visitors", folder=tmp_path)
        assert second.process.wait(60) != 0
        assert "only one server may use" in second.log.read_text()
        server.kill()
    with Server("--demo", "--no-visitors", folder=tmp_path) as server:
        again = call(server.port, "POST", "/v1/loops/demo/decide", {"context": {"segment": "new"}, "event_id": "e"})
        assert again == (200, answer)
        assert call(server.port, "GET", "/v1/loops/demo/events/e")[1]["rewards"][0]["value"] == 1
        assert call(server.port, "GET", "/v1/loops/demo")[1]["decisions"] == 1
        assert server.stop() in (0, -15, 143)


def test_no_request_is_dropped_while_versions_are_swapped(tmp_path: Path) -> None:
    settings = Settings({"shop": LoopSettings(actions=("a", "b", "c"), waiting_time="1h")})
    with BackgroundServer(settings, tmp_path) as server:
        engine, port = server.engine, int(server.address.rpartition(":")[2])
        learning = engine.loops["shop"].learning
        numbers = [learning.snapshot(engine.clock()) for _ in range(3)]
        stopped, answers = threading.Event(), []

        def ask() -> None:
            while not stopped.is_set():
                answers.append(call(port, "POST", "/v1/loops/shop/decide", {"context": {"x": 1}}))

        callers = [threading.Thread(target=ask) for _ in range(4)]
        for caller in callers:
            caller.start()
        for number in numbers * 5:
            assert call(port, "POST", f"/v1/loops/shop/versions/{number}/run", {})[0] == 200
        stopped.set()
        for caller in callers:
            caller.join()
    assert {status for status, _ in answers} == {200}
    assert {answer["policy_version"] for _, answer in answers} <= set(numbers)
    assert len({answer["event_id"] for _, answer in answers}) == len(answers) > 10


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
    command = [sys.executable, "-m", "offsettree", "serve", *arguments, "--folder", str(tmp_path)]
    done = subprocess.run(  # noqa: S603 - our own command
        command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
    )
    assert done.returncode == 2
    assert word in done.stderr
