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
from sklearn.linear_model import LogisticRegression, Ridge

from offsettree import (
    EpsilonGreedy,
    Estimate,
    LoggedData,
    OffsetForest,
    OffsetTree,
    RewardRegression,
    evaluate,
    simulate_log,
)
from offsettree.exceptions import (
    ActionError,
    FeatureError,
    LogError,
    OffsetTreeWarning,
    ParameterError,
    PropensityError,
    RewardError,
)
from offsettree.theory import FiniteProblem
from tests.strategies import finite_problems, seeds

METHODS = ["ips", "snips", "direct", "doubly_robust", "switch"]

# Four rows solved by hand: the policy always takes "a", which was logged in rows 0, 1 and 3.
HAND: dict[str, Any] = {
    "X": np.zeros((4, 1)),
    "action": ["a", "a", "b", "a"],
    "reward": [1.0, 0.0, 1.0, 0.5],
    "propensity": [0.5, 0.25, 0.5, 0.5],
}
PREDICTED = np.array([[0.6, 0.1], [0.2, 0.1], [0.4, 0.9], [0.8, 0.1]])  # of a and b


def some_log(n_rows: int = 600, seed: int = 0, n_actions: int = 3) -> LoggedData:
    random = np.random.RandomState(seed)
    X = random.normal(size=(n_rows, 4))
    chances = random.dirichlet(np.full(n_actions, 5.0), size=n_rows) * 0.7 + 0.3 / n_actions
    rewards = 1 / (1 + np.exp(-X[:, :1] * np.arange(n_actions) - X[:, 1:2]))
    return simulate_log(X, (random.random_sample(rewards.shape) < rewards).astype(float), chances, random_state=random)


def test_ips_by_hand() -> None:
    found = evaluate("a", **HAND, method="ips", interval="normal")
    assert found.value == pytest.approx((2 * 1 + 4 * 0 + 0 + 2 * 0.5) / 4)
    terms = np.array([2, 0, 0, 1])
    effective = 8**2 / (4 + 16 + 4)
    assert found.stderr == pytest.approx(terms.std() / 2 / np.sqrt(1 - 1 / effective))
    assert (found.n_rows, found.n_matched, found.max_weight) == (4, 3, 4.0)
    assert found.effective_rows == pytest.approx(effective)
    assert found.low < found.value < found.high
    assert found.high - found.value == pytest.approx(found.value - found.low)


def test_snips_by_hand() -> None:
    found = evaluate("a", **HAND)
    assert found.method == "snips"
    assert found.value == pytest.approx(3 / 8)
    influence = np.array([2, 4, 0, 2]) * (np.array([1, 0, 1, 0.5]) - 3 / 8) / 2
    assert found.stderr == pytest.approx(influence.std() / 2 / np.sqrt(1 - 24 / 64))


def test_methods_with_a_model_by_hand() -> None:
    direct = evaluate("a", **HAND, method="direct", reward_model=PREDICTED)
    assert direct.value == pytest.approx((0.6 + 0.2 + 0.4 + 0.8) / 4)
    robust = evaluate("a", **HAND, method="doubly_robust", reward_model=PREDICTED)
    assert robust.value == pytest.approx((2.0 + 2 * 0.4 + 4 * -0.2 + 2 * -0.3) / 4)
    stochastic = evaluate(np.full((4, 2), 0.5), **HAND, method="doubly_robust", reward_model=PREDICTED)
    corrections = 1 * 0.4 + 2 * -0.2 + 1 * 0.1 + 1 * -0.3
    assert stochastic.value == pytest.approx((PREDICTED.mean(axis=1).sum() + corrections) / 4)


