"""Nothing acknowledged is lost: the server is killed at random moments while events and rewards are sent."""

from __future__ import annotations

import http.client
import os
import random
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from offsettree.service import SqliteStore
from tests.service.postgres import WHY_NOT, database_for
from tests.service.servers import Server, call, free_port
from tests.service.stores import open_store

N_KILLS = int(os.environ.get("OFFSETTREE_KILLS", "50"))
N_CALLERS = 8


class Ledger:
    """What the service has acknowledged."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.decisions: dict[str, dict[str, Any]] = {}
        self.rewards: dict[str, float] = {}
        self.sent = 0


def send(port: int, caller: int, ledger: Ledger, stopped: threading.Event) -> None:
    draws = random.Random(caller)  # noqa: S311
    number = 0
    while not stopped.is_set():
        number += 1
        event_id = f"{caller}-{number}"
        body = {"context": {"segment": draws.choice(["new", "loyal"]), "visits": number}, "event_id": event_id}
        answer: Any = None
        while not stopped.is_set():  # the same call again, until it is acknowledged
            try:
                status, answer = call(port, "POST", "/v1/loops/demo/decide", body)
                if status == 200:
                    break
            except (OSError, ValueError, http.client.HTTPException):
                time.sleep(0.05)
        else:
            return
        with ledger.lock:
            ledger.sent += 1
            ledger.decisions[event_id] = answer
        value = draws.random()
        try:
            reward = {"reward": value, "reward_id": "only"}
            status, _ = call(port, "POST", f"/v1/loops/demo/events/{event_id}/reward", reward)
        except (OSError, ValueError, http.client.HTTPException):
            continue
        if status == 200:
            with ledger.lock:
                ledger.rewards[event_id] = value


@pytest.mark.parametrize(
    "kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT))]
)
def test_every_acknowledged_event_and_reward_is_there_once_after_kills(kind: str, tmp_path: Path) -> None:
    settings = tmp_path / "loops.toml"
    text = '[loops.demo]\nactions = ["a", "b", "c"]\nwaiting_time = "2s"\nsnapshot_rows = 50\nsnapshot_every = "1s"\n'
    if kind == "postgres":
        text += f'[server]\ndatabase = "{database_for(tmp_path)}"\n'
    settings.write_text(text)
    port, ledger, stopped = free_port(), Ledger(), threading.Event()
    callers = [threading.Thread(target=send, args=(port, i, ledger, stopped)) for i in range(N_CALLERS)]
    for caller in callers:
        caller.start()
    draws = random.Random(0)  # noqa: S311
    try:
        for _ in range(N_KILLS):
            server = Server(str(settings), folder=tmp_path, port=port).wait()
            time.sleep(draws.uniform(0.05, 1.0))
            server.kill()
        with Server(str(settings), folder=tmp_path, port=port):
            time.sleep(1.0)
            stopped.set()
            for caller in callers:
                caller.join()
    finally:
        stopped.set()
    store = open_store(kind, tmp_path)
    rows = list(store.scan(1))
    assert len({row.event_id for row in rows}) == len(rows)
    by_id = {row.event_id: row for row in rows}
    for event_id, answer in ledger.decisions.items():
        row = by_id[event_id]
        assert (row.action, row.probability) == (answer["action"], answer["probability"])
        probabilities = msgspec.json.decode(row.probabilities)
        assert sum(probabilities) == pytest.approx(1)
        assert probabilities[row.position] == row.probability
    for event_id, value in ledger.rewards.items():
        assert [each.value for each in store.rewards(1, event_id)] == [value]
    store.close()
    assert len(ledger.decisions) > 20 * N_KILLS
    counts = f"{len(ledger.decisions):,} events and {len(ledger.rewards):,} rewards acknowledged, 0 lost"
    sys.stdout.write(f"\n{kind}, {N_KILLS} kills: {counts}\n")


def test_a_full_disk_gives_503_and_loses_nothing(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "offsettree", "serve", "--demo", "--no-visitors"]
    command += ["--port", str(port), "--folder", str(tmp_path)]

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, 3 << 20))

    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=small_files)  # noqa: S603
    server = Server.__new__(Server)
    server.port, server.process, server.log = port, process, tmp_path / "log"
    kept, refused = set(), 0
    with server:
        for i in range(400):
            body = {"context": {"text": "x" * 20_000}, "event_id": f"e{i}"}
            status, answer = call(port, "POST", "/v1/loops/demo/decide", body)
            assert status in (200, 503), answer
            kept |= {f"e{i}"} if status == 200 else set()
            refused += status == 503
            if refused > 5:
                break
        assert refused > 5
        assert call(port, "GET", "/health/ready")[0] == 503
        assert call(port, "GET", "/health/live")[0] == 200
        process.kill()
        process.wait()
    store = SqliteStore(tmp_path / "decisions.db")
    assert {row.event_id for row in store.scan(1)} >= kept
    store.close()
    assert kept
