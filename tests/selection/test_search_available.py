"""PolicySearch where rows may not choose every action."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, Ridge

from offsettree import OffsetTree, OnlineOffsetTree, PolicySearch, RewardRegression, evaluate
from offsettree.selection._trials import Log, Scoring, folds_of, run_trial, stratified_folds

K = 4


def make_log(n_rows: int = 600, seed: int = 0) -> tuple[dict[str, Any], NDArray[np.bool_], NDArray[np.float64]]:
    """Uniform logging among sets of two or more actions; clicks, the means of which are returned."""
    random = np.random.RandomState(seed)
    X = random.standard_normal((n_rows, 3))
    mean = 1 / (1 + np.exp(-2 * X @ np.random.RandomState(9).standard_normal((3, K))))
    mask = random.random_sample((n_rows, K)) < 0.5
    mask[np.arange(n_rows), random.randint(K - 1, size=n_rows)] = True
    mask[:, K - 1] = True
    action = np.array([random.choice(np.flatnonzero(row)) for row in mask])
    reward = (random.random_sample(n_rows) < mean[np.arange(n_rows), action]).astype(float)
    return {"X": X, "action": action, "reward": reward, "propensity": 1 / mask.sum(axis=1)}, mask, mean


def candidates() -> list[tuple[str, Any]]:
    return [("ridge", RewardRegression(Ridge())), ("tree", OffsetTree(LogisticRegression()))]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scoring", ["snips", "doubly_robust"])
def test_no_decision_leaves_the_available_set(form: Any, scoring: str) -> None:
    log, mask, _ = make_log()
    search = PolicySearch(candidates(), scoring=scoring, reward_model=Ridge(), cv=3, random_state=0)
    search.fit(**log, available=form(mask))
    assert search.results_.column("error") == [None, None]
    new, new_mask, _ = make_log(seed=1)
    chosen = search.predict(new["X"], form(new_mask))
    assert new_mask[np.arange(len(chosen)), chosen].all()
    assert search.decide(new["X"][0], new_mask[0]) == chosen[0]


def test_out_of_fold_decisions_are_those_of_policies_that_learned_and_decide_with_the_mask() -> None:
    log, mask, _ = make_log()
    from offsettree._available import Available

    fold = stratified_folds(log["action"], 3, np.random.RandomState(0))
    checked = Log(log["X"], log["action"], log["reward"], log["propensity"], np.arange(K), Available(mask))
    policy = OffsetTree(LogisticRegression(), random_state=0, actions=range(K))
    for each, part in enumerate(folds_of(fold)):
        weight = run_trial({0: policy}, checked, part, Scoring("snips"))[0].weight
        rest, own = fold != each, fold == each
        columns = {name: column[rest] for name, column in log.items()}
        expected = policy.fit(**columns, available=mask[rest]).predict(log["X"][own], mask[own])
        np.testing.assert_array_equal(weight, (expected == log["action"][own]) / log["propensity"][own])


def test_the_estimate_is_of_decisions_within_the_sets_and_nothing_is_warned_of() -> None:
    log, mask, _ = make_log(3000)
    search = PolicySearch(candidates(), reward_model=Ridge(), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.fit(**log, available=mask)
    new, new_mask, mean = make_log(20_000, seed=1)
    chosen = search.predict(new["X"], new_mask)
    true = mean[np.arange(len(chosen)), chosen].mean()
    assert abs(search.estimate_.value - true) < 4 * search.estimate_.stderr


def test_all_actions_available_changes_nothing() -> None:
    log, _, _ = make_log()
    log["propensity"] = np.full(600, 1 / K)
    plain = PolicySearch(candidates(), scoring="snips", cv=2, random_state=0).fit(**log)
    masked = PolicySearch(candidates(), scoring="snips", cv=2, random_state=0)
    masked.fit(**log, available=np.ones((600, K), dtype=bool))
    assert plain.results_.column("value") == masked.results_.column("value")
    assert plain.estimate_ == masked.estimate_


def test_a_candidate_that_takes_no_masks_is_named_and_skipped() -> None:
    log, mask, _ = make_log()
    online = ("online", OnlineOffsetTree())
    search = PolicySearch([online, *candidates()], scoring="snips", cv=2, random_state=0).fit(**log, available=mask)
    assert "available must be None" in search.results_[0]["error"]
    assert search.best_name_ != "online"
    values = [row["value"] for row in search.results_[1:]]
    assert max(values) <= 1
    assert evaluate(search, **make_log(seed=1)[0], available=make_log(seed=1)[1]).value > 0.5
