"""RewardBoosting: one tree read row by row, and what must hold of the whole whatever the settings."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from offsettree import RewardBoosting
from offsettree.exceptions import ParameterError
from offsettree.reductions import reward_boosting
from offsettree.reductions.boosting import _kernels_grow as kernels
from offsettree.reductions.boosting import _stacking
from offsettree.reductions.boosting._boosting import (
    FEWEST_SHARES,
    MOST_SHARES,
    MOST_SUMS,
    count_shares,
    new_work,
    units_of,
)
from offsettree.reductions.boosting._forest import _Rows
from offsettree.reductions.boosting._kernels_random import grow_random
from offsettree.reductions.boosting._regressions import regression

PRIOR, LEAF_PRIOR, LEAST, RATE = 2.0, 1.0, 3.0, 0.5


def make_log(n_rows: int, k: int, seed: int = 0) -> dict[str, Any]:
    """Log an action per row, which is paid for where the signs of two columns tell it."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, 4))
    action = random.integers(0, k, n_rows)
    reward = (random.random(n_rows) < 0.1 + 0.7 * (action == best_actions(X) % k)).astype(float)
    return {"X": X, "action": action, "reward": reward, "propensity": np.full(n_rows, 1 / k)}


def best_actions(X: Any) -> Any:
    return (X[:, 0] > 0) + 2 * (X[:, 1] > 0)


def share_right(policy: RewardBoosting, X: Any, k: int) -> float:
    return float((policy.predict(X) == best_actions(X) % k).mean())


@pytest.fixture(scope="module")
def log() -> dict[str, Any]:
    return make_log(1500, 4)


@pytest.fixture(scope="module")
def policy(log: dict[str, Any]) -> RewardBoosting:
    return RewardBoosting(random_state=0).fit(**log)


class PlainTree:
    """A tree that all actions share, grown in floating point, one row and one test at a time."""

    def __init__(self, codes: Any, is_category: Any, action: Any, gradient: Any, curvature: Any, k: int) -> None:
        self.codes, self.is_category, self.action, self.k = codes, is_category, action, k
        self.gradient, self.curvature = gradient, curvature
        self.row = curvature.mean()

    def sums(self, rows: list[int]) -> tuple[Any, Any]:
        above, below = np.zeros(self.k), np.zeros(self.k)
        for i in rows:
            above[self.action[i]] += self.gradient[i]
            below[self.action[i]] += self.curvature[i]
        return above, below

    def explained(self, rows: list[int]) -> float:
        above, below = self.sums(rows)
        return float((above**2 / (below + PRIOR * self.row)).sum())

    def tests(self, column: int) -> list[tuple[int, int]]:
        if self.is_category[column]:
            return [(code, 0) for code in range(64)]
        without = [(0, last) for last in range(63)]
        return without + [(63, last + 193) for last in range(-1, 63)]

    def best(self, rows: list[int]) -> tuple[float, int, int, int]:
        """Return the largest gain, and the test that has it."""
        found = (self.explained(rows) * (1 + 1e-6), 0, 0, 255)
        for column in range(len(self.codes)):
            for lowest, span in self.tests(column):
                left, right = self.divided(rows, column, lowest, span)
                if min(self.curvature[left].sum(), self.curvature[right].sum()) >= LEAST * self.row:
                    gain = self.explained(left) + self.explained(right)
                    if gain > found[0] * (1 + 1e-9):
                        found = (gain, column, lowest, span)
        return found

    def divided(self, rows: list[int], column: int, lowest: int, span: int) -> tuple[list[int], list[int]]:
        goes_left = [(int(self.codes[column][i]) - lowest) % 256 <= span for i in rows]
        return (
            [i for i, left in zip(rows, goes_left, strict=True) if left],
            [i for i, left in zip(rows, goes_left, strict=True) if not left],
        )

    def scores(self, depth: int) -> Any:
        """Return the value that each row has for every action."""
        out = np.zeros((len(self.action), self.k))
        nodes = [list(range(len(self.action)))]
        for _ in range(depth):
            nodes = [side for rows in nodes for side in self.divided(rows, *self.best(rows)[1:])]
        for rows in nodes:
            above, below = self.sums(rows)
            mean = above.sum() / (below.sum() + LEAF_PRIOR * self.row)
            out[rows] = RATE * (above + PRIOR * self.row * mean) / (below + PRIOR * self.row)
        return out


