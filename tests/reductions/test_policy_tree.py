"""The best of all shallow trees: found exactly, read by people, decided by like any other policy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from offsettree import PolicyTree, load, save, simulate_log
from offsettree.exceptions import ParameterError
from offsettree.learners._binning import Bins
from offsettree.reductions.rules._search import Limits, Split, Table, decisions, find_tree
from offsettree.workflow.rules import rule_facts


def ways_to_part(column: NDArray[np.float64], is_category: bool) -> list[NDArray[np.bool_]]:
    """Every way in which a test may part the rows by one column."""
    known, missing = column[~np.isnan(column)], np.isnan(column)
    if is_category:
        return [column == value for value in np.unique(known)] + [missing]
    cuts = [np.where(missing, False, column <= value) for value in np.unique(known)]
    return [each | side for each in cuts for side in (missing, np.zeros_like(missing))]


def best_by_brute_force(X: Any, categories: Any, score: NDArray[np.float64], depth: int, least: int) -> float:
    """The worth of the best tree, by trying all."""
    best = float(score.sum(axis=0).max())
    if depth == 0:
        return best
    for column in range(X.shape[1]):
        for left in ways_to_part(X[:, column], categories[column]):
            if least <= left.sum() <= len(left) - least:
                sides = (
                    best_by_brute_force(X[side], categories, score[side], depth - 1, least) for side in (left, ~left)
                )
                best = max(best, sum(sides))
    return best


def worth_of(split: Split | None, table: Table, score: NDArray[np.float64], rows: NDArray[np.intp]) -> float:
    if split is None:
        return float(score[rows].sum(axis=0).max())
    left = table.goes_left(split)[rows]
    return worth_of(split.left, table, score, rows[left]) + worth_of(split.right, table, score, rows[~left])


def smallest_leaf(split: Split | None, table: Table, rows: NDArray[np.intp]) -> int:
    if split is None:
        return len(rows)
    left = table.goes_left(split)[rows]
    return min(smallest_leaf(split.left, table, rows[left]), smallest_leaf(split.right, table, rows[~left]))


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 2), st.integers(1, 3), st.booleans())
def test_no_tree_is_worth_more_than_the_one_found(seed: int, depth: int, least: int, with_gaps: bool) -> None:
    random = np.random.RandomState(seed)
    n_rows, n_columns = random.randint(2, 14), random.randint(1, 4)
    X = random.randint(0, 4, size=(n_rows, n_columns)).astype(float)
    X[random.random_sample(X.shape) < 0.2 * with_gaps] = np.nan
    categories = random.random_sample(n_columns) < 0.4
    frame = pd.DataFrame(
        {
            f"c{column}": [None if np.isnan(value) else f"v{value:.0f}" for value in X[:, column]]
            if categories[column]
            else X[:, column]
            for column in range(n_columns)
        }
    )
    bins = Bins.fit(frame)
    table = Table.of(bins, bins.codes(bins.numbers(frame)))
    score = random.normal(size=(n_rows, random.randint(2, 5)))
    found = find_tree(table, score, depth, Limits(least, 10))
    everyone = np.arange(n_rows)
    expected = best_by_brute_force(X, categories, score, depth, least)
    assert worth_of(found, table, score, everyone) == pytest.approx(expected)
    taken = decisions(found, table, score, table, n_rows)
    assert score[everyone, taken].sum() == pytest.approx(expected)
    assert found is None or smallest_leaf(found, table, everyone) >= least


def corners(n_rows: int = 3000, seed: int = 0) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Two columns that matter only together: no single split is worth anything."""
    random = np.random.RandomState(seed)
    frame = pd.DataFrame(random.normal(size=(n_rows, 3)), columns=["age", "visits", "noise"])
    return frame, np.where((frame["age"] > 0) == (frame["visits"] > 0), "call", "mail")


