"""What a store keeps: decisions, rewards and versions of policies; and the changes that it is asked to make."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

__all__ = [
    "Activate",
    "AddDecisions",
    "AddReward",
    "AddVersion",
    "Decision",
    "Delete",
    "EnsureLoop",
    "LoopRecord",
    "PutState",
    "RewardRecord",
    "Settle",
    "Swap",
    "SwapRecord",
    "Version",
]


class LoopRecord(msgspec.Struct, frozen=True):
    """A loop: its number in the store, and the secret that its sampler is seeded with."""

    id: int
    name: str
    secret: bytes
    created: float


class Decision(msgspec.Struct):
    """One decision's row. Texts of contexts, actions and probabilities are JSON, as they came or were drawn from."""

    loop: int
    event_id: str
    time: float
    context: str
    actions: str  # the eligible ones: a list of ids, or of objects with an id and features
    probabilities: str  # of the eligible actions, in their order
    position: int  # of the action among the eligible ones
    action: str
    probability: float
    version: int
    exploration: str  # by what the vector was made, as JSON
    mode: str
    greedy: int  # position of the policy's own choice; -1 if it had none
    count: int  # the explorer's counter at this decision
    digest: bytes = b""  # of the request, to notice a repeated id with another request
    customer: str | None = None
    due: float | None = None  # when it matures; None until it is activated
    activated: float | None = None
    seq: int = 0
    matured: int | None = None  # numbered in the order in which rows matured, from 1 on
    reward: float | None = None
    n_rewards: int = 0


class RewardRecord(msgspec.Struct):
    """One reward as it came, also where its event is unknown or its time is over."""

    loop: int
    event_id: str
    time: float
    value: float
    metrics: str | None
    reward_id: str | None
    status: str  # kept, late or unknown


class Version(msgspec.Struct):
    """A version of a loop's policy; `data` is its file, or the learner's state."""

    loop: int
    version: int
    created: float
    kind: str  # online, learned or given
    parent: int | None
    note: str
    trained_to: int  # the last matured row that it has learned from
    data: bytes = b""


class SwapRecord(msgspec.Struct, frozen=True):
    """The moment at which a version began to decide, and why."""

    time: float
    version: int
    reason: str
    seq: int = 0  # in the store, growing


class EnsureLoop(msgspec.Struct):
    """Find a loop by name, or make it with this secret; the answer is a `LoopRecord`."""

    name: str
    secret: bytes
    time: float


class AddDecisions(msgspec.Struct):
    """Add the rows of one call, all or none. The answer is the rows as they are stored, perhaps by a first call."""

    rows: list[Decision]


class Activate(msgspec.Struct):
    """Start the waiting time of a deferred decision. The answer: activated, active (already) or unknown."""

    loop: int
    event_id: str
    time: float
    waiting: float


class AddReward(msgspec.Struct):
    """Keep a reward. The answer: kept, late, unknown, or repeated if its id was there already."""

    loop: int
    event_id: str
    time: float
    value: float
    metrics: str | None = None
    reward_id: str | None = None


class Settle(msgspec.Struct):
    """Give rows whose waiting time is over their final reward. The answer is those rows, in their new order.

    `combine` makes one reward of those that came in time, in their order; None stands for the default.
    """

    loop: int
    now: float
    limit: int
    combine: Callable[[list[float]], float]


class AddVersion(msgspec.Struct):
    """Add a version; the answer is its number, one more than the last if `version.version` is 0.

    `unless` is a reason not to, for processes that start at once: "any" version is there, or one of the "same" kind and
    data. Then the answer is the number of that one.
    """

    version: Version
    unless: str | None = None


class PutState(msgspec.Struct):
    """Keep some bytes under a name."""

    loop: int
    key: str
    value: bytes


class Swap(msgspec.Struct):
    """Let a version decide from now on. The answer is the swap's number in the store.

    With `after`, only if that is the number of the last swap, 0 for none; else nothing is done, and the answer is 0:
    another process has swapped meanwhile. `keep` returns the state that goes with the swap of a number; it is kept in
    the same transaction.
    """

    loop: int
    swap: SwapRecord
    after: int | None = None
    keep: Callable[[int], PutState] | None = None


class Delete(msgspec.Struct):
    """Delete events with their rewards: one, all of a customer, or all before a time. The answer is how many."""

    loop: int
    event_id: str | None = None
    customer: str | None = None
    before: float | None = None
