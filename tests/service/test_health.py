"""Signs of trouble: propensities that do not match, drift, actions never taken; and counts per minute."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from offsettree.service.candidates import Candidate
from offsettree.service.formula import Formula
from offsettree.service.health import Health, Rates
from offsettree.service.records import Decision
from offsettree.service.requests import Action, encode
from offsettree.service.rows import MaturedRow
from offsettree.service.settings import LoopSettings
from offsettree.service.values import Limits


def row(context: dict[str, Any], position: int, p: list[float]) -> MaturedRow:
    decision = Decision(
        1, "e", 0.0, encode(context).decode(), '["a","b","c"]', encode(p).decode(), position, "abc"[position],
        p[position], 1, '{"by":"epsilon","rate":0.3}', "explore", 0, 1, matured=1, reward=0.0,
    )  # fmt: skip
    return MaturedRow(decision, (0.0, 1.0))


def test_propensities_that_match_are_no_problem_and_others_are() -> None:
    random, p = np.random.default_rng(0), [0.7, 0.2, 0.1]
    honest, wrong = Health(), Health()
    honest.add([row({}, int(random.choice(3, p=p)), p) for _ in range(3000)])
    wrong.add([row({}, int(random.choice(3, p=[0.5, 0.4, 0.1])), p) for _ in range(3000)])
    assert honest.problems() == []
    assert {each["action"] for each in wrong.mismatches()} == {"a", "b"}
    assert any("serve what the service answers" in text for text in wrong.problems())


def test_contexts_that_drift_are_named() -> None:
    random, p = np.random.default_rng(0), [0.5, 0.5, 0.0]
    health = Health()
    for part in range(3):
        words = ["new", "old"] if part < 1 else ["new", "young"]
        health.add([row({"kind": words[random.integers(2)], "n": 3.0}, 0, p) for _ in range(1000)])
    assert health.drift()["kind"] > 0.25 > health.drift()["n"]
    assert any("'kind'" in text for text in health.problems())


def test_an_action_that_is_never_taken_is_named() -> None:
    health = Health()
    health.add([row({}, i % 2, [0.5, 0.5, 0.0]) for i in range(200)])
    assert health.never_taken() == ["c"]


def test_rates_are_per_minute_and_forget_after_an_hour() -> None:
    rates = Rates()
    for second in range(0, 600, 2):
        rates.add("decisions", 6000.0 + second)
    assert rates.per_minute("decisions", 6600.0) == pytest.approx(30, rel=0.3)
    assert sum(count for _, count in rates.series("decisions", 6600.0)) == 300
    assert sum(count for _, count in rates.series("decisions", 6600.0 + 7200)) == 0


@pytest.mark.parametrize(
    "text", ["", "1 +", "a.b", "a[0]", "f(1)", "lambda: 1", "'x'", "a if b else c", "min()", "9" * 600, "a := 1"]
)
def test_a_formula_is_arithmetic_and_nothing_else(text: str) -> None:
    with pytest.raises(ValueError, match="arithmetic"):
        Formula(text)


def test_a_formula_without_a_value_says_so() -> None:
    formula = Formula("clicks / views - -min(1, (bought > 2) * 0.5)")
    assert formula({"clicks": 1, "views": 2, "bought": 3}) == 1.0
    for metrics in ({"clicks": 1.0}, {"clicks": float("inf"), "views": 1.0}, {"other": 1.0}):
        with pytest.raises(ValueError, match=r"formula"):
            formula(metrics)


class Broken:
    """A model that always fails."""

    is_bounded = True

    def choose(self, context: dict[str, Any], actions: list[Action]) -> tuple[int, list[float] | None]:
        raise RuntimeError("no model")


def test_a_candidate_that_has_failed_has_failed_after_a_restart_as_well() -> None:
    limits = Limits.of(LoopSettings(actions=("a", "b", "c"), epsilon=0.3))
    failed, restored = (Candidate(2, 1, 0, Broken(), limits) for _ in range(2))
    failed.add([row({}, 0, [0.8, 0.1, 0.1])], ["a"])
    assert failed.fault == "RuntimeError: no model"
    restored.restore(msgspec.msgpack.decode(failed.state()))
    assert restored.fault == failed.fault
