"""The paths of Azure Personalizer, with its field names: its callers change the address, and nothing else."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import msgspec

from offsettree.service.engine import Engine
from offsettree.service.http import Reply, Request
from offsettree.service.loop import Loop, made_id
from offsettree.service.records import AddDecisions
from offsettree.service.requests import Action, DecideRequest, Id, RequestError, RewardRequest, digest_of, encode
from offsettree.service.slots import SlotFilling

__all__ = ["Personalizer"]

MOST_SLOTS = 100
VERSIONS = re.compile(r"v1\.0|v1\.1-preview(\.\d+)?")


class RankAction(msgspec.Struct):
    """A rankable action, as Personalizer has it."""

    id: str
    features: list[Any] = []


class RankRequest(msgspec.Struct, rename="camel"):
    """A rank request, as Personalizer has it."""

    actions: list[RankAction]
    context_features: list[Any] | None = None
    excluded_actions: list[str] | None = None
    event_id: Id | None = None
    defer_activation: bool | None = None


class SlotRequest(msgspec.Struct, rename="camel"):
    """A slot of a multi-slot request."""

    id: Id
    baseline_action: str | None = None
    features: list[Any] | None = None
    excluded_actions: list[str] | None = None


class MultiSlotRequest(msgspec.Struct, rename="camel"):
    """A multi-slot rank request, as Personalizer has it."""

    actions: list[RankAction]
    slots: list[SlotRequest]
    context_features: list[Any] | None = None
    event_id: Id | None = None
    defer_activation: bool | None = None


class ValueRequest(msgspec.Struct):
    """A reward."""

    value: float


class SlotReward(msgspec.Struct, rename="camel"):
    """The reward of a slot."""

    slot_id: str
    value: float


class SlotRewards(msgspec.Struct):
    """The rewards of slots."""

    reward: list[SlotReward]


class Personalizer:
    """The handlers of the paths."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.most = engine.settings.server.max_body

    def operations(self) -> list[tuple[Any, ...]]:
        """Return methods, paths, summaries, handlers and bodies."""
        root = "/personalizer/{api}"
        return [
            ("POST", f"{root}/rank", "Personalizer: rank", self.rank, RankRequest),
            ("POST", root + "/events/{event_id}/reward", "Personalizer: reward", self.reward, ValueRequest),
            ("POST", root + "/events/{event_id}/activate", "Personalizer: activate", self.activate, None),
            ("POST", f"{root}/multislot/rank", "Personalizer: rank slots", self.rank_slots, MultiSlotRequest),
            (
                "POST",
                root + "/multislot/events/{event_id}/reward",
                "Personalizer: reward slots",
                self.reward_slots,
                SlotRewards,
            ),
            (
                "POST",
                root + "/multislot/events/{event_id}/activate",
                "Personalizer: activate slots",
                self.activate,
                None,
            ),
        ]

    def _loop(self, request: Request) -> Loop:
        if not VERSIONS.fullmatch(request.path["api"]):
            raise RequestError(404, "the version of Personalizer's API must be v1.0 or v1.1-preview")
        name = self.engine.settings.personalizer.loop
        if name is None:
            raise RequestError(404, "personalizer.loop in the settings must say which loop these paths are")
        return self.engine.loop(name)

    async def rank(self, request: Request) -> Reply:
        """Rank actions for one slot."""
        loop = self._loop(request)
        asked = msgspec.json.decode(await request.body(self.most), type=RankRequest)
        excluded = asked.excluded_actions or []
        answer = await self.engine.decide_soon(
            loop.record.name,
            DecideRequest(
                context=_raw(_context(asked.context_features)),
                actions=_actions(asked.actions),
                excluded=excluded,
                event_id=asked.event_id,
                defer=bool(asked.defer_activation),
            ),
        )
        row = await asyncio.to_thread(self.engine.store.find, loop.record.id, answer.event_id)
        chances = dict.fromkeys((action.id for action in asked.actions), 0.0)
        if row is not None:
            eligible = [action.id for action in asked.actions if action.id not in excluded]
            stored = msgspec.json.decode(row.probabilities)
            chances |= {name: chance or 0.0 for name, chance in zip(eligible, stored, strict=True)}
        order = sorted(chances, key=lambda name: (name != answer.action, -chances[name]))
        ranking = [{"id": name, "probability": chances[name]} for name in order]
        return Reply(encode({"ranking": ranking, "eventId": answer.event_id, "rewardActionId": answer.action}), 201)

    async def rank_slots(self, request: Request) -> Reply:
        """Rank actions for several slots: one after another, each a decision among those left."""
        loop = self._loop(request)
        body = await request.body(self.most)
        asked = msgspec.json.decode(body, type=MultiSlotRequest)
        if not asked.slots or len({slot.id for slot in asked.slots}) < len(asked.slots):
            raise RequestError(422, "slots must be there, with different ids")
        if len(asked.slots) > MOST_SLOTS:
            raise RequestError(422, f"there must be at most {MOST_SLOTS} slots; got {len(asked.slots):,}")
        now = self.engine.clock()
        event_id = asked.event_id or made_id(now)
        left, rows = list(asked.actions), []
        digest = digest_of(msgspec.to_builtins(asked))  # of all slots: what is left to one depends on others
        size = len(body) * len(asked.slots)  # each slot's row has the whole context, and all actions that are left
        if len(asked.slots) > 1 and size > loop.limits.max_stored:
            raise RequestError(
                422,
                f"{len(asked.slots)} slots with this context and these actions would store about {size:,} bytes; at "
                f"most {loop.limits.max_stored:,} are allowed (max_stored). Ask for fewer slots or actions.",
            )
        every = {action.id for action in asked.actions}
        filling = SlotFilling([every.difference(slot.excluded_actions or []) for slot in asked.slots])
        if not filling.is_possible:
            raise RequestError(422, "there must be a different action for every slot, none that it excludes")
        for place, slot in enumerate(asked.slots):
            possible = filling.choices(place)
            context = _context(asked.context_features) | {"slot": slot.id}
            if slot.features:
                context["slotFeatures"] = slot.features
            question = loop.question(
                DecideRequest(
                    context=_raw(context),
                    actions=_actions([action for action in left if action.id in possible]),
                    event_id=f"{event_id}#{slot.id}",
                    defer=bool(asked.defer_activation),
                    choice=slot.baseline_action if loop.settings.mode == "apprentice" else None,
                )
            )
            rows += loop.rows(question._replace(digest=digest), await loop.choose_soon(question), now).rows
            filling.take(place, rows[-1].action)
            left = [action for action in left if action.id != rows[-1].action]
        stored = await self.engine.writer.submit(AddDecisions(rows))
        loop.answer(stored, digest)
        slots = [{"id": row.event_id.rpartition("#")[2], "rewardActionId": row.action} for row in stored]
        return Reply(encode({"slots": slots, "eventId": event_id}), 201)

    async def reward(self, request: Request) -> Reply:
        """Keep a reward."""
        loop = self._loop(request)
        given = msgspec.json.decode(await request.body(self.most), type=ValueRequest)
        await self.engine.reward_soon(loop.record.name, request.path["event_id"], RewardRequest(reward=given.value))
        return Reply(b"", 204)

    async def reward_slots(self, request: Request) -> Reply:
        """Keep the rewards of slots."""
        loop = self._loop(request)
        given = msgspec.json.decode(await request.body(self.most), type=SlotRewards)
        now = self.engine.clock()
        changes = [
            loop.reward(f"{request.path['event_id']}#{each.slot_id}", RewardRequest(reward=each.value), now)
            for each in given.reward
        ]
        for pending in [self.engine.writer.submit(change) for change in changes]:
            await pending
        return Reply(b"", 204)

    async def activate(self, request: Request) -> Reply:
        """Activate a deferred event; for slots, all of them."""
        status = await self.engine.activate_soon(self._loop(request).record.name, request.path["event_id"])
        if status == "unknown":
            raise RequestError(404, "there must be an event of this id; there is none")
        return Reply(b"", 204)


def _raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(encode(value))


def _actions(actions: list[RankAction]) -> msgspec.Raw:
    return _raw([Action(action.id, action.features or None) for action in actions])


def _context(features: list[Any] | None) -> dict[str, Any]:
    """Return a list of objects as one; a name that comes twice is numbered."""
    context: dict[str, Any] = {}
    for place, part in enumerate(features or []):
        if not isinstance(part, dict):
            raise RequestError(422, "contextFeatures must be a list of objects")
        for name, value in part.items():
            context[f"{name}.{place}" if name in context else name] = value
    return context
