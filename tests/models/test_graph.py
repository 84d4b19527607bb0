"""The graph of splits, made from tables by hand and by chance."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from offsettree import ActionTree
from offsettree.learners import ConstantClassifier
from offsettree.models import graph_from_tables
from offsettree.models._by_numpy import by_most_walks
from offsettree.models.graph import SplitGraph, round_down
from tests.models.plain import NO_SETS, FlatClassifier, compile_contests, node_by_node, random_flat_tree
from tests.strategies import nested_pairs, seeds

VALUES = np.array([-1.5, -1.0, 0.0, 0.5, 1.0, 3.0, 17.0], dtype=np.float32)


def rows_around(
    values: NDArray[np.float32], random: np.random.RandomState, shape: tuple[int, int]
) -> NDArray[np.float64]:
    """Numbers at the values, next to them in float32, and next to them in float64: where rounding matters."""
    X = random.choice(values, size=shape)
    X = np.nextafter(X, X + random.randint(-1, 2, size=shape).astype(np.float32)).astype(np.float64)
    return np.asarray(np.nextafter(X, X + random.randint(-1, 2, size=shape)))


@given(
    nested_pairs(9),
    seeds,
    st.integers(0, 12),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["<f8", "<f4", "i8", "f2"]),
)
def test_graphs_decide_as_their_trees_do(
    pairs: object, seed: int, n_splits: int, categories: bool, missing: bool, kind: str
) -> None:
    random = np.random.RandomState(seed)
    tree = ActionTree.from_pairs(pairs)
    classifiers = [
        FlatClassifier(random_flat_tree(random, 3, VALUES, n_splits, categories)) if random.randint(4) else constant
        for constant in map(ConstantClassifier, random.randint(2, size=tree.n_nodes))
    ]
    X = rows_around(VALUES, random, (37, 3)).astype(kind)
    if missing and X.dtype.kind == "f":
        X[random.random_sample(X.shape) < 0.2] = np.nan
    compiled = compile_contests(tree, classifiers, 3)
    assert isinstance(compiled, SplitGraph)
    expected = node_by_node(tree, classifiers, X)
    for form in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], np.repeat(X, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(compiled.choose(form), expected)
    assert [compiled.choose_one(row) for row in X] == expected.tolist()
    if kind != "f2":
        one_row = compiled.one_row(refused=0)
        assert [one_row(row) for row in X] == expected.tolist()
        by_numpy = by_most_walks(compiled, np.array([compiled.root], dtype=np.int32), refused=0)
        assert [by_numpy(row) for row in X] == expected.tolist()
        np.testing.assert_array_equal(compiled.choose(sp.csr_matrix(X)), expected)
        np.testing.assert_array_equal(compiled.choose(sp.csr_array(X)), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(compiled)).choose(X), expected)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(width=32, allow_nan=False))
@example(0.1, float(np.float32(0.1)))
@example(1e300, np.inf)
@example(-3.402823364973241e38, 0.0)
@example(-1e300, float(np.finfo(np.float32).min))
def test_a_threshold_rounded_down_cuts_float32_where_it_did(threshold: float, x: float) -> None:
    rounded = round_down(np.array([threshold]))[0]
    assert (np.float32(x) <= rounded) == (x <= threshold)


def test_splits_that_change_nothing_are_dropped() -> None:
    """Both sides of the root's contest are won by their left action, whatever x is; and so is one of its splits."""
    tree = ActionTree.from_pairs(((0, 1), (2, 3)))
    graph = graph_from_tables(
        tree,
        start=np.array([0, 5, 6, 6]),
        feature=np.array([0, 1, -1, -1, -1, -1]),
        threshold=np.array([0.5, 0.5, 0, 0, 0, 0]),
        left=np.array([1, 2, -1, -1, -1, -1]),
        right=np.array([4, 3, -1, -1, -1, -1]),
        missing_left=np.zeros(6, dtype=bool),
        category_set=None,
        sets=None,
        answer_left=np.array([False, False, True, True, False, False]),
    )
    assert len(graph.nodes) == 1
    assert graph.choose(np.array([[0.0, 7.0], [1.0, 7.0]])).tolist() == [1, 2]


def test_an_entry_before_its_parent_is_refused() -> None:
    with pytest.raises(ValueError, match="after its parent"):
        graph_from_tables(
            ActionTree.balanced(2),
            np.array([0, 3]),
            *(np.array([0, 0, -1]), np.zeros(3), np.array([1, 0, -1]), np.array([2, 2, -1])),
            np.zeros(3, dtype=bool),
            np.full(3, -1),
            NO_SETS,
            np.ones(3, dtype=bool),
        )


@pytest.mark.parametrize("n_actions", [2, 3, 300])
def test_constants_alone_make_a_graph_without_splits(n_actions: int) -> None:
    tree = ActionTree.balanced(n_actions)
    graph = compile_contests(tree, [ConstantClassifier(0)] * tree.n_nodes, 2)
    assert isinstance(graph, SplitGraph)
    assert len(graph.nodes) == 0
    assert graph.choose(np.zeros((9, 2))).tolist() == [n_actions - 1] * 9
    assert graph.choose_one(np.zeros(2)) == n_actions - 1
    assert graph.choose(np.zeros((0, 2))).tolist() == []


def test_a_chain_of_three_hundred_contests_is_walked_to_its_end() -> None:
    n_actions = 301
    nodes = np.arange(n_actions - 1)
    tree = ActionTree(~nodes, np.append(nodes[1:], ~(n_actions - 1)))
    # Action i wins against all to its right where x <= i.
    X = np.arange(n_actions, dtype=float)[:, np.newaxis]
    classifiers = [DecisionTreeClassifier().fit(X, X[:, 0] <= node) for node in nodes]
    graph = compile_contests(tree, classifiers, 1)
    assert graph is not None
    np.testing.assert_array_equal(graph.choose(X), np.arange(n_actions))
    assert [graph.choose_one(row) for row in X] == list(range(n_actions))


@pytest.mark.usefixtures("all_cores")
def test_large_batches_are_the_same_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.RandomState(0)
    tree = ActionTree.balanced(9)
    classifiers = [FlatClassifier(random_flat_tree(random, 3, VALUES, 9, False)) for _ in range(8)]
    graph = compile_contests(tree, classifiers, 3)
    assert graph is not None
    X = random.choice(VALUES, size=(50_003, 3))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    expected = graph.choose(X)
    monkeypatch.delenv("OMP_NUM_THREADS")
    for form in (X, X.astype(np.float64), np.asfortranarray(X), sp.csr_matrix(X)):
        np.testing.assert_array_equal(graph.choose(form), expected)
