"""Which policy to use, in one sentence: never surer than intervals and warnings allow."""

from __future__ import annotations

from typing import Any

import pytest

from offsettree.evaluation import Estimate
from offsettree.evaluation.estimate import Interval
from offsettree.workflow import Comparison, advice, conclusion, verdict
from offsettree.workflow.verdict import basis, decimals, number, with_interval


def around(value: float, half: float) -> Interval:
    return Interval(value, half / 2, value - half, value + half)


def estimate(value: float, to_log: Interval | None, serious: tuple[str, ...] = ()) -> Estimate:
    known: dict[str, Any] = {"method": "snips", "interval": "normal", "n_rows": 1200, "n_matched": 345}
    return Estimate(
        **vars(around(value, 0.01)),
        level=0.95,
        effective_rows=300.4,
        max_weight=9.0,
        baseline=around(0.1, 0.01),
        difference=to_log,
        warnings=serious,
        serious=serious,
        **known,
    )


BETTER, WORSE, OPEN = around(0.05, 0.01), around(-0.05, 0.01), around(0.0, 0.05)
AHEAD = Interval(0.03, 0.02, -0.01, 0.07)


def compared(to_log: Interval, to_constant: Interval, constant: Interval, **more: Any) -> Comparison:
    return Comparison(estimate(0.15, to_log), "mail M", estimate(0.12, constant), to_constant, **more)


@pytest.mark.parametrize(
    ("to_log", "to_constant", "constant", "use", "words"),
    [
        (BETTER, BETTER, OPEN, "learned", "better than what was logged and than always 'mail M'"),
        (BETTER, BETTER, BETTER, "learned", "better than what was logged and than always 'mail M'"),
        (OPEN, BETTER, BETTER, "learned", "it is better than always 'mail M', which is better than what was logged"),
        (BETTER, WORSE, OPEN, "constant", "Always take 'mail M': it is better than the learned policy"),
        (BETTER, WORSE, BETTER, "constant", "Always take 'mail M'"),
        (OPEN, WORSE, BETTER, "constant", "and the learned policy is worse than that"),
        (WORSE, WORSE, BETTER, "constant", "Always take 'mail M'"),
        (BETTER, OPEN, BETTER, "constant", "not shown to be better than that"),
        (BETTER, AHEAD, BETTER, "learned", "'mail M', the best constant, it is ahead, but not significantly"),
        (BETTER, OPEN, OPEN, "learned", "'mail M', the best constant, the difference is not significant"),
        (OPEN, OPEN, BETTER, "constant", "not shown to be better than that"),
        (OPEN, OPEN, OPEN, "logged", "neither the learned policy nor always 'mail M'"),
        (OPEN, BETTER, OPEN, "logged", "Go on as before"),
        (WORSE, OPEN, OPEN, "logged", "do not use it"),
    ],
)
def test_the_sentence_names_one_policy(
    to_log: Interval, to_constant: Interval, constant: Interval, use: str, words: str
) -> None:
    found = advice(compared(to_log, to_constant, constant))
    assert found.use == use
    assert words in found.sentence
    assert found.is_better == (to_log is BETTER and to_constant is BETTER)
    assert found.sentence.count(".") == 1
    assert conclusion(estimate(0.15, to_log), compared(to_log, to_constant, constant)) == found.sentence


def test_no_verdict_stands_while_a_serious_warning_does() -> None:
    serious = estimate(0.15, BETTER, serious=("propensities cannot be right",))
    found = advice(Comparison(serious, "mail M", estimate(0.12, OPEN), BETTER))
    assert found.use == "open"
    assert not found.is_better
    assert "go on as before" in found.sentence
    assert "No verdict" in conclusion(serious)


def test_a_doubtful_constant_is_neither_recommended_nor_said_to_be_beaten() -> None:
    found = advice(compared(BETTER, BETTER, BETTER, doubts=("few rows",)))
    assert found.use == "learned"
    assert not found.is_better
    assert advice(compared(OPEN, WORSE, BETTER, doubts=("few rows",))).use == "logged"


def test_what_speaks_against_the_constant_is_told() -> None:
    found = compared(BETTER, BETTER, BETTER, doubts=("few rows tell of it",))
    assert "of always 'mail M': few rows tell of it" in found.warnings
    assert "as that has a serious warning" in advice(found).sentence


