"""Several processes on one PostgreSQL: they decide side by side, one of them learns, the others follow."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from offsettree import OffsetTree, save
from offsettree.service import Engine
from offsettree.service.postgres_store import PostgresStore
from tests.service.engines import Clock, decide, decide_all, make_engine, reward_all
from tests.service.postgres import WHY_NOT, database_for
from tests.service.servers import Server, call

pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


def test_two_engines_share_events_and_learn_the_same(tmp_path: Path) -> None:
    clock = Clock()
    first = make_engine(tmp_path, clock, kind="postgres", snapshot_rows=50, snapshot_every=0.0)
    second = make_engine(tmp_path, clock, kind="postgres", snapshot_rows=50, snapshot_every=0.0)
    assert (first.store.leads(), second.store.leads()) == (True, False)
    assert decide(second, {"x": 1}, "e") == decide(first, {"x": 1}, "e")
    for part in range(5):
        for engine in (first, second):
            answers = decide_all(engine, [({"x": i % 3}, f"{part}-{id(engine)}-{i}") for i in range(20)])
            reward_all(second, {each.event_id: float(each.action == "b") for each in answers})
        clock.now += 20
        second.step()
        first.step()
        second.step()
    learners = [engine.loops["shop"].learning for engine in (first, second)]
    assert learners[0].learner.state() == learners[1].learner.state()
    assert learners[0].running.version == learners[1].running.version > 1
    assert first.store.summary(1)["decisions"] == 201
    version = learners[0].running.version
    first.close()
    clock.now += 20
    second.step()
    assert second.store.leads()
    assert second.loops["shop"].learning.running.version >= version
    assert second.loops["shop"].learning.learner.n_rows == learners[0].learner.n_rows
    second.close()


def test_an_event_that_two_processes_get_at_once_is_decided_once(tmp_path: Path) -> None:
    address = database_for(tmp_path)
    settings = tmp_path / "loops.toml"
    settings.write_text(f'''[loops.shop]\nactions = ["a", "b", "c"]\n[server]\ndatabase = "{address}"\n''')
    with Server(str(settings), folder=tmp_path) as one, Server(str(settings), folder=tmp_path) as two:
        for i in range(30):
            answers = [
                call(each.port, "POST", "/v1/loops/shop/decide", {"event_id": f"e{i}"})[1] for each in (one, two)
            ]
            assert answers[0] == answers[1]
    store = PostgresStore(address)
    assert len(list(store.scan(1))) == 30
    assert store.description().startswith("PostgreSQL")
    store.close()


def engines_on(folder: Path, clock: Clock, n: int = 3, **loop: Any) -> list[Engine]:
    return [make_engine(folder, clock, kind="postgres", **loop) for _ in range(n)]


def visit(engines: list[Engine], clock: Clock, part: int) -> None:
    """Decide in every process, reward in another one, and let all of them learn twice: the first one leads."""
    for i, engine in enumerate(engines):
        answers = decide_all(engine, [({"x": j % 3}, f"{part}-{i}-{j}") for j in range(20)])
        reward_all(engines[i - 1], {each.event_id: float(each.action == "b") for each in answers})
    clock.now += 20
    for engine in engines * 2:
        engine.step()


def running(engines: list[Engine]) -> list[int]:
    return [engine.loops["shop"].learning.running.version for engine in engines]


def learned(engines: list[Engine]) -> set[bytes]:
    return {engine.loops["shop"].learning.learner.state() for engine in engines}


def policy_file(folder: Path) -> bytes:
    """A policy of the column x: b where it is below 1, else c."""
    X = pd.DataFrame({"x": np.repeat([0.0, 1.0, 2.0], 90)})
    action = np.tile(["a", "b", "c"], 90)
    reward = (action == np.where(X["x"] < 1, "b", "c")).astype(float)
    save(OffsetTree().fit(X, action, reward=reward, propensity=np.full(270, 1 / 3)), folder / "policy.ot")
    return (folder / "policy.ot").read_bytes()


def test_a_swap_in_any_process_is_made_by_all_and_all_go_on_learning_the_same(tmp_path: Path) -> None:
    clock = Clock()
    engines = engines_on(tmp_path, clock, snapshot_rows=50, snapshot_every=0.0)
    for part in range(3):
        visit(engines, clock, part)
    assert running(engines) == [running(engines)[0]] * 3
    latest = running(engines)[0]
    assert latest > 2
    former = engines[2].swap("shop", 2)  # one that follows
    assert former == latest
    assert decide(engines[2], {"x": 1}).policy_version == 2
    assert decide(engines[1], {"x": 1}).policy_version == latest  # it has not looked yet
    engines[1].step()
    assert decide(engines[1], {"x": 1}).policy_version == 2  # before the leader has looked
    for engine in engines * 2:
        engine.step()
    assert running(engines) == [2, 2, 2]
    assert len(learned(engines)) == 1
    visit(engines, clock, 3)
    assert len(learned(engines)) == 1
    assert len(set(running(engines))) == 1
    assert running(engines)[0] > latest  # a snapshot of what went on from version 2
    for engine in engines:
        engine.close()


def test_swaps_of_all_processes_at_once_end_with_one_version(tmp_path: Path) -> None:
    clock = Clock()
    engines = engines_on(tmp_path, clock, snapshot_rows=20, snapshot_every=0.0)
    for part in range(3):
        visit(engines, clock, part)
    numbers = list(range(1, running(engines)[0] + 1))
    chosen: list[list[int]] = np.random.default_rng(0).choice(numbers, size=(3, 10)).tolist()

    def swap_all(engine: Engine, wanted: list[int]) -> None:
        for number in wanted:
            engine.swap("shop", number)
            engine.step()

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(swap_all, *each) for each in zip(engines, chosen, strict=True)]:
            done.result()
    for engine in engines * 3:
        engine.step()
    last = engines[0].store.last_swap(1)
    assert last is not None
    assert running(engines) == [last.version] * 3
    assert len(learned(engines)) == 1
    by_hand = [each for each in engines[0].store.swaps(1) if each.reason == "by hand"]
    assert len(by_hand) == 30
    for engine in engines:
        engine.close()


def test_a_candidate_that_any_process_adds_is_valued_by_the_leader(tmp_path: Path) -> None:
    clock = Clock()
    engines = engines_on(tmp_path, clock, promote=False)
    visit(engines, clock, 0)
    number = engines[1].add_candidate("shop", policy_file(tmp_path), 0, "by a process that follows")
    leader = engines[0].loops["shop"].learning
    assert leader.candidate is None
    visit(engines, clock, 1)
    assert leader.candidate is not None
    assert (leader.candidate.version, leader.n_candidates) == (number, 1)
    seen = leader.candidate.over_running.n_rows
    visit(engines, clock, 2)
    assert leader.candidate.over_running.n_rows == seen + 60
    engines[0].close()
    clock.now += 1
    engines[1].step()  # takes over, with the candidate and its evidence
    heir = engines[1].loops["shop"].learning
    assert heir.is_leading
    assert heir.candidate is not None
    assert (heir.candidate.version, heir.candidate.over_running.n_rows, heir.n_candidates) == (number, seen + 60, 1)
    for engine in engines[1:]:
        engine.close()


def test_processes_that_start_at_once_make_one_loop_with_one_first_version(tmp_path: Path) -> None:
    policy_file(tmp_path)
    database_for(tmp_path)
    for given, kinds in ((None, ["online"]), (str(tmp_path / "policy.ot"), ["online", "given"])):
        with ThreadPoolExecutor(6) as pool:
            starts = [
                pool.submit(make_engine, tmp_path, Clock(), kind="postgres", policy=given, mode="frozen")
                for _ in range(6)
            ]
            engines = [start.result() for start in starts]
        assert [each.kind for each in engines[0].store.versions(1)] == kinds
        assert [each.version for each in engines[0].store.swaps(1)] == list(range(1, len(kinds) + 1))
        for engine in engines * 2:
            engine.step()
        assert running(engines) == [len(kinds)] * 6
        assert sum(engine.store.leads() for engine in engines) == 1
        assert len({engine.loops["shop"].record.secret for engine in engines}) == 1
        for engine in engines:
            engine.close()


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_servers_that_start_at_once_swap_together_and_outlive_their_leader(tmp_path: Path) -> None:
    address = database_for(tmp_path)
    settings = tmp_path / "loops.toml"
    loop = 'actions = ["a", "b", "c"]\nwaiting_time = "1s"\nsnapshot_rows = 20\nsnapshot_every = "0s"'
    settings.write_text(f"""[loops.shop]\n{loop}\n[server]\ndatabase = "{address}"\n""")
    servers = [Server(str(settings), folder=tmp_path) for _ in range(3)]
    try:
        for server in servers:
            server.wait()

        def versions() -> list[int]:
            answers = [call(each.port, "POST", "/v1/loops/shop/decide", {"context": {"x": 1}}) for each in servers]
            assert [status for status, _ in answers] == [200] * len(servers)
            for (_, answer), server in zip(answers, servers, strict=True):
                path = f"/v1/loops/shop/events/{answer['event_id']}/reward"
                assert call(server.port, "POST", path, {"reward": float(answer["action"] == "b")})[0] == 200
            return [answer["policy_version"] for _, answer in answers]

        until(lambda: min(versions()) >= 3)
        for server in servers:  # one of them leads
            assert call(server.port, "POST", "/v1/loops/shop/versions/1/run", {})[0] == 200
        rows = PostgresStore(address)
        assert [each.reason for each in rows.swaps(1)].count("by hand") == 3
        last = rows.last_swap(1)
        assert last is not None
        until(lambda: min(versions()) > last.version)  # snapshots go on from there, and all of them follow
        servers[0].kill()  # the first one to start leads, or one of the others does: either way, work goes on
        del servers[0]
        before = max(versions())
        until(lambda: min(versions()) > before)
        rows.close()
    finally:
        for server in servers:
            server.kill()
