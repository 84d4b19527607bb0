"""What a client gives: a decision, or the error that says why there is none."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from offsettree.exceptions import OffsetTreeError

__all__ = ["Decision", "ServiceError", "new_event_id"]


class ServiceError(OffsetTreeError, RuntimeError):
    """The service refused a call, or could not be reached; `status` is that of its answer, 0 if there was none."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Decision:
    """A decision.

    Parameters
    ----------
    event_id : str
        What rewards go to.
    action : str
        What to do.
    probability : float
        With which it was chosen; 1 for a local fallback.
    policy_version : int
        Of the policy that decided; 0 for a local fallback.
    ranking : tuple of Decision
        With several slots, one per slot; else empty.
    is_fallback : bool
        Whether no answer came in time, so that the action is the caller's own. The service may still have logged an
        action of its own under this id: no reward of this decision is sent to it.
    is_baseline : bool
        Whether the service's model failed, so that the action is the baseline of its settings.
    """

    event_id: str
    action: str
    probability: float
    policy_version: int
    ranking: tuple[Decision, ...] = ()
    is_fallback: bool = False
    is_baseline: bool = False

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Decision:
        """Read an answer of the service."""
        version = answer["policy_version"]
        slots = answer.get("ranking") or []
        ranking = tuple(cls(each["event_id"], each["action"], each["probability"], version) for each in slots)
        return cls(
            answer["event_id"],
            answer["action"],
            answer["probability"],
            version,
            ranking,
            is_baseline=bool(answer.get("baseline")),
        )


def new_event_id() -> str:
    """Return an event id of the caller's own making: with it, a call can be repeated without a second decision."""
    return f"{int(time.time() * 1000):012x}{os.urandom(10).hex()}"
