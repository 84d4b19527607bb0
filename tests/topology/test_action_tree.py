from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsettree import ActionTree
from offsettree.exceptions import TopologyError
from tests.strategies import nested_pairs, seeds


@given(nested_pairs())
def test_pairs_survive_the_round_trip(pairs: Any) -> None:
    tree = ActionTree.from_pairs(pairs)
    assert tree.to_pairs() == pairs
    assert str(tree) == str(pairs)
    assert ActionTree(tree.left, tree.right) == tree
    assert pickle.loads(pickle.dumps(tree)) == tree


@given(nested_pairs())
def test_levels_hold_every_node_once_and_after_its_children(pairs: Any) -> None:
    tree = ActionTree.from_pairs(pairs)
    seen: set[int] = set()
    for level in tree.levels():
        for node in level:
            below = [child for child in (tree.left[node], tree.right[node]) if child >= 0]
            assert seen.issuperset(below)
        seen.update(level.tolist())
    assert seen == set(range(tree.n_nodes))
    assert list(tree) == list(tree.bottom_up())
    assert len(list(tree.levels())) == tree.depth


@given(nested_pairs())
def test_paths_lead_from_each_leaf_to_the_root(pairs: Any) -> None:
    tree = ActionTree.from_pairs(pairs)
    assert sorted(tree.leaves.tolist()) == list(range(tree.n_actions))
    for action in range(tree.n_actions):
        path = list(tree.path(action))
        assert path[-1][0] == 0
        for node, from_left in path:
            left, right = tree.actions_below(node)
            assert (action in left) == from_left
            assert (action in right) != from_left


@pytest.mark.parametrize("n_actions", [2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 100, 1000, 1024, 1025])
def test_balanced_is_as_flat_as_can_be(n_actions: int) -> None:
    tree = ActionTree.balanced(n_actions)
    assert tree.depth == int(np.ceil(np.log2(n_actions)))
    np.testing.assert_array_equal(tree.leaves, np.arange(n_actions))
    sizes = [[len(side) for side in tree.actions_below(node)] for node in range(tree.n_nodes)]
    assert all(left - right in (0, 1) for left, right in sizes)


@given(st.integers(2, 200), seeds)
def test_random_is_balanced_and_repeatable(n_actions: int, seed: int) -> None:
    tree = ActionTree.random(n_actions, seed)
    assert tree == ActionTree.random(n_actions, seed)
    assert hash(tree) == hash(ActionTree.random(n_actions, seed))
    assert tree.depth == ActionTree.balanced(n_actions).depth


def test_random_orders_differ() -> None:
    assert ActionTree.random(30, 0) != ActionTree.random(30, 1)


def test_similar_puts_neighbours_in_reward_side_by_side() -> None:
    tree = ActionTree.similar([0.9, 0.1, 0.8, 0.2])
    assert tree.to_pairs() == ((1, 3), (2, 0))


def test_a_chain_of_thousands_is_no_deeper_for_python() -> None:
    n_actions = 5000
    left = [*range(1, n_actions - 1), ~(n_actions - 1)]
    tree = ActionTree(left, [~action for action in range(n_actions - 1)])
    assert tree.depth == n_actions - 1
    pairs: Any = 0
    for action in range(1, 5000):
        pairs = [pairs, action]
    assert ActionTree.from_pairs(pairs).depth == 4999


def test_arrays_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        ActionTree.balanced(3).left[0] = 1


def test_repr_says_how_large_it_is() -> None:
    assert repr(ActionTree.balanced(5)) == "<ActionTree of 5 actions, depth 3>"
    assert ActionTree.balanced(5) != "balanced"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ActionTree.from_pairs(0), "nested pairs"),
        (lambda: ActionTree.from_pairs((0, 1, 2)), "nested pairs"),
        (lambda: ActionTree.from_pairs((0, (1, 1))), "missing: 2; some appear twice"),
        (lambda: ActionTree.from_pairs((0, 2)), "unknown: 2; missing: 1"),
        (lambda: ActionTree.from_pairs((0, "a")), "whole number"),
        (lambda: ActionTree.from_pairs((0, True)), "whole number"),
        (lambda: ActionTree.balanced(1), "at least two actions"),
        (lambda: ActionTree.balanced(2.5), "at least two actions"),  # type: ignore[arg-type]
        (lambda: ActionTree.similar([0.1, np.nan]), "finite number per action"),
        (lambda: ActionTree([], []), "at least one node"),
        (lambda: ActionTree([1, ~0], [~1]), "one child per node"),
        (lambda: ActionTree([1, 0], [~1, ~2]), "exactly once"),
        (lambda: ActionTree([2, ~0, 1], [~1, ~2, ~3]), "after their parents"),
        (lambda: ActionTree([0.5], [~1]), "whole numbers"),
        (lambda: list(ActionTree.balanced(3).path(3)), "from 0 to 2"),
    ],
)
def test_what_is_no_tree_is_refused(make: Any, message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        make()
