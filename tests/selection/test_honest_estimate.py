"""The choice among candidates, and what it is worth: over numbers alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from offsettree import evaluate
from offsettree.evaluation._terms import Terms
from offsettree.exceptions import LogError
from offsettree.selection import _honest_estimate
from offsettree.selection._evidence import Evidence
from offsettree.selection._honest_estimate import CandidateValues, Groups, honest_estimate
from offsettree.selection._rule import Rule, Stack
from offsettree.selection._trials import Log, Trial, folds_of, stratified_folds


def noise(values: list[float], n_rows: int = 200, seed: int = 0, apart: float = 1.0) -> list[Terms]:
    """Terms of candidates with the given values, exactly; what all have in common varies much."""
    random = np.random.RandomState(seed)
    common = random.normal(size=n_rows, scale=5)
    terms = []
    for value in values:
        own = random.normal(size=n_rows, scale=apart)
        terms.append(Terms(value + (common - common.mean()) + (own - own.mean())))
    return terms


def choose(terms: list[Terms], within: float, lead: float = 0.0, constants: int = 0) -> int:
    is_constant = [place < constants for place in range(len(terms))]
    return Rule(within, lead).choose(Stack.of(terms, is_constant), np.ones(len(terms[0].numerator)))


def as_valued(
    terms: list[Terms], weights: list[NDArray[np.float64]], log: Log, fold: NDArray[np.intp]
) -> CandidateValues:
    return CandidateValues(Stack.of(terms), Stack.of(terms), np.stack(weights), fold, log)


def test_the_first_within_one_standard_error_of_the_best_is_chosen() -> None:
    # The standard error of a difference is 0.1: sqrt(2) / sqrt(200).
    assert choose(noise([0.0, 0.45, 0.5]), 1.0) == 1
    assert choose(noise([0.47, 0.2, 0.5]), 1.0) == 0
    assert choose(noise([0.0, 0.1, 0.5]), 1.0) == 2
    assert choose(noise([0.0, 0.45, 0.5]), 0.0) == 2


def test_the_standard_error_is_of_the_difference_not_of_the_values() -> None:
    """What all candidates share varies by five per row, which would hide the gap if they were not paired."""
    assert choose(noise([0.0, 0.1], apart=0.01), 1.0) == 1


def test_of_equals_the_simplest_is_chosen() -> None:
    (terms,) = noise([0.3])
    assert choose([terms, terms, terms], 0.0) == 0


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=6), st.tuples(*[st.floats(0, 3)] * 2), st.integers(0, 99))
def test_the_more_one_tolerates_the_simpler_is_the_choice(
    values: list[float], withins: tuple[float, float], seed: int
) -> None:
    terms = noise(values, 20, seed)
    assert choose(terms, max(withins)) <= choose(terms, min(withins)) <= choose(terms, 0.0)


def test_one_that_looks_at_x_must_lead_a_constant_by_so_many_standard_errors() -> None:
    """The standard error of a difference is 0.1."""
    assert choose(noise([0.4, 0.45, 0.5]), 0.0, lead=1.5, constants=1) == 0
    assert choose(noise([0.3, 0.45, 0.5]), 0.0, lead=1.5, constants=1) == 2
    assert choose(noise([0.4, 0.45, 0.5]), 0.0, lead=1.5) == 2


@given(st.integers(0, 999))
def test_who_is_hopeless_is_far_behind_by_the_same_rows(seed: int) -> None:
    terms = noise([0.0, 0.1, 0.5, 0.45], seed=seed)
    stack, ones = Stack.of(terms), np.ones(200)
    rule = Rule(0.0, 0.0)
    gaps = stack.gaps(ones, rule.choose(stack, ones))
    np.testing.assert_array_equal(rule.far_behind(stack, ones, 3.0), gaps.behind > 3 * gaps.stderr)
    assert rule.far_behind(stack, ones, 3.0).tolist() == [True, True, False, False]


def test_nothing_speaks_for_a_candidate_without_a_matched_row() -> None:
    nothing = Terms(np.zeros(6), np.zeros(6))
    negative = Terms(np.full(6, -1.0), np.ones(6))
    assert choose([nothing, negative], 1.0) == 1


@given(st.integers(2, 5), st.integers(0, 999))
def test_folds_part_the_rows_and_spread_every_action(n_folds: int, seed: int) -> None:
    random = np.random.RandomState(seed)
    position = random.randint(4, size=40)
    fold = stratified_folds(position, n_folds, random)
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in folds_of(fold)])), np.arange(40))
    for train, test in folds_of(fold):
        assert not set(train) & set(test)
        assert len(train) + len(test) == 40
    for action in range(4):
        per_fold = np.bincount(fold[position == action], minlength=n_folds)
        assert per_fold.max() - per_fold.min() <= 1


@pytest.mark.parametrize("within", [0.0, 1.0])
def test_the_estimate_of_candidates_that_do_not_learn_is_not_optimistic_where_the_winners_own_is(
    within: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten candidates that are all worth 0.5, over 200 logs of 100 rows; of those that learn see test_nested.py."""
    random = np.random.RandomState(0)
    monkeypatch.setattr(_honest_estimate, "N_RESAMPLES", 20)
    honest, winners, held = [], [], 0
    for _ in range(200):
        reward = random.binomial(1, 0.5, size=100).astype(float)
        position = random.randint(2, size=100)
        log = Log(np.zeros((100, 1)), position, reward, np.full(100, 0.5), np.arange(2))
        weights = [(random.randint(2, size=100) == position) / 0.5 for _ in range(10)]
        terms = [Terms(weight * reward, weight) for weight in weights]
        fold = stratified_folds(position, 5, random)
        winner = terms[choose(terms, within)]
        winners.append(winner.numerator.sum() / winner.counted.sum())
        estimate, _ = honest_estimate(as_valued(terms, weights, log, fold), Rule(within, 0.0), "snips", 0.95, random)
        honest.append(estimate.value)
        held += estimate.low <= 0.5 <= estimate.high
    stderr = np.std(honest) / np.sqrt(len(honest))
    assert abs(np.mean(honest) - 0.5) < 3 * stderr
    assert held / len(honest) > 0.93
    if within == 0:
        assert np.mean(winners) > 0.5 + 10 * stderr


