"""Bodies of requests and answers, as msgspec reads and writes them."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Annotated, Any

import msgspec
from msgspec import Meta

__all__ = [
    "LEAST_PROBABILITY",
    "LONGEST_ID",
    "Action",
    "Answer",
    "DecideRequest",
    "RequestError",
    "RewardRequest",
    "Slot",
    "check_id",
    "decode_actions",
    "decode_context",
    "digest_of",
    "encode",
]

LONGEST_ID = 257  # an event's and a slot's, with a # between them
_STORED_ID = re.compile(rf"[^\x00-\x1f\x7f\ud800-\udfff]{{1,{LONGEST_ID}}}")
Id = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[^#/\x00-\x1f\x7f\ud800-\udfff]+$")]
ActionId = Annotated[str, Meta(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f\ud800-\udfff]+$")]
LEAST_PROBABILITY = 1e-6  # of a choice: its weight is the inverse
Probability = Annotated[float, Meta(ge=LEAST_PROBABILITY, le=1)]


EMPTY, NULL = msgspec.Raw(b"{}"), msgspec.Raw(b"null")


class RequestError(Exception):
    """What a caller did wrong, with the status of the answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Action(msgspec.Struct, forbid_unknown_fields=True):
    """An eligible action: its id, and features if it has any."""

    id: ActionId
    features: dict[str, Any] | list[Any] | None = None


class DecideRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a decision is asked for; `choice` is the caller's own, in apprentice mode."""

    context: msgspec.Raw = msgspec.field(default_factory=lambda: EMPTY)
    actions: msgspec.Raw = msgspec.field(default_factory=lambda: NULL)  # a list of ids or of objects
    excluded: list[ActionId] = []
    event_id: Id | None = None
    defer: bool = False
    slots: Annotated[int, Meta(ge=1, le=100)] = 1
    customer_id: ActionId | None = None
    choice: ActionId | None = None
    choice_probability: Probability | None = None
    choice_probabilities: dict[str, Annotated[float, Meta(ge=0, le=1)]] | None = None


class RewardRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A reward: a number, or named metrics; with an id, it is kept once however often it is sent."""

    reward: float | None = None
    metrics: dict[str, float] | None = None
    reward_id: Id | None = None
    event_id: str | None = None  # in batches


class Slot(msgspec.Struct):
    """One place of a ranking, with the id that its own rewards go to."""

    event_id: str
    action: str
    probability: float


class Answer(msgspec.Struct, omit_defaults=True):
    """A decision. `baseline` says that a fault or a time-out made the service fall back."""

    event_id: str
    action: str
    probability: float
    policy_version: int
    mode: str
    ranking: list[Slot] | None = None
    baseline: bool = False


def check_id(value: str, name: str = "event_id") -> str:
    """Return an id of a path or a batch, which may be that of a slot; refuse what no store could keep."""
    if not _STORED_ID.fullmatch(value):
        raise RequestError(422, f"{name} must have 1 to {LONGEST_ID} printable characters")
    return value


_CONTEXT = msgspec.json.Decoder(dict[str, Any])
_IDS = msgspec.json.Decoder(list[ActionId])
_OBJECTS = msgspec.json.Decoder(list[Action])
_ENCODER = msgspec.json.Encoder()
_SORTED = msgspec.json.Encoder(order="deterministic")
# What a float without a fraction looks like; a word may look like it, too.
_MAYBE_WHOLE = re.compile(rb"\d(?:\.0(?!\d)|e\+?\d)")


def decode_context(text: bytes | str | msgspec.Raw) -> dict[str, Any]:
    """Read a context."""
    try:
        return _CONTEXT.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise RequestError(422, f"context must be a JSON object: {error}") from None


def decode_actions(text: bytes | str | msgspec.Raw) -> list[Action]:
    """Read actions: all ids, or all objects."""
    try:
        try:
            return [Action(each) for each in _IDS.decode(text)]
        except msgspec.ValidationError:
            return _OBJECTS.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise RequestError(
            422, f"actions must be a list of ids, or of objects with an id and perhaps features: {error}"
        ) from None


def encode(value: Any) -> bytes:
    """Write JSON."""
    return _ENCODER.encode(value)


def digest_of(value: Any) -> bytes:
    """Return a digest of a JSON value, whatever way it was written: the order of names, 1 or 1.0.

    Examples
    --------
    >>> digest_of({"a": 1, "b": [2.5]}) == digest_of({"b": [2.5], "a": 1.0}), digest_of([1]) == digest_of([True])
    (True, False)
    """
    text = _SORTED.encode(value)
    if _MAYBE_WHOLE.search(text):
        text = _SORTED.encode(_plainest(value))
    return blake2b(text, digest_size=8).digest()


def _plainest(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plainest(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plainest(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
