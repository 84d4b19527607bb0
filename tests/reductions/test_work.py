"""The paper's promise of O(log2 k) work, counted: questions of a decision, contests of an online update."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin

from offsettree import ActionTree, OffsetForest, OffsetTree, OnlineOffsetTree, distill

SHAPES = ("balanced", "random", "similar", "learned")
asked: list[int] = []


class Counting(ClassifierMixin, BaseEstimator):
    """Answers at random, and counts the rows that it is asked about."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.classes_ = np.unique(y)
        self.threshold_ = float(np.median(X[:, 0]))
        return self

    def predict(self, X: Any) -> Any:
        asked.append(len(X))
        return (X[:, 0] > self.threshold_).astype(int)


def uniform_log(k: int, n_rows: int, seed: int) -> dict[str, Any]:
    random = np.random.RandomState(seed)
    action = np.concatenate([np.arange(k), random.randint(k, size=n_rows - k)])
    return {
        "X": random.normal(size=(n_rows, 3)),
        "action": action,
        "reward": random.randint(2, size=n_rows).astype(float),
        "propensity": np.full(n_rows, 1 / k),
    }


def questions(policy: Any, X: Any) -> list[int]:
    counts = []
    for row in X:
        asked.clear()
        policy.predict(row[np.newaxis])
        counts.append(sum(asked))
    return counts


@pytest.mark.parametrize("shape", SHAPES)
@given(k=st.integers(2, 40), seed=st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_a_decision_asks_at_most_log2_k_questions(shape: str, k: int, seed: int) -> None:
    log = uniform_log(k, 400, seed)
    policy = OffsetTree(Counting(), tree=shape, actions=range(k), random_state=seed).fit(**log)
    most = math.ceil(math.log2(k))
    assert policy.tree_.depth <= most
    assert max(questions(policy, log["X"][:20])) <= most


def test_a_chain_promises_nothing_and_asks_up_to_k_minus_1() -> None:
    k, chain = 9, 0
    for action in range(1, 9):
        chain = (chain, action)  # type: ignore[assignment]
    policy = OffsetTree(Counting(), tree=ActionTree.from_pairs(chain)).fit(**uniform_log(k, 400, 0))
    assert policy.tree_.depth == k - 1


def test_every_tree_of_a_forest_and_a_distilled_policy_keep_the_promise() -> None:
    log = uniform_log(11, 600, 0)
    forest = OffsetForest(n_trees=4, random_state=0).fit(**log)
    assert all(tree.tree_.depth <= 4 for tree in forest.estimators_)
    student = distill(forest, log["X"], random_state=0)
    assert student.tree_.depth <= 4


@given(k=st.integers(2, 40), seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_an_online_update_changes_at_most_log2_k_contests(k: int, seed: int) -> None:
    log, most = uniform_log(k, 60, seed), math.ceil(math.log2(k))
    policy = OnlineOffsetTree(actions=range(k), tree="random", random_state=seed)
    policy.learn(log["X"][0], int(log["action"][0]), log["reward"][0], 1 / k)
    for row in range(1, 60):
        before, weights = policy.node_rows_.copy(), policy._model.weights.copy()
        policy.learn(log["X"][row], int(log["action"][row]), log["reward"][row], 1 / k)
        reached = np.flatnonzero(policy.node_rows_ != before)
        on_path = {node for node, _ in policy.tree_.path(int(log["action"][row]))}
        assert 1 <= len(reached) <= most
        assert set(reached.tolist()) <= on_path
        changed = np.flatnonzero(policy._model.weights != weights)
        assert len(changed) <= 2 * most * (3 + 1)  # a weight and its rate, for every feature and the constant
