from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from offsettree import ActionTree, OffsetTree
from offsettree.exceptions import ActionError, FeatureError, LogError, ParameterError, RewardError, TopologyError
from offsettree.learners import NominalEncoder
from offsettree.topology import RewardModels
from offsettree.topology._principal_order import principal_order
from tests.strategies import seeds

Log = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]


def make_log(n_rows: int = 2000, n_actions: int = 12, n_features: int = 5, noise: float = 0.1, seed: int = 0) -> Log:
    """Rewards linear in x, with coefficients that differ between any two actions."""
    random = np.random.RandomState(seed)
    X = random.normal(size=(n_rows, n_features))
    action = random.permutation(np.arange(n_rows) % n_actions)
    taste = random.normal(size=(n_actions, n_features))
    return X, action, (X * taste[action]).sum(axis=1) + noise * random.normal(size=n_rows)


def grouped_log(group: NDArray[np.int64], n_rows: int = 4000, seed: int = 0) -> Log:
    """Actions of one of four groups have the same rewards given x; all have the same mean reward."""
    random = np.random.RandomState(seed)
    X = random.normal(size=(n_rows, 6))
    action = random.randint(len(group), size=n_rows)
    taste = np.array([[2, 1], [2, -1], [-2, 1], [-2, -1]]) @ np.linalg.qr(random.normal(size=(6, 2)))[0].T
    return X, action, (X * taste[group[action]]).sum(axis=1) + random.normal(size=n_rows)


def tree_of(models: RewardModels, *chance: Any) -> ActionTree:
    return ActionTree(*models.children(*chance))


def groups_below(tree: ActionTree) -> set[frozenset[int]]:
    """The sets of actions that the nodes decide between: the tree without left and right."""
    return {frozenset(np.concatenate(tree.actions_below(node)).tolist()) for node in range(tree.n_nodes)}


@pytest.mark.parametrize("seed", range(5))
def test_actions_alike_given_x_are_put_together_although_their_mean_rewards_tell_nothing(seed: int) -> None:
    group = np.random.RandomState(seed).permutation(np.repeat(np.arange(4), 4))
    tree = ActionTree.learned(*grouped_log(group, seed=seed), random_state=0)
    for members in (frozenset(np.flatnonzero(group == g).tolist()) for g in range(4)):
        assert members in groups_below(tree)


@given(st.integers(2, 40), seeds)
@settings(max_examples=30)
def test_it_is_a_balanced_tree_over_all_actions(n_actions: int, seed: int) -> None:
    tree = ActionTree.learned(*make_log(200, n_actions, seed=seed), random_state=seed, randomize=(seed % 3) / 2)
    assert sorted(tree.leaves.tolist()) == list(range(n_actions))
    np.testing.assert_array_equal(tree.left >= 0, ActionTree.balanced(n_actions).left >= 0)
    assert tree.depth == ActionTree.balanced(n_actions).depth


@given(st.integers(2, 40), st.integers(1, 6), seeds)
@settings(max_examples=30)
def test_every_contest_parts_its_actions_along_their_leading_principal_direction(k: int, d: int, seed: int) -> None:
    points = np.random.RandomState(seed).normal(size=(k, d))
    tree = tree_of(RewardModels(points), 0)
    for node in range(tree.n_nodes):
        left, right = tree.actions_below(node)
        centred = points[np.concatenate([left, right])] - points[np.concatenate([left, right])].mean(axis=0)
        score = centred @ np.linalg.svd(centred)[2][0]
        if score[: len(left)].mean() > score[len(left) :].mean():
            score = -score
        assert score[: len(left)].max() <= score[len(left) :].min() + 1e-9


def test_an_odd_one_joins_the_nearer_half() -> None:
    for far in range(3):
        points = np.zeros((3, 2))
        points[far] = [5.0, 1.0]
        points[(far + 1) % 3, 0] = 1.0
        assert frozenset({0, 1, 2} - {far}) in groups_below(tree_of(RewardModels(points), 0))
        assert frozenset({0, 1, 2} - {far}) in groups_below(tree_of(RewardModels(-points), 0))


@given(st.integers(2, 30), seeds)
@settings(max_examples=30)
def test_naming_the_actions_otherwise_renames_the_leaves(n_actions: int, seed: int) -> None:
    X, action, reward = make_log(600, n_actions, seed=seed)
    renamed = np.random.RandomState(seed).permutation(n_actions)
    tree = ActionTree.learned(X, action, reward, random_state=0)
    other = ActionTree.learned(X, renamed[action], reward, random_state=0)
    np.testing.assert_array_equal(other.leaves, renamed[tree.leaves])


