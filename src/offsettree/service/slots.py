"""Slots that exclude actions, filled one after another: none takes what a later one cannot do without."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["SlotFilling"]


class SlotFilling:
    """Says which actions a slot may take so that all later slots can still be filled, each by an action of its own.

    An assignment of actions to all open slots is kept, and changed along an augmenting path when a slot takes the
    action of another one.

    `allowed` has the actions of each slot.

    Examples
    --------
    >>> filling = SlotFilling([{"x", "y"}, {"x"}])
    >>> filling.is_possible, filling.choices(0)
    (True, {'y'})
    >>> filling.take(0, "y")
    >>> filling.choices(1)
    {'x'}
    >>> SlotFilling([{"x"}, {"x"}]).is_possible
    False
    """

    def __init__(self, allowed: Sequence[set[str]]) -> None:
        self._allowed = [set(each) for each in allowed]
        self._slot_of: dict[str, int] = {}  # whose action it is in the assignment
        self._taken: set[str] = set()
        self.is_possible = all(self._assign(slot) for slot in range(len(self._allowed)))

    def choices(self, slot: int) -> set[str]:
        """Return the actions that the first open slot may take."""
        mine = next((action for action, owner in self._slot_of.items() if owner == slot), None)
        free = set().union(*self._allowed[slot:]) - self._slot_of.keys() - self._taken
        good = free | ({mine} if mine is not None else set())
        others = {owner: action for action, owner in self._slot_of.items() if owner != slot}
        grown = True
        while grown:  # a slot whose action is taken finds another one, perhaps by way of other slots
            moved = [owner for owner in others if not good.isdisjoint(self._allowed[owner] - self._taken)]
            good |= {others.pop(owner) for owner in moved}
            grown = bool(moved)
        return good & self._allowed[slot]

    def take(self, slot: int, action: str) -> None:
        """Give the first open slot one of its choices."""
        for each in [each for each, owner in self._slot_of.items() if owner == slot]:
            del self._slot_of[each]
        owner = self._slot_of.pop(action, None)
        self._taken.add(action)
        if owner is not None:
            self._assign(owner)

    def _assign(self, slot: int) -> bool:
        """Find an action for a slot; others are moved if they can be."""
        came_from: dict[str, str | None] = {}
        waiting: list[tuple[int, str | None]] = [(slot, None)]
        for owner, before in waiting:
            for action in sorted(self._allowed[owner] - self._taken - came_from.keys()):
                came_from[action] = before
                if action in self._slot_of:
                    waiting.append((self._slot_of[action], action))
                    continue
                step: str | None = action
                while step is not None:  # back along the path: each takes the action that the next one left
                    former = came_from[step]
                    self._slot_of[step] = slot if former is None else self._slot_of[former]
                    step = former
                return True
        return False
