"""PolicySearch: candidates learned, compared, chosen, and what the choice is worth."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from offsettree import OffsetTree, PolicySearch, RewardRegression, evaluate
from offsettree.exceptions import LogError, OffsetTreeWarning, ParameterError
from offsettree.selection import _race, default_candidates
from tests.selection.scripted import Scripted, make_log

GOOD, FAIR, POOR = ("good", Scripted(1.0)), ("fair", Scripted(0.7)), ("poor", Scripted(0.2))


def fail(n_rows: int) -> None:
    raise RuntimeError(f"no luck with {n_rows} rows")


def fail_on_all(n_rows: int) -> None:
    if n_rows == 300:
        fail(n_rows)


@pytest.mark.parametrize("scoring", ["doubly_robust", "snips", "ips", "switch"])
def test_the_best_candidate_is_chosen_and_learned_from_all_rows(scoring: str) -> None:
    log = make_log()
    chosen = PolicySearch([POOR, FAIR, GOOD], scoring=scoring, reward_model=Ridge(), random_state=0).fit(**log.arrays())
    assert chosen.best_name_ == "good"
    assert vars(chosen.best_policy_)["n_rows_"] == 300
    assert chosen.chosen_by_fold_ == ["good"] * 5
    assert chosen.results_.column("outcome") == ["dropped", "dropped", "chosen"]
    assert chosen.results_.column("value") == sorted(chosen.results_.column("value"))
    assert chosen.results_[2]["behind"] == 0
    np.testing.assert_array_equal(chosen.predict(log.X), log.X[:, 0])


def test_an_estimate_that_leaves_rows_to_the_reward_model_says_so() -> None:
    log = make_log(600)
    arrays = log.arrays() | {"propensity": np.where(np.arange(600) % 50 == 0, 1e-3, 0.5)}
    for scoring, is_said in (("switch", True), ("doubly_robust", False)):
        search = PolicySearch([("half", Scripted(0.5))], scoring=scoring, reward_model=DummyRegressor(), random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OffsetTreeWarning)  # such propensities cannot be right
            search.fit(**arrays)
        said = any(
            "the choice's largest weights were left to the reward model" in text for text in search.estimate_.warnings
        )
        assert said == is_said


def test_values_are_those_that_evaluate_gives_for_the_same_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_race, "BEHIND", 1e9)
    log = make_log()
    near = [("nearly", Scripted(0.98)), GOOD]
    table = PolicySearch(near, scoring="snips", random_state=0).fit(**log.arrays()).results_
    for row, (_, policy) in zip(table, near, strict=True):
        expected = evaluate(
            clone(policy).fit(**log.arrays()).predict(log.X), **log.arrays(), method="snips", baseline=None
        )
        for name in ("value", "stderr", "low", "high"):
            assert row[name] == pytest.approx(getattr(expected, name))


def test_of_two_that_the_log_cannot_tell_apart_the_simpler_is_chosen() -> None:
    log = make_log()
    near = [("simple", Scripted(0.990)), ("elaborate", Scripted(1.0))]
    arguments: dict[str, Any] = {"scoring": "snips", "random_state": 0}
    behind = PolicySearch(near, **arguments).fit(**log.arrays()).results_[0]
    within = behind["behind"] / behind["behind_stderr"] if behind["behind"] else 0.0
    assert PolicySearch(near, simpler_within=within + 0.01, **arguments).fit(**log.arrays()).best_name_ == "simple"
    assert PolicySearch([near[1], near[0]], **arguments).fit(**log.arrays()).best_name_ == "elaborate"


def test_the_estimate_comes_with_its_difference_to_what_was_logged() -> None:
    log = make_log(2000)
    estimate = PolicySearch([POOR, FAIR], random_state=0, reward_model=Ridge()).fit(**log.arrays()).estimate_
    assert estimate.low < 0.7 < estimate.high
    assert estimate.baseline is not None
    assert estimate.baseline.value == pytest.approx(log.reward.mean())
    assert estimate.difference is not None
    assert estimate.difference.low > 0
    assert estimate.n_rows == 2000


def test_a_candidate_that_fails_is_named_and_skipped() -> None:
    log = make_log()
    found = PolicySearch([("broken", Scripted(script=fail)), FAIR], scoring="snips", random_state=0).fit(**log.arrays())
    assert found.best_name_ == "fair"
    broken = found.results_[0]
    assert (broken["outcome"], broken["value"]) == ("failed", None)
    assert broken["error"] == "RuntimeError: no luck with 240 rows"
    assert "failed: RuntimeError" in str(found.results_)


def test_a_candidate_that_fails_on_all_rows_makes_way_for_the_next() -> None:
    log = make_log()
    late = ("late", Scripted(1.0, script=fail_on_all))
    found = PolicySearch([late, FAIR, POOR], scoring="snips", random_state=0).fit(**log.arrays())
    assert found.best_name_ == "fair"
    assert found.results_.column("outcome") == ["failed", "chosen", "dropped"]
    assert found.chosen_by_fold_ == ["fair"] * 5


def test_if_all_fail_the_search_fails_and_says_with_what() -> None:
    broken = [("first", Scripted(script=fail)), ("second", Scripted(script=fail))]
    with pytest.raises(LogError, match=r"none of the 2 candidates .*first \(RuntimeError: no luck.*second \(Runtime"):
        PolicySearch(broken).fit(**make_log().arrays())
    with pytest.raises(LogError, match="none of the 1 candidates"):
        PolicySearch([("late", Scripted(script=fail_on_all))], scoring="snips").fit(**make_log().arrays())


def test_a_candidate_that_agrees_with_no_row_is_not_compared_by_propensities_alone() -> None:
    log = make_log()
    right = log[log.reward == 1]  # every action logged is the right one
    found = PolicySearch([("wrong", Scripted(0.0)), FAIR], scoring="snips", random_state=0)
    found.fit(**right.arrays())
    assert found.results_[0]["error"] == "in none of the rows was an action logged that it would take"
    assert found.best_name_ == "fair"
    found.set_params(scoring="doubly_robust", reward_model=Ridge())
    found.fit(**right.arrays())
    assert found.results_[0]["outcome"] != "failed"


def test_an_interrupt_leaves_the_search_as_it_was() -> None:
    def interrupt(n_rows: int) -> None:
        raise KeyboardInterrupt

    log = make_log()
    found = PolicySearch([FAIR], scoring="snips", random_state=0).fit(**log.arrays())
    before = dict(found.__dict__)
    found.candidates = [FAIR, ("interrupted", Scripted(script=interrupt))]
    with pytest.raises(KeyboardInterrupt):
        found.fit(**make_log(100, seed=1).arrays())
    assert {name: value for name, value in found.__dict__.items() if name != "candidates"} == {
        name: value for name, value in before.items() if name != "candidates"
    }


def test_what_candidates_warn_of_is_kept_in_the_table() -> None:
    log = make_log()
    impatient = OffsetTree(make_pipeline(LogisticRegression(max_iter=1, C=1e6)), random_state=0)
    table = PolicySearch([("impatient", impatient), GOOD], scoring="snips", random_state=0).fit(**log.arrays()).results_
    assert any("ConvergenceWarning" in text for text in table[0]["warnings"])
    assert table[1]["warnings"] == ()


def test_the_same_seed_gives_the_same_search_and_workers_change_nothing() -> None:
    log = make_log(150)
    candidates = [RewardRegression(Ridge()), OffsetTree()]
    # Trees that are drawn at random: seeds must not depend on who works.
    model = ExtraTreesRegressor(n_estimators=3)
    one = PolicySearch(candidates, cv=3, reward_model=model, random_state=7).fit(**log.arrays())
    two = clone(one).set_params(n_jobs=2).fit(**log.arrays())
    for first, second in zip(one.results_, two.results_, strict=True):
        assert {**first, "seconds": 0} == {**second, "seconds": 0}
    assert one.estimate_ == two.estimate_
    assert one.chosen_by_fold_ == two.chosen_by_fold_


def test_the_units_of_rewards_are_those_of_the_log() -> None:
    log = make_log()
    plain = PolicySearch([POOR, FAIR], scoring="snips", random_state=0).fit(**log.arrays())
    money = PolicySearch([POOR, FAIR], scoring="snips", reward_range=(-20, 80), random_state=0)
    money.fit(log.X, log.action, reward=100 * log.reward - 20, propensity=log.propensity)
    assert money.estimate_.value == pytest.approx(100 * plain.estimate_.value - 20)
    assert money.best_policy_.reward_range == (-20, 80)


def test_a_learner_that_picks_columns_by_name_sees_the_frame() -> None:
    random = np.random.RandomState(0)
    frame = pd.DataFrame({"colour": random.choice(["red", "blue"], size=200), "size": random.uniform(size=200)})
    right = (frame["colour"] == "red").to_numpy().astype(int)
    action = random.randint(2, size=200)
    by_name = make_pipeline(make_column_transformer((OneHotEncoder(), ["colour"])), LogisticRegression())
    found = PolicySearch([OffsetTree(LogisticRegression()), OffsetTree(by_name)], scoring="snips", cv=3, random_state=0)
    found.fit(frame, action, reward=(action == right).astype(float), propensity=0.5)
    assert found.results_[0]["outcome"] == "failed"
    assert found.best_name_ == " ".join(repr(OffsetTree(by_name)).split())
    assert found.decide({"colour": "red", "size": 0.5}) == 1


def test_a_long_log_is_compared_on_some_rows_and_the_chosen_one_learns_from_all() -> None:
    log = make_log(1000)
    seen: list[int] = []
    candidates = [("poor", Scripted(0.2)), ("good", Scripted(1.0, script=seen.append))]
    found = PolicySearch(candidates, cv=2, scoring="snips", max_rows=300, random_state=0).fit(**log.arrays())
    assert seen == [150, 150, 1000]
    assert found.estimate_.n_rows == 300
    assert found.best_name_ == "good"
    assert vars(found.best_policy_)["n_rows_"] == 1000
    seen.clear()
    found.set_params(max_rows=None).fit(**log.arrays())
    assert seen == [500, 500, 1000]
    assert found.estimate_.n_rows == 1000


def test_it_survives_pickling_and_its_table_makes_a_frame() -> None:
    found = PolicySearch([POOR, GOOD], scoring="snips", random_state=0).fit(**make_log().arrays())
    again = pickle.loads(pickle.dumps(found))
    assert again.results_ == found.results_
    assert again.estimate_ == found.estimate_
    assert pd.DataFrame(found.results_)["name"].tolist() == ["poor", "good"]
    assert str(found.results_).splitlines()[2].startswith("good")


def test_the_default_candidates_differ_and_can_be_added_to() -> None:
    dense, sparse = default_candidates(), default_candidates(sparse=True)
    assert dense[0].name == sparse[0].name == "constant"
    assert len({name for name, _ in dense}) == len(dense)
    found = PolicySearch([*sparse, GOOD], scoring="snips", cv=2, random_state=0).fit(**make_log(100).arrays())
    assert found.results_.column("error") == [None] * 5


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "one fold": ({"cv": 1}, r"cv must be a whole number of folds, from 2 to the number of rows, 300; got 1"),
    "more folds than rows": ({"cv": 301}, "got 301"),
    "folds by word": ({"cv": "five"}, "got 'five'"),
    "a truth value": ({"cv": True}, "got True"),
    "nested by word": ({"nested": "yes"}, "nested must be True or False; got 'yes'"),
    "accuracy": ({"scoring": "accuracy"}, r"scoring must be one of 'doubly_robust', .*; got 'accuracy'"),
    "the direct method": ({"scoring": "direct"}, "that agrees with the reward model"),
    "a classifier of rewards": (
        {"reward_model": LogisticRegression(), "scoring": "switch"},
        "reward_model must be a regressor",
    ),
    "less than simpler": ({"simpler_within": -1}, "simpler_within must be a number of at least 0; got -1"),
    "hardly any rows": ({"max_rows": 99}, "max_rows must be None or a whole number of at least 100 rows .*; got 99"),
    "rows by word": ({"max_rows": "all"}, "max_rows must be None or a whole number .*; got 'all'"),
    "more folds than rows compared": ({"cv": 200, "max_rows": 100}, "from 2 to the number of rows, 100; got 200"),
    "no time": ({"time_budget": 0}, "time_budget must be None or seconds, more than 0; got 0"),
    "a level of percent": ({"level": 95}, "level must be between 0 and 1"),
    "an unknown word": ({"candidates": "all"}, "candidates must be 'default', or a list .*; got 'all'"),
    "one policy": ({"candidates": OffsetTree()}, r"candidates must be 'default', or a list .*; got OffsetTree\(\)"),
    "a number": ({"candidates": 3}, "got 3"),
    "nobody": ({"candidates": []}, "at least one policy"),
    "a class": ({"candidates": [OffsetTree]}, r"must be an instance, not a class: write OffsetTree\(\)"),
    "a classifier": ({"candidates": [("c", LogisticRegression())]}, "'c' must be a policy of this package"),
    "a triple": ({"candidates": [("a", "b", OffsetTree())]}, r"a policy or a pair \(name, policy\)"),
    "two of one name": ({"candidates": [GOOD, GOOD]}, "'good' occurs 2 times"),
    "actions of its own": ({"candidates": [OffsetTree(actions=[0, 1, 2])]}, "must not have its own actions"),
    "a range of its own": (
        {"candidates": [OffsetTree(reward_range=(0, 5))]},
        r"reward_range, \(0.0, 1.0\); got \(0.0, 5.0\)",
    ),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_parameters_are_refused_before_any_work(bad: str) -> None:
    changes, message = BAD[bad]
    parameters = {"candidates": [("never learned", Scripted(script=fail))], "scoring": "snips"} | changes
    with pytest.raises(ParameterError, match=message):
        PolicySearch(**parameters).fit(**make_log().arrays())
