"""PolicySearch.estimate_ by choices that know nothing of the rows they are valued in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge

from offsettree import PolicySearch
from offsettree.evaluation._reward_models import Predictions
from offsettree.evaluation._terms import estimate_terms
from offsettree.exceptions import OffsetTreeWarning
from offsettree.selection import _honest_estimate, _row_split
from offsettree.selection._nested import run_pair_trials
from offsettree.selection._trials import Log, Scoring, stratified_folds
from tests.selection.scripted import Cells, Scripted, make_log

CELLS = [(f"column {i}", Cells(i)) for i in range(6)]
TOO_HIGH = "somewhat too high on average"


def make_noise(seed: int, n_rows: int = 60) -> dict[str, Any]:
    """A log in which nothing depends on anything: every policy is worth 0.5."""
    random = np.random.RandomState(seed)
    return {
        "X": random.randint(3, size=(n_rows, 6)).astype(float),
        "action": random.randint(2, size=n_rows),
        "reward": random.randint(2, size=n_rows).astype(float),
        "propensity": np.full(n_rows, 0.5),
    }


def as_checked(log: dict[str, Any]) -> Log:
    return Log(log["X"], log["action"], log["reward"], log["propensity"], np.arange(2))


def without(log: dict[str, Any], fold: NDArray[np.intp], pair: tuple[int, int]) -> dict[str, Any]:
    return {name: column[~np.isin(fold, pair)] for name, column in log.items()}


@pytest.mark.parametrize("nested", [True, False])
def test_candidates_that_learn_from_noise_are_worth_nothing_more_by_a_nested_choice_only(
    nested: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_honest_estimate, "N_RESAMPLES", 20)
    values, winners, held = [], [], 0
    for seed in range(150):
        found = PolicySearch(CELLS, cv=3, scoring="snips", simpler_within=0, nested=nested, random_state=seed)
        estimate = found.fit(**make_noise(seed)).estimate_
        values.append(estimate.value)
        winners.append(max(found.results_.column("value")))
        held += estimate.low <= 0.5 <= estimate.high
    stderr = np.std(values) / np.sqrt(len(values))
    assert np.mean(winners) > 0.5 + 8 * stderr
    if nested:
        assert abs(np.mean(values) - 0.5) < 3 * stderr
        assert held / len(values) > 0.9
    else:
        assert np.mean(values) > 0.5 + 4 * stderr


@pytest.mark.parametrize("scoring", ["snips", "ips", "doubly_robust", "switch"])
def test_who_is_chosen_without_a_fold_does_not_depend_on_its_rewards(
    scoring: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_honest_estimate, "N_RESAMPLES", 2)
    fold = np.arange(60) % 3
    monkeypatch.setattr(_row_split, "stratified_folds", lambda *_: fold)
    changed = {True: 0, False: 0}
    for seed in range(8):
        log = make_noise(seed)
        for nested in (True, False):
            found = PolicySearch(
                CELLS, cv=3, scoring=scoring, reward_model=Ridge(), simpler_within=0, nested=nested, random_state=0
            )
            before = found.fit(**log).chosen_by_fold_
            for each in range(3):
                reward = np.where(fold == each, 1 - log["reward"], log["reward"])
                changed[nested] += found.fit(**log | {"reward": reward}).chosen_by_fold_[each] != before[each]
    assert changed[True] == 0
    assert changed[False] > 0


@pytest.mark.parametrize("scoring", ["snips", "doubly_robust"])
def test_decisions_in_a_fold_are_of_policies_and_models_that_saw_neither_it_nor_the_one_left_out(scoring: str) -> None:
    log = make_noise(0)
    fold = stratified_folds(log["action"], 4, np.random.RandomState(0))
    policies = {place: Cells(place, actions=[0, 1]) for place in range(2)}
    method = Scoring(scoring, Ridge())
    stacks = run_pair_trials(policies, np.zeros(2, dtype=bool), as_checked(log), fold, method, None).stacks
    for left_out, own in ((left_out, own) for left_out in range(4) for own in range(4) if own != left_out):
        rows = np.flatnonzero(fold == own)
        at, logged = np.arange(len(rows)), log["action"][rows]
        train = without(log, fold, (left_out, own))
        predicted = np.empty((len(rows), 2))
        for action in range(2):
            of_action = train["action"] == action
            model = Ridge().fit(train["X"][of_action], train["reward"][of_action])
            predicted[:, action] = model.predict(log["X"][rows])
        for i in range(2):
            chosen = Cells(i).fit(**train)._choose(log["X"][rows])
            known = Predictions(predicted[at, logged], predicted[at, chosen])
            expected = estimate_terms(scoring, 2.0 * (chosen == logged), log["reward"][rows], known)
            # Those to choose by are cut where they are far out.
            is_cut = np.abs(stacks[left_out].numerator[i, rows]) < np.abs(expected.numerator)
            assert is_cut.mean() <= (0.2 if scoring == "doubly_robust" else 0.0)
            np.testing.assert_allclose(stacks[left_out].numerator[i, rows][~is_cut], expected.numerator[~is_cut])
            np.testing.assert_allclose(stacks[left_out].counted[i, rows], expected.counted)
    for left_out in range(4):
        assert not stacks[left_out].numerator[:, fold == left_out].any()
        assert not stacks[left_out].counted[:, fold == left_out].any()


def test_the_choice_and_the_table_are_the_same_without_nesting_which_the_estimate_tells() -> None:
    log = make_log().arrays()
    seen: list[int] = []
    candidates = [("fair", Scripted(0.85, script=seen.append)), ("good", Scripted(0.9))]
    nested = PolicySearch(candidates, cv=4, scoring="snips", random_state=0).fit(**log)
    assert seen == [225] * 4 + [150] * 6
    seen.clear()
    plain = PolicySearch(candidates, cv=4, scoring="snips", nested=False, random_state=0).fit(**log)
    assert 0 < len(seen) <= 4
    assert set(seen) == {225}
    assert plain.best_name_ == nested.best_name_ == "good"
    for row, other in zip(plain.results_, nested.results_, strict=True):
        assert {**row, "seconds": 0} == {**other, "seconds": 0}
    assert nested.estimate_.warnings == ()
    assert TOO_HIGH in plain.estimate_.warnings[0]
    assert plain.estimate_.warnings[0].endswith("because nested=False.")


def test_two_folds_leave_nothing_to_nest_which_the_estimate_tells() -> None:
    found = PolicySearch(CELLS, cv=2, scoring="snips", random_state=0).fit(**make_noise(0))
    assert found.estimate_.warnings[0].endswith("because cv=2 leaves no third fold to train on.")


def test_where_there_is_no_choice_nothing_is_learned_for_it() -> None:
    seen: list[int] = []
    for nested in (True, False):
        one = PolicySearch([Scripted(script=seen.append)], cv=3, scoring="snips", nested=nested, random_state=0)
        one.fit(**make_log().arrays())
        assert seen == [200, 200, 200, 300]
        assert not any(TOO_HIGH in text for text in one.estimate_.warnings)
        seen.clear()


def fail_on_the_second_pair() -> Any:
    calls = {"pairs": 0}

    def script(n_rows: int) -> None:
        if n_rows == 100:
            calls["pairs"] += 1
            if calls["pairs"] == 2:
                raise RuntimeError("too few rows")

    return script


def test_a_candidate_that_fails_without_two_folds_is_not_chosen_without_either() -> None:
    """The pairs of three folds are (0, 1), (0, 2), (1, 2)."""
    candidates = [("fair", Scripted(0.98)), ("good", Scripted(1.0, script=fail_on_the_second_pair()))]
    found = PolicySearch(candidates, cv=3, scoring="snips", random_state=0).fit(**make_log().arrays())
    assert found.chosen_by_fold_ == ["fair", "good", "fair"]
    assert found.best_name_ == "good"
    assert found.results_[1]["warnings"] == ("failed on 100 of the rows: RuntimeError: too few rows",)
    assert found.estimate_.warnings == ()


def test_if_none_can_be_learned_without_two_folds_the_estimate_is_not_nested_and_says_so() -> None:
    candidates = [
        (name, Scripted(right, script=fail_on_the_second_pair())) for name, right in (("a", 0.98), ("b", 1.0))
    ]
    with pytest.warns(OffsetTreeWarning, match="because no candidate could be learned without some pair"):
        found = PolicySearch(candidates, cv=3, scoring="snips", random_state=0).fit(**make_log().arrays())
    assert TOO_HIGH in found.estimate_.warnings[0]
    assert len(found.chosen_by_fold_) == 3


class Demanding(RegressorMixin, BaseEstimator):
    """A reward model that wants more rows than two of three folds are without."""

    def fit(self, X: Any, y: Any) -> Demanding:
        if len(y) < 70:
            raise ValueError(f"only {len(y)} rows")
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        return np.full(len(X), self.mean_)


def test_if_a_reward_model_fails_without_two_folds_the_estimate_is_not_nested_and_says_so() -> None:
    candidates = [("fair", Scripted(0.98)), ("good", Scripted(1.0))]
    with pytest.warns(
        OffsetTreeWarning, match=r"because a reward model failed without a pair of folds \(ValueError: on"
    ):
        found = PolicySearch(candidates, cv=3, reward_model=Demanding(), random_state=0).fit(**make_log().arrays())
    assert found.best_name_ == "good"