@given(st.floats(1e-6, 1e6), st.floats(-1e3, 1e3), seeds)
@settings(max_examples=30)
def test_neither_the_units_of_rewards_nor_those_of_columns_matter(scale: float, shift: float, seed: int) -> None:
    X, action, reward = make_log(seed=seed)
    expected = ActionTree.learned(X, action, reward, random_state=0)
    assert ActionTree.learned(X, action, scale * (reward + shift), random_state=0) == expected
    X[:, 1] = scale * (X[:, 1] + shift)
    assert ActionTree.learned(X, action, reward, random_state=0) == expected


def test_a_constant_column_and_a_copy_of_a_column_change_little() -> None:
    X, action, reward = make_log()
    expected = ActionTree.learned(X, action, reward, random_state=0)
    for constant in (0.0, 1.0, 0.1, 1e9, np.nan):
        more = np.column_stack([X, np.full(len(X), constant)])
        assert ActionTree.learned(more, action, reward, random_state=0) == expected
    assert ActionTree.learned(np.ones((len(X), 1)), action, reward, random_state=0).n_actions == 12
    doubled = RewardModels.fit(np.column_stack([X, X]), action, reward, 12, random_state=0)
    np.testing.assert_allclose(
        doubled.coefficients @ doubled.coefficients.T,
        (single := RewardModels.fit(X, action, reward, 12, random_state=0).coefficients) @ single.T,
        atol=1e-3,
    )


@pytest.mark.parametrize("n_features", [5, 64, 65, 200])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_sparse_is_the_same_as_dense(n_features: int, missing: float) -> None:
    X, action, reward = make_log(1000, n_features=n_features)
    random = np.random.RandomState(0)
    X[random.random_sample(X.shape) < 0.6] = 0
    X[random.random_sample(X.shape) < missing] = np.nan
    dense = RewardModels.fit(X, action, reward, 12, random_state=0).coefficients
    for form in (sp.csr_matrix, sp.csr_array, sp.csc_matrix):
        sparse = RewardModels.fit(form(X), action, reward, 12, random_state=0).coefficients
        np.testing.assert_allclose(sparse @ sparse.T, dense @ dense.T, atol=1e-6)


def test_columns_by_the_thousand_are_reduced_to_their_principal_directions() -> None:
    random = np.random.RandomState(0)
    group = np.repeat(np.arange(4), 4)
    X, action, reward = grouped_log(group)
    wide = X @ random.normal(size=(6, 3000)) + random.normal(size=(len(X), 3000))
    models = RewardModels.fit(wide.astype(np.float32), action, reward, 16, random_state=0)
    assert models.coefficients.shape == (16, 65)
    assert {frozenset(range(g, g + 4)) for g in (0, 4, 8, 12)} <= groups_below(tree_of(models, 0))


def test_of_very_many_columns_the_often_used_ones_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offsettree.topology._design._MAX_PROJECTED", 100)
    X, action, reward = make_log(1000, n_features=70)
    rare = sp.random_array((1000, 300), density=0.01, random_state=np.random.RandomState(0))
    models = RewardModels.fit(
        sp.hstack([sp.csr_array(X), sp.csr_array(rare)], format="csr"), action, reward, 12, random_state=0
    )
    assert models.coefficients.shape == (12, 65)


def test_missing_values_are_flagged_as_their_absence_may_tell() -> None:
    random = np.random.RandomState(0)
    absent = random.random_sample(4000) < 0.5
    action = random.randint(4, size=4000)
    reward = np.where(action % 2 == 0, absent, ~absent) + 0.1 * random.normal(size=4000)
    X = np.where(absent, np.nan, random.normal(size=4000))[:, np.newaxis]
    for values in (X, np.where(absent, np.inf, X[:, 0])[:, np.newaxis], sp.csr_matrix(X)):
        tree = ActionTree.learned(values, action, reward, random_state=0)
        assert {frozenset({0, 2}), frozenset({1, 3})} <= groups_below(tree)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_nominal_columns_of_a_frame_tell(frame: Any) -> None:
    random = np.random.RandomState(0)
    device = random.choice(["phone", "desk", None], 4000)  # type: ignore[arg-type]
    action = random.randint(4, size=4000)
    reward = np.where(action % 2 == 0, device == "phone", device == "desk") + 0.1 * random.normal(size=4000)
    columns = {"visitor": [f"id {row}" for row in range(4000)], "device": device, "age": random.normal(size=4000)}
    tree = ActionTree.learned(frame(columns), action, reward, random_state=0)
    assert {frozenset({0, 2}), frozenset({1, 3})} <= groups_below(tree)
    only = frame({"device": device})
    assert ActionTree.learned(only, action, reward, random_state=0).n_actions == 4
    policy = OffsetTree(make_pipeline(NominalEncoder(impute=True), LogisticRegression()), tree="learned")
    del columns["visitor"]
    policy.fit(frame(columns), action, reward=(reward > 0.5), propensity=0.25)
    assert {frozenset({0, 2}), frozenset({1, 3})} <= groups_below(policy.tree_)