def test_the_baseline_and_the_difference_by_hand() -> None:
    found = evaluate("a", **HAND, method="ips")
    assert found.baseline is not None
    assert found.difference is not None
    assert found.baseline.value == pytest.approx(2.5 / 4)
    assert found.difference.value == pytest.approx(0.75 - 2.5 / 4)
    off = np.array([2, 0, 0, 1]) - np.array([1, 0, 1, 0.5])
    assert found.difference.stderr == pytest.approx(off.std() / 2 / np.sqrt(1 - 24 / 64))
    other = evaluate("a", **HAND, method="ips", baseline=["b"] * 4)
    assert other.baseline is not None
    assert other.baseline.value == pytest.approx(0.5)
    alone = evaluate("a", **HAND, baseline=None)
    assert alone.baseline is None
    assert alone.difference is None


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("interval", ["mid_p", "normal", "bootstrap", "bernstein", "betting"])
def test_a_policy_does_not_differ_from_itself(method: str, interval: str) -> None:
    if interval in ("bernstein", "betting") and method not in ("ips", "snips"):
        return
    log = some_log()
    chosen = log.X[:, 0] > 0
    found = evaluate(
        chosen, **log.arrays(), baseline=chosen, method=method, interval=interval, reward_model=Ridge(), random_state=0
    )
    assert found.difference is not None
    assert found.difference.value == 0
    assert found.difference.stderr == pytest.approx(0, abs=1e-7)
    if interval != "bernstein":  # which knows of the range only
        assert found.difference.high - found.difference.low < 0.1


def test_pairing_makes_the_difference_surer_where_two_policies_agree() -> None:
    log = some_log(2000)
    first = (log.X[:, 0] > 0).astype(int)
    second = np.where(np.arange(len(log)) % 20 == 0, 2, first)
    found = evaluate(first, **log.arrays(), baseline=second)
    assert found.difference is not None
    assert found.difference.stderr < 0.5 * found.stderr


def every_log(problem: FiniteProblem, chances: NDArray[np.float64]) -> list[tuple[float, int, int, float, float]]:
    """All rows that can be logged: probability, context, action, reward, propensity."""
    return [
        (chance * chances[x, action], x, action, rewards[action], chances[x, action])
        for chance, x, rewards in zip(problem.probability, problem.context, problem.rewards, strict=True)
        for action in range(problem.n_actions)
    ]


@pytest.mark.filterwarnings("ignore:the policy takes:offsettree.exceptions.OffsetTreeWarning")
@pytest.mark.filterwarnings("ignore:all 1 rewards:offsettree.exceptions.OffsetTreeWarning")
@settings(max_examples=30)
@given(finite_problems(max_actions=3), seeds)
def test_ips_and_doubly_robust_are_right_on_average_over_all_logs(problem: FiniteProblem, seed: int) -> None:
    """Over all logs of one row, and so of independent rows; whatever the model says, and for any policy."""
    random = np.random.RandomState(seed)
    shape = (problem.n_contexts, problem.n_actions)
    chances, policy = (random.dirichlet(np.ones(shape[1]), size=shape[0]) * 0.9 + 0.1 / shape[1] for _ in range(2))
    model = random.normal(size=shape)
    truth = float(problem.context_probability @ (policy * problem.mean_rewards).sum(axis=1))
    total = {"ips": 0.0, "doubly_robust": 0.0}
    for likely, x, action, reward, propensity in every_log(problem, chances):
        for method in total:
            found = evaluate(
                policy[[x]],
                [[0.0]],
                [action],
                reward=[reward],
                propensity=[propensity],
                method=method,
                reward_model=model[[x]],
                baseline=None,
                actions=range(shape[1]),
            )
            total[method] += likely * found.value
    assert total["ips"] == pytest.approx(truth)
    assert total["doubly_robust"] == pytest.approx(truth)