def test_two_columns_that_matter_only_together_are_found() -> None:
    frame, right = corners()
    policy = PolicyTree(random_state=0).fit(**simulate_log(frame, right, random_state=0).arrays())
    test, expected = corners(seed=1)
    assert (policy.predict(test) == expected).mean() > 0.95
    assert {policy.root_.name, policy.root_.left.name, policy.root_.right.name} == {"age", "visits"}  # type: ignore[union-attr]


def test_the_result_does_not_depend_on_threads() -> None:
    random = np.random.RandomState(0)
    X, score = random.normal(size=(300, 4)), random.normal(size=(300, 3))
    bins = Bins.fit(X)
    table = Table.of(bins, bins.codes(X))
    assert find_tree(table, score, 2, Limits(5, 10), n_jobs=2) == find_tree(table, score, 2, Limits(5, 10))


def mixed_log(n_rows: int = 3000) -> Any:
    random = np.random.RandomState(0)
    frame = pd.DataFrame({"age": random.normal(40, 10, n_rows).round(), "colour": random.choice([*"rgb"], n_rows)})
    right = np.where(frame["colour"] == "g", "mail", np.where(frame["age"] <= 40, "call", "wait"))
    frame.loc[random.random_sample(n_rows) < 0.1, "age"] = np.nan
    return simulate_log(frame, right, random_state=0)


def test_rules_can_be_read() -> None:
    policy = PolicyTree(random_state=0).fit(**mixed_log().arrays())
    said = policy.rules().splitlines()
    assert said[0] == "if colour is g:"
    assert said[1].startswith("    take mail  (")
    assert said[2] == "else (colour is not g):"
    assert said[3] in ("    if age <= 40.5:", "    if age <= 40.5 or missing:")
    assert said[4].startswith("        take call  (")
    assert [leaf.action for leaf in policy.root_.leaves()] == ["mail", "call", "wait"]
    assert sum(leaf.n_rows for leaf in policy.root_.leaves()) == 3000


def test_estimates_of_the_leaves_are_near_the_truth() -> None:
    log = mixed_log()
    policy = PolicyTree(random_state=0).fit(**log.arrays())
    mail, *_ = policy.root_.leaves()
    np.testing.assert_allclose(mail.values, [0, 1, 0], atol=0.15)
    shifted = PolicyTree(reward_range=(10, 20), random_state=0)
    shifted.fit(log.X, log.action, reward=10 + 10 * log.reward, propensity=log.propensity)
    np.testing.assert_allclose(next(shifted.root_.leaves()).values, 10 + 10 * mail.values)


def test_what_rules_are_said_to_earn_is_within_the_range_of_rewards() -> None:
    X, y = load_iris(return_X_y=True)
    log = simulate_log(X, y, random_state=0)
    policy = PolicyTree(random_state=0).fit(**log.arrays())
    assert max(leaf.values.max() for leaf in policy.root_.leaves()) > 1
    said = [float(found) for found in re.findall(r"\(([\d.]+) per decision", policy.rules())]
    assert len(said) == 3
    assert max(said) == 1
    assert max(leaf["value"] for leaf in _leaves(rule_facts(policy))) == 1


def _leaves(rules: Any) -> list[dict[str, Any]]:
    return [rules] if "action" in rules else [*_leaves(rules["then"]), *_leaves(rules["otherwise"])]


def test_whether_a_value_is_missing_can_decide(tmp_path: Path) -> None:
    random = np.random.RandomState(0)
    X = random.normal(size=(1000, 2))
    X[random.random_sample(1000) < 0.4, 1] = np.nan
    right = np.isnan(X[:, 1]).astype(int)
    policy = PolicyTree(1, random_state=0).fit(**simulate_log(X, right, random_state=0).arrays())
    assert policy.rules().startswith("if x1 is known:")
    np.testing.assert_array_equal(policy.predict(X), right)
    save(policy, tmp_path / "policy.ot")
    np.testing.assert_array_equal(load(tmp_path / "policy.ot").predict(X), right)
    frame = pd.DataFrame({"kind": np.where(right == 1, np.array(None), random.choice(["u", "v"], 1000))})
    nominal = PolicyTree(1, random_state=0).fit(**simulate_log(frame, right, random_state=0).arrays())
    assert "kind is missing" in nominal.rules()
    save(nominal, tmp_path / "policy.ot")
    for asked in (frame, pd.DataFrame({"kind": ["never seen", "u", None]})):
        np.testing.assert_array_equal(load(tmp_path / "policy.ot").predict(asked), nominal.predict(asked))


