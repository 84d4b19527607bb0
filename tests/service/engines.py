"""Engines on a clock of their own, and what is sent to them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from offsettree.service import Engine, GroupWriter, LoopSettings, Settings
from offsettree.service.records import Decision
from offsettree.service.requests import Answer, DecideRequest, RewardRequest
from tests.service.stores import open_store


class Clock:
    """A time that tests move."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def make_engine(folder: Path, clock: Clock, kind: str = "sqlite", **loop: Any) -> Engine:
    settings: dict[str, Any] = {"actions": ("a", "b", "c"), "waiting_time": 10.0} | loop
    return Engine(Settings({"shop": LoopSettings(**settings)}), GroupWriter(open_store(kind, folder)), clock)


def decide(engine: Engine, context: Any = None, event_id: str | None = None, **request: Any) -> Answer:
    if isinstance(request.get("actions"), list):
        request["actions"] = raw(request["actions"])
    return engine.decide("shop", DecideRequest(context=raw(context or {}), event_id=event_id, **request))


def raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())


def reward(engine: Engine, event_id: str, value: float, **request: Any) -> str:
    return engine.reward("shop", event_id, RewardRequest(reward=value, **request))


def decide_all(engine: Engine, asked: Sequence[tuple[Any, str | None]]) -> list[Answer]:
    requests = [DecideRequest(context=raw(context), event_id=event_id) for context, event_id in asked]
    answers = engine.decide_all("shop", requests)
    assert all(isinstance(answer, Answer) for answer in answers), answers
    return cast("list[Answer]", answers)


def reward_all(engine: Engine, rewards: dict[str, float]) -> None:
    statuses = engine.reward_all("shop", [(each, RewardRequest(reward=value)) for each, value in rewards.items()])
    assert set(statuses) <= {"kept", "late"}


def stored(engine: Engine, event_id: str) -> Decision:
    row = engine.store.find(1, event_id)
    assert row is not None
    return row