@settings(max_examples=10)
@given(st.floats(-100, 100), st.floats(0.01, 100), seeds)
def test_estimates_follow_the_unit_of_the_reward(shift: float, scale: float, seed: int) -> None:
    """A constant added to all rewards is added to the value by all methods that divide by the weights or model."""
    log = some_log(200, seed)
    chosen = np.arange(len(log)) % 3
    moved = {**log.arrays(), "reward": shift + scale * log.reward}
    for method in ("snips", "direct", "doubly_robust", "switch"):
        before = evaluate(chosen, **log.arrays(), method=method, reward_model=Ridge(), random_state=0)
        after = evaluate(chosen, **moved, method=method, reward_model=Ridge(), random_state=0)
        assert after.value == pytest.approx(shift + scale * before.value, rel=1e-6, abs=1e-6)
        assert after.stderr == pytest.approx(scale * before.stderr, rel=1e-4, abs=1e-6)
        assert after.difference is not None
        assert before.difference is not None
        assert after.difference.value == pytest.approx(scale * before.difference.value, rel=1e-6, abs=1e-6)
    ips = evaluate(chosen, **{**log.arrays(), "reward": scale * log.reward}, method="ips")
    assert ips.value == pytest.approx(scale * evaluate(chosen, **log.arrays(), method="ips").value)


@given(seeds)
def test_snips_stays_within_the_rewards_and_does_not_see_a_common_factor_of_propensities(seed: int) -> None:
    log = some_log(100, seed)
    found = evaluate(0, **log.arrays())
    assert log.reward.min() <= found.value <= log.reward.max()
    halved = evaluate(0, **{**log.arrays(), "propensity": log.propensity / 2})
    assert halved.value == pytest.approx(found.value)
    assert halved.stderr == pytest.approx(found.stderr)


def test_doubly_robust_is_exact_if_the_model_is() -> None:
    log = some_log(300)
    truth = np.random.RandomState(1).random_sample((300, 3))
    reward = truth[np.arange(300), log.action]
    found = evaluate(
        np.full(300, 2), **{**log.arrays(), "reward": reward}, method="doubly_robust", reward_model=truth, baseline=None
    )
    assert found.value == pytest.approx(truth[:, 2].mean())


def test_switch_leaves_rows_of_huge_weight_to_the_model() -> None:
    random = np.random.RandomState(0)
    n_rows = 2000
    propensity = np.where(np.arange(n_rows) % 100 == 0, 0.001, 0.5)
    reward = (random.random_sample(n_rows) < 0.5).astype(float)
    log: dict[str, Any] = {"X": np.zeros((n_rows, 1)), "action": np.arange(n_rows) % 2, "reward": reward}
    model = np.full((n_rows, 2), 0.5)
    given_too: dict[str, Any] = {"propensity": propensity, "reward_model": model, "baseline": None}
    switch = evaluate(0, **log, **given_too, method="switch")
    robust = evaluate(0, **log, **given_too, method="doubly_robust")
    assert switch.stderr < 0.1 * robust.stderr
    assert abs(switch.value - 0.5) < 0.05


def test_all_forms_of_a_policy_are_worth_the_same() -> None:
    log = some_log(900)
    train, test = log[:450], log[450:]
    policy = OffsetTree(random_state=0).fit(**train.arrays())
    expected = evaluate(policy, **test.arrays())
    chosen = policy.predict(test.X)

    class Predicts:
        def predict(self, X: Any) -> Any:
            return policy.predict(X)

    class Draws:
        actions_ = policy.actions_

        def predict_proba(self, X: Any) -> Any:
            return policy.predict_proba(X)

    class DrawsAndPredicts(Draws):
        def predict(self, X: Any) -> Any:
            return np.zeros(len(X), dtype=int)

    forms = [chosen, chosen.tolist(), pd.Series(chosen), policy.predict_proba(test.X), Predicts(), Draws()]
    for form in [*forms, pd.DataFrame(policy.predict_proba(test.X)), DrawsAndPredicts()]:
        found = evaluate(form, **test.arrays())
        assert (found.value, found.stderr, found.n_matched) == pytest.approx(
            (expected.value, expected.stderr, expected.n_matched)
        )