def test_sums_do_not_depend_on_the_threads_of_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[int] = set()

    def watched(*args: Any, **options: Any) -> Any:
        seen.update(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return regression(*args, **options)

    monkeypatch.setattr("offsettree.reductions.boosting._stacking.regression", watched)
    with threadpool_limits(2, user_api="blas"):
        RewardBoosting(n_trees=2, random_state=0).fit(**make_log(1600, 2))
    assert seen == {1}


@pytest.mark.parametrize("seed", range(4))
def test_a_tree_is_grown_as_read_row_by_row(seed: int) -> None:
    random = np.random.default_rng(seed)
    n_rows, k, depth = 40, 3, 2
    codes = random.integers(0, 6, (3, n_rows)).astype(np.uint8)
    codes[1][random.random(n_rows) < 0.3] = 63  # missing
    is_category = np.array([False, False, True])
    action = random.integers(0, k, n_rows).astype(np.int32)
    reward, score = (random.random(n_rows) < 0.4).astype(float), random.normal(0, 0.5, n_rows)
    chance = 1 / (1 + np.exp(-score))
    plain = PlainTree(codes, is_category, action, reward - chance, chance * (1 - chance), k).scores(depth)

    packed, sums = np.empty(n_rows, dtype=np.int64), np.empty((1, 2))
    size, bounds = np.empty((2, n_rows), np.float32), np.array([0, n_rows])
    kernels.find_gradients(score, reward, np.empty(0), True, bounds, size[0], size[1], sums)
    units = units_of(sums, n_rows)
    kernels.pack(size[0], size[1], units[0], units[1], packed)
    tree = kernels.Tree(
        np.empty(3, dtype=np.int32),
        np.empty(3, dtype=np.uint8),
        np.empty(3, dtype=np.uint8),
        np.empty((4, k), dtype=np.float32),
    )
    rows = kernels.Rows(codes, is_category, action, np.arange(k, dtype=np.uint32), packed)
    after = score.copy()
    settings = kernels.Settings(depth, PRIOR, LEAF_PRIOR, LEAST, RATE)
    kernels.grow(rows, new_work(n_rows, k, k, 3, depth), np.arange(3), settings, units, tree, after)
    np.testing.assert_allclose(after - score, plain[np.arange(n_rows), action], rtol=1e-4, atol=1e-5)
    own = np.zeros(n_rows)
    kernels.add_to_own(codes, action, tree, own)
    np.testing.assert_allclose(own, after - score, rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_a_random_tree_holds_what_its_rows_tell(seed: int) -> None:
    random = np.random.default_rng(seed)
    n_rows, k, depth = 60, 3, 3
    codes = random.integers(0, 6, (3, n_rows)).astype(np.uint8)
    codes[1][random.random(n_rows) < 0.3] = 63  # missing
    action, gradient = random.integers(0, k, n_rows).astype(np.int32), random.normal(0, 1, n_rows)
    curvature = random.uniform(0.5, 1, n_rows)
    is_category = np.array([False, False, True])
    rows = _Rows(codes, is_category, action, np.arange(k, dtype=np.uint32), gradient, curvature)
    n_tests = 2**depth - 1
    tree = kernels.Tree(
        np.empty(n_tests, dtype=np.int32),
        np.empty(n_tests, dtype=np.uint8),
        np.empty(n_tests, dtype=np.uint8),
        np.empty((n_tests + 1, k), dtype=np.float32),
    )
    row = curvature.mean()
    grow_random(rows, np.arange(3), random.random((n_tests, 3)), PRIOR * row, LEAST, LEAF_PRIOR * row, tree)
    plain = PlainTree(codes, is_category, action, gradient, curvature, k)
    nodes = [list(range(n_rows))]
    for test in range(n_tests):
        both = plain.divided(nodes[test], int(tree.feature[test]), int(tree.lowest[test]), int(tree.span[test]))
        nodes += both
        if tree.span[test] < 255:
            assert min(map(len, both)) >= LEAST
            assert plain.explained(both[0]) + plain.explained(both[1]) > plain.explained(nodes[test])
    assert sum(tree.span < 255) >= 3
    for leaf, rows_there in enumerate(nodes[n_tests:]):
        above, below = plain.sums(rows_there)
        mean = above.sum() / (below.sum() + LEAF_PRIOR * row)
        np.testing.assert_allclose(
            tree.values[leaf], (above + PRIOR * row * mean) / (below + PRIOR * row), rtol=1e-4, atol=1e-6
        )


def test_what_two_columns_tell_is_found(policy: RewardBoosting, log: dict[str, Any]) -> None:
    new = make_log(1000, 4, seed=1)["X"]
    assert share_right(policy, new, 4) > 0.9
    assert policy.gain_ > 3
    rewards = policy.predict_rewards(new)
    assert np.array_equal(policy.predict(new), rewards.argmax(axis=1))
    np.testing.assert_allclose(rewards.max(axis=1).mean(), 0.8, atol=0.1)


def test_a_hundred_and_fifty_rows_are_enough_for_a_clear_case() -> None:
    policy = RewardBoosting(random_state=0).fit(**make_log(150, 2))
    assert share_right(policy, make_log(1000, 2, seed=1)["X"], 2) > 0.75


def test_threads_make_no_difference(policy: RewardBoosting, log: dict[str, Any]) -> None:
    again = RewardBoosting(random_state=0, n_jobs=2).fit(**log)
    assert np.array_equal(again.predict_rewards(log["X"]), policy.predict_rewards(log["X"]))


def test_where_x_tells_nothing_the_best_action_is_taken_always() -> None:
    random = np.random.default_rng(0)
    X, action = random.standard_normal((1200, 5)), random.integers(0, 3, 1200)
    reward = (random.random(1200) < np.array([0.3, 0.5, 0.4])[action]).astype(float)
    policy = RewardBoosting(random_state=0).fit(X, action, reward=reward, propensity=1 / 3)
    assert set(policy.predict(X)) == {1}
    np.testing.assert_allclose(policy.predict_rewards(X[:1])[0], [0.3, 0.5, 0.4], atol=0.08)


def test_where_x_tells_only_how_much_all_earn_one_action_is_taken_always() -> None:
    random = np.random.default_rng(1)
    X, action = random.standard_normal((2000, 5)), random.integers(0, 3, 2000)
    chance = 1 / (1 + np.exp(-2 * X[:, 0] - np.array([0.0, 0.5, 0.0])[action]))
    reward = (random.random(2000) < chance).astype(float)
    policy = RewardBoosting(random_state=0).fit(X, action, reward=reward, propensity=1 / 3)
    assert set(policy.predict(X)) == {1}
    assert np.corrcoef(policy.predict_rewards(X)[:, 0], X[:, 0])[0, 1] > 0.8


def test_equal_rewards_are_predicted_as_they_are() -> None:
    X, action = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    policy = RewardBoosting(random_state=0).fit(X, action, reward=np.ones(20), propensity=0.5)
    assert policy.n_trees_ == 0
    np.testing.assert_allclose(policy.predict_rewards(X), 1, atol=0.1)


def test_names_in_a_column_are_told_apart() -> None:
    random = np.random.default_rng(0)
    names = np.array(["ant", "bee", "cat", "dog", "eel", "fox"])
    which, action = random.integers(0, 6, 1500), random.integers(0, 3, 1500)
    X = pd.DataFrame({"noise": random.standard_normal(1500), "name": pd.Categorical(names[which])})
    reward = (random.random(1500) < 0.1 + 0.7 * (which % 3 == action)).astype(float)
    policy = RewardBoosting(random_state=0).fit(X, action, reward=reward, propensity=1 / 3)
    assert (policy.predict(X) == which % 3).mean() > 0.95


def test_what_is_missing_tells_as_well() -> None:
    random = np.random.default_rng(0)
    X, action = random.standard_normal((1200, 3)), random.integers(0, 2, 1200)
    missing = random.random(1200) < 0.5
    X[missing, 1] = np.nan
    reward = (random.random(1200) < 0.1 + 0.7 * (missing == action)).astype(float)
    policy = RewardBoosting(random_state=0).fit(X, action, reward=reward, propensity=0.5)
    assert (policy.predict(X) == missing).mean() > 0.95


def test_a_sparse_table_says_the_same_as_a_dense_one(log: dict[str, Any]) -> None:
    thin = np.where(np.abs(log["X"]) > 0.5, log["X"], 0.0)
    dense, sparse = (
        RewardBoosting(random_state=0, n_folds=3).fit(**{**log, "X": X}) for X in (thin, sp.csr_array(thin))
    )
    np.testing.assert_allclose(
        dense.predict_rewards(thin), sparse.predict_rewards(sp.csr_array(thin)), rtol=1e-6, atol=1e-6
    )


def test_weights_count_where_propensities_differ(policy: RewardBoosting, log: dict[str, Any]) -> None:
    same = RewardBoosting(random_state=0, importance_weighted=True).fit(**log)
    np.testing.assert_allclose(same.predict_rewards(log["X"]), policy.predict_rewards(log["X"]), atol=1e-3)
    uneven = {**log, "propensity": np.where(log["X"][:, 2] > 0, 0.1, 0.9)}
    other = RewardBoosting(random_state=0, importance_weighted=True).fit(**uneven)
    assert np.abs(other.predict_rewards(log["X"]) - policy.predict_rewards(log["X"])).max() > 0.01


def test_rows_held_out_say_when_there_are_enough_trees(policy: RewardBoosting, log: dict[str, Any]) -> None:
    assert policy.n_trees_ < 2 * 8 * 300
    few = RewardBoosting(random_state=0, n_trees=2, n_folds=2).fit(**log)
    assert few.n_trees_ <= 2 * 2 * 2


def test_rewards_of_any_range_are_predicted_in_it() -> None:
    log = make_log(1500, 2)
    money = {**log, "reward": 50 * log["reward"] - 10}
    policy = RewardBoosting(random_state=0, loss="squared", reward_range=(-10, 40)).fit(**money)
    rewards = policy.predict_rewards(log["X"])
    assert share_right(policy, log["X"], 2) > 0.9
    assert -10 <= rewards.min() <= rewards.max() <= 40


def test_gains_are_summed_by_single_actions_as_long_as_there_is_room() -> None:
    settings = RewardBoosting(max_features=1.0, max_depth=4)._settings(10_000)
    assert count_shares(64, 10, settings) == 64
    assert count_shares(400, 10, settings) == 400
    assert count_shares(100_000, 10, settings) == MOST_SHARES
    assert count_shares(100_000, 256, settings._replace(depth=7)) == FEWEST_SHARES
    between = count_shares(100_000, 100, settings)
    assert FEWEST_SHARES < between < MOST_SHARES
    assert between * 8 * 100 * kernels.N_BINS <= MOST_SUMS < (between + 1) * 8 * 100 * kernels.N_BINS


def test_many_actions_take_no_table_of_rows_by_actions() -> None:
    n_rows, k = 60_000, 1024
    random = np.random.default_rng(0)
    X, action = random.standard_normal((n_rows, 3)), np.arange(n_rows) % k
    reward = (random.random(n_rows) < 0.5 + 0.4 * np.sign(X[:, 0]) * (-1.0) ** action).astype(float)
    policy = RewardBoosting(n_trees=3, n_folds=2, random_state=0)
    tracemalloc.start()
    policy.fit(X, action, reward=reward, propensity=1 / k)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * n_rows * k
    assert (policy.predict(X[:1000]) % 2 == (X[:1000, 0] < 0)).mean() > 0.95


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_trees": 0}, "n_trees must be a whole number of at least 1; got 0"),
        ({"max_depth": 8}, "max_depth must be a whole number from 1 to 7; got 8"),
        ({"learning_rate": 0.0}, "learning_rate must be a number above 0 and at most 1"),
        ({"loss": "hinge"}, "loss must be one of 'auto', 'logistic', 'squared'"),
        ({"n_folds": 1}, "n_folds must be 'auto' or a whole number of at least 2"),
        ({"importance_weighted": 1}, "importance_weighted must be True or False"),
    ],
)
def test_wrong_settings_are_named(log: dict[str, Any], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        RewardBoosting(**settings).fit(**log)


@pytest.mark.parametrize("seed", range(3))
def test_rewards_are_not_read_back_out_of_scores_by_models_without_them(seed: int) -> None:
    random = np.random.default_rng(seed)
    X = random.standard_normal((3000, 10))
    action = random.integers(0, 10, len(X))
    reward = (random.random(len(X)) < np.where(action == 4, 0.35, 0.2)).astype(float)
    policy = RewardBoosting(random_state=seed).fit(X, action, reward=reward, propensity=np.full(len(X), 0.1))
    assert policy.gain_ < 3
    assert (policy.predict(X) == 4).mean() > 0.95


def test_a_forest_has_its_part_in_what_a_short_log_tells() -> None:
    short = RewardBoosting(random_state=0).fit(**make_log(600, 4))
    assert "forest" in short.starts_
    new = make_log(1000, 4, seed=1)["X"]
    assert share_right(short, new, 4) > 0.8
    again = RewardBoosting(random_state=0, n_jobs=2).fit(**make_log(600, 4))
    assert np.array_equal(again.predict_rewards(new), short.predict_rewards(new))


def test_columns_that_are_the_same_everywhere_tell_nothing() -> None:
    random = np.random.default_rng(0)
    action, reward = random.integers(0, 3, 60), random.integers(0, 2, 60).astype(float)
    policy = RewardBoosting(random_state=0).fit(np.ones((60, 2)), action, reward=reward, propensity=1 / 3)
    assert len(set(policy.predict(np.ones((5, 2))))) == 1


def gain_without_the_row(seed: int) -> float:
    """Return what decisions without the row earn above the mean, where x and actions tell nothing."""
    log = make_log(120, 3, seed)
    log["reward"] = np.random.default_rng([seed, 1]).integers(0, 2, 120).astype(float)
    policy = RewardBoosting(n_trees=5, n_folds=4, random_state=seed)
    policy._keeps_held_out = True
    chosen = policy.fit(**log)._held_out.choose(None)
    return float((log["reward"] * 3 * (chosen == log["action"])).mean() - log["reward"].mean())


def test_what_is_chosen_without_the_row_does_not_avoid_its_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    level = (2, 6)  # logs in which all actions earned nearly the same
    assert all(abs(gain_without_the_row(seed)) < 0.2 for seed in level)
    # The way of longer logs: the score without the row is that of its own action alone, and lowest where it earned.
    monkeypatch.setattr(reward_boosting, "MOST_ROWS_WITHOUT_FOLDS", 0)
    assert all(gain_without_the_row(seed) < -0.4 for seed in level)


def test_of_a_very_long_log_a_part_is_enough_for_the_last_regression(monkeypatch: pytest.MonkeyPatch) -> None:
    log = make_log(3000, 4, seed=5)
    monkeypatch.setattr(_stacking, "MOST_FINAL_ROWS", 1500)
    policy = RewardBoosting(random_state=0, n_jobs=1).fit(**log)
    assert share_right(policy, make_log(1000, 4, seed=6)["X"], 4) > 0.9
    policy._keeps_held_out = True
    assert policy.fit(**log)._held_out.choose(None).shape == (3000,)
