"""`fit_log` of the forest, the regression and reward boosting: the policy file of `fit`, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from offsettree import LoggedData, OffsetForest, OffsetTree, RewardBoosting, RewardRegression
from offsettree.exceptions import FeatureError, LogError, ParameterError
from offsettree.learners import HistogramTree
from offsettree.reductions import _routed_statistics, _scratch, _settled
from tests.policy_files import content_of, many_actions

POLICIES: dict[str, Callable[[], Any]] = {
    "forest": lambda: OffsetForest(n_trees=4, random_state=0),
    "forest without scores": lambda: OffsetForest(n_trees=3, linear_scores=False, tree="random", random_state=1),
    "forest of logistic": lambda: OffsetForest(LogisticRegression(), n_trees=2, tree="similar", random_state=0),
    "regression": lambda: RewardRegression(random_state=0),
    "ridge": lambda: RewardRegression(Ridge(), random_state=0),
    "boosting": lambda: RewardBoosting(n_trees=20, random_state=0),
    "weighted boosting": lambda: RewardBoosting(n_trees=10, importance_weighted=True, random_state=0),
}


def in_chunks(log: LoggedData, size: int) -> list[LoggedData]:
    return [log[begin : begin + size] for begin in range(0, len(log), size)]


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
def test_the_file_is_that_of_fit_on_all_rows(
    make: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_scratch, "RUN_BYTES", 20_000)
    monkeypatch.setattr(_routed_statistics, "SUMMED", 128)
    log = many_actions(2_500)
    at_once = make().fit(**log.arrays())
    by_chunks = make().fit_log(in_chunks(log, 700), folder=tmp_path)
    assert content_of(by_chunks) == content_of(at_once)
    assert not list(tmp_path.iterdir())


def test_a_policy_that_was_refused_a_chunk_is_as_before(tmp_path: Path) -> None:
    log = many_actions(600)
    for make in POLICIES.values():
        policy = make().fit(**log.arrays())
        before = content_of(policy)
        with pytest.raises(LogError, match="chunks must be logs"):
            policy.fit_log([log, "no log"], folder=tmp_path)
        assert content_of(policy) == before
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "policy",
    [
        OffsetForest(bootstrap=True),
        OffsetForest(offset="median_given_x"),
        OffsetForest(path_filter=0.5),
        RewardRegression(per_action=False),
    ],
    ids=["bootstrap", "offset", "path filter", "one regression"],
)
def test_what_needs_all_rows_at_once_is_refused(policy: Any) -> None:
    with pytest.raises(ParameterError, match=r"fit_log.*Use fit on a log in memory"):
        policy.fit_log([many_actions(100)])


def test_infinity_and_other_columns_are_refused_by_boosting() -> None:
    log = many_actions(200)
    with pytest.raises(FeatureError, match="features"):
        RewardBoosting().fit_log([log, LoggedData(log.X[:, :2], log.action, log.reward, log.propensity)])
    X = log.X.copy()
    X[3, 1] = np.inf
    with pytest.raises(FeatureError, match=r"infinite|infinity"):
        RewardBoosting().fit_log([log, LoggedData(X, log.action, log.reward, log.propensity)])


@pytest.mark.parametrize(
    "make",
    [
        lambda: OffsetForest(n_trees=2, random_state=0),
        lambda: OffsetForest(LogisticRegression(), n_trees=2, tree="learned", random_state=0),
        lambda: OffsetTree(tree="learned", random_state=0),
        lambda: OffsetTree(HistogramTree(leaf_scale="auto"), random_state=0),
    ],
    ids=["forest", "forest of logistic", "learned tree", "size of leaves"],
)
def test_a_long_log_is_settled_by_the_same_sample_here_and_there(
    make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = many_actions(2_000)
    by_all = content_of(make().fit(**log.arrays()))
    monkeypatch.setattr(_settled, "SAMPLE_ROWS", 500)
    at_once = content_of(make().fit(**log.arrays()))
    assert content_of(make().fit_log(in_chunks(log, 300))) == at_once
    assert content_of(make().fit_log(in_chunks(log, 1_000))) == at_once
    assert at_once != by_all


def test_contests_of_a_tree_have_no_scores() -> None:
    log = many_actions(500)
    policy = OffsetTree(random_state=0).fit_log(in_chunks(log, 100))
    assert policy.estimators_.scores is None  # type: ignore[attr-defined]