@pytest.mark.parametrize("to_constant", [BETTER, OPEN, WORSE])
def test_nothing_definite_is_said_of_a_constant_picked_by_the_rows_it_is_valued_on(to_constant: Interval) -> None:
    found = advice(compared(BETTER, to_constant, BETTER, picked_here=True))
    assert found.use == "learned"
    assert not found.is_better
    assert "picked on the same rows" in found.sentence
    assert advice(compared(OPEN, to_constant, BETTER, picked_here=True)).use == "logged"


def test_doubts_of_the_log_forbid_any_verdict() -> None:
    found = compared(BETTER, BETTER, BETTER).doubted(["a leak"])
    assert found.warnings == ("a leak",)
    assert advice(found).use == "open"


@pytest.mark.parametrize(("to_log", "use"), [(BETTER, "constant"), (OPEN, "logged"), (WORSE, "logged")])
def test_a_policy_that_is_the_constant_is_not_better_than_it(to_log: Interval, use: str) -> None:
    found = advice(compared(to_log, around(0.0, 0.0), to_log, same=True))
    assert found.use == use
    assert "always 'mail M'" in found.sentence
    assert "learned" in found.sentence
    assert not found.is_better


def test_an_interval_that_is_none_decides_nothing() -> None:
    nothing = Interval(0.1, float("nan"), float("-inf"), float("inf"))
    assert advice(compared(nothing, nothing, nothing)).use == "logged"
    assert with_interval(nothing, 3) == "0.100 [no interval]"


def test_a_difference_shows_on_which_side_of_zero_its_interval_ends() -> None:
    assert with_interval(Interval(0.031, 0.01, 0.0004, 0.063), 3, sign=True) == "+0.0310 [0.0004, 0.0630]"
    assert with_interval(Interval(-0.031, 0.01, -0.063, -0.00002), 3, sign=True) == "-0.03100 [-0.06300, -0.00002]"
    assert with_interval(Interval(0.031, 0.01, -1e-300, 0.063), 3, sign=True) == "+0.031 [0.000, 0.063]"
    assert with_interval(Interval(0.031, 0.01, 0.0, 0.063), 3, sign=True) == "+0.031 [0.000, 0.063]"
    assert with_interval(Interval(0.031, 0.01, 0.0004, 0.063), 3) == "0.031 [0.000, 0.063]"


def test_values_are_said_with_what_they_are_compared_with() -> None:
    text = verdict(estimate(0.15, BETTER), compared(BETTER, AHEAD, OPEN))
    assert "The learned policy earns 0.150 per decision [0.140, 0.160]" in text
    assert "the logged one earned 0.100" in text
    assert "Always 'mail M', the best constant action, earns 0.120 [0.110, 0.130]; gain on it +0.030" in text
    same = verdict(estimate(0.15, BETTER), compared(BETTER, around(0.0, 0.0), BETTER, same=True))
    assert same.endswith("It always takes 'mail M', the best constant action.")
    assert "always 'x' earned" in verdict(estimate(0.15, BETTER), baseline="always 'x'")
    assert "better than always 'x'" in conclusion(estimate(0.15, BETTER), baseline="always 'x'")
    assert "worse than always 'x'" in conclusion(estimate(0.15, WORSE), baseline="always 'x'")
    assert "do not show whether the learned policy is better" in conclusion(estimate(0.15, OPEN), baseline="always 'x'")
    assert conclusion(estimate(0.15, None)) == ""
    assert "in 345 of which the log did what the policy would do; worth 300 rows" in basis(estimate(0.15, BETTER))


def test_zero_has_no_sign() -> None:
    assert number(-0.0001, 3) == "0.000"
    assert number(-1234.5, 1) == "-1,234.5"


@pytest.mark.parametrize(
    ("low", "high", "places"),
    [(0.0, 12.2, 2), (0.5, 2.4, 3), (100.0, 300.0, 2), (1000.0, 3000.0, 0), (1000.0, 1001.0, 2)],
)
def test_money_is_told_with_its_cents(low: float, high: float, places: int) -> None:
    assert decimals(Interval((low + high) / 2, (high - low) / 4, low, high)) == places
