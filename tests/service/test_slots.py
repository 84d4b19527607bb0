"""Slots that exclude actions: the choices are exactly those that leave every later slot an action."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from offsettree.service.slots import SlotFilling

ALLOWED = st.lists(st.sets(st.sampled_from("abcde")), min_size=1, max_size=4)


def fillings(allowed: list[set[str]]) -> list[tuple[str, ...]]:
    """Return all ways to fill the slots, by trying."""
    ways = permutations("abcde", len(allowed))
    return [way for way in ways if all(action in may for action, may in zip(way, allowed, strict=True))]


@given(ALLOWED, st.randoms(use_true_random=False))
def test_choices_are_those_of_all_ways_to_fill_the_slots(allowed: list[set[str]], random: object) -> None:
    filling, ways = SlotFilling(allowed), fillings(allowed)
    assert filling.is_possible == bool(ways)
    for slot in range(len(allowed) if ways else 0):
        choices = filling.choices(slot)
        assert choices == {way[slot] for way in ways}
        action = random.choice(sorted(choices))  # type: ignore[attr-defined]
        filling.take(slot, action)
        ways = [way for way in ways if way[slot] == action]