def test_a_classifier_takes_what_it_predicts_and_an_explorer_draws() -> None:
    log = some_log(900)
    classifier = LogisticRegression().fit(log.X, log.action)
    expected = evaluate(classifier.predict(log.X), **log.arrays())
    assert evaluate(classifier, **log.arrays()).value == expected.value
    forest = OffsetForest(n_trees=5, random_state=0).fit(**log[:450].arrays())
    test = log[450:]
    assert evaluate(forest, **test.arrays()).value == evaluate(forest.predict(test.X), **test.arrays()).value
    explorer = EpsilonGreedy(forest, epsilon=0.3, random_state=0)
    found = evaluate(explorer, **test.arrays())
    assert found.value == pytest.approx(evaluate(explorer.predict_proba(test.X), **test.arrays()).value)
    assert found.n_matched == len(test)


def test_labels_may_be_strings_and_policies_may_know_more_or_fewer_actions_than_the_log() -> None:
    log = some_log(600)
    names = np.array(["red", "blue", "green"])
    arrays = {**log.arrays(), "action": names[log.action]}
    numbers = evaluate(np.zeros(600, dtype=int), **log.arrays())
    assert evaluate("red", **arrays).value == numbers.value
    fewer = log[log.action != 2]
    policy = OffsetTree(actions=["red", "blue"], random_state=0).fit(
        fewer.X, names[fewer.action], reward=fewer.reward, propensity=0.5
    )
    with pytest.warns(OffsetTreeWarning, match="trained on"):
        assert evaluate(policy, **arrays).n_matched > 100
    table = np.zeros((600, 3))
    table[:, 2] = 1
    assert evaluate(table, **arrays).value == evaluate("red", **arrays).value  # sorted: blue, green, red
    assert evaluate(table, **arrays, actions=["green", "blue", "red"]).value == evaluate("red", **arrays).value


def test_a_table_means_the_same_whatever_it_is_compared_with() -> None:
    log = some_log(900)
    train, test = log[:450], log[450:]
    other = OffsetTree(actions=[2, 1, 0], random_state=0).fit(**train.arrays())
    table = np.eye(3)[test.X[:, 0].argsort().argsort() % 3]
    model = np.random.RandomState(0).random_sample((450, 3))
    for method in ("snips", "doubly_robust"):
        settings: dict[str, Any] = {**test.arrays(), "method": method, "reward_model": model}
        alone, beside = evaluate(table, **settings), evaluate(table, **settings, baseline=other)
        assert beside.value == pytest.approx(alone.value)
        assert beside.baseline is not None
        chosen = other.predict(test.X)
        assert evaluate(other, **settings).value == pytest.approx(evaluate(chosen, **settings).value)
        assert beside.baseline.value == pytest.approx(evaluate(chosen, **settings).value)
        reverse = evaluate(other, **settings, baseline=table)
        assert reverse.baseline is not None
        assert reverse.baseline.value == pytest.approx(alone.value)
        # The order given is that of all tables.
        backwards = {**settings, "reward_model": model[:, ::-1], "actions": [2, 1, 0]}
        assert evaluate(table[:, ::-1], **backwards, baseline=other).value == pytest.approx(alone.value)


