"""The service over HTTP, in process: every operation, keys, limits, and what is refused."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from offsettree.exceptions import ParameterError
from offsettree.service import Engine, GroupWriter, LoopSettings, Settings, SqliteStore
from offsettree.service.app import make_app
from offsettree.service.asking import THREADS
from offsettree.service.candidates import Candidate
from offsettree.service.connections import JoinedWrites
from offsettree.service.http import Gate
from offsettree.service.keys import Keys
from offsettree.service.records import AddVersion, Version
from offsettree.service.requests import Answer, DecideRequest, RequestError
from offsettree.service.settings import KeySettings, PersonalizerSettings, ServerSettings
from offsettree.service.store import StoreError

ACTIONS = ("a", "b", "c")


def client_of(folder: Path, server: ServerSettings | None = None, keys: Keys | None = None, **loop: Any) -> TestClient:
    settings = Settings(
        {"shop": LoopSettings(**({"actions": ACTIONS, "waiting_time": "1h"} | loop)), "other": LoopSettings()},
        server or ServerSettings(),
        PersonalizerSettings("other"),
    )
    engine = Engine(settings, GroupWriter(SqliteStore(folder / "decisions.db")))
    app = make_app(engine, keys or Keys(KeySettings()), learns=False)
    app.state.engine = engine
    return TestClient(app, raise_server_exceptions=False)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with client_of(tmp_path) as opened:
        yield opened


def engine_of(client: TestClient) -> Engine:
    engine: Engine = client.app.state.engine  # type: ignore[attr-defined]
    return engine


def test_a_decision_a_reward_and_the_row_of_both(client: TestClient) -> None:
    answer = client.post("/v1/loops/shop/decide", json={"context": {"age": 3}, "event_id": "e"})
    assert answer.status_code == 200
    assert set(answer.json()) >= {"event_id", "action", "probability", "policy_version"}
    again = client.post("/v1/loops/shop/decide", json={"context": {"age": 3}, "event_id": "e"})
    assert again.json() == answer.json()
    assert client.post("/v1/loops/shop/events/e/reward", json={"reward": 0.5}).json() == {"status": "kept"}
    row = client.get("/v1/loops/shop/events/e").json()
    assert row["context"] == {"age": 3}
    assert row["actions"] == list(ACTIONS)
    assert row["probabilities"] == pytest.approx([1 / 3] * 3)
    assert [each["value"] for each in row["rewards"]] == [0.5]
    assert client.delete("/v1/loops/shop/events/e").json() == {"deleted": 1}
    assert client.get("/v1/loops/shop/events/e").status_code == 404


def test_an_empty_body_asks_for_a_decision_without_a_context(client: TestClient) -> None:
    assert client.post("/v1/loops/shop/decide").json()["action"] in ACTIONS


def test_actions_come_with_the_call_as_ids_or_with_features(client: TestClient) -> None:
    answer = client.post("/v1/loops/other/decide", json={"actions": ["x", "y"], "excluded": ["x"]})
    assert answer.json()["action"] == "y"
    objects = [{"id": "x", "features": {"size": 1}}, {"id": "y"}]
    assert client.post("/v1/loops/other/decide", json={"actions": objects, "slots": 2}).json()["ranking"]
    assert client.post("/v1/loops/shop/decide", json={"actions": None}).json()["action"] in ACTIONS


def test_deferred_decisions_are_activated(client: TestClient) -> None:
    client.post("/v1/loops/shop/decide", json={"event_id": "e", "defer": True})
    assert client.post("/v1/loops/shop/events/e/activate").json() == {"status": "activated"}
    assert client.post("/v1/loops/shop/events/x/activate").status_code == 404


def test_batches_answer_one_by_one(client: TestClient) -> None:
    requests = [{"event_id": "1"}, {"event_id": "2", "excluded": list(ACTIONS)}, {"event_id": "3", "defer": True}]
    answers = client.post("/v1/loops/shop/decide/batch", json={"requests": requests}).json()["answers"]
    assert [answer.get("event_id") for answer in answers] == ["1", None, "3"]
    assert answers[1]["error"]["code"] == 422
    rewards = [{"event_id": "1", "reward": 1}, {"event_id": "9", "reward": 1}, {"event_id": "1"}]
    kept = client.post("/v1/loops/shop/events/reward", json={"rewards": rewards}).json()["answers"]
    assert [each.get("status") for each in kept] == ["kept", "unknown", None]
    done = client.post("/v1/loops/shop/events/activate", json={"event_ids": ["3", "9"]}).json()["answers"]
    assert [each["status"] for each in done] == ["activated", "unknown"]
    stray = client.get("/v1/loops/shop/stray-rewards").json()["rewards"]
    assert [each["event_id"] for each in stray] == ["9"]


@pytest.mark.parametrize(
    ("path", "body", "status", "word"),
    [
        ("/v1/loops/nowhere/decide", "{}", 404, "loop"),
        ("/v1/loops/shop/decide", "{", 400, "JSON"),
        ("/v1/loops/shop/decide", "[]", 422, "object"),
        ("/v1/loops/shop/decide", '{"context": 3}', 422, "context"),
        ("/v1/loops/shop/decide", '{"contxt": {}}', 422, "contxt"),
        ("/v1/loops/shop/decide", '{"context": {"x": NaN}}', 400, "JSON"),
        ("/v1/loops/shop/decide", '{"context": {"x": 1e400}}', 422, "x"),
        ("/v1/loops/shop/decide", '{"context": {"x": 1e200}}', 422, "1e15"),
        ("/v1/loops/shop/decide", '{"context": {"x": ' + "9" * 400 + "}}", 422, "x"),
        ("/v1/loops/shop/decide", '{"context": ' + '{"a":' * 60 + "1" + "}" * 60 + "}", 422, "nest"),
        ("/v1/loops/shop/decide", '{"context": ' + "[" * 200_000, 400, "JSON"),
        ("/v1/loops/shop/decide", '{"event_id": "a#b"}', 422, "event_id"),
        ("/v1/loops/shop/decide", '{"event_id": ""}', 422, "event_id"),
        ("/v1/loops/shop/decide", '{"slots": 9}', 422, "slots"),
        ("/v1/loops/shop/decide", '{"actions": ["x", "x"]}', 422, "different"),
        ("/v1/loops/shop/decide", '{"actions": [{"id": "x", "size": 1}]}', 422, "size"),
        ("/v1/loops/shop/decide", '{"actions": "x"}', 422, "actions"),
        ("/v1/loops/other/decide", "{}", 422, "eligible"),
        ("/v1/loops/shop/events/e/reward", '{"reward": "much"}', 422, "reward"),
        ("/v1/loops/shop/events/e/reward", '{"reward": NaN}', 400, "JSON"),
        ("/v1/loops/shop/events/e/reward", "{}", 422, "reward"),
        ("/v1/loops/shop/events/e/reward", '{"metrics": {"x": 1}}', 422, "reward_formula"),
        ("/v1/loops/shop/versions/9/run", "", 404, "version"),
        ("/v1/loops/shop/versions/x/run", "", 422, "version"),
        ("/v1/loops/shop/versions", "no policy", 422, "policy"),
        ("/v1/nothing", "{}", 404, "openapi"),
    ],
)
def test_what_is_wrong_is_a_clear_4xx(client: TestClient, path: str, body: str, status: int, word: str) -> None:
    answer = client.post(path, content=body)
    assert answer.status_code == status, answer.text
    assert word in answer.json()["error"]["message"]


def test_a_replay_with_another_context_is_a_conflict(client: TestClient) -> None:
    client.post("/v1/loops/shop/decide", json={"event_id": "e", "context": {"age": 1}})
    answer = client.post("/v1/loops/shop/decide", json={"event_id": "e", "context": {"age": 2}})
    assert answer.status_code == 409


def test_a_replay_written_in_another_way_gets_the_logged_answer(client: TestClient) -> None:
    def ask(context: str, actions: str = '["a", "b"]') -> Any:
        body = f'{{"event_id": "e", "context": {context}, "actions": {actions}}}'
        answer = client.post("/v1/loops/shop/decide", content=body)
        return answer.json() if answer.status_code == 200 else answer.status_code

    first = ask('{"age": 1, "tags": [2, {"deep": 3}]}')
    assert first["event_id"] == "e"
    for again in ('{"age": 1.0, "tags": [2, {"deep": 3}]}', '{ "tags":[2.0,{"deep":3e0}],"age":1 }'):
        assert ask(again) == first
    assert ask('{"age": 1, "tags": [2, {"deep": 3}]}', '[{"id": "a"}, {"id": "b"}]') == first
    for other in ('{"age": true, "tags": [2, {"deep": 3}]}', '{"age": 1, "tags": [{"deep": 3}, 2]}', '{"age": "1"}'):
        assert ask(other) == 409
    slots = {"actions": [{"id": each} for each in "xyz"], "slots": [{"id": "s"}], "eventId": "m"}
    path = "/personalizer/v1.1-preview.1/multislot/rank"
    for number in ("1", "1.0"):
        body = json.dumps(slots | {"contextFeatures": [{"age": json.loads(number)}]})
        assert client.post(path, content=body).status_code == 201


def test_huge_bodies_and_batches_are_refused(tmp_path: Path) -> None:
    with client_of(tmp_path, ServerSettings(max_body=2048, max_batch=2)) as client:
        assert client.post("/v1/loops/shop/decide", content=b" " * 3000).status_code == 413
        assert client.post("/v1/loops/shop/decide", content=iter([b" " * 1500] * 2)).status_code == 413
        many: dict[str, Any] = {"requests": [{}] * 3}
        assert client.post("/v1/loops/shop/decide/batch", json=many).status_code == 413


def test_too_many_requests_at_once_are_a_503() -> None:
    gate = Gate(ServerSettings(max_concurrency=2), Keys(KeySettings()))
    gate.n_open = 3
    with pytest.raises(RequestError, match="at once") as refused:
        gate._check({}, "decide")
    assert refused.value.status == 503
    gate._check({}, None)  # health answers at all times


def test_a_store_that_cannot_write_is_a_503_and_the_health_says_so(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(changes: Any) -> Any:
        raise StoreError("the disk is full; nothing was written.")

    monkeypatch.setattr(engine_of(client).store, "apply", full)
    answer = client.post("/v1/loops/shop/decide", json={"event_id": "e"})
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"
    assert client.get("/health/ready").status_code == 503
    assert client.get("/health/live").status_code == 200
    monkeypatch.undo()
    assert client.post("/v1/loops/shop/decide", json={"event_id": "e"}).status_code == 200
    assert client.get("/health/ready").json()["status"] == "ready"


class Stuck:
    """A model that answers when it is let go."""

    is_bounded = False

    def __init__(self) -> None:
        self.go = threading.Event()
        self.asked = 0

    def choose(self, context: Any, actions: Any) -> Any:
        self.asked += 1
        self.go.wait(30)
        return 0, None


def test_a_stuck_model_gives_the_baseline_and_holds_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offsettree.service.asking.LEFT_ALONE", 600.0)
    with client_of(tmp_path, timeout=0.02, baseline="b") as client:
        engine, stuck = engine_of(client), Stuck()
        loop = engine.loops["shop"]
        loop.learning.running = loop.learning.running._replace(decider=stuck)

        async def ask() -> tuple[list[Answer], list[str]]:
            """Ask the loop of the stuck model twelve times and another one as often, all at once."""
            order: list[str] = []

            async def of(name: str, **request: Any) -> Answer:
                answer = await engine.decide_soon(name, DecideRequest(**request))
                order.append(name)
                return answer

            two = msgspec.Raw(b'["x", "y"]')
            asked = [of("shop") for _ in range(12)] + [of("other", actions=two) for _ in range(12)]
            return (await asyncio.gather(*asked))[:12], order

        answers, order = client.portal.call(ask)  # type: ignore[union-attr]
        assert {(each.action, each.baseline, each.probability) for each in answers} == {("b", True, 1.0)}
        assert order == ["other"] * 12 + ["shop"] * 12
        assert loop.last_fault == "time-out"
        asked = stuck.asked
        assert asked <= THREADS
        batch = {"requests": [{"event_id": f"e{i}"} for i in range(50)]}
        answered = client.post("/v1/loops/shop/decide/batch", json=batch).json()["answers"]
        assert {(each["action"], each["baseline"]) for each in answered} == {("b", True)}
        answer = client.post("/v1/loops/shop/decide").json()
        assert (answer["action"], answer["baseline"]) == ("b", True)
        assert "5 times in a row" in str(loop.last_fault)
        assert stuck.asked == asked  # left alone
        assert loop.faults == 63
        assert client.get(f"/v1/loops/shop/events/{answer['event_id']}").json()["exploration"] == {"by": "fault"}
        stuck.go.set()


def test_a_model_that_was_slow_is_asked_again_and_counts_when_it_is_quick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("offsettree.service.asking.LEFT_ALONE", 0.0)
    with client_of(tmp_path, timeout=0.05, baseline="b", epsilon=0.0) as client:
        loop, stuck = engine_of(client).loops["shop"], Stuck()
        loop.learning.running = loop.learning.running._replace(decider=stuck)
        assert client.post("/v1/loops/shop/decide").json()["baseline"] is True
        stuck.go.set()
        for _ in range(100):
            answer = client.post("/v1/loops/shop/decide").json()
            if "baseline" not in answer:
                break
        assert (answer["action"], answer["probability"]) == ("a", 1.0)


def test_a_candidate_that_is_stuck_is_none_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offsettree.service.versions.CANDIDATES_WAIT", 0.02)
    with client_of(tmp_path, waiting_time=0.0) as client:
        engine, stuck = engine_of(client), Stuck()
        learning = engine.loops["shop"].learning
        learning.candidate = Candidate(2, 1, 0, stuck, learning.limits)
        engine.decide_all("shop", [DecideRequest() for _ in range(20)])
        assert client.portal.call(engine.step_soon) == 20  # type: ignore[union-attr]
        assert "TimedOutError" in str(learning.candidate.fault)
        assert not learning.candidate.is_better(0.05)
        assert stuck.asked == 1
        stuck.go.set()


def test_what_a_small_request_may_store_and_compute_is_bounded(client: TestClient) -> None:
    actions = [f"action-{i}" for i in range(200)]
    large = {"context": {"text": "x" * 20_000}, "actions": actions}
    assert client.post("/v1/loops/other/decide", json=large | {"slots": 5}).status_code == 200
    refused = client.post("/v1/loops/other/decide", json=large | {"slots": 100})
    assert refused.status_code == 422
    assert "max_stored" in refused.json()["error"]["message"]
    batch = {"requests": [{"actions": actions, "slots": 100}] * 11}
    assert client.post("/v1/loops/other/decide/batch", json=batch).status_code == 413
    wide = {"context": {f"f{i}": 1 for i in range(1001)}, "actions": [{"id": str(i)} for i in range(1000)]}
    refused = client.post("/v1/loops/other/decide", json=wide)
    assert (refused.status_code, "pairs" in refused.json()["error"]["message"]) == (422, True)
    slots = {
        "contextFeatures": [{"text": "x" * 20_000}],
        "actions": [{"id": each, "features": []} for each in actions],
        "slots": [{"id": f"slot-{i}", "features": [], "baselineAction": "action-0"} for i in range(100)],
    }
    assert client.post("/personalizer/v1.1-preview.3/multislot/rank", json=slots).status_code == 422
    slots["slots"] = slots["slots"][:5]  # type: ignore[index]
    assert client.post("/personalizer/v1.1-preview.3/multislot/rank", json=slots).status_code == 201


def keys_in(folder: Path) -> KeySettings:
    for name in ("d1", "d2", "a1", "a2"):
        (folder / name).write_text(f"{name}-" + "k" * 20 + "\n")
    return KeySettings((str(folder / "d1"), str(folder / "d2")), (str(folder / "a1"), str(folder / "a2")))


def bearer(name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {name}-" + "k" * 20}


def test_a_key_whose_file_is_deleted_is_revoked_and_the_others_still_rotate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("offsettree.service.keys.LOOKED_AT_EVERY", -1.0)
    with client_of(tmp_path, keys=Keys(keys_in(tmp_path))) as client:

        def status(name: str) -> int:
            return int(client.post("/v1/loops/shop/decide", headers=bearer(name)).status_code)

        (tmp_path / "d1").unlink()
        (tmp_path / "a2").write_text("short")  # half-written: the former key stays
        (tmp_path / "d2").write_text("new-" + "k" * 20)
        os.utime(tmp_path / "d2", (1, 1))
        assert [status(name) for name in ("d1", "d2", "new", "a1", "a2")] == [401, 401, 200, 200, 200]
        assert client.post("/v1/loops/shop/decide", headers={"Authorization": "Bearer "}).status_code == 401
        assert "has gone; its key is revoked" in caplog.text
        (tmp_path / "d1").write_text("again-" + "k" * 20)
        assert status("again") == 200


def test_a_revoked_key_does_not_stop_the_next_start_but_a_role_without_any_does(tmp_path: Path) -> None:
    places = keys_in(tmp_path)
    (tmp_path / "d1").unlink()
    keys = Keys(places)
    assert not keys.allows("decide", {b"authorization": b"Bearer "})
    assert keys.allows("decide", {b"authorization": b"Bearer d2-" + b"k" * 20})
    (tmp_path / "d2").unlink()
    with pytest.raises(ParameterError, match=r"the role decide must have a key; there is no file .*d1 or .*d2"):
        Keys(places)


def test_a_browsers_password_does_not_let_other_sites_pages_call(tmp_path: Path) -> None:
    server = ServerSettings(allow_origins=("https://friend.example",))
    password = ("", "d1-" + "k" * 20)
    with client_of(tmp_path, server, Keys(keys_in(tmp_path))) as client:
        for origin, status in (
            ("https://evil.example", 403),
            ("null", 403),
            ("http://testserver", 200),
            ("https://friend.example", 200),
        ):
            answer = client.post("/v1/loops/shop/decide", headers={"origin": origin}, auth=password)
            assert (origin, answer.status_code) == (origin, status)
        with_token = bearer("d1") | {"origin": "https://evil.example"}  # no browser sends it by itself
        assert client.post("/v1/loops/shop/decide", headers=with_token).status_code == 200


def test_keys_are_asked_for_by_role_and_rotate_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = Keys(keys_in(tmp_path))
    with client_of(tmp_path, keys=keys) as client:
        assert client.post("/v1/loops/shop/decide").status_code == 401
        assert client.post("/v1/loops/shop/decide", headers=bearer("x")).status_code == 401
        for name in ("d1", "d2", "a1", "a2"):
            assert client.post("/v1/loops/shop/decide", headers=bearer(name)).status_code == 200
            status = client.get("/v1/loops/shop", headers=bearer(name)).status_code
            assert status == (200 if name.startswith("a") else 401)
        personalizer = {"Ocp-Apim-Subscription-Key": "d1-" + "k" * 20}
        assert client.post("/v1/loops/shop/decide", headers=personalizer).status_code == 200
        assert client.get("/", auth=("", "a1-" + "k" * 20)).status_code == 200
        assert client.get("/").headers["www-authenticate"].startswith("Basic")
        (tmp_path / "d1").write_text("new-" + "k" * 20)
        os.utime(tmp_path / "d1", (1, 1))
        monkeypatch.setattr("offsettree.service.keys.LOOKED_AT_EVERY", -1.0)
        assert client.post("/v1/loops/shop/decide", headers=bearer("new")).status_code == 200
        assert client.post("/v1/loops/shop/decide", headers=bearer("d1")).status_code == 401
        for path in ("/health/live", "/health/ready", "/openapi.json"):
            assert client.get(path).status_code == 200


def test_pages_of_other_sites_may_not_call(client: TestClient) -> None:
    foreign = {"origin": "http://evil.example"}
    assert client.post("/v1/loops/shop/decide", headers=foreign).status_code == 403
    assert client.post("/loops/shop/versions/1/run", headers=foreign).status_code == 403
    assert client.get("/v1/loops", headers={"host": "evil.example"}).status_code == 403
    assert "access-control-allow-origin" not in client.post("/v1/loops/shop/decide").headers


def test_cors_is_on_for_the_origins_of_the_settings_only(tmp_path: Path) -> None:
    with client_of(tmp_path, ServerSettings(allow_origins=("https://shop.example",))) as client:
        answer = client.post("/v1/loops/shop/decide", headers={"origin": "https://shop.example"})
        assert answer.headers["access-control-allow-origin"] == "https://shop.example"
        other = client.post("/v1/loops/shop/decide", headers={"origin": "https://other.example"})
        assert "access-control-allow-origin" not in other.headers


def test_the_document_describes_exactly_the_routes(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    described = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    routes = {
        (method, route.path)
        for route in client.app.routes  # type: ignore[attr-defined]
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }
    pages = {each for each in routes if not re.match(r"/(v1|personalizer|health|metrics)", each[1])}
    assert described == routes - pages
    references = re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document))
    assert set(references) <= set(document["components"]["schemas"])


def test_a_version_is_run_and_rolled_back(client: TestClient) -> None:
    engine = engine_of(client)
    number = engine.loops["shop"].learning.snapshot(engine.clock())
    assert client.post("/v1/loops/shop/versions/1/run").json() == {"policy_version": 1, "former": number}
    assert client.post("/v1/loops/shop/decide").json()["policy_version"] == 1
    assert client.post(f"/loops/shop/versions/{number}/run", follow_redirects=False).status_code == 303
    facts = client.get("/v1/loops/shop/versions").json()
    assert facts["running"] == number
    assert [each["version"] for each in facts["swaps"]][-2:] == [1, number]


def test_the_page_offers_what_was_learned_from_the_log_also_behind_many_snapshots(client: TestClient) -> None:
    engine = engine_of(client)
    learned = engine.writer.write(AddVersion(Version(1, 0, engine.clock(), "learned", 1, "of the log", 0, b"?")))
    for _ in range(40):
        engine.writer.write(AddVersion(Version(1, 0, engine.clock(), "online", 1, "a snapshot", 0, b"?")))
    page = client.get("/").text
    offered = re.findall(r'action="/loops/shop/versions/(\d+)/run"', page)
    assert offered == [str(number) for number in range(learned + 40, learned + 10, -1)] + [str(learned)]


def test_the_page_the_metrics_and_the_facts_are_there(client: TestClient) -> None:
    client.post("/v1/loops/shop/decide", json={"context": {"<script>": "</script><b>"}})
    page = client.get("/loops/shop")
    assert page.status_code == 200
    assert "Is it learning?" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert client.get("/static/uplot.js").status_code == 200
    assert client.get("/static/../app.py").status_code == 404
    metrics = client.get("/metrics").text
    assert 'offsettree_decisions{loop="shop"} 1.0' in metrics
    assert client.get("/v1/loops").json() == {"loops": ["other", "shop"]}
    assert client.get("/v1/loops/shop").json()["decisions"] == 1
    assert client.get("/v1/loops/shop/history").json()["rows"] == []


def test_personalizers_paths_take_and_give_its_field_names(client: TestClient) -> None:
    body = {
        "contextFeatures": [{"user": {"age": 3}}, {"device": "phone"}],
        "actions": [{"id": "x", "features": [{"size": 1}]}, {"id": "y", "features": [{"size": 2}]}, {"id": "z"}],
        "excludedActions": ["z"],
        "eventId": "e",
        "deferActivation": True,
    }
    answer = client.post("/personalizer/v1.0/rank", json=body)
    assert answer.status_code == 201
    ranked = answer.json()
    assert ranked["eventId"] == "e"
    assert ranked["rewardActionId"] == ranked["ranking"][0]["id"] in ("x", "y")
    assert {each["id"]: each["probability"] for each in ranked["ranking"]} == {"x": 0.5, "y": 0.5, "z": 0.0}
    assert client.post("/personalizer/v1.0/rank", json=body).json() == ranked
    assert client.post("/personalizer/v1.0/events/e/activate").status_code == 204
    assert client.post("/personalizer/v1.0/events/e/reward", json={"value": 1.0}).status_code == 204
    assert client.post("/personalizer/v1.0/events/nobody/activate").status_code == 404
    assert client.post("/personalizer/v7/rank", json=body).status_code == 404
    assert client.get("/v1/loops/other/events/e").json()["rewards"][0]["value"] == 1.0


def test_personalizers_slots_are_ranked_and_rewarded(client: TestClient) -> None:
    body = {
        "contextFeatures": [{"age": 3}],
        "actions": [{"id": each, "features": [{"name": each}]} for each in "xyz"],
        "slots": [
            {"id": "top", "features": [{"size": "large"}], "excludedActions": ["z"], "baselineAction": "x"},
            {"id": "side", "baselineAction": "y"},
        ],
        "eventId": "m",
        "deferActivation": True,
    }
    answer = client.post("/personalizer/v1.1-preview.1/multislot/rank", json=body)
    assert answer.status_code == 201
    top, side = answer.json()["slots"]
    assert (top["id"], side["id"]) == ("top", "side")
    assert top["rewardActionId"] in ("x", "y")
    assert side["rewardActionId"] != top["rewardActionId"]
    assert client.post("/personalizer/v1.1-preview.1/multislot/rank", json=body).json() == answer.json()
    assert client.post("/personalizer/v1.1-preview.1/multislot/events/m/activate").status_code == 204
    rewards = {"reward": [{"slotId": "side", "value": 1.0}]}
    assert client.post("/personalizer/v1.1-preview.1/multislot/events/m/reward", json=rewards).status_code == 204
    row = client.get("/v1/loops/other/events/m%23side").json()
    assert row["activated"] is not None
    assert row["rewards"][0]["value"] == 1.0


def test_an_earlier_slot_leaves_a_later_one_what_it_needs(client: TestClient) -> None:
    def ask(excluded: list[str], event_id: str) -> Any:
        slots = [
            {"id": "first"},
            {"id": "second", "excludedActions": ["z"]},
            {"id": "last", "excludedActions": excluded},
        ]
        body = {"actions": [{"id": each} for each in "xyz"], "slots": slots, "eventId": event_id}
        return client.post("/personalizer/v1.1-preview.1/multislot/rank", json=body)

    for number in range(20):
        answer = ask(["y", "z"], f"m{number}")
        assert answer.status_code == 201, answer.text
        assert [slot["rewardActionId"] for slot in answer.json()["slots"]] == ["z", "y", "x"]
    row = client.get("/v1/loops/other/events/m0%23first").json()
    assert [each["id"] if isinstance(each, dict) else each for each in row["actions"]] == ["z"]
    assert row["probability"] == 1.0
    refused = ask(["x", "y", "z"], "none")
    assert refused.status_code == 422
    assert "different action for every slot" in refused.json()["error"]["message"]


def test_an_id_used_for_other_slots_is_refused_and_harms_nobody(client: TestClient) -> None:
    def ask(slots: list[dict[str, Any]], event_id: str = "m") -> int:
        body = {"actions": [{"id": each} for each in "xyz"], "slots": slots, "eventId": event_id}
        return int(client.post("/personalizer/v1.1-preview.1/multislot/rank", json=body).status_code)

    top, side, more, featured = {"id": "top"}, {"id": "side"}, {"id": "more"}, {"id": "side", "features": [1]}
    others: list[list[dict[str, Any]]] = [[top], [more], [more, side], [side, top], [top, side, more], [top, featured]]
    assert ask([top, side]) == 201
    assert ask([top, side]) == 201
    for other in others:
        assert (other, ask(other)) == (other, 409)
    engine = engine_of(client)
    assert [row.event_id for row in engine.store.scan(engine.loop("other").record.id)] == ["m#top", "m#side"]
    assert ask([{"id": "2"}], "n") == 201
    native = {"event_id": "n", "slots": 2, "actions": ["x", "y", "z"]}  # its second slot has the id n#2
    assert client.post("/v1/loops/other/decide", json=native).status_code == 409


def test_settings_are_checked_and_the_environment_writes_over_them(tmp_path: Path) -> None:
    from offsettree.service import read_settings

    file = tmp_path / "loops.toml"
    file.write_text('[loops.My-Shop]\nactions = ["a", "b"]\nwaiting_time = "2h"\n[server]\nport = 9\n')
    settings = read_settings(file, {"OFFSETTREE_LOOPS__MY_SHOP__EPSILON": "0.2", "OFFSETTREE_SERVER__HOST": "::1"})
    assert settings.loops["My-Shop"].epsilon == 0.2
    assert settings.loops["My-Shop"].waiting == 7200
    assert (settings.server.host, settings.server.port) == ("::1", 9)
    for text, word in [
        ("[loops.a]\nepsilon = 2.0", "epsilon"),
        ("[loops.a]\nmod = 1", "mod"),
        ("[loops.a]\nwaiting_time = 'soon'", "duration"),
        ("[loops.a]\nreward_formula = '__import__(1)'", "formula"),
        ("[loops.a]\nactions=['x']\nbaseline='y'", "baseline"),
        ("[loops.'a b']", "name"),
        ("[personalizer]\nloop='x'", "personalizer"),
        ("loops =", "TOML"),
    ]:
        file.write_text(text)
        with pytest.raises(ParameterError, match=word):
            read_settings(file)


def test_without_keys_only_loopback_is_listened_on(tmp_path: Path) -> None:
    from offsettree.service.server import check_address

    for host in ("127.0.0.1", "::1", "localhost"):
        check_address(host, Keys(KeySettings()))
    for host in ("0.0.0.0", "192.168.1.2", "::", "example.org"):  # noqa: S104 - refused
        with pytest.raises(ParameterError, match="loopback"):
            check_address(host, Keys(KeySettings()))
        check_address(host, Keys(keys_in(tmp_path)))
    (tmp_path / "a1").write_text("short")
    with pytest.raises(ParameterError, match=r"16 characters.*a1") as refused:
        Keys(KeySettings((str(tmp_path / "d1"),), (str(tmp_path / "a1"),)))
    assert "short" not in str(refused.value)


def test_log_lines_are_json() -> None:
    import logging

    from offsettree.service.server import JsonLines

    record = logging.makeLogRecord({"msg": "swapped %d", "args": (3,), "levelname": "INFO", "loop": "shop"})
    line = msgspec.json.decode(JsonLines().format(record))
    assert (line["message"], line["level"], line["loop"]) == ("swapped 3", "info", "shop")


@pytest.mark.parametrize("wrong", ["a\0b", "a\x1f", "\x7f", "x" * 258])
def test_an_id_that_no_store_can_keep_is_refused_on_every_path(wrong: str, client: TestClient) -> None:
    engine, asked = engine_of(client), quote(wrong)
    seen: list[Any] = []
    apply = engine.store.apply
    engine.store.apply = lambda changes: seen.extend(changes) or apply(changes)  # type: ignore[func-returns-value, method-assign]
    event, azure = f"/v1/loops/shop/events/{asked}", "/personalizer/v1.0"
    for path, body in (
        (f"{event}/reward", {"reward": 1}),
        (f"{event}/activate", {}),
        (f"{azure}/events/{asked}/reward", {"value": 1}),
        (f"{azure}/events/{asked}/activate", {}),
        (f"{azure}/multislot/events/{asked}/reward", {"reward": [{"slotId": "s", "value": 1}]}),
        (f"{azure}/multislot/events/e/reward", {"reward": [{"slotId": wrong, "value": 1}]}),
        (f"{azure}/multislot/events/{asked}/activate", {}),
    ):
        assert (path, client.post(path, json=body).status_code) == (path, 422)
    answers = client.post("/v1/loops/shop/events/activate", json={"event_ids": [wrong, "e"]}).json()["answers"]
    assert (answers[0]["error"]["code"], answers[1]) == (422, {"status": "unknown"})
    batch = client.post("/v1/loops/shop/events/reward", json={"rewards": [{"event_id": wrong, "reward": 1}]})
    assert batch.status_code == 422 or batch.json()["answers"][0]["error"]["code"] == 422
    assert [getattr(each, "event_id", None) for each in seen] == ["e"]


class Recorded:
    """A transport that notes what is done to it."""

    def __init__(self) -> None:
        self.done: list[Any] = []

    def write(self, data: bytes) -> None:
        self.done.append(data)

    def close(self) -> None:
        self.done.append("closed")

    def is_closing(self) -> bool:
        return "closed" in self.done


def test_what_is_written_in_one_turn_is_sent_at_once_in_its_order() -> None:
    async def write() -> list[Any]:
        recorded = Recorded()
        joined = JoinedWrites(recorded, asyncio.get_running_loop())  # type: ignore[arg-type]
        joined.write(b"head ")
        joined.write(b"body")
        assert recorded.done == []
        await asyncio.sleep(0)
        joined.write(b"next")
        joined.close()
        joined.write(b"lost")
        await asyncio.sleep(0)
        return recorded.done

    assert asyncio.run(write()) == [b"head body", b"next", "closed"]


def test_direct_paths_answer_as_others_do_with_origins_and_methods(tmp_path: Path) -> None:
    with client_of(tmp_path, ServerSettings(allow_origins=("http://shop.example",))) as client:
        page = {"origin": "http://shop.example", "host": "localhost"}
        for path in ("/v1/loops/shop/decide", "/v1/loops/shop/events/e/reward"):
            answer = client.post(path, json={"reward": 1} if "reward" in path else {}, headers=page)
            assert answer.status_code == 200
            assert answer.headers["access-control-allow-origin"] == "http://shop.example"
        asked = page | {"access-control-request-method": "POST"}
        assert client.options("/v1/loops/shop/decide", headers=asked).status_code == 200
        assert client.get("/v1/loops/shop/decide").status_code == 405
        assert client.post("/v1/loops/unknown/decide").status_code == 404
        assert client.post("/v1/loops/shop/decide", headers={"origin": "http://evil.example"}).status_code == 403
