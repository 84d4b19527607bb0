"""The gain over all constants at once is what one bettor per constant would say."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from offsettree.service.constants import ConstantGains
from offsettree.service.records import Decision
from offsettree.service.requests import encode
from offsettree.service.rows import MaturedRow
from offsettree.service.settings import LoopSettings
from offsettree.service.values import Limits, gain

LIMITS = Limits.of(LoopSettings(actions=("a", "b", "c", "d"), epsilon=0.4))
LEVEL = 0.95


def rows_of(random: np.random.Generator, n: int, sets: list[str], best: str = "") -> list[MaturedRow]:
    made = []
    for number in range(n):
        actions = list(sets[random.integers(len(sets))])
        greedy = int(random.integers(len(actions)))
        p = np.full(len(actions), 0.4 / len(actions))
        p[greedy] += 0.6
        position = int(random.choice(len(actions), p=p))
        chance = 0.9 if actions[position] == best else 0.3
        decision = Decision(
            1, f"e{number}", 0.0, "{}", encode(actions).decode(), encode(p.tolist()).decode(), position,
            actions[position], float(p[position]), 1, '{"by":"epsilon","rate":0.4}', "explore", greedy, 1,
            matured=number + 1, reward=float(random.random() < chance),
        )  # fmt: skip
        made.append(MaturedRow(decision, (0.0, 1.0)))
    return made


@pytest.mark.parametrize("sets", [["abcd"], ["abcd", "bcd", "ca", "d"], ["ab", "ab", "ab", "ab", "ab", "abcd"]])
def test_the_lower_end_is_the_least_of_those_over_each_constant(sets: list[str]) -> None:
    rows = rows_of(np.random.default_rng(0), 700, sets)
    gains = ConstantGains(LIMITS.wealth("any_action"))
    for row in rows:
        gains.add(row, 0.4)
    each = {name: LIMITS.wealth("any_action") for name in "abcd"}
    for name, wealth in each.items():
        first = next(i for i, row in enumerate(rows) if row.position_of(name) >= 0)
        wealth.add(np.array([gain(row, row.greedy, row.taken_by_constant(name), 0.4) for row in rows[first:]]))
    assert gains.lower_end(LEVEL) == min(wealth.ends(LEVEL)[0] for wealth in each.values())


def test_a_restart_changes_nothing_and_a_policy_below_one_constant_is_not_shown_better() -> None:
    rows = rows_of(np.random.default_rng(1), 2000, ["abcd"], best="c")
    straight, halves = (ConstantGains(LIMITS.wealth("any_action")) for _ in range(2))
    for number, row in enumerate(rows):
        straight.add(row, 0.5)
        halves.add(row, 0.5)
        if number == 777:
            kept = msgspec.msgpack.decode(msgspec.msgpack.encode(halves.state()))
            halves = ConstantGains(LIMITS.wealth("any_action"))
            halves.restore(kept)
    assert straight.lower_end(LEVEL) == halves.lower_end(LEVEL) < 0


def test_nothing_is_said_of_any_constant_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offsettree.service.constants.MOST_CONSTANTS", 3)
    gains = ConstantGains(LIMITS.wealth("any_action"))
    for row in rows_of(np.random.default_rng(2), 50, ["abcd"]):
        gains.add(row, 0.4)
    assert gains.lower_end(LEVEL) == -1
