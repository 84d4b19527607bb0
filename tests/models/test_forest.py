"""Many compiled trees, voting."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from offsettree import ActionTree, OffsetForest
from offsettree.learners import ConstantClassifier
from offsettree.learners._kernels_histogram import find_leaves
from offsettree.models import CompiledForest, CompiledTree, _small_trees
from tests.models.plain import FlatClassifier, compile_contests, node_by_node, random_flat_tree
from tests.strategies import seeds

VALUES = np.array([-1.0, 0.0, 0.5, 3.0], dtype=np.float32)


def some_trees(random: np.random.RandomState, n_actions: int, categories: bool = False) -> list[CompiledTree]:
    trees = []
    for _ in range(random.randint(1, 8)):
        tree = ActionTree.random(n_actions, random)
        contests = [FlatClassifier(random_flat_tree(random, 3, VALUES, 4, categories)) for _ in range(tree.n_nodes)]
        if random.randint(6) == 0:
            contests = [ConstantClassifier(1)] * tree.n_nodes
        trees.append(compile_contests(tree, contests, 3))
    return trees  # type: ignore[return-value]


def counted(trees: list[CompiledTree], X: Any, n_actions: int) -> NDArray[np.int64]:
    return sum(np.eye(n_actions, dtype=int)[tree.choose(X)] for tree in trees)  # type: ignore[return-value]


@pytest.mark.parametrize("categories", [False, True])
@settings(max_examples=25)
@given(seeds)
def test_the_forest_counts_what_its_trees_choose(categories: bool, seed: int) -> None:
    random = np.random.RandomState(seed)
    n_actions = random.randint(2, 9)
    trees = some_trees(random, n_actions, categories)
    forest = CompiledForest(trees, n_actions)
    X = random.choice(VALUES, size=(150, 3))
    X[random.random_sample(X.shape) < 0.01] = np.nan
    votes = counted(trees, X, n_actions)
    for form in (X, X.astype(np.float64), np.asfortranarray(X), sp.csr_matrix(X)):
        np.testing.assert_array_equal(forest.votes(form), votes)
        np.testing.assert_array_equal(forest.choose(form), votes.argmax(axis=1))  # of equals the first
    one_row = pickle.loads(pickle.dumps(forest)).one_row(refused=0)
    assert [one_row(row) for row in X] == votes.argmax(axis=1).tolist()


def by_walks(forest: CompiledForest) -> CompiledForest:
    """Return the same forest, which has no other way than to walk."""
    other = pickle.loads(pickle.dumps(forest))
    other.__dict__["_small"] = None
    return other  # type: ignore[no-any-return]


@pytest.mark.parametrize("width", [1, 8, 21])
@pytest.mark.parametrize("n_rows", [16, 128, 300])
def test_small_trees_decide_on_blocks_as_walks_do(width: int, n_rows: int) -> None:
    random = np.random.RandomState(width)
    X = random.normal(size=(400, width)).astype(np.float32)
    action = random.randint(5, size=len(X))
    reward = (np.sin(3 * X[:, 0] + action) > 0).astype(float)
    policy = OffsetForest(n_trees=9, random_state=0).fit(X, action, reward=reward, propensity=0.2)
    tree = ActionTree.balanced(5)
    always = compile_contests(tree, [ConstantClassifier(1)] * tree.n_nodes, width)
    trees = [always, *(member.compiled_ for member in policy.estimators_), always]
    forest = CompiledForest(trees, 5)
    table = random.normal(size=(n_rows, width))
    table[0, 0], table[1, -1] = 3e38, 1e300  # finite, and then as float32 infinite
    assert forest._small is not None
    with np.errstate(over="ignore"):
        forms = table.astype(np.float32), table, np.asfortranarray(table)
    for form in forms:
        votes = by_walks(forest).votes(form)
        assert (votes.argmax(axis=1) != votes[0].argmax()).any()
        np.testing.assert_array_equal(forest.votes(form), votes)
        np.testing.assert_array_equal(forest.choose(form), votes.argmax(axis=1))
    table[n_rows // 2, 0] = np.inf
    np.testing.assert_array_equal(forest.votes(table), by_walks(forest).votes(table))
    assert forest.choose_screening(table, refused=2) is None
    assert forest.choose_screening(table, refused=1) is not None


def test_small_trees_know_where_missing_values_go() -> None:
    random = np.random.RandomState(1)
    X = random.normal(size=(900, 5))
    X[:, 1] = X[:, 0]
    X[:450, 0], X[random.random_sample(X.shape) < 0.2] = np.nan, np.nan
    action = random.randint(4, size=len(X))
    reward = (np.isnan(X[:, 0]) == (action % 2)) * (np.nan_to_num(X[:, 2]) > 0) * 1.0
    forest = OffsetForest(n_trees=9, random_state=0).fit(X, action, reward=reward, propensity=0.25).compiled_
    assert isinstance(forest, CompiledForest)
    assert forest._small is not None
    assert 0 < forest._small.missing_right.mean() < 1
    for table in (X, X[:300], X[-20:].astype(np.float32)):
        votes = by_walks(forest).votes(table)
        np.testing.assert_array_equal(forest.votes(table), votes)
        np.testing.assert_array_equal(forest.choose(table), votes.argmax(axis=1))


def test_large_trees_are_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.RandomState(0)
    X = random.normal(size=(900, 4))
    action = random.randint(8, size=len(X))
    policy = OffsetForest(n_trees=3, random_state=0).fit(
        X, action, reward=random.randint(2, size=len(X)), propensity=1 / 8
    )
    forest = policy.compiled_
    assert isinstance(forest, CompiledForest)
    for most, is_small in ((10**6, True), (5, False)):
        monkeypatch.setattr(_small_trees, "MOST_SPLITS", most)
        assert (pickle.loads(pickle.dumps(forest))._small is not None) == is_small


def test_trees_of_different_kinds_vote_together() -> None:
    random = np.random.RandomState(3)
    X = random.normal(size=(200, 3))
    trees = some_trees(random, 5)
    for _ in range(4):
        planes = [LogisticRegression().fit(X, X @ random.normal(size=3) > 0) for _ in range(4)]
        linear = compile_contests(ActionTree.random(5, random), planes, 3)
        assert linear is not None
        trees.append(linear)
    forest = CompiledForest(trees, 5)
    votes = counted(trees, X, 5)
    np.testing.assert_array_equal(forest.votes(X), votes)
    np.testing.assert_array_equal(forest.choose(X), votes.argmax(axis=1))
    np.testing.assert_array_equal(CompiledForest(trees[-2:], 5).votes(X), counted(trees[-2:], X, 5))
    one_row = forest.one_row(refused=3)
    assert [one_row(row) for row in X] == votes.argmax(axis=1).tolist()
    bad = X.copy()
    bad[7, 1] = np.nan
    assert one_row(bad[7]) == -1
    assert forest.choose_screening(bad, refused=1) is None


def test_a_forest_of_no_trees_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one tree"):
        CompiledForest([], 3)


@pytest.mark.parametrize("width", [1, 8, 21])
@pytest.mark.parametrize("category", [False, True])
def test_splits_by_score_decide_as_the_contests_own_predict(width: int, category: bool) -> None:
    random = np.random.RandomState(width)
    X = random.normal(size=(900, width)).astype(np.float32)
    n_actions = 7
    action = random.randint(n_actions, size=len(X))
    reward = (np.sin(X[:, 0] + action) > 0).astype(float)
    data: Any = X
    if category:
        data = pd.DataFrame(X)
        data["colour"] = pd.Categorical(random.choice(["red", "green", "blue"], len(X)))
        data.columns = data.columns.astype(str)
    policy = OffsetForest(n_trees=14, random_state=0).fit(data, action, reward=reward, propensity=1 / n_actions)
    forest = policy.compiled_
    assert isinstance(forest, CompiledForest)
    table = np.asarray(policy._as_numbers(data) if category else X, dtype=np.float32)[:205]
    table[3, 0], table[5, -1], table[7, 0], table[9, 0] = np.nan, np.inf, 3e38, -3e38
    votes = np.zeros((len(table), n_actions), dtype=int)
    for member in policy.estimators_:
        chosen = node_by_node(member.tree_, _on_numbers(member.estimators_), table)
        votes[np.arange(len(table)), chosen] += 1
    finite = np.r_[0:3, 10 : len(table)]
    for form in (table, table.astype(np.float64), np.asfortranarray(table), sp.csr_matrix(table)):
        np.testing.assert_array_equal(forest.votes(form), votes)
        np.testing.assert_array_equal(forest.choose(form[finite]), votes[finite].argmax(axis=1))
    one_row = pickle.loads(pickle.dumps(forest)).one_row(refused=0)
    assert [one_row(row) for row in table] == votes.argmax(axis=1).tolist()
    assert policy.estimators_[0].compiled_ is not None
    np.testing.assert_array_equal(
        policy.estimators_[0].compiled_.choose(table),
        node_by_node(policy.estimators_[0].tree_, _on_numbers(policy.estimators_[0].estimators_), table),
    )


def _on_numbers(contests: Any) -> list[Any]:
    return [OnNumbers(contest) for contest in contests]


class OnNumbers:
    """A fitted histogram tree past the checks of its own `predict`, which refuses infinity."""

    def __init__(self, contest: Any) -> None:
        self.contest = contest

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        leaf = np.empty(X.shape[0], dtype=np.int32)
        find_leaves(self.contest._with_score(X), leaf, *self.contest.flat_tree_.arrays())
        return np.asarray(self.contest.flat_tree_.answer[leaf])
