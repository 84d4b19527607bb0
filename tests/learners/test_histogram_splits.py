"""The histogram tree against a plain reading: the best of all splits everywhere, the best of all prunings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from offsettree.learners import HistogramTree
from tests.learners.plain_tree import MISSING, Part, Problem, read_tree
from tests.strategies import seeds

NEAR = 1e-5  # float32, as a share of the weight


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    random = np.random.RandomState(draw(seeds))
    # Up to 64 rows columns are counted one by one, beyond 128 what one part leaves is the other's.
    n_rows = draw(st.sampled_from([1, 2, 5, 20, 64, 65, 150, 300]))
    n_values = draw(st.sampled_from([2, 3, 5]))
    nominal = tuple(draw(st.lists(st.booleans(), min_size=1, max_size=3)))
    table = random.randint(n_values, size=(n_rows, len(nominal)))
    chance = 1 / (1 + np.exp(-random.normal(size=n_values) * 2))
    label = (random.random_sample(n_rows) < chance[table[:, 0]]).astype(int)
    if draw(st.booleans()):
        label ^= (table.sum(axis=1) % 2 == 0).astype(int)
    gone = random.random_sample(table.shape) < draw(st.sampled_from([0.0, 0.0, 0.2]))
    rows = [
        tuple(
            MISSING if gone[i, j] else (f"v{value}" if nominal[j] else float(value)) for j, value in enumerate(values)
        )
        for i, values in enumerate(table.tolist())
    ]
    weight = draw(
        st.sampled_from(
            [
                np.ones(n_rows),
                random.randint(1, 5, size=n_rows).astype(float),
                random.exponential(size=n_rows) + 0.01,
                10.0 ** random.uniform(-3, 3, size=n_rows),
            ]
        )
    )
    # Weights of a mean below 1 would be scaled to mean 1: let them be so from the start.
    return Problem(rows, label, weight / min(1.0, weight.mean()), nominal)


def as_frame(problem: Problem) -> pd.DataFrame:
    columns = list(zip(*problem.rows, strict=True))
    # A string that comes last keeps every frame nominal, and tells nothing.
    data: dict[str, Any] = {
        f"x{j}": pd.Series(values, dtype=object if problem.nominal[j] else float) for j, values in enumerate(columns)
    }
    return pd.DataFrame(data | {"same": "always"})


def grow(problem: Problem, **parameters: Any) -> tuple[HistogramTree, Part]:
    frame = as_frame(problem)
    tree = HistogramTree(**parameters).fit(frame, problem.label, sample_weight=problem.weight)
    return tree, read_tree(tree, tree._bins.numbers(frame))


@settings(max_examples=150)
@given(problems(), st.sampled_from([1, 2, 4, 12]), st.sampled_from([0.0, 0.5, 2.0]))
def test_every_split_is_the_best_of_all_and_every_leaf_has_none(
    problem: Problem, max_depth: int, leaf_scale: float
) -> None:
    tree, root = grow(problem, max_depth=max_depth, leaf_scale=leaf_scale)
    least = max(1.0, leaf_scale * math.sqrt(problem.heavy(root.rows)))
    for part in root.parts():
        weight, impurity = problem.heavy(part.rows), problem.impurity(part.rows)
        near = NEAR * weight
        if len(tree.classes_) == 2:
            assert part.value == pytest.approx(problem.share(part.rows), abs=1e-6)
        best = problem.least_impurity(part.rows, least)
        if part.children is not None:
            left, right = part.children
            assert min(problem.heavy(left.rows), problem.heavy(right.rows)) > least * (1 - NEAR)
            assert problem.impurity(left.rows) + problem.impurity(right.rows) <= best + near
        elif part.depth < max_depth and weight >= 2 * least * (1 + NEAR):
            assert best >= impurity - near
        assert part.depth <= max_depth


@settings(max_examples=60)
@given(problems(), st.sampled_from([0.001, 0.01, 0.03, 0.1, 0.5]))
def test_pruning_leaves_the_cheapest_of_all_subtrees(problem: Problem, alpha: float) -> None:
    _, whole = grow(problem, max_depth=4)
    _, pruned = grow(problem, max_depth=4, ccp_alpha=alpha)
    price = alpha * problem.heavy(whole.rows)

    def cost(leaves: list[Part]) -> float:
        return math.fsum(problem.impurity(leaf.rows) + price for leaf in leaves)

    # Four splits deep, a tree has at most 677 prunings.
    assert cost(pruned.leaves()) == pytest.approx(min(map(cost, whole.prunings())), rel=1e-6)
    kept = {tuple(part.rows) for part in whole.parts()}
    assert all(tuple(part.rows) in kept for part in pruned.parts())


@pytest.mark.parametrize("ccp_alpha", [0.0, 0.01])
@pytest.mark.parametrize("max_depth", [1, 3, 12])
@pytest.mark.parametrize(("n_rows", "n_columns"), [(40, 2), (40, 6), (400, 2), (400, 6)])
def test_decisions_are_those_of_scikit_learns_tree_where_no_splits_tie(
    n_rows: int, n_columns: int, max_depth: int, ccp_alpha: float
) -> None:
    for seed in range(5):
        random = np.random.RandomState(seed)
        X = random.randint(60, size=(n_rows, n_columns)).astype(float)
        label = (X @ random.normal(size=n_columns) + random.normal(size=n_rows) * 20 > 0).astype(int)
        weight = random.uniform(1, 2, size=n_rows)  # so that no two splits are alike
        ours = HistogramTree(max_depth=max_depth, ccp_alpha=ccp_alpha).fit(X, label, sample_weight=weight)
        theirs = DecisionTreeClassifier(max_depth=max_depth, ccp_alpha=ccp_alpha, random_state=0)
        theirs.fit(X, label, sample_weight=weight)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_weights_of_very_different_size_send_rows_where_they_were_in_training(seed: int) -> None:
    """A histogram loses names of a few rows where it takes away names of millions; the tree must not lose the rows."""
    random = np.random.RandomState(seed)
    kind = np.concatenate([np.arange(30), random.randint(30, size=600)])
    frame = pd.DataFrame({"kind": [f"k{value}" for value in kind], "x": np.arange(630) < 30})
    label = np.where(frame["x"], 1, kind >= 20)
    weight = np.where(frame["x"], np.where(kind % 4, 1e6, 1e7), 1.0)
    tree = HistogramTree().fit(frame, label, sample_weight=weight)
    root = read_tree(tree, tree._bins.numbers(frame))
    for part in root.parts():
        assert part.rows
        share = np.average(label[part.rows], weights=weight[part.rows])
        assert part.value == pytest.approx(share, abs=1e-6)
