"""A matured row, decoded once for all that read it: the learner, the values, the health and the candidates."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from offsettree.service.records import Decision
from offsettree.service.requests import Action, decode_actions, decode_context

__all__ = ["Exploration", "MaturedRow"]

LONGEST_KEPT = 2000  # characters of actions that are read once for many rows
_PROBABILITIES = msgspec.json.Decoder(list[float | None])


class Exploration(msgspec.Struct, omit_defaults=True):
    """By what a vector of probabilities was made."""

    by: str  # epsilon, epoch-greedy, squarecb, caller, none or fault
    rate: float = 0.0
    gamma: float = 0.0
    hold_back: float = 0.0
    baseline: int = -1  # the position that the held-back share takes; -1: all alike
    slot: int = 0  # of several, from 0 on


_EXPLORATION = msgspec.json.Decoder(Exploration)


@lru_cache(maxsize=256)
def _exploration(text: str) -> Exploration:
    """Read by what a vector was made: mostly as in the row before; nobody changes it."""
    return _EXPLORATION.decode(text)


class _Eligible(NamedTuple):
    """Actions, and where each id is among them."""

    actions: list[Action]
    places: dict[str, int]


def _read(text: str) -> _Eligible:
    actions = decode_actions(text)
    return _Eligible(actions, {action.id: place for place, action in enumerate(actions)})


_known = lru_cache(maxsize=256)(_read)


def _eligible(text: str) -> _Eligible:
    """Read actions, which are mostly those of the row before; nobody changes them."""
    return _known(text) if len(text) <= LONGEST_KEPT else _read(text)


class MaturedRow:
    """A decision with its final reward.

    Parameters
    ----------
    decision : Decision
        As it is stored.
    reward_range : (float, float)
        The smallest and the largest reward: `share` is the reward within it, from 0 to 1.
    """

    def __init__(self, decision: Decision, reward_range: tuple[float, float]) -> None:
        low, high = reward_range
        self.decision = decision
        self.context: dict[str, Any] = decode_context(decision.context)
        self.actions, self._places = _eligible(decision.actions)
        self.probabilities = _PROBABILITIES.decode(decision.probabilities)
        self.exploration = _exploration(decision.exploration)
        self.position = decision.position
        self.greedy = decision.greedy
        self.share = min(max(((decision.reward or 0.0) - low) / (high - low), 0.0), 1.0)
        self.is_complete = None not in self.probabilities  # a caller may have told the probability of its choice only

    def checked(self) -> MaturedRow:
        """Return the row if its action and probabilities can be used."""
        if not (0 <= self.position < len(self.actions) == len(self.probabilities) and self.decision.probability > 0):
            raise ValueError("a row must have a probability above 0 for one of its actions")
        return self

    @property
    def is_fault(self) -> bool:
        """Whether the service fell back: such a row is no sample of the policy."""
        return self.exploration.by == "fault"

    @property
    def action(self) -> Action:
        """The action taken."""
        return self.actions[self.position]

    def weight(self, chosen: int) -> float:
        """Return the weight of a policy that takes one action surely."""
        return 1 / self.decision.probability if chosen == self.position else 0.0

    def held_back_weight(self) -> float:
        """Return the weight of the held-back share's policy."""
        place = self.exploration.baseline
        chance = 1 / len(self.actions) if place < 0 else float(place == self.position)
        return chance / self.decision.probability

    def largest_weights(self) -> tuple[float, float, float]:
        """Return the most that weights of the greedy action, of the held-back policy and of any action could be.

        By how the vector was made, not by the vector: the greedy action has at least its equal share of what is not
        held back, every action at least its share of the uniform exploration.
        """
        n, made = len(self.actions), self.exploration
        if made.by == "caller" or made.slot > 0:
            return math.inf, math.inf, math.inf
        left = 1 - made.hold_back
        greedy = n / left if left > 0 else math.inf
        any_action = n / (left * made.rate) if left * made.rate > 0 else math.inf
        held = 1 / made.hold_back if made.hold_back > 0 else any_action
        return greedy, held, any_action

    def position_of(self, action_id: str) -> int:
        """Return where an action is among the eligible ones; -1 if it is not."""
        return self._places.get(action_id, -1)

    def taken_by_constant(self, action_id: str) -> int:
        """Return what a constant policy takes: its action, or the first one where that is not eligible."""
        return max(self.position_of(action_id), 0)