def test_an_action_with_no_rows_is_in_the_middle_and_one_with_few_rows_near_it() -> None:
    X, action, reward = make_log(6000, 8, noise=1.0)
    few = np.flatnonzero(action == 6)[:2]
    kept = np.concatenate([np.flatnonzero(action < 6), few])
    points = RewardModels.fit(X[kept], action[kept], reward[kept], 8, random_state=0).coefficients
    middle = points[:7].mean(axis=0)
    np.testing.assert_allclose(points[7], middle, atol=1e-6)
    distance = np.linalg.norm(points - middle, axis=1)
    assert distance[6] < 0.7 * distance[:6].min()


def test_pure_noise_makes_all_models_alike() -> None:
    X, action, _ = make_log(2000, 20, 20)
    noise = np.random.RandomState(1).normal(size=2000)
    points = RewardModels.fit(X, action, noise, 20, random_state=0).coefficients
    assert ((points - points.mean(axis=0)) ** 2).sum(axis=1).mean() < 0.05


@pytest.mark.filterwarnings("error")
def test_rewards_that_are_all_equal_and_logs_of_a_row_leave_the_order_as_it_is() -> None:
    X, action, reward = make_log()
    assert ActionTree.learned(X, action, np.full(len(X), 0.3), random_state=0) == ActionTree.balanced(12)
    assert ActionTree.learned(X[:1], [0], reward[:1], n_actions=3, random_state=0) == ActionTree.balanced(3)
    huge = X.copy()
    huge[0] = 1e300
    assert ActionTree.learned(huge, action, reward, random_state=0).n_actions == 12


def test_weights_make_a_model_that_of_all_contexts() -> None:
    """Action 1 was logged where x > 0, mostly: unweighted, its curve is fitted there only."""
    random = np.random.RandomState(0)
    x = random.uniform(-1, 1, size=20_000)
    chance = np.where(x > 0, 0.9, 0.1)
    action = (random.random_sample(len(x)) < chance).astype(int)
    propensity = np.where(action == 1, chance, 1 - chance)
    reward = np.abs(x)
    slope = {
        weighted: RewardModels.fit(
            x[:, np.newaxis], action, reward, 2, propensity=propensity if weighted else None, random_state=0
        ).coefficients[:, 1]
        for weighted in (False, True)
    }
    assert np.abs(slope[True]).max() < 0.05 < 0.3 < np.abs(slope[False]).min()


def test_a_few_tiny_propensities_do_not_ruin_the_models() -> None:
    X, action, reward = make_log(4000)
    expected = ActionTree.learned(X, action, reward, random_state=0)
    assert ActionTree.learned(X, action, reward, propensity=0.1, random_state=0) == expected
    propensity = np.full(len(X), 0.1)
    propensity[:24] = 1e-299
    spoilt = RewardModels.fit(X, action, reward, 12, propensity=propensity, random_state=0).coefficients
    clean = RewardModels.fit(X, action, reward, 12, random_state=0).coefficients
    np.testing.assert_allclose(pdist(spoilt), pdist(clean), rtol=0.2)


def test_thousands_of_actions_are_ordered_too() -> None:
    group = np.arange(5000) % 2
    random = np.random.RandomState(0)
    X = random.normal(size=(60_000, 3))
    action = random.randint(5000, size=60_000)
    tree = ActionTree.learned(X, action, X[:, 0] * np.where(group[action] == 0, 1, -1), n_actions=5000, random_state=0)
    left, right = tree.actions_below(0)
    assert len(set(group[left])) == len(set(group[right])) == 1


def test_actions_with_more_rows_than_a_block_are_summed_over_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    X, action, reward = make_log(3000, 3)
    whole = RewardModels.fit(X, action, reward, 3, random_state=0).coefficients
    monkeypatch.setattr("offsettree.topology._moments.BLOCK_ROWS", 300)
    np.testing.assert_allclose(RewardModels.fit(X, action, reward, 3, random_state=0).coefficients, whole, rtol=1e-8)


def test_without_chance_the_random_state_does_not_matter_and_with_it_trees_differ() -> None:
    X, action, reward = make_log(n_actions=30)
    models = RewardModels.fit(X, action, reward, 30, random_state=0)
    assert tree_of(models, 0) == tree_of(models, 1) == ActionTree.learned(X, action, reward, random_state=2)
    for randomize in (0.2, 0.5, 1.0):
        assert tree_of(models, 0, randomize) == tree_of(models, 0, randomize)
        assert len({tree_of(models, seed, randomize) for seed in range(5)}) == 5
    random = np.random.RandomState(0)
    assert tree_of(models, random, 0.5) != tree_of(models, random, 0.5)