def test_an_object_that_does_not_name_its_columns_is_read_as_a_table() -> None:
    log = some_log(900)
    other = OffsetTree(actions=[2, 1, 0], random_state=0).fit(**log[:450].arrays())
    test = log[450:]
    table = np.tile([0.7, 0.2, 0.1], (450, 1))

    class Draws:
        def predict_proba(self, X: Any) -> Any:
            return table

    expected = evaluate(table, **test.arrays()).value
    assert evaluate(Draws(), **test.arrays(), baseline=other).value == pytest.approx(expected)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_frame_are_known_by_their_names(frame: Any) -> None:
    log = some_log(300)
    names = np.array(["red", "blue", "green"])
    arrays: dict[str, Any] = {**log.arrays(), "action": names[log.action], "method": "doubly_robust"}
    random = np.random.RandomState(0)
    chances, model = random.dirichlet(np.ones(3), size=300), random.random_sample((300, 3))
    by_name = [frame({name: table[:, i] for i, name in enumerate(names)}) for table in (chances, model)]
    sorted_order = [1, 2, 0]  # blue, green, red
    expected = evaluate(chances[:, sorted_order], **arrays, reward_model=model[:, sorted_order])
    found = evaluate(by_name[0], **arrays, reward_model=by_name[1])
    assert found.value == pytest.approx(expected.value)
    named = evaluate(by_name[0], **arrays, reward_model=by_name[1], actions=["green", "red", "blue"])
    assert named.value == pytest.approx(expected.value)
    numbers = frame({str(i): chances[:, i] for i in (2, 0, 1)})
    again = evaluate(numbers, **log.arrays())
    assert again.value == pytest.approx(evaluate(chances, **log.arrays()).value)


def test_predicted_rewards_must_be_of_all_actions_that_policies_know() -> None:
    log = some_log(300)
    policy = OffsetTree(actions=[3, 2, 1, 0], random_state=0).fit(**some_log(300, 1, 4).arrays())
    with pytest.raises(ParameterError, match="columns of 3 are missing"):
        evaluate(policy, **log.arrays(), method="direct", reward_model=np.zeros((300, 3)))


def test_a_log_of_one_action_can_be_evaluated_whether_or_not_it_is_named() -> None:
    log: dict[str, Any] = {"X": np.zeros((9, 1)), "action": [1] * 9, "reward": [0, 1, 1] * 3, "propensity": 1.0}
    assert evaluate(1, **log).value == evaluate(1, **log, actions=[1]).value == pytest.approx(2 / 3)


def test_every_sparse_form_of_x_works_with_a_model() -> None:
    log = some_log(200)
    expected = evaluate(0, **{**log.arrays(), "X": sp.csr_matrix(log.X)}, method="doubly_robust", random_state=0)
    for form in (sp.coo_matrix, sp.csc_array, sp.dok_matrix):
        found = evaluate(0, **{**log.arrays(), "X": form(log.X)}, method="doubly_robust", random_state=0)
        assert found.value == pytest.approx(expected.value)


@pytest.mark.parametrize("form", [sp.csr_matrix, pd.DataFrame, lambda X: pl.DataFrame(X, schema=list("abcd"))])
@pytest.mark.parametrize("method", ["snips", "doubly_robust"])
def test_every_form_of_x_works(form: Any, method: str) -> None:
    log = some_log()
    arrays = {**log.arrays(), "X": form(log.X)}
    found = evaluate(1, **arrays, method=method, random_state=0)
    assert abs(found.value - evaluate(1, **log.arrays(), method=method, random_state=0).value) < 0.05
    if method == "doubly_robust" and not sp.issparse(arrays["X"]):
        nominal = pd.DataFrame(log.X, columns=list("abcd")).assign(colour=np.where(log.X[:, 0] > 0, "red", "blue"))
        assert 0 < evaluate(1, **{**arrays, "X": nominal}, method=method, random_state=0).value < 1


def test_the_seed_decides_what_is_drawn() -> None:
    log = some_log(300)
    choices: list[dict[str, Any]] = [{"interval": "bootstrap"}, {"interval": "betting"}, {"method": "doubly_robust"}]
    for choice in choices:
        first, again, other = (evaluate(0, **log.arrays(), **choice, random_state=seed) for seed in (0, 0, 1))
        assert first == again
        assert (first.low, first.high) != (other.low, other.high)


