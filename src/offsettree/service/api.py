"""The operations of the API: what each takes and gives, in one table that makes both the routes and the document."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from offsettree.service.engine import Engine
from offsettree.service.facts import loop_facts, version_facts
from offsettree.service.http import Done, Handler, Reply, Request, Start, Streamed
from offsettree.service.requests import (
    LONGEST_ID,
    Answer,
    DecideRequest,
    RequestError,
    RewardRequest,
    check_id,
    encode,
)

__all__ = ["Api", "Operation"]

_DECIDE = msgspec.json.Decoder(DecideRequest)
_REWARD = msgspec.json.Decoder(RewardRequest)


class Batch(msgspec.Struct, forbid_unknown_fields=True):
    """Several decisions."""

    requests: list[DecideRequest]


class RewardBatch(msgspec.Struct, forbid_unknown_fields=True):
    """Several rewards, each with its event_id."""

    rewards: list[RewardRequest]


class ActivationBatch(msgspec.Struct, forbid_unknown_fields=True):
    """Several activations."""

    event_ids: list[str]


class Status(msgspec.Struct):
    """What became of a reward or an activation."""

    status: str


class Operation(msgspec.Struct):
    """One operation: method and path, who may call it, and what it takes and gives."""

    method: str
    path: str
    role: str | None
    summary: str
    handler: Handler
    takes: Any = None
    gives: Any = None
    query: dict[str, str] = {}
    kind: str = "application/json"


class Api:
    """The handlers."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.limits = engine.settings.server

    def operations(self) -> list[Operation]:
        """Return the table; the paths that are called most come first."""
        loop, event = "/v1/loops/{loop}", "/v1/loops/{loop}/events"
        rows: list[tuple[Any, ...]] = [
            ("POST", f"{loop}/decide", "decide", "Decide, once per event_id", self.decide, DecideRequest, Answer),
            ("POST", event + "/{event_id}/reward", "decide", "Keep a reward", self.reward, RewardRequest, Status),
            (
                "POST",
                event + "/{event_id}/activate",
                "decide",
                "Activate a deferred decision",
                self.activate,
                None,
                Status,
            ),
            ("POST", f"{loop}/decide/batch", "decide", "Decide for many", self.decide_batch, Batch),
            ("POST", f"{event}/reward", "decide", "Keep many rewards", self.reward_batch, RewardBatch),
            ("POST", f"{event}/activate", "decide", "Activate many decisions", self.activate_batch, ActivationBatch),
            ("GET", "/v1/loops", "admin", "All loops", self.show_loops),
            ("GET", loop, "admin", "A loop: is it learning?", self.show_loop),
            ("GET", event + "/{event_id}", "admin", "A decision with its rewards", self.show_event),
            ("DELETE", event + "/{event_id}", "admin", "Delete an event with its rewards", self.delete_event),
            ("DELETE", loop + "/customers/{customer_id}", "admin", "Delete a customer's events", self.delete_customer),
            ("GET", f"{loop}/stray-rewards", "admin", "Rewards that were late or of unknown events", self.show_stray),
            ("GET", f"{loop}/versions", "admin", "All versions", self.show_versions),
            (
                "POST",
                loop + "/versions/{version}/run",
                "admin",
                "Let a version decide: promotion, or rollback",
                self.run,
            ),
        ]
        return [Operation(*row) for row in rows]

    # Deciding

    async def decide(self, request: Request) -> Reply:
        """Decide."""
        body = await request.body(self.limits.max_body)
        answer = await self.engine.decide_soon(request.path["loop"], _DECIDE.decode(body or b"{}"))
        return Reply(encode(answer))

    def decide_at_once(self, loop: str) -> Start:
        """Return what decides for a loop without a task per call."""
        engine, most = self.engine, self.limits.max_body

        def start(body: bytes, done: Done) -> None:
            if len(body) > most:
                raise RequestError(413, f"a body must have at most {most:,} bytes; got {len(body):,}")

            def told(answer: Answer | Exception) -> None:
                done(answer if isinstance(answer, Exception) else Reply(encode(answer)))

            engine.decide_then(loop, _DECIDE.decode(body or b"{}"), told)

        return start

    async def decide_batch(self, request: Request) -> Reply:
        """Decide for many."""
        batch = msgspec.json.decode(await request.body(self.limits.max_body), type=Batch)
        self._check_size(batch.requests)
        if (n_rows := sum(each.slots for each in batch.requests)) > self.limits.max_batch:
            raise RequestError(413, f"a batch must have at most {self.limits.max_batch:,} slots; got {n_rows:,}")
        answers = await asyncio.to_thread(self.engine.decide_all, request.path["loop"], batch.requests)
        return Reply(encode({"answers": list(map(_answer, answers))}))

    async def reward(self, request: Request) -> Reply:
        """Keep a reward."""
        body = await request.body(self.limits.max_body)
        status = await self.engine.reward_soon(request.path["loop"], _id(request, "event_id"), _REWARD.decode(body))
        return Reply(encode(Status(status)))

    async def reward_batch(self, request: Request) -> Reply:
        """Keep many rewards."""
        batch = msgspec.json.decode(await request.body(self.limits.max_body), type=RewardBatch)
        self._check_size(batch.rewards)
        if any(not each.event_id or len(each.event_id) > LONGEST_ID for each in batch.rewards):
            raise RequestError(422, f"every reward of a batch must have an event_id of at most {LONGEST_ID} characters")
        rewards = [(each.event_id or "", each) for each in batch.rewards]
        statuses = await asyncio.to_thread(self.engine.reward_all, request.path["loop"], rewards)
        return Reply(encode({"answers": list(map(_answer, statuses))}))

    async def activate(self, request: Request) -> Reply:
        """Activate a deferred decision."""
        status = await self.engine.activate_soon(request.path["loop"], _id(request, "event_id"))
        return Reply(encode(Status(status)), 404 if status == "unknown" else 200)

    async def activate_batch(self, request: Request) -> Reply:
        """Activate many decisions."""
        batch = msgspec.json.decode(await request.body(self.limits.max_body), type=ActivationBatch)
        self._check_size(batch.event_ids)
        statuses = await asyncio.to_thread(self.engine.activate_all, request.path["loop"], batch.event_ids)
        return Reply(encode({"answers": list(map(_answer, statuses))}))

    def _check_size(self, batch: list[Any]) -> None:
        if len(batch) > self.limits.max_batch:
            raise RequestError(413, f"a batch must have at most {self.limits.max_batch:,} entries; got {len(batch):,}")

    # Looking at it, and changing it

    async def show_loops(self, request: Request) -> Reply:
        """Return the names of all loops."""
        return Reply(encode({"loops": sorted(self.engine.loops)}))

    async def show_loop(self, request: Request) -> Reply:
        """Return what is known of a loop."""
        loop = self.engine.loop(request.path["loop"])
        return Reply(encode(await asyncio.to_thread(loop_facts, self.engine, loop)))

    async def show_event(self, request: Request) -> Reply:
        """Return a decision's row."""
        loop, event_id = self.engine.loop(request.path["loop"]), _id(request, "event_id")
        row = await asyncio.to_thread(self.engine.store.find, loop.record.id, event_id)
        if row is None:
            raise RequestError(404, f"there must be an event {event_id!r:.140} in this loop; there is none")
        rewards = await asyncio.to_thread(self.engine.store.rewards, loop.record.id, event_id)
        facts = msgspec.structs.asdict(row)
        for name in ("context", "actions", "probabilities", "exploration"):
            facts[name] = msgspec.Raw(facts[name].encode())
        for name in ("digest", "loop", "seq"):
            del facts[name]
        return Reply(encode(facts | {"rewards": rewards}))

    async def delete_event(self, request: Request) -> Reply:
        """Delete an event."""
        deleted = await asyncio.to_thread(self.engine.delete, request.path["loop"], event_id=_id(request, "event_id"))
        return Reply(encode({"deleted": deleted}))

    async def delete_customer(self, request: Request) -> Reply:
        """Delete all events of a customer."""
        deleted = await asyncio.to_thread(
            self.engine.delete, request.path["loop"], customer=_id(request, "customer_id")
        )
        return Reply(encode({"deleted": deleted}))

    async def show_stray(self, request: Request) -> Reply:
        """Return the latest rewards that count nowhere."""
        loop = self.engine.loop(request.path["loop"])
        rewards = await asyncio.to_thread(self.engine.store.stray_rewards, loop.record.id, 1000)
        return Reply(encode({"rewards": rewards}))

    async def show_versions(self, request: Request) -> Reply:
        """Return all versions."""
        loop = self.engine.loop(request.path["loop"])
        return Reply(encode(await asyncio.to_thread(version_facts, self.engine, loop)))

    async def run(self, request: Request) -> Reply | Streamed:
        """Let a version decide from now on."""
        text = request.path["version"]
        if not (text.isascii() and text.isdigit()) or len(text) > 15:
            raise RequestError(422, f"version must be a whole number; got {text!r:.40}")
        loop = self.engine.loop(request.path["loop"])
        if int(text) not in {
            each.version for each in await asyncio.to_thread(self.engine.store.versions, loop.record.id)
        }:
            raise RequestError(404, f"there must be a version {text} of this loop; there is none")
        former = await asyncio.to_thread(self.engine.swap, request.path["loop"], int(text))
        return Reply(encode({"policy_version": int(text), "former": former}))


def _id(request: Request, name: str) -> str:
    """Return an id of the path."""
    return check_id(request.path[name], name)


def _answer(each: Any) -> Any:
    """Return one answer of a batch."""
    if isinstance(each, RequestError):
        return {"error": {"code": each.status, "message": each.message}}
    if isinstance(each, Exception):
        return {"error": {"code": 503, "message": str(each)}}
    return {"status": each} if isinstance(each, str) else each