@pytest.mark.parametrize("gap", [0.0, 0.5])
def test_rows_resampled_in_groups_spread_the_value_as_rows_alone_do(
    gap: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.RandomState(0)
    stack = Stack.of(noise([0.0, gap, gap], n_rows=2000))
    fold = stratified_folds(np.zeros(2000, dtype=np.intp), 4, random)
    log = Log(np.zeros((2000, 1)), fold, random.normal(size=2000), np.full(2000, 0.5), np.arange(4))

    def spreads() -> tuple[float, float]:
        groups = Groups.of(fold)
        valued = CandidateValues(stack, stack, np.ones((3, 2000)), fold, log)
        return _honest_estimate._resampled_spreads(
            groups, valued, [groups.sum_terms(stack)] * 4, Rule(1.0, 0.0), random
        )

    alone = spreads()
    monkeypatch.setattr(_honest_estimate, "MOST_GROUPS", 200)
    assert len(Groups.of(fold).fold) == 200
    np.testing.assert_allclose(spreads(), alone, rtol=0.3)


def test_terms_to_choose_by_need_not_be_those_of_the_value() -> None:
    random = np.random.RandomState(0)
    log = Log(np.zeros((40, 1)), np.tile([0, 1], 20), np.ones(40), np.full(40, 0.5), np.arange(2))
    fold = np.arange(40) % 2
    own = Stack.of([Terms(np.full(40, float(i))) for i in range(2)])
    first_is_better = Stack.of([Terms(np.ones(40)), Terms(np.zeros(40))])
    estimate, choices = honest_estimate(
        CandidateValues(own, own, np.ones((2, 40)), fold, log),
        Rule(0.0, 0.0),
        "ips",
        0.95,
        random,
        choice_terms=[first_is_better, own],
        notes=("a note",),
    )
    assert choices == [0, 1]
    assert estimate.value == 0.5
    assert estimate.warnings[0] == "a note"


def test_where_the_choice_is_clear_the_interval_is_that_of_the_best() -> None:
    random = np.random.RandomState(0)
    weight = 2.0 * random.randint(2, size=400).astype(np.float64)
    reward = random.binomial(1, 0.5, size=400).astype(float)
    log = Log(np.zeros((400, 1)), random.randint(2, size=400), reward, np.full(400, 0.5), np.arange(2))
    fold = stratified_folds(log.position, 5, random)
    clear = [Terms(weight * (reward - 9), weight), Terms(weight * reward, weight)]
    both, rule = as_valued(clear, [weight, weight], log, fold), Rule(1.0, 0.0)
    estimate, choices = honest_estimate(both, rule, "snips", 0.95, random)
    assert choices == [1] * 5
    (alone, _) = honest_estimate(as_valued(clear[1:], [weight], log, fold), rule, "snips", 0.95, random)
    assert estimate.value == alone.value
    assert alone.stderr <= estimate.stderr < 1.3 * alone.stderr
    assert alone.low >= estimate.low
    assert alone.high <= estimate.high


def test_a_choice_that_no_row_speaks_of_is_refused() -> None:
    """Each of the two is matched in one fold only, and is chosen for the other."""
    fold = np.repeat([0, 1], 5)
    weights = [(fold == 0) * 2.0, (fold == 1) * 2.0]
    log = Log(np.zeros((10, 1)), np.tile([0, 1], 5), np.ones(10), np.full(10, 0.5), np.arange(2))
    with pytest.raises(LogError, match=r"in none of the 10 rows .*scoring='doubly_robust'"):
        honest_estimate(
            as_valued([Terms(each, each) for each in weights], weights, log, fold),
            Rule(1.0, 0.0),
            "snips",
            0.95,
            np.random.RandomState(0),
        )


def few_telling() -> tuple[CandidateValues, NDArray[np.intp]]:
    """A choice by doubly robust terms, in whose rows few rewards are not 0; and what it decides."""
    random = np.random.RandomState(1)
    reward = (np.arange(400) < 6).astype(np.float64)
    position, decisions = random.randint(2, size=(2, 400))
    weight = 2.0 * (position == decisions)
    log = Log(np.zeros((400, 1)), position, reward, np.full(400, 0.5), np.arange(2))
    terms = Terms(0.9 * reward + weight * (reward - 0.9 * reward), weight=weight)
    return as_valued([terms], [weight], log, np.arange(400) % 5), decisions


def test_the_estimate_of_the_only_candidate_is_that_of_evaluate() -> None:
    """Also where few rewards tell, and an interval by a reward model must hold that of one without."""
    valued, decisions = few_telling()
    log, model = valued.log, 0.9 * np.column_stack([valued.log.reward] * 2)  # which knows the rewards all too well
    found, _ = honest_estimate(valued, Rule(0.0, 0.0), "doubly_robust", 0.95, np.random.RandomState(0))
    rows: dict[str, Any] = {"X": log.X, "action": log.position, "reward": log.reward, "propensity": 0.5}
    same = evaluate(decisions, **rows, method="doubly_robust", reward_model=model, reward_range=(0, 1))
    assert (found.value, found.stderr, found.low, found.high) == pytest.approx(
        (same.value, same.stderr, same.low, same.high)
    )
    assert found.difference is not None
    assert same.difference is not None
    assert (found.difference.low, found.difference.high) == pytest.approx((same.difference.low, same.difference.high))


def test_warnings_speak_of_the_choice_and_of_its_interval() -> None:
    valued, _ = few_telling()
    few = CandidateValues(
        valued.stack, valued.choice_terms, valued.weight * (np.arange(400) < 60), valued.fold, valued.log
    )
    estimate, _ = honest_estimate(few, Rule(0.0, 0.0), "doubly_robust", 0.95, np.random.RandomState(0))
    (text,) = [each for each in estimate.warnings if "own decisions" in each]
    assert "of the choice's own decisions" in text
    assert "the interval is accordingly wide" in text


def test_rows_left_to_the_model_are_counted_once_and_only_where_the_candidate_was_chosen() -> None:
    log = Log(np.zeros((10, 1)), np.zeros(10, dtype=np.intp), np.arange(10.0), np.full(10, 0.5), np.arange(2))
    evidence = Evidence(np.array([False, False]), log, "switch")
    ones, left_out = np.ones(10), np.arange(10) < 3
    for _ in range(2):  # the one whose predictions value all others is tried again
        for place in range(2):
            terms = Terms(float(place) * ones, None, left_out if place else ~left_out, ones)
            evidence.add(place, np.arange(10), Trial(0.0, terms=terms, clipped=terms.numerator, weight=ones))
    valued = evidence.valued([0, 1], np.arange(10) % 2, [0, 1])
    estimate, choices = honest_estimate(valued, Rule(0.0, 0.0), "switch", 0.95, np.random.RandomState(0))
    assert choices == [1, 1]
    assert any(text.startswith("3 rows with the choice's largest weights") for text in estimate.warnings)


def test_the_interval_of_grouped_rows_is_that_of_groups() -> None:
    random = np.random.RandomState(0)
    group = np.repeat(np.arange(40), 10)
    reward = random.randint(2, size=40).astype(np.float64)[group]
    log = Log(np.zeros((400, 1)), random.randint(2, size=400), reward, np.full(400, 0.5), np.arange(2))
    weight = np.ones(400)
    alone = as_valued([Terms(reward, weight=weight)], [weight], log, group % 5)
    plain, _ = honest_estimate(alone, Rule(0.0, 0.0), "ips", 0.95, random)
    grouped, _ = honest_estimate(replace(alone, group=group), Rule(0.0, 0.0), "ips", 0.95, random)
    assert grouped.value == plain.value
    assert grouped.n_groups == 40
    assert grouped.stderr == pytest.approx(np.sqrt(10) * plain.stderr, rel=0.05)
    groups = Groups.of(alone.fold, group)
    np.testing.assert_array_equal(groups.sum(reward), 10 * reward[::10])
    np.testing.assert_array_equal(groups.fold, np.arange(40) % 5)