def test_an_estimate_can_be_read() -> None:
    text = repr(evaluate("a", **HAND))
    assert "0.375, 95 % interval" in text
    assert "(snips, mid_p)" in text
    assert "baseline 0.625" in text
    assert "3 of 4 rows matched" in text
    assert "warning: the 4 rows are worth" in text
    assert str(evaluate("a", **HAND)) == text


def test_a_single_matched_row_has_no_spread() -> None:
    log: dict[str, Any] = {"X": np.zeros((3, 1)), "action": ["a", "b", "b"], "reward": [1, 0, 1], "propensity": 0.5}
    found = evaluate(["a"] * 3, **log, interval="normal")
    assert found.value == 1
    assert (found.low, found.high) == (-np.inf, np.inf)
    assert found.serious
    known = evaluate(["a"] * 3, **log)  # that rewards are between 0 and 1
    assert 0 < known.low < 0.1
    assert known.high == 1
    assert known.warnings


def test_nothing_matched_is_said() -> None:
    reward = np.arange(50) % 2
    log: dict[str, Any] = {"X": np.zeros((50, 1)), "action": ["a"] * 50, "reward": reward, "propensity": 0.5}
    for method in ("ips", "snips"):
        with pytest.raises(LogError, match="in none of the 50 rows"):
            evaluate("b", **log, method=method, actions=["a", "b"])
    with pytest.raises(LogError, match="the baseline's value cannot be estimated"):
        evaluate("a", **log, baseline=["b"] * 50, actions=["a", "b"])
    for method in ("direct", "doubly_robust", "switch"):
        with pytest.warns(OffsetTreeWarning, match="never took"):
            found = evaluate("b", **log, method=method, actions=["a", "b"])
        assert np.isfinite(found.value)
        assert any("in none of the 50 rows" in text for text in found.warnings)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"action": ["a"] * 3}, LogError, "one value per row"),
        ({"reward": [1, 0]}, RewardError, "one value per row"),
        ({"reward": [1, 0, np.nan, 1]}, RewardError, "row 2 has nan"),
        ({"reward": None}, RewardError, "reward is missing"),
        ({"propensity": None}, PropensityError, "propensity is missing"),
        ({"propensity": [0.5, 0, 0.5, 0.5]}, PropensityError, "row 1 has 0"),
        ({"propensity": 50}, PropensityError, "divided by 100"),
        ({"X": np.zeros((0, 1)), "action": [], "reward": [], "propensity": []}, LogError, "empty"),
        ({"method": "dr"}, ParameterError, "'doubly_robust'"),
        ({"interval": "exact"}, ParameterError, "'betting'"),
        ({"level": 95}, ParameterError, "between 0 and 1"),
        ({"level": "high"}, ParameterError, "between 0 and 1"),
        ({"policy": ["a", "c", "a", "a"]}, ActionError, "row 1 has 'c'"),
        ({"policy": [0, 1, 1, 0]}, ActionError, "row 0 has 0"),
        ({"policy": ["a"] * 5}, LogError, "one value per row"),
        ({"policy": OffsetTree}, ParameterError, "not a class"),
        ({"policy": {"a": 1}}, ParameterError, "predict_proba"),
        ({"policy": np.zeros((2, 2, 2))}, ParameterError, "predict_proba"),
        ({"policy": [[0.5, 0.5], [1.0]]}, ParameterError, "equal length"),
        ({"policy": np.full((4, 2), 0.6)}, ParameterError, "sum to 1; row 0 has"),
        ({"policy": np.array([[1, 0], [1, 0], [1.5, -0.5], [1, 0]])}, ParameterError, "row 2 has"),
        ({"policy": np.full((4, 2), np.nan)}, ParameterError, "sum to 1"),
        ({"policy": np.full((4, 3), 1 / 3)}, ParameterError, r"\(4, 2\); got an array of shape \(4, 3\)"),
        ({"policy": np.full((3, 2), 0.5)}, LogError, "3 for 4 rows"),
        ({"policy": np.array([["x", "y"]] * 4)}, ParameterError, "must be numbers"),
        ({"baseline": "c"}, ActionError, "the baseline must answer"),
        ({"baseline": "loging"}, ActionError, "or be 'logging'"),
        ({"X": None}, FeatureError, "X must be what was known"),
        ({"X": 3.0}, FeatureError, "X must be what was known"),
        ({"X": [[0], [np.inf], [0], [0]], "method": "direct"}, FeatureError, "row 1 has inf"),
        (
            {"X": sp.csr_matrix([[0], [0], [np.nan], [0]]), "method": "doubly_robust"},
            FeatureError,
            "finite for this reward model; row 2 has nan",
        ),
        (
            {"X": pd.DataFrame({"a": [0.0, 1.0, 2.0, -np.inf]}), "method": "switch"},
            FeatureError,
            "row 3 has -inf",
        ),
        ({"actions": []}, (ActionError, ParameterError), "at least one action"),
        ({"policy": pd.DataFrame(np.full((4, 2), 0.5))}, ParameterError, "named after the 2 actions, 'a', 'b'"),
        ({"policy": pd.DataFrame({"a": [0.5] * 4, "c": [0.5] * 4})}, ParameterError, "got 'a', 'c'"),
        ({"interval": "betting", "reward": [5, 1, 1, 1]}, ParameterError, "reward_range"),
        ({"max_weight": -3}, ParameterError, "a number above 0; got -3"),
        ({"interval": "betting", "max_weight": "all"}, ParameterError, "a number above 0; got 'all'"),
        ({"reward_range": (1, 0)}, ParameterError, "low < high"),
        ({"reward_model": "zzz"}, ParameterError, "must be a regressor"),
        ({"method": "direct", "reward_model": [["x", "y"]] * 4}, ParameterError, "must hold predicted rewards"),
        (
            {"method": "direct", "reward_model": pd.DataFrame(np.zeros((4, 2)))},
            ParameterError,
            "columns of the reward_model must be named",
        ),
        ({"interval": "betting", "reward_range": (1, 2)}, RewardError, "within reward_range"),
        ({"interval": "bernstein", "max_weight": 3}, ParameterError, "weights up to 4"),
        ({"interval": "bernstein", "max_weight": np.inf}, ParameterError, "finite max_weight"),
        ({"interval": "bernstein", "method": "doubly_robust"}, ParameterError, "betting"),
        ({"interval": "betting", "method": "direct"}, ParameterError, "unbiased estimates"),
        ({"method": "direct", "reward_model": LogisticRegression()}, ParameterError, "must be a regressor"),
        ({"method": "direct", "reward_model": np.zeros((4, 3))}, ParameterError, r"\(4, 2\)"),
        ({"method": "direct", "reward_model": np.full((4, 2), np.nan)}, ParameterError, "row 0, column 0"),
    ],
)
def test_bad_input_is_refused_with_what_must_hold(change: dict[str, Any], error: Any, message: str) -> None:
    arguments = {"policy": "a", **HAND, **change}
    with pytest.raises(error, match=message):
        evaluate(arguments.pop("policy"), **arguments)


def test_a_log_given_whole_is_refused_with_the_remedy() -> None:
    with pytest.raises(LogError, match=r"\*\*log.arrays"):
        evaluate("a", some_log(10), None)  # type: ignore[arg-type]


def test_policies_whose_labels_are_of_another_kind_are_refused() -> None:
    log = some_log(300)
    policy = RewardRegression().fit(**log.arrays())
    with pytest.raises(ActionError, match="all integers or all strings"):
        evaluate(policy, **{**log.arrays(), "action": log.action.astype(str)})


def test_the_score_of_a_policy_is_the_default_estimate() -> None:
    log = some_log(900)
    policy = OffsetTree(random_state=0).fit(**log[:450].arrays())
    found = evaluate(policy, **log[450:].arrays())
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(policy.score(**log[450:].arrays()))
