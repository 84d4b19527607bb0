"""Several processes on one PostgreSQL: they decide side by side, one of them learns, the others follow."""

from __future__ import annotations

from pathlib import Path

import pytest

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
