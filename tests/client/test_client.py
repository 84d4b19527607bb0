"""The client against a real server, and against servers that fail."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import offsettree
from offsettree.client import AsyncClient, Client, Decision, InProcessClient, ServiceError
from offsettree.exceptions import ParameterError
from tests.service.servers import Server


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with Server("--demo", "--no-visitors", folder=tmp_path_factory.mktemp("demo")) as server:
        yield f"http://127.0.0.1:{server.port}"


def test_decisions_rewards_and_activations_go_to_the_service(address: str) -> None:
    with Client(address, "demo", timeout=20) as shop:
        decision = shop.decide({"segment": "new"}, event_id="one")
        assert shop.decide({"segment": "new"}, event_id="one") == decision
        assert (decision.is_fallback, decision.policy_version) == (False, 1)
        assert shop.reward(decision, 1.0, reward_id="r") == "kept"
        assert shop.reward(decision, 1.0, reward_id="r") == "repeated"
        ranked = shop.decide({}, ["x", "z"], slots=2, defer=True)
        assert {slot.action for slot in ranked.ranking} == {"x", "z"}
        assert shop.activate(ranked) == "activated"
        with pytest.raises(ServiceError, match="slots") as refused:
            shop.decide({}, slots=50)
        assert refused.value.status == 422


def test_batches_are_one_call(address: str) -> None:
    with Client(address, "demo", timeout=20) as shop:
        decisions = shop.decide_many([{"segment": "new"}, {"segment": "loyal"}])
        assert all(isinstance(each, Decision) for each in decisions)
        rewards = {each.event_id: 1.0 for each in decisions if isinstance(each, Decision)}
        assert shop.reward_many(rewards | {"nobody": 1.0}) == dict.fromkeys(rewards, "kept") | {"nobody": "unknown"}


def test_the_async_client_does_the_same(address: str) -> None:
    async def main() -> list[Any]:
        async with AsyncClient(address, "demo", timeout=20) as shop:
            decisions = await asyncio.gather(*(shop.decide({"visits": i}) for i in range(20)))
            return [await shop.reward(decisions[0], 1.0), len({each.event_id for each in decisions})]

    assert asyncio.run(main()) == ["kept", 20]


class Failing(BaseHTTPRequestHandler):
    """Says 503 to the first calls, then answers; remembers the bodies."""

    seen: list[dict[str, Any]]
    failures = 2

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        type(self).seen.append(body)
        failed = len(type(self).seen) <= type(self).failures
        answer = {"event_id": body.get("event_id"), "action": "a", "probability": 0.5, "policy_version": 3}
        data = json.dumps({"error": {"message": "full"}} if failed else answer).encode()
        self.send_response(503 if failed else 200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: Any) -> None:
        return


@pytest.fixture
def failing() -> Iterator[ThreadingHTTPServer]:
    Failing.seen = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Failing)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_retry_has_the_same_event_id(failing: ThreadingHTTPServer) -> None:
    with Client(f"http://127.0.0.1:{failing.server_port}", "shop", retries=2, timeout=20) as shop:
        assert shop.decide({"a": 1}).policy_version == 3
    assert len(Failing.seen) == 3
    assert len({each["event_id"] for each in Failing.seen}) == 1


def test_without_retries_the_fallback_is_taken_or_the_error_raised(failing: ThreadingHTTPServer) -> None:
    address = f"http://127.0.0.1:{failing.server_port}"
    with Client(address, "shop", retries=0, fallback="mail", timeout=20) as shop:
        decision = shop.decide({})
        assert (decision.action, decision.is_fallback, decision.probability) == ("mail", True, 1.0)
    with Client(address, "shop", retries=0, timeout=20) as shop, pytest.raises(ServiceError, match="503"):
        shop.decide({})


def test_nothing_is_sent_for_a_local_fallback_as_the_service_may_have_logged_another_action(
    failing: ThreadingHTTPServer,
) -> None:
    address = f"http://127.0.0.1:{failing.server_port}"
    with Client(address, "shop", retries=0, fallback="mail", timeout=20) as shop:
        decision = shop.decide({})
        assert decision.is_fallback
        assert (shop.reward(decision, 1.0), shop.activate(decision)) == ("not sent", "not sent")

    async def main() -> tuple[str, str]:
        async with AsyncClient(address, "shop", retries=0, timeout=20) as shop:
            return await shop.reward(decision, 1.0), await shop.activate(decision)

    assert asyncio.run(main()) == ("not sent", "not sent")
    assert len(Failing.seen) == 1


def test_decisions_in_process_have_exact_probabilities(tmp_path: Path) -> None:
    X = [[0.0], [1.0]] * 40
    policy = offsettree.OffsetTree().fit(X, ["a", "b"] * 40, reward=[1, 0, 0, 1] * 20, propensity=0.5)
    offsettree.save(policy, tmp_path / "policy.ot")
    shop = InProcessClient(tmp_path / "policy.ot", epsilon=0.4, random_state=0)
    decisions = [shop.decide([1.0]) for _ in range(2000)]
    greedy = str(policy.decide([1.0]))
    share = np.mean([each.action == greedy for each in decisions])
    assert share == pytest.approx(0.8, abs=0.04)
    assert {round(each.probability, 9) for each in decisions} == {0.8, 0.2}
    assert shop.decide([1.0], excluded=["a"]).action == "b"
    with pytest.raises(ParameterError, match="eligible"):
        shop.decide([1.0], excluded=["a", "b"])


@pytest.mark.parametrize("wrong", [{"address": "shop"}, {"retries": -1}, {"timeout": 0}])
def test_wrong_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Client(**({"address": "http://127.0.0.1:1", "loop": "shop"} | wrong))