def test_the_more_is_left_to_chance_the_less_similar_are_neighbours() -> None:
    points = np.random.RandomState(0).normal(size=(64, 3)) * [3, 1, 0.5]
    apart = [
        np.mean([pairs_apart(points, tree_of(RewardModels(points), seed, randomize)) for seed in range(20)])
        for randomize in (0.0, 0.5, 1.0)
    ]
    by_chance = np.mean([pairs_apart(points, ActionTree.random(64, seed)) for seed in range(20)])
    assert apart[0] < apart[1] < apart[2] < 1.1 * by_chance
    assert apart[0] < 0.5 * by_chance


def pairs_apart(points: NDArray[np.float64], tree: ActionTree) -> float:
    return float(np.linalg.norm(points[tree.leaves[0::2]] - points[tree.leaves[1::2]], axis=1).mean())


def test_points_alike_keep_their_order() -> None:
    points = np.zeros((7, 2))
    np.testing.assert_array_equal(principal_order(points, np.random.RandomState(0)), np.arange(7))
    points[3] = [1.0, 0.0]
    assert principal_order(points, np.random.RandomState(0))[-1] == 3


def test_a_policy_over_a_learned_tree_uses_the_very_tree() -> None:
    X, action, reward = make_log()
    reward = (reward - reward.min()) / np.ptp(reward)
    policy = OffsetTree(LogisticRegression(), tree="learned", random_state=0)
    policy.fit(X, np.array([f"{a:02d}" for a in action]), reward=reward, propensity=1 / 12)
    assert policy.tree_ == ActionTree.learned(X, action, reward, random_state=0)


def test_a_learned_tree_is_worth_more_than_a_random_one() -> None:
    random = np.random.RandomState(0)
    X, action, mean = random.normal(size=(6000, 8)), random.randint(32, size=6000), random.normal(size=(8, 32))
    chances = 1 / (1 + np.exp(-X @ mean))
    log: dict[str, Any] = {
        "action": action[:4000],
        "reward": chances[np.arange(4000), action[:4000]],
        "propensity": 1 / 32,
    }
    value = {}
    for tree in ("random", "learned"):
        policy = OffsetTree(LogisticRegression(), tree=tree, random_state=0).fit(X[:4000], **log)
        value[tree] = chances[np.arange(4000, 6000), policy.predict(X[4000:])].mean()
    assert value["learned"] > value["random"] + 0.01


X, ACTION, REWARD = make_log(60, 3)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ActionTree.learned(X, ACTION[:-1], REWARD), LogError, "59 values for 60 rows"),
        (lambda: ActionTree.learned(X, ACTION, REWARD[:-1]), RewardError, "59 values for 60 rows"),
        (lambda: ActionTree.learned(X, ACTION, REWARD, propensity=0.0), LogError, r"in \(0, 1\]"),
        (lambda: ActionTree.learned(X, ACTION.astype(str), REWARD), ActionError, "return_inverse"),
        (
            lambda: ActionTree.learned(X, ACTION - 1, REWARD),
            ActionError,
            r"to n_actions - 1 = 1; row \d+ has -1",
        ),
        (lambda: ActionTree.learned(X, ACTION, REWARD, n_actions=2), ActionError, "= 1; row .* has 2"),
        (lambda: ActionTree.learned(X, ACTION * 0, REWARD), TopologyError, "at least two actions"),
        (lambda: ActionTree.learned(X, ACTION, REWARD, randomize=1.5), ParameterError, "randomize.*got 1.5"),
        (lambda: ActionTree.learned(X, ACTION, REWARD, randomize="much"), ParameterError, "randomize.*got 'much'"),  # type: ignore[arg-type]
        (lambda: ActionTree.learned(X, ACTION, REWARD, randomize=np.nan), ParameterError, "randomize.*got nan"),
        (lambda: ActionTree.learned(X[:, 0], ACTION, REWARD), FeatureError, "2D"),
        (lambda: ActionTree.learned(X.astype(str), ACTION, REWARD), FeatureError, "table of numbers"),
        (lambda: ActionTree.learned(pd.DataFrame(index=range(60)), ACTION, REWARD), FeatureError, "rows and columns"),
        (
            lambda: OffsetTree(tree="learnt").fit(X, ACTION, reward=REWARD > 0, propensity=0.5),
            ParameterError,
            "'learned'.*got 'learnt'",
        ),
    ],
)
def test_what_cannot_be_learned_from_is_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_an_empty_log_is_called_so() -> None:
    with pytest.raises(ActionError, match="action is empty"):
        ActionTree.learned(np.zeros((0, 2)), [], [])
