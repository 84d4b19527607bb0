"""Rows in one array: every contest is a slice, and subtrees can be climbed apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from offsettree import ActionTree
from offsettree.reductions._contests import share_out
from offsettree.reductions._ladder import Contest, Ladder, climb


def random_tree(n_actions: int, random: np.random.RandomState) -> ActionTree:
    """A tree of any shape: two of the parts at hand are joined at random, until one is left."""
    parts: list[object] = list(random.permutation(n_actions).tolist())
    while len(parts) > 1:
        first, second = parts.pop(random.randint(len(parts))), parts.pop(random.randint(len(parts)))
        parts.append((first, second))
    return ActionTree.from_pairs(parts[0])


def chance(contest: Contest, seed: int) -> NDArray[np.bool_]:
    """An answer that depends on the contest alone, as that of a classifier does."""
    return np.random.RandomState(seed + contest.node).random_sample(len(contest.rows)) < 0.6


@given(st.integers(2, 30), st.integers(0, 60), st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 1.0]))
def test_contests_hear_the_rows_that_won_below_in_the_order_of_the_log(
    n_actions: int, n_rows: int, seed: int, share: float
) -> None:
    random = np.random.RandomState(seed)
    tree, action, weighted = (
        random_tree(n_actions, random),
        random.randint(n_actions, size=n_rows),
        random.random_sample(n_rows) < 0.8,
    )
    n_lost = np.zeros(n_rows, dtype=int)
    seen = 0

    def hold(contest: Contest) -> NDArray[np.bool_]:
        nonlocal seen
        seen += 1
        left, right = tree.actions_below(contest.node)
        below = weighted & np.isin(action, np.concatenate([left, right]))
        np.testing.assert_array_equal(contest.rows, np.flatnonzero(below & ((n_lost == 0) | (share > 0))))
        np.testing.assert_array_equal(contest.from_left, np.isin(action[contest.rows], left))
        if share:
            assert contest.standing is not None
            np.testing.assert_allclose(contest.standing, share ** n_lost[contest.rows])
        sent_left = chance(contest, seed)
        n_lost[contest.rows[sent_left != contest.from_left]] += 1
        return sent_left

    climb(Ladder.at_leaves(tree, action, weighted, share), hold)
    assert seen == tree.n_nodes


@given(st.integers(2, 40), st.integers(0, 10_000), st.integers(1, 12), st.sampled_from([0.0, 0.5]))
def test_subtrees_climbed_apart_bring_the_same_rows_to_the_nodes_above(
    n_actions: int, seed: int, n_parts: int, share: float
) -> None:
    random = np.random.RandomState(seed)
    tree = random_tree(n_actions, random)
    action, weighted = random.randint(n_actions, size=200), np.ones(200, dtype=bool)
    whole, apart = (Ladder.at_leaves(tree, action, weighted, share) for _ in range(2))
    climb(whole, lambda contest: chance(contest, seed))
    subtrees, levels = share_out(tree, apart.n_rows_below, n_parts)
    done = []
    for root in subtrees:
        part = apart.below(root)
        climb(part, lambda contest: chance(contest, seed), part.nodes_below(root))
        done += part.nodes_below(root)
        apart.wait_at(root, *part.waiting_at(root))
    for level in levels:
        # The contests of a level are brought together before any of them is settled.
        for contest in [apart.contest(node) for node in level]:
            apart.settle(contest, chance(contest, seed))
        done += level
    assert sorted(done) == list(range(tree.n_nodes))
    for one, two in zip(whole.waiting_at(0), apart.waiting_at(0), strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_long_log_is_sorted_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.RandomState(0)
    tree, action = random_tree(9, random), random.randint(9, size=500)
    weighted = random.random_sample(500) < 0.8
    whole = Ladder.at_leaves(tree, action, weighted)
    monkeypatch.setattr("offsettree.reductions._ladder.PIECE", 32)
    pieces = Ladder.at_leaves(tree, action, weighted)
    for one, two in zip((whole.rows, whole.begin, whole.count), (pieces.rows, pieces.begin, pieces.count), strict=True):
        np.testing.assert_array_equal(one, two)


def test_subtrees_are_of_similar_numbers_of_rows() -> None:
    action = np.repeat(np.arange(64), 10)
    ladder = Ladder.at_leaves(ActionTree.balanced(64), action, np.ones(640, dtype=bool))
    subtrees, levels = share_out(ladder.tree, ladder.n_rows_below, 8)
    assert [ladder.n_rows_below(node) for node in subtrees] == [80] * 8
    assert [len(level) for level in levels] == [4, 2, 1]
