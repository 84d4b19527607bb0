"""The race: parts of a log, who leaves it and why, and what time it takes."""

from __future__ import annotations

import io
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris

from offsettree import (
    ConstantPolicy,
    DoublyRobust,
    OffsetForest,
    OffsetTree,
    PolicySearch,
    RewardBoosting,
    simulate_log,
)
from offsettree.evaluation.parts import Terms
from offsettree.exceptions import LogError, OffsetTreeWarning
from offsettree.learners import make_learner
from offsettree.selection import _race, _timing
from offsettree.selection._race import plan_race
from offsettree.selection._rule import Rule, Stack
from offsettree.selection._trials import Scoring, _clip_outliers, stratified_folds
from offsettree.selection.candidates import cost_ratio, early_copy, light_copy, n_parts
from offsettree.workflow import learn_policy
from tests.selection.scripted import Scripted, make_log

Learned = dict[str, list[int]]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs of 600 rows are long ones."""
    monkeypatch.setattr(_race, "SHORT", 500)
    monkeypatch.setattr(_race, "SMALLEST", 50)
    monkeypatch.setattr(_race, "ENOUGH", 200)
    monkeypatch.setattr(_race, "BEHIND", 3.0)
    monkeypatch.setattr(_race, "FIRST_ROWS", 30)
    monkeypatch.setattr(_timing, "FEW", 30)
    monkeypatch.setattr(_timing, "SOME", 30)


class Clock:
    """Time that passes only while candidates learn."""

    def __init__(self) -> None:
        self.now = 0.0
        self.learned: Learned = defaultdict(list)

    def candidate(self, name: str, right: float, seconds_per_row: float) -> tuple[str, Scripted]:
        """Return one that takes so long."""

        def script(n_rows: int) -> None:
            self.now += seconds_per_row * n_rows
            self.learned[name].append(n_rows)

        return name, Scripted(right, script=script)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(_timing, "monotonic", lambda: made.now)
    return made


def search(candidates: Any, **settings: Any) -> PolicySearch:
    defaults: dict[str, Any] = {"scoring": "snips", "nested": False, "random_state": 0}
    return PolicySearch(candidates, **defaults | settings)


@given(st.integers(200, 4000), st.integers(2, 6), st.booleans(), st.integers(0, 99))
def test_parts_grow_and_no_row_is_decided_by_who_learned_from_it(
    n_rows: int, n_folds: int, in_haste: bool, seed: int
) -> None:
    random = np.random.RandomState(seed)
    fold = stratified_folds(random.randint(3, size=n_rows), n_folds, random)
    rungs = plan_race(fold, random, in_haste=in_haste)
    sizes = [rung.n_learned for rung in rungs if rung.fold is None]
    assert sizes == sorted(sizes)
    assert all(size <= rungs[-1].n_learned for size in sizes)
    first_fold = np.flatnonzero(fold == 0)
    for rung in rungs:
        train, test = rung.part
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n_rows))
        if rung.fold is None:
            assert not np.isin(first_fold, train).any()
    assert [rung.fold for rung in rungs if rung.fold is not None] == list(range(len(rungs) - len(sizes)))


@pytest.mark.parametrize(("n_rows", "sizes"), [(3_300, []), (4_000, [1_200]), (12_000, [1_200, 3_600])])
def test_no_part_of_a_log_is_too_small_to_compare_on(n_rows: int, sizes: list[int]) -> None:
    random = np.random.RandomState(0)
    fold = stratified_folds(random.randint(3, size=n_rows), 5, random)
    assert [rung.n_learned for rung in plan_race(fold, random, in_haste=False) if rung.fold is None] == sizes
    assert plan_race(fold, random, in_haste=True)[0].n_learned == min(n_rows // 5, 1_500)
    of_many = plan_race(fold, random, in_haste=False, n_actions=100)
    assert [rung.n_learned for rung in of_many if rung.fold is None] == [size for size in sizes if size >= 2_000]


def test_those_far_behind_are_dropped_after_a_small_part_and_the_others_go_on(short: None, clock: Clock) -> None:
    candidates = [
        clock.candidate("poor", 0.2, 0.0),
        clock.candidate("fair", 0.985, 0.0),
        clock.candidate("good", 1.0, 0.0),
    ]
    found = search(candidates).fit(**make_log(600).arrays())
    assert clock.learned["poor"] == [60]
    assert clock.learned["fair"] == [60, 180, 480, 480]
    assert clock.learned["good"] == [60, 180, 480, 480, 600]
    poor = found.results_[0]
    assert poor["outcome"] == "dropped"
    gap = f"behind the best by {poor['behind']:.3g} +- {poor['behind_stderr']:.2g}"
    assert poor["reason"] == f"too far behind after 60 rows ({gap})"
    assert poor["behind"] > 3 * poor["behind_stderr"] > 0
    assert poor["low"] < poor["value"] < poor["high"]


@pytest.mark.parametrize("seed", range(3))
def test_who_was_dropped_never_had_a_chance(short: None, seed: int) -> None:
    """With every part of the log it would not have been chosen either."""
    rights = [0.5, 0.6, 0.8, 0.9, 0.95]
    candidates = [(str(right), Scripted(right)) for right in rights]
    log = make_log(600, seed).arrays()
    raced = search(candidates, random_state=seed).fit(**log)
    assert "dropped" in raced.results_.column("outcome")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_race, "BEHIND", 1e9)
        whole = search(candidates, random_state=seed).fit(**log)
    assert "dropped" not in whole.results_.column("outcome")
    assert whole.best_name_ == raced.best_name_


def test_a_constant_is_always_valued_on_all_rows_and_never_dropped(short: None) -> None:
    found = search([("constant", ConstantPolicy()), ("good", Scripted(1.0))]).fit(**make_log(600).arrays())
    constant = found.results_[0]
    assert constant["outcome"] == "compared"
    assert constant["behind"] > 3 * constant["behind_stderr"]
    assert found.best_name_ == "good"


def test_a_constant_is_taken_where_nobody_is_ahead_of_it() -> None:
    """The first action earns more than the second, whatever x is."""
    log = make_log(600)
    random = np.random.RandomState(1)
    action = random.randint(2, size=600)
    reward = (random.uniform(size=600) < np.where(action == 0, 0.6, 0.4)).astype(float)
    candidates = [("constant", ConstantPolicy()), *((str(right), Scripted(right)) for right in (0.1, 0.4, 0.6, 0.9))]
    found = search(candidates).fit(log.X, action, reward=reward, propensity=0.5)
    assert found.best_name_ == "constant"
    assert "constant" in found.rule_
    assert all(isinstance(reason, str) and reason for reason in found.results_.column("reason"))


def test_a_race_that_is_decided_ends_after_one_fold_of_a_long_log(short: None, clock: Clock) -> None:
    candidates = [clock.candidate("poor", 0.1, 0.0), clock.candidate("good", 1.0, 0.0)]
    search(candidates).fit(**make_log(600).arrays())
    assert clock.learned == {"poor": [60], "good": [60, 180, 480, 600]}


def test_where_one_fold_is_enough_the_estimate_is_of_its_rows(short: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_race, "ENOUGH", 100)
    found = search([("fair", Scripted(0.99)), ("good", Scripted(1.0))]).fit(**make_log(600).arrays())
    assert found.estimate_.n_rows == 120
    assert len(found.chosen_by_fold_) == 1


def test_the_candidate_that_boosts_rewards_is_the_reward_model_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    boosting = RewardBoosting()
    assert Scoring("doubly_robust").shared({3: Scripted(), 5: boosting}) == 5
    assert Scoring("doubly_robust").shared({3: Scripted()}) is None
    assert Scoring("snips").shared({5: boosting}) is None
    assert Scoring("doubly_robust", Scripted()).shared({5: boosting}) is None


@pytest.mark.parametrize("budget", [3.0, 6.0, 12.0, 30.0, 100.0])
def test_the_time_budget_is_kept_and_all_are_tried_before_any_learns_from_most(
    short: None, clock: Clock, budget: float
) -> None:
    candidates = [
        clock.candidate("slow", 0.99, 0.02),
        clock.candidate("quick", 0.985, 0.001),
        clock.candidate("good", 1.0, 0.005),
        clock.candidate("other", 0.98, 0.01),
    ]
    hurried = search(candidates, time_budget=budget)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OffsetTreeWarning)
        hurried.fit(**make_log(600).arrays())
    assert clock.now <= 1.2 * budget
    assert [sizes[0] for sizes in clock.learned.values()] == [30] * 4
    left_out = [row for row in hurried.results_ if row["outcome"] == "left out"]
    assert bool(left_out) == (budget < 100) == bool(caught)
    for row in left_out:
        assert "no time" in row["reason"] or "would take" in row["reason"]
        assert f"{row['name']} ({row['reason']})" in str(caught[0].message)


def test_who_was_dropped_for_a_leader_that_takes_too_long_is_back(short: None, clock: Clock) -> None:
    """Else the constant would be chosen, for it is the only one that is left."""
    candidates = [
        ("constant", ConstantPolicy()),
        clock.candidate("costly", 1.0, 0.05),
        clock.candidate("dear", 0.99, 0.1),
        clock.candidate("quick", 0.8, 0.001),
    ]
    with pytest.warns(OffsetTreeWarning, match=r"costly \(learning it from all rows would take about"):
        hurried = search(candidates, time_budget=10.0).fit(**make_log(600).arrays())
    assert clock.learned == {"costly": [30], "dear": [30], "quick": [30, 60, 180, 480, 600]}
    assert hurried.best_name_ == "quick"
    assert clock.now <= 12


def test_of_the_time_to_learn_from_a_log_some_is_left_to_learn_from_all_rows_once_more(
    short: None, clock: Clock
) -> None:
    candidates = [
        ("constant", ConstantPolicy()),
        clock.candidate("dear", 1.0, 0.01),
        clock.candidate("quick", 0.8, 0.001),
    ]
    hurried = search(candidates, time_budget=10.0)
    assert hurried.fit(**make_log(420).arrays()).best_name_ == "dear"
    clock.now = 0.0
    learned = learn_policy(make_log(600), learner=hurried)
    assert hurried.best_name_ == "quick"
    assert any("dear (learning it from all rows would take about" in text for text in learned.warnings)
    assert clock.now <= 10.0


def test_a_quick_policy_that_was_dropped_is_trained_even_if_the_time_is_used_up(short: None, clock: Clock) -> None:
    candidates = [
        ("constant", ConstantPolicy()),
        clock.candidate("costly", 1.0, 0.32),
        clock.candidate("quick", 0.8, 0.0005),
    ]
    hurried = search(candidates, time_budget=9.9)
    with pytest.warns(OffsetTreeWarning, match=r"costly \(learning it from all rows would take about"):
        hurried.fit(**make_log(600).arrays())
    assert hurried.best_name_ == "quick"


def test_reward_boosting_takes_time_by_its_folds() -> None:
    """It has 8 folds in 1,500 rows and 3 in 30,000: a part says little of its time otherwise."""
    assert [n_parts(RewardBoosting(), n_rows) for n_rows in (1_500, 6_000, 30_000)] == [8, 5, 3]
    assert n_parts(OffsetForest(), 1_500) == n_parts(ConstantPolicy(), 9) == 1


def test_without_time_even_for_the_first_part_the_rest_is_named(clock: Clock) -> None:
    candidates = [clock.candidate(name, 0.9, 0.1) for name in "abc"]
    with pytest.warns(OffsetTreeWarning, match=r"2 of 3 candidates: b \(no time to try it\); c \(no time to try it\)"):
        hurried = search(candidates, time_budget=1).fit(**make_log().arrays())
    assert hurried.best_name_ == "a"
    assert hurried.results_.column("outcome") == ["chosen", "left out", "left out"]


def test_if_what_there_was_time_for_fails_on_all_rows_the_error_names_the_rest(clock: Clock) -> None:
    def fail_on_all(n_rows: int) -> None:
        clock.now += n_rows
        if n_rows == 300:
            raise RuntimeError("no luck")

    late = [("late", Scripted(script=fail_on_all)), clock.candidate("good", 1.0, 1.0)]
    with pytest.raises(LogError, match=r"none of the 1 candidates .*late .*lack of time: good; raise time_budget"):
        search(late, time_budget=1).fit(**make_log().arrays())


def test_if_time_runs_out_between_choice_and_estimate_the_choice_stands(clock: Clock) -> None:
    candidates = [clock.candidate("fair", 0.98, 0.01), clock.candidate("good", 1.0, 0.01)]
    log = make_log().arrays()
    hurried = search(candidates, cv=3, nested=True, time_budget=20)
    with pytest.warns(OffsetTreeWarning, match=r"estimate_: .*too high.* because time_budget=20 s was used up"):
        hurried.fit(**log)
    assert clock.now <= 20
    assert hurried.best_name_ == search(candidates, cv=3).fit(**log).best_name_
    assert hurried.set_params(time_budget=100).fit(**log).estimate_.warnings == ()


def test_a_nested_estimate_has_those_back_that_were_dropped_by_little(clock: Clock) -> None:
    """By luck in all folds together: without one of them they might have been chosen."""
    candidates = [clock.candidate("fair", 0.97, 0.0), clock.candidate("good", 1.0, 0.0)]
    log = make_log().arrays()
    plain = search(candidates, cv=5).fit(**log)
    assert plain.results_.column("outcome") == ["dropped", "chosen"]
    assert 1 < len(clock.learned["fair"]) < 5
    clock.learned.clear()
    nested = search(candidates, cv=5, nested=True).fit(**log)
    assert clock.learned == {"fair": [240] * 5 + [180] * 10, "good": [240] * 5 + [300] + [180] * 10}
    assert nested.results_.column("value") == plain.results_.column("value")
    assert nested.estimate_.n_rows == 300


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_without_a_budget_the_race_does_not_depend_on_the_clock_or_workers(short: None, n_jobs: int | None) -> None:
    candidates = [("constant", ConstantPolicy()), *((str(right), Scripted(right)) for right in (0.5, 0.9, 0.95))]
    log = make_log(600).arrays()
    one = search(candidates).fit(**log)
    two = clone(one).set_params(n_jobs=n_jobs).fit(**log)
    for first, second in zip(one.results_, two.results_, strict=True):
        assert {**first, "seconds": 0} == {**second, "seconds": 0}
    assert one.estimate_ == two.estimate_


class Pipe(io.StringIO):
    """A pipe, or a terminal."""

    def __init__(self, *, terminal: bool = False) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.fixture
def waiting() -> Callable[[Pipe, str], Callable[[int], None]]:
    """A script of a candidate that learns until a text was written."""
    import time

    def until(pipe: Pipe, text: str) -> Callable[[int], None]:
        def script(n_rows: int) -> None:
            end = time.monotonic() + 20
            while text not in pipe.getvalue() and time.monotonic() < end:
                time.sleep(0.01)

        return script

    return until


def test_a_pipe_gets_a_line_while_a_candidate_takes_its_time(
    monkeypatch: pytest.MonkeyPatch, waiting: Callable[[Pipe, str], Callable[[int], None]]
) -> None:
    pipe = Pipe()
    monkeypatch.setattr(sys, "stderr", pipe)
    monkeypatch.setattr("offsettree._progress.INTERVAL", 0.02)
    slow = Scripted(1.0, script=waiting(pipe, "(slow, 240 rows)"))
    search([("slow", slow), ("quick", Scripted(0.2))]).fit(**make_log().arrays())
    lines = pipe.getvalue().splitlines()
    assert any("gone" in line and line.endswith("(slow, 240 rows)") for line in lines)


def test_short_work_says_nothing_in_a_pipe_and_something_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe, terminal = Pipe(), Pipe(terminal=True)
    for stream in (pipe, terminal):
        monkeypatch.setattr(sys, "stderr", stream)
        search([("poor", Scripted(0.2)), ("good", Scripted(1.0))]).fit(**make_log().arrays())
    assert pipe.getvalue() == ""
    assert "(good" in terminal.getvalue()
    assert "\n" not in terminal.getvalue()


def test_a_constant_is_preferred_while_one_further_row_could_turn_the_lead() -> None:
    n_rows = 1000
    ahead = np.stack([np.zeros(n_rows), np.full(n_rows, 0.01) + 0.001 * (np.arange(n_rows) % 2)])
    rule, everything = Rule(simpler_within=0.0, lead=2.0), np.ones(n_rows)
    is_constant = np.array([True, False])
    assert rule.choose(Stack(ahead, np.ones_like(ahead), is_constant), everything) == 1
    assert rule.choose(Stack(ahead, np.ones_like(ahead), is_constant, unseen_effect=80.0), everything) == 0
    assert rule.choose(Stack(ahead, np.ones_like(ahead), is_constant, unseen_effect=4.0), everything) == 1


def test_a_rare_click_counts_in_full_and_a_lone_fortune_does_not() -> None:
    clicks = np.zeros(2000)
    clicks[:7] = 1
    weight = np.full(2000, 80.0)
    cut_weight, cut_reward = _clip_outliers(weight, clicks)
    np.testing.assert_array_equal(cut_weight, weight)
    np.testing.assert_array_equal(cut_reward, clicks)
    money = np.ones(2000)
    money[0] = 1e6
    assert _clip_outliers(weight, money)[1][0] == 1e6  # the only one that differs: nothing to compare it with
    money[1:500] = 2.0
    assert _clip_outliers(weight, money)[1].max() < 0.5e6


def test_the_clock_stands_still_while_kernels_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core import event

    seconds = 0.0
    monkeypatch.setattr(_timing, "monotonic", lambda: seconds)
    budget = _timing.Budget(20.0)
    with event.trigger_event("numba:compile"):
        seconds += 40.0
        with event.trigger_event("numba:compile"):  # of a kernel that it calls
            seconds += 42.0
    seconds += 3.0
    assert budget.left == 17.0


def test_one_standard_error_is_one() -> None:
    assert "at most 1 standard error behind" in Rule(1.0, 0.75).describe(None)
    assert "ahead of it by 1 standard error." in Rule(0.0, 1.0).describe(None)
    assert "at most 2 standard errors behind" in Rule(2.0, 0.75).describe(None)


def test_what_was_kept_for_the_comparison_is_not_left_on_the_policy_chosen() -> None:
    X, y = load_iris(return_X_y=True)
    log = simulate_log(X, y, random_state=0)
    search = PolicySearch([RewardBoosting()], nested=False, random_state=0).fit(**log.arrays())
    assert not {"_held_out", "_keeps_held_out"} & set(vars(search.best_policy_))


def test_what_the_chosen_one_warned_of_is_said_though_it_was_learned_for_the_comparison() -> None:
    X, y = load_iris(return_X_y=True)
    log = simulate_log(X, y, random_state=0)
    search = PolicySearch([RewardBoosting()], nested=False, actions=[0, 1, 2, 3], random_state=0)
    with pytest.warns(OffsetTreeWarning, match="never logged"):
        search.fit(**log.arrays())


def test_a_forest_is_foretold_to_take_as_long_as_all_of_its_trees() -> None:
    for policy in (OffsetForest(n_trees=120), DoublyRobust()):
        light = light_copy(policy)
        assert cost_ratio(policy, light) == pytest.approx(3.0 if isinstance(policy, OffsetForest) else 2.5)
    assert cost_ratio(OffsetTree(), light_copy(OffsetTree())) == 1


def test_a_light_copy_of_logistic_regressions_finds_the_same_optimum() -> None:
    X, y = load_iris(return_X_y=True)
    log = simulate_log(X + 50, y, random_state=0)  # far from zero, where L-BFGS takes long
    policy = OffsetTree(make_learner("logistic"), actions=[0, 1, 2])

    light = light_copy(policy)
    assert light.estimator.steps[-1][1].solver == "newton-cg"
    assert policy.estimator.steps[-1][1].solver == "lbfgs"
    decided = [each.fit(**log.arrays()).predict(X + 50) for each in (policy, light)]
    assert (decided[0] == decided[1]).mean() > 0.98


def test_only_small_parts_are_learned_by_reward_boosting_of_fewer_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_race, "SHORT", 100)
    monkeypatch.setattr(_race, "SMALLEST", 10)
    monkeypatch.setattr(_race, "SMALLEST_PER_ACTION", 5)
    folds = []
    plain = RewardBoosting._fit

    def spy(self: RewardBoosting, log: Any) -> None:
        folds.append((len(log.position), self.n_folds))
        plain(self, log)

    monkeypatch.setattr(RewardBoosting, "_fit", spy)
    X, y = load_iris(return_X_y=True)
    log = simulate_log(X, y, random_state=0)
    PolicySearch([ConstantPolicy(), RewardBoosting(n_trees=2)], nested=False, random_state=0).fit(**log.arrays())

    assert [n_folds for n_rows, n_folds in folds if n_rows < 150] == [3, 3]
    assert [n_folds for n_rows, n_folds in folds if n_rows == 150] == ["auto"]
    assert early_copy(RewardBoosting(n_folds=4)).n_folds == 4


def test_clean_rewards_need_less_to_trust_predictions_than_rare_ones() -> None:
    clean, rare = np.tile([0.0, 1.0], 50), np.eye(100)[0]
    assert Rule.of(0.0, clean).proven < Rule.of(0.0, rare).proven
    assert "by 2.5 standard errors" in Rule.of(0.0, clean).describe("reward boosting")
    assert "by 5 standard errors" in Rule.of(0.0, rare).describe("reward boosting")


def test_what_500_rows_took_does_not_stand_for_40_times_as_many() -> None:
    budget = _timing.Budget(40.0)
    budget.note(0, 1.0, 500)
    assert 1.0 < budget.expected(0, 20_000) < 15.0
    budget.note(0, 1.0, 2_000)
    assert budget.expected(0, 20_000) == pytest.approx(10 * _timing.SPARE)


def test_a_candidate_stays_while_a_clear_lead_is_in_prospect() -> None:
    rule, random = Rule(0.0, 0.75), np.random.RandomState(0)
    for n_folds in (2, 4, 8):
        needed = [rule.lead_to_stay(seen, n_folds) for seen in range(1, n_folds)]
        assert needed == sorted(needed)
        assert needed[0] >= 0.3
        assert needed[-1] < 2
        for seen, lead in enumerate(needed, start=1):
            share = seen / n_folds
            last = np.sqrt(share) * lead + np.sqrt(1 - share) * random.standard_normal(100_000)
            assert (last > 2).mean() > 0.013  # that luck could still do
    assert rule.lead_to_stay(5, 5) == 0.3
    assert Rule(1.0, 0.75).lead_to_stay(4, 5) == 0.3


def test_who_decides_as_the_leader_does_is_not_ahead_of_it() -> None:
    reward = np.tile([0.0, 1.0], 100)
    terms = [Terms(reward, np.ones(200)), Terms(reward, np.ones(200)), Terms(np.ones(200), np.ones(200))]
    stack = replace(Stack.of(terms, [True, False, False]), favourite=1)
    rule, ones = Rule(0.0, 0.75), np.ones(200)
    assert rule.choose(stack, ones) == 2
    same = replace(Stack.of(terms[:2], [True, False]), favourite=1)
    assert rule.choose(same, ones) == 0
    assert rule.far_behind(same, ones, -0.3).tolist() == [False, True]
    assert rule.far_behind(same, ones, 1.0).tolist() == [False, False]
