"""All contests at once by the histogram tree: as Algorithm 2 contest by contest, and as asking each of them."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from offsettree import ActionTree, OffsetTree
from offsettree.learners import HistogramTree
from offsettree.learners._binning import Bins
from offsettree.reductions._sides import descend
from tests.reductions.test_algorithm_2 import PlainOffsetTree, as_rows, fresh, same_tree
from tests.strategies import LoggedProblem, logged_problems, nested_pairs, seeds

pytestmark = pytest.mark.filterwarnings("ignore:.*never logged:offsettree.exceptions.OffsetTreeWarning")

LEARNERS = [
    HistogramTree(),
    HistogramTree(max_depth=2),
    HistogramTree(ccp_alpha=0.01),
    HistogramTree(leaf_scale=0.5),
]


def with_gaps(X: Any, seed: int) -> Any:
    X = as_rows(X).copy()
    X[np.random.RandomState(seed).random_sample(X.shape) < 0.1] = np.nan
    return X


def contest_by_contest(learner: HistogramTree, X: Any, X_new: Any, log: Any, pairs: Any) -> PlainOffsetTree:
    """Algorithm 2, row by row, every contest seeing the columns cut where those of the whole log are."""
    rows = list(zip(X, log.action, log.reward, log.propensity, strict=True))
    bins = Bins.fit(X)
    with patch.object(Bins, "fit", lambda *_: bins):
        return PlainOffsetTree(fresh(learner, X, X_new), rows, pairs)


@settings(max_examples=15)
@given(logged_problems(), st.sampled_from(LEARNERS), st.booleans())
def test_every_contest_is_that_of_algorithm_2(case: LoggedProblem, learner: HistogramTree, gaps: bool) -> None:
    X = with_gaps(case.log.X, 0) if gaps else as_rows(case.log.X)
    log = case.log
    plain = contest_by_contest(learner, X, X[:0], log, case.pairs)
    policy = OffsetTree(learner, tree=case.pairs, actions=case.actions)
    policy.fit(X, log.action, reward=log.reward, propensity=log.propensity)
    for node, v in same_tree(policy, case.pairs).items():
        taught = [i for i, _, weight in plain.S_v[v] if weight > 0]
        assert policy.node_rows_[node] == len(taught)
        if taught:
            expected = [plain.c[v](X[i]) for i in taught]
            assert policy.estimators_[node].predict(X[taught]).tolist() == expected


@settings(max_examples=15)
@given(logged_problems(), st.sampled_from(LEARNERS), st.booleans())
def test_with_equal_weights_every_decision_is_that_of_algorithm_2(
    case: LoggedProblem, learner: HistogramTree, gaps: bool
) -> None:
    """Sums of equal weights have no rounding: splits that tie are told apart alike, so that new rows agree as well."""
    X = with_gaps(case.log.X, 0) if gaps else as_rows(case.log.X)
    log = type(case.log)(X, case.log.action, (case.log.reward > 0.5).astype(float), np.full(len(case.log), 0.5))
    X_new = with_gaps(case.X_new, 1) if gaps else as_rows(case.X_new)
    plain = contest_by_contest(learner, X, X_new, log, case.pairs)
    policy = OffsetTree(learner, tree=case.pairs, actions=case.actions).fit(**log.arrays())
    for rows in (X[:50], X_new):
        assert policy.predict(rows).tolist() == [plain.predict(x) for x in rows]


def make_log(seed: int, n_actions: int, n_rows: int = 2000, n_columns: int = 5) -> dict[str, Any]:
    random = np.random.RandomState(seed)
    X = random.normal(size=(n_rows, n_columns)).astype(np.float32)
    action = random.randint(n_actions, size=n_rows)
    best = np.argmax(X @ random.normal(size=(n_columns, n_actions)), axis=1)
    reward = np.clip((action == best) * 0.5 + random.random_sample(n_rows) * 0.5, 0, 1)
    return {"X": X, "action": action, "reward": reward, "propensity": random.uniform(0.01, 1, size=n_rows)}


def tables(policy: OffsetTree) -> list[Any]:
    contests: Any = policy.estimators_
    return [getattr(contests.tables, name) for name in contests.tables.__dataclass_fields__] + [contests.start]


@pytest.mark.parametrize("tree", ["balanced", "random", "chain"])
@pytest.mark.parametrize("n_actions", [2, 3, 17, 64])
def test_threads_change_no_bit(n_actions: int, tree: str) -> None:
    T: Any = tree
    if tree == "chain":
        T = 0
        for leaf in range(1, n_actions):
            T = (T, leaf)
    for learner in (HistogramTree(), HistogramTree(random_cuts=True, max_features=0.5, leaf_scale="auto")):
        log = make_log(n_actions, n_actions)
        one, two, three = (
            OffsetTree(learner, tree=T, n_jobs=n_jobs, random_state=0).fit(**log) for n_jobs in (1, 2, 3)
        )
        for other in (two, three):
            np.testing.assert_array_equal(other.node_rows_, one.node_rows_)
            for here, there in zip(tables(one), tables(other), strict=True):
                np.testing.assert_array_equal(here, there)


@settings(max_examples=20)
@given(nested_pairs(), seeds, st.sampled_from([{}, {"random_cuts": True}, {"max_features": 0.3, "leaf_scale": "auto"}]))
def test_the_policy_decides_as_its_contests_do(pairs: Any, seed: int, parameters: dict[str, Any]) -> None:
    n_actions = ActionTree.from_pairs(pairs).n_actions
    log = make_log(seed, n_actions, n_rows=500)
    log["X"][np.random.RandomState(seed).random_sample(log["X"].shape) < 0.1] = np.nan
    policy = OffsetTree(HistogramTree(**parameters), tree=pairs, actions=range(n_actions), random_state=0).fit(**log)
    X_new = np.random.RandomState(seed).normal(size=(100, 5)) * 2
    X_new[::7, 1] = np.nan
    for X in (log["X"], X_new):
        expected = descend(policy.tree_, policy.estimators_, X)
        np.testing.assert_array_equal(policy.predict(X), expected)
        assert [policy.decide(x) for x in X[:30]] == expected[:30].tolist()


def make_frame(seed: int, n_rows: int, library: Any) -> Any:
    random = np.random.RandomState(seed)
    gap = random.random_sample((n_rows, 3)) < 0.1
    town = np.array([f"t{value}" for value in random.geometric(0.03, size=n_rows)], dtype=object)
    data = {
        "town": [None if gone else value for value, gone in zip(town, gap[:, 0], strict=True)],
        "x": np.where(gap[:, 1], np.nan, random.normal(size=n_rows)),
        "truth": [
            None if gone else bool(value) for value, gone in zip(random.randint(2, size=n_rows), gap[:, 2], strict=True)
        ],
        "n": random.randint(5, size=n_rows),
    }
    return library(data)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("n_actions", [2, 7, 30])
def test_frames_with_names_are_decided_alike_whole_by_row_and_by_contest(n_actions: int, library: Any) -> None:
    train, new = make_frame(0, 1500, library), make_frame(1, 200, library)
    random = np.random.RandomState(0)
    action, reward = random.randint(n_actions, size=1500), random.random_sample(1500)
    policy = OffsetTree(HistogramTree(), random_state=0).fit(train, action, reward=reward, propensity=0.1)
    assert policy.compiled_ is not None
    for frame in (train, new):
        expected = descend(policy.tree_, policy.estimators_, frame)
        np.testing.assert_array_equal(policy.predict(frame), expected)
    assert len(set(expected.tolist())) > 1
    rows = new[:40].to_dict("records") if library is pd.DataFrame else new[:40].to_dicts()
    assert [policy.decide(row) for row in rows] == expected[:40].tolist()
    assert policy.decide(new[3:4]) == expected[3]


def test_contests_are_a_sequence_of_fitted_learners() -> None:
    log = make_log(0, 6)
    policy = OffsetTree(HistogramTree(leaf_scale="auto"), random_state=0).fit(**log)
    contests = policy.estimators_
    assert len(contests) == len(list(contests)) == 5
    assert [type(one) for one in contests[1:3]] == [HistogramTree] * 2
    with pytest.raises(IndexError):
        contests[5]
    last = contests[-1]
    np.testing.assert_array_equal(last.predict_proba(log["X"]), contests[4].predict_proba(log["X"]))
    assert last.leaf_scale_ in (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
    assert last.classes_.tolist() == [0, 1]
    assert contests != copy.copy(contests)
    assert pickle.loads(pickle.dumps(last)).predict(log["X"]).tolist() == last.predict(log["X"]).tolist()


def test_a_contest_that_nobody_reaches_goes_left_and_one_side_heard_wins() -> None:
    tree = (("a", "b"), ("c", "d"))
    policy = OffsetTree(tree=tree, actions=["a", "b", "c", "d"])
    policy.fit([[0.0]] * 3, ["a", "a", "a"], reward=[1, 1, 0.5], propensity=0.5)
    assert policy.node_rows_.tolist() == [2, 2, 0]
    assert [one.predict([[0.0], [9.0]]).tolist() for one in policy.estimators_] == [[1, 1]] * 3
    policy.fit([[0.0]] * 3, ["a", "a", "a"], reward=[0, 0, 0.5], propensity=0.5)
    assert policy.node_rows_.tolist() == [0, 2, 0]
    assert policy.decide([0.0]) == "b"
    nothing = policy.fit([[0.0]], ["d"], reward=[0.5], propensity=0.5)
    assert nothing.node_rows_.tolist() == [0, 0, 0]
    assert nothing.decide([0.0]) == "a"


@pytest.mark.parametrize("actions", [[0, 1], [0, 1, 2, 3, 4]])
def test_leaves_are_chosen_even_where_one_action_was_logged_or_nothing_was_said(actions: list[int]) -> None:
    learner = HistogramTree(leaf_scale="auto")
    random = np.random.RandomState(0)
    for logged in (0, actions[-1]):
        policy = OffsetTree(learner, actions=actions, random_state=0)
        X, reward = random.normal(size=(50, 2)), random.random_sample(50)
        policy.fit(X, [logged] * 50, reward=reward, propensity=0.5)
        assert policy.predict(X).shape == (50,)
        policy.fit(X, [logged] * 50, reward=np.full(50, 0.5), propensity=0.5)
        policy.fit(X[:1], [logged], reward=[1.0], propensity=0.5)
        assert policy.decide(X[0]) == logged


def test_propensities_of_any_size_are_heard() -> None:
    """In a contest among rows that all weigh next to nothing beside others, they still decide."""
    propensity = np.array([1e-299] * 20 + [1.0] * 40)
    action = np.array([0, 1] * 10 + [2, 3] * 20)
    X = np.tile([[0.0], [0.0], [1.0], [1.0]], (15, 1))
    right = np.where(X[:, 0] == 0, 0, 1) + np.where(action >= 2, 2, 0)
    policy = OffsetTree(HistogramTree(), tree=((0, 1), (2, 3)))
    policy.fit(X, action, reward=(action == right).astype(float), propensity=propensity)
    assert policy.node_rows_[1:].tolist() == [20, 40]
    for node in (1, 2):
        assert policy.estimators_[node].predict([[0.0], [1.0]]).tolist() == [1, 0]


def test_values_at_and_about_a_threshold_go_the_same_way_everywhere() -> None:
    log = make_log(3, 12)
    policy = OffsetTree(HistogramTree(), random_state=0).fit(**log)
    threshold = np.unique(policy.estimators_.tables.threshold)  # type: ignore[attr-defined]
    random = np.random.RandomState(0)
    X = random.choice(threshold, size=(300, 5)).astype(np.float64)
    X[100:200] = np.nextafter(X[100:200].astype(np.float32), np.float32(np.inf))
    X[200:] += np.spacing(X[200:].astype(np.float32)) * random.uniform(-1, 1, size=(100, 5))
    expected = descend(policy.tree_, policy.estimators_, X)
    np.testing.assert_array_equal(policy.predict(X), expected)
    np.testing.assert_array_equal(policy.predict(X.astype(np.float32)), expected)
    assert [policy.decide(x) for x in X] == expected.tolist()


def test_values_too_large_for_float32_are_decided_alike() -> None:
    log = make_log(4, 5)
    X = log["X"].astype(np.float64) * 1e300
    X[::2] = log["X"][::2] * 1e-40
    policy = OffsetTree(HistogramTree(), random_state=0).fit(**log | {"X": X})
    expected = descend(policy.tree_, policy.estimators_, X)
    np.testing.assert_array_equal(policy.predict(X), expected)
    assert [policy.decide(x) for x in X[:50]] == expected[:50].tolist()


def test_it_survives_pickling_copying_and_cloning() -> None:
    log = make_log(0, 9)
    policy = OffsetTree(HistogramTree(random_cuts=True), random_state=0).fit(**log)
    expected = policy.predict(log["X"])
    for other in (pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy), clone(policy).fit(**log)):
        np.testing.assert_array_equal(other.predict(log["X"]), expected)
        for here, there in zip(tables(policy), tables(other), strict=True):
            np.testing.assert_array_equal(here, there)


def test_training_takes_two_fifths_of_the_room_of_x() -> None:
    random = np.random.default_rng(0)
    X = random.standard_normal((200_000, 50), dtype=np.float32)
    action, reward = random.integers(64, size=len(X)), random.random(len(X))
    policy = OffsetTree(random_state=0, n_jobs=1)
    policy.fit(X[:1000], action[:1000], reward=reward[:1000], propensity=0.5)  # compiles
    tracemalloc.start()
    try:
        policy.fit(X, action, reward=reward, propensity=0.5)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.4 * X.nbytes + 2**20


def test_the_learners_own_seed_counts() -> None:
    random = np.random.RandomState(0)
    X, action = random.normal(size=(400, 5)), random.randint(4, size=400)
    log: dict[str, Any] = {"X": X, "action": action, "reward": 1.0 * (X[:, 0] > action / 4), "propensity": 0.25}
    seeded = [OffsetTree(HistogramTree(random_cuts=True, random_state=7)).fit(**log).predict(X) for _ in range(2)]
    np.testing.assert_array_equal(seeded[0], seeded[1])


def test_rows_of_a_sparse_matrix_that_name_a_column_twice_are_added_up() -> None:
    random = np.random.RandomState(0)
    dense = random.normal(size=(300, 3))
    indices = np.tile([0, 1, 2, 0, 1, 2], 300)
    twice = sp.csr_matrix((np.hstack([dense / 4, 3 * dense / 4]).ravel(), indices, np.arange(0, 1801, 6)))
    action = random.randint(3, size=300)
    reward = (dense[:, 0] > action / 3).astype(float)
    policy = OffsetTree(random_state=0).fit(dense, action, reward=reward, propensity=1 / 3)
    assert twice.nnz == 1800
    np.testing.assert_array_equal(policy.predict(twice), policy.predict(twice.toarray()))
    assert twice.nnz == 1800  # ours to add up, not the caller's to lose