def test_where_nothing_depends_on_x_there_is_one_leaf() -> None:
    X, action = np.zeros((200, 2)), np.tile(["a", "b"], 100)
    policy = PolicyTree(random_state=0).fit(X, action, reward=np.tile([0.2, 0.7], 100), propensity=0.5)
    assert policy.root_.is_leaf
    assert policy.rules().startswith("take b  (0.7 per decision")
    assert policy.decide([0.0, 0.0]) == "b"
    assert policy.rank(X[:1], 2).tolist() == [["b", "a"]]


def test_levels_that_are_noise_are_left_out() -> None:
    random = np.random.RandomState(0)
    X = random.normal(size=(2000, 5))
    action = random.randint(2, size=2000)
    reward = (random.random_sample(2000) < np.array([0.3, 0.4])[action]).astype(float)
    log: dict[str, Any] = {"action": action, "reward": reward, "propensity": 0.5}
    assert PolicyTree(random_state=0).fit(X, **log).root_.is_leaf
    assert not PolicyTree(prune=False, random_state=0).fit(X, **log).root_.is_leaf
    useful = simulate_log(X, (X[:, 2] > 0).astype(int), random_state=0)
    policy = PolicyTree(random_state=0).fit(**useful.arrays())
    assert policy.root_.column == 2
    assert policy.root_.left is not None
    assert policy.root_.left.is_leaf


def test_of_many_columns_the_most_telling_are_searched() -> None:
    random = np.random.RandomState(0)
    X = random.normal(size=(1000, 30))
    log = simulate_log(X, (X[:, 17] > 0).astype(int), random_state=0)
    policy = PolicyTree(max_features=3, random_state=0).fit(**log.arrays())
    assert policy.root_.column == 17


def test_bad_parameters_are_refused() -> None:
    log = simulate_log(*corners(100), random_state=0)
    for depth in (0, 3, True, "2"):
        with pytest.raises(ParameterError, match="depth must be 1 or 2"):
            PolicyTree(depth).fit(**log.arrays())  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="prune must be True or False"):
        PolicyTree(prune=3).fit(**log.arrays())  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="min_rows must be a whole number of at least 1; got 0"):
        PolicyTree(min_rows=0).fit(**log.arrays())
    with pytest.raises(ParameterError, match="max_features must be a whole number"):
        PolicyTree(max_features=None).fit(**log.arrays())  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="reward_model must be"):
        PolicyTree(reward_model="magic").fit(**log.arrays())
    with pytest.raises(NotFittedError):
        PolicyTree().rules()


def test_linear_reward_models_of_few_rows_start_no_worker_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting them took four seconds, and the fit a tenth of one."""
    from offsettree._workers import parallel
    from offsettree.reductions import _cross_fit

    asked: list[int | None] = []

    def noting(**settings: Any) -> Any:
        asked.append(settings["n_jobs"])
        return parallel(n_jobs=None)

    monkeypatch.setattr(_cross_fit, "parallel", noting)
    random = np.random.RandomState(0)
    X, action, reward = random.standard_normal((300, 2)), random.randint(2, size=300), random.randint(2, size=300)
    PolicyTree(n_jobs=2).fit(X, action, reward=reward, propensity=0.5)
    PolicyTree(n_jobs=2, reward_model="boosting").fit(X, action, reward=reward, propensity=0.5)
    monkeypatch.setattr(_cross_fit, "FEW_ROWS", 299)
    PolicyTree(n_jobs=2).fit(X, action, reward=reward, propensity=0.5)
    assert asked == [None, 2, 2]
