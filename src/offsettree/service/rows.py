"""A matured row, decoded once for all that read it: the learner, the values, the health and the candidates."""

from __future__ import annotations

from typing import Any

import msgspec

from offsettree.service.records import Decision
from offsettree.service.requests import Action, decode_actions, decode_context

__all__ = ["Exploration", "MaturedRow"]

_PROBABILITIES = msgspec.json.Decoder(list[float | None])


class Exploration(msgspec.Struct, omit_defaults=True):
    """By what a vector of probabilities was made."""

    by: str  # epsilon, epoch-greedy, squarecb, caller, none or fault
    rate: float = 0.0
    gamma: float = 0.0
    hold_back: float = 0.0
    baseline: int = -1  # the position that the held-back share takes; -1: all alike


_EXPLORATION = msgspec.json.Decoder(Exploration)


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
        self.actions: list[Action] = decode_actions(decision.actions)
        self.probabilities = _PROBABILITIES.decode(decision.probabilities)
        self.exploration = _EXPLORATION.decode(decision.exploration)
        self.position = decision.position
        self.greedy = decision.greedy
        self.share = min(max(((decision.reward or 0.0) - low) / (high - low), 0.0), 1.0)
        self.is_complete = None not in self.probabilities  # a caller may have told the probability of its choice only

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

    def largest_weight(self, chosen: int) -> float:
        """Return the weight that such a policy would have if its action had been drawn; infinite if nobody knows."""
        probability = self.probabilities[chosen]
        return 1 / probability if probability else float("inf")

    def held_back(self) -> list[float]:
        """Return the vector of the held-back share."""
        if self.exploration.baseline < 0:
            return [1 / len(self.actions)] * len(self.actions)
        return [float(i == self.exploration.baseline) for i in range(len(self.actions))]

    def position_of(self, action_id: str) -> int:
        """Return where an action is among the eligible ones; -1 if it is not."""
        return next((i for i, action in enumerate(self.actions) if action.id == action_id), -1)

    def taken_by_constant(self, action_id: str) -> int:
        """Return what a constant policy takes: its action, or the first one where that is not eligible."""
        return max(self.position_of(action_id), 0)
