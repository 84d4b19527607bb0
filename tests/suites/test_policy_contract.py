"""What every policy promises, whatever it is made of."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from offsettree import Banditron, OffsetForest
from offsettree._traits import takes_missing
from offsettree.base import BasePolicy
from offsettree.exceptions import (
    ActionError,
    FeatureError,
    LogError,
    OffsetTreeError,
    OffsetTreeWarning,
    ParameterError,
    PropensityError,
    RewardError,
)
from tests.suites.policies import COLOURS, POLICIES, fitted, make_log, n_actions_of, worth_at_least


@pytest.fixture(params=POLICIES)
def policy(request: pytest.FixtureRequest) -> BasePolicy:
    return clone(POLICIES[request.param])  # type: ignore[no-any-return]


@pytest.fixture(params=POLICIES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(
    "labels", [None, [7, -3, 12], ["red", "blue", "green"], np.array(["b", "a", "c"], dtype=object)]
)
def test_it_answers_with_the_labels_it_was_taught(policy: BasePolicy, labels: Any) -> None:
    log = make_log(policy, labels)
    policy.fit(**log.arrays())
    chosen = policy.predict(log.X)
    assert set(chosen.tolist()) <= set(log.action.tolist())
    np.testing.assert_array_equal(policy.actions_, np.unique(log.action))
    np.testing.assert_array_equal(policy.classes_, policy.actions_)


def test_it_learns(policy: BasePolicy) -> None:
    policy.fit(**make_log(policy, n_rows=2000).arrays())
    test = make_log(policy, n_rows=1000, seed=1)
    assert policy.score(**test.arrays()) > worth_at_least(policy)


def test_fitting_twice_gives_the_same_policy(name: str) -> None:
    policy = clone(POLICIES[name])
    log = make_log(policy)
    first = fitted(name).predict(log.X)
    np.testing.assert_array_equal(policy.fit(**log.arrays()).predict(log.X), first)
    np.testing.assert_array_equal(policy.fit(**log.arrays()).predict(log.X), first)


def test_the_action_predicted_is_the_most_probable(name: str) -> None:
    policy = fitted(name)
    log = make_log(policy)
    probability = policy.predict_proba(log.X)
    assert probability.shape == (len(log), n_actions_of(policy))
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(policy.actions_[probability.argmax(axis=1)], policy.predict(log.X))
    if not isinstance(policy, OffsetForest | Banditron):  # the one votes, the other explores
        assert set(np.unique(probability)) <= {0.0, 1.0}


def test_decide_is_predict_for_one_row(name: str) -> None:
    policy = fitted(name, COLOURS)
    log = make_log(policy, COLOURS)
    expected = policy.predict(log.X[:20]).tolist()
    assert [policy.decide(row) for row in log.X[:20]] == expected
    assert [policy.decide(row.tolist()) for row in log.X[:20]] == expected
    assert [policy.decide(log.X[[i]]) for i in range(20)] == expected
    assert [policy.decide(sp.csr_matrix(log.X[[i]])) for i in range(20)] == expected
    assert type(policy.decide(log.X[0])) is str
    assert type(fitted(name).decide(log.X[0])) is int


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)])
def test_frames_are_the_same_as_arrays_and_keep_their_names(name: str, frame: Any) -> None:
    policy = clone(POLICIES[name])
    log = make_log(policy)
    columns = ["u", "v", "w", "z"]
    expected = fitted(name).predict(log.X)
    policy.fit(frame(log.X, columns=columns), log.action, reward=log.reward, propensity=log.propensity)
    assert policy.feature_names_in_.tolist() == columns
    np.testing.assert_array_equal(policy.predict(frame(log.X, columns=columns)), expected)
    assert policy.decide(frame(log.X[:1], columns=columns)) == expected[0]
    assert policy.decide(log.X[0]) == expected[0]
    assert policy.decide(dict(zip(columns, log.X[0], strict=True))) == expected[0]
    with pytest.raises(FeatureError, match="feature names"):
        policy.predict(frame(log.X, columns=columns[::-1]))
    with pytest.raises(FeatureError, match="z missing"):
        policy.decide({"u": 0, "v": 0, "w": 0})


def test_sparse_is_the_same_as_dense(policy: BasePolicy) -> None:
    """With a learner that has no ties to break: sparse trees choose otherwise among equal splits."""
    log = make_log(policy)
    X = np.where(np.abs(log.X) < 0.5, 0, log.X)
    if "node_models" in policy.get_params():
        policy.set_params(node_models="separate")
    is_regression = policy._learner_kind == "regressor"
    if "estimator" in policy.get_params():
        learner = Ridge() if is_regression else LogisticRegression(solver="newton-cholesky", tol=1e-10)
        policy.set_params(estimator=learner)
    expected = clone(policy).fit(X, log.action, reward=log.reward, propensity=log.propensity).predict(X)
    for form in (sp.csr_matrix, sp.csr_array, sp.csc_matrix):
        policy.fit(form(X), log.action, reward=log.reward, propensity=log.propensity)
        np.testing.assert_array_equal(policy.predict(form(X)), expected)


def test_it_survives_pickling(name: str) -> None:
    policy = clone(POLICIES[name])
    log = make_log(policy, COLOURS)
    policy.fit(**log.arrays())
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(policy)).predict(log.X), policy.predict(log.X))


@pytest.mark.filterwarnings("ignore:.*never logged:offsettree.exceptions.OffsetTreeWarning")
def test_actions_can_be_named_before_they_are_seen(policy: BasePolicy) -> None:
    n_actions = n_actions_of(policy)
    labels = ["first", "second", "never logged"][-n_actions:]
    log = make_log(policy, labels)
    log = log[log.action != "never logged"]
    policy.set_params(actions=labels).fit(**log.arrays())
    assert policy.actions_.tolist() == labels
    assert policy.predict_proba(log.X).shape == (len(log), n_actions)


def test_the_score_is_the_self_normalised_inverse_propensity_estimate(name: str) -> None:
    policy = fitted(name)
    log = make_log(policy)
    propensity = np.random.RandomState(0).uniform(0.1, 1, size=len(log))
    same = policy.predict(log.X) == log.action
    expected = sum(log.reward[same] / propensity[same]) / sum(1 / propensity[same])
    assert policy.score(log.X, log.action, reward=log.reward, propensity=propensity) == pytest.approx(expected)


def test_the_reward_range_scales_and_shifts_without_a_trace(name: str) -> None:
    policy = clone(POLICIES[name])
    log = make_log(policy)
    expected = fitted(name).predict(log.X)
    for low, high in ((-1.0, 1.0), (4.0, 8.0), (-2.0, -1.0)):
        shifted = clone(policy).set_params(reward_range=(low, high))
        shifted.fit(log.X, log.action, reward=low + (high - low) * log.reward, propensity=log.propensity)
        np.testing.assert_array_equal(shifted.predict(log.X), expected)


def test_grid_search_routes_reward_and_propensity(policy: BasePolicy) -> None:
    log = make_log(policy, n_rows=900)
    with sklearn.config_context(enable_metadata_routing=True):
        grid = {"random_state": [0, 1]} if hasattr(policy, "random_state") else {"reward_range": [(0, 1), (-1, 2)]}
        search = GridSearchCV(policy, grid, cv=2).fit(**renamed(log.arrays()))
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        scores = cross_val_score(
            policy, log.X, log.action, params={"reward": log.reward, "propensity": log.propensity}, cv=2
        )
    assert (scores > min(0.5, worth_at_least(policy))).all()


def test_a_pipeline_routes_reward_and_propensity(policy: BasePolicy) -> None:
    log = make_log(policy)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), policy).fit(**renamed(log.arrays()))
        assert pipeline.score(**renamed(log.arrays())) > min(0.5, worth_at_least(policy))
    name = pipeline.steps[-1][0]
    legacy = make_pipeline(StandardScaler(), clone(policy))
    legacy.fit(log.X, log.action, **{f"{name}__reward": log.reward, f"{name}__propensity": log.propensity})
    np.testing.assert_array_equal(legacy.predict(log.X), pipeline.predict(log.X))


def renamed(arrays: dict[str, Any]) -> dict[str, Any]:
    """scikit-learn's tools call the action y."""
    return {"y" if name == "action" else name: values for name, values in arrays.items()}


def test_nothing_works_before_fit(policy: BasePolicy) -> None:
    for use in (policy.predict, policy.predict_proba):
        with pytest.raises(NotFittedError):
            use([[0.0, 0.0, 0.0, 0.0]])
    with pytest.raises(NotFittedError):
        policy.decide([0.0, 0.0, 0.0, 0.0])
    with pytest.raises(NotFittedError):
        policy.score([[0.0]], [0], reward=[0], propensity=[1])


def with_value(values: Any, row: int, value: Any) -> Any:
    changed = np.array(values)
    changed[row] = value
    return changed


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "NaN in X": (
        lambda log: {"X": with_value(log["X"], 5, [0, np.nan, 0, 0]), "learner": "linear"},
        FeatureError,
        r"NaN.*row 5, column 1 has nan \(1 value in all\).*Impute",
    ),
    "NaN in sparse X": (
        lambda log: {"X": sp.csr_matrix(with_value(log["X"], 5, [0, np.nan, 0, 0])), "learner": "linear"},
        FeatureError,
        r"row 5, column 1 has nan",
    ),
    "infinity in X": (
        lambda log: {"X": with_value(log["X"], 5, np.inf)},
        FeatureError,
        r"infinity.*row 5, column 0 has inf \(4 values in all\)",
    ),
    "strings in X": (
        lambda log: {"X": log["X"].astype(str).astype(object) + "x"},
        FeatureError,
        "pandas or polars frame",
    ),
    "X of one dimension": (lambda log: {"X": log["X"][:, 0]}, FeatureError, "2D"),
    "an empty log": (
        lambda log: {"X": log["X"][:0], "action": [], "reward": [], "propensity": []},
        FeatureError,
        "0 sample.*X is empty",
    ),
    "reward above the range": (
        lambda log: {"reward": with_value(log["reward"], 17, 3.5)},
        RewardError,
        r"reward_range=\(0, 1\); row 17 has 3.5 \(1 row of 300 outside.*pass reward_range=\(low, high\)",
    ),
    "reward NaN": (lambda log: {"reward": with_value(log["reward"], 3, np.nan)}, RewardError, "row 3 has nan"),
    "reward missing": (lambda log: {"reward": None}, RewardError, "reward is missing"),
    "reward of another length": (lambda log: {"reward": log["reward"][1:]}, RewardError, "299 values for 300 rows"),
    "propensity missing": (lambda log: {"propensity": None}, PropensityError, "missing.*look better than they are"),
    "propensity zero": (
        lambda log: {"propensity": with_value(log["propensity"], 9, 0)},
        PropensityError,
        r"propensity must be in \(0, 1\]; row 9 has 0.0 \(1 row in all\)",
    ),
    "propensity NaN": (lambda log: {"propensity": np.nan}, PropensityError, "row 0 has nan.*not recorded"),
    "propensity by action": (lambda log: {"propensity": {0: 0.5, 1: 0.5}}, PropensityError, "got a mapping"),
    "reward as text": (lambda log: {"reward": ["1"] * 300}, RewardError, r"row 0 has '1' \(str\).*astype"),
    "propensity as text": (lambda log: {"propensity": "0.3"}, PropensityError, "must be numbers; row 0 has '0.3'"),
    "a range of text": (lambda log: {"reward_range": "01"}, ParameterError, "pair of numbers"),
    "actions in a set": (lambda log: {"actions": {0, 1}}, ActionError, "must be a list of labels.*got a set"),
    "propensity above one": (lambda log: {"propensity": 33.3}, PropensityError, "Percentages"),
    "propensity of another length": (lambda log: {"propensity": log["propensity"][1:]}, PropensityError, "299 values"),
    "actions of another length": (lambda log: {"action": log["action"][1:]}, LogError, "299 values for 300 rows"),
    "one action": (lambda log: {"action": np.zeros(300, dtype=int)}, ActionError, "at least two actions"),
    "continuous actions": (lambda log: {"action": log["action"] + 0.5}, ActionError, "row 0 has"),
    "an action not named": (lambda log: {"actions": [1, 99]}, ActionError, "one of the policy's 2 actions, 1, 99; row"),
    "labels of another kind": (
        lambda log: {"actions": ["0", "1"]},
        ActionError,
        "are integers, but the policy's are strings",
    ),
    "actions named twice": (lambda log: {"actions": [1, 1, 2]}, ParameterError, "1 is named twice"),
    "one action named": (lambda log: {"actions": [1]}, ParameterError, "at least two"),
    "an offset outside the range": (lambda log: {"offset": 1.5}, ParameterError, "offset must be from 0 to 1"),
    "an offset that is nothing": (lambda log: {"offset": "mode"}, ParameterError, "offset must be .*'mean'"),
    "no workers": (lambda log: {"n_jobs": 0}, ParameterError, "n_jobs must be None, .*; got 0"),
    "workers by word": (lambda log: {"n_jobs": "all"}, ParameterError, "n_jobs must be None, .*; got 'all'"),
    "a range upside down": (lambda log: {"reward_range": (1, 0)}, ParameterError, "low < high"),
    "a range of one": (lambda log: {"reward_range": 5}, ParameterError, "pair"),
    "a learner that is none": (lambda log: {"estimator": "tree"}, ParameterError, "estimator must be a .*got 'tree'"),
    "a class": (
        lambda log: {"estimator": Ridge},
        ParameterError,
        "estimator must be an instance, not a class; write Ridge",
    ),
    "the wrong kind of learner": (lambda log: {"learner": "wrong"}, ParameterError, "estimator must be a"),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_input_is_refused_before_any_work(policy: BasePolicy, bad: str) -> None:
    change, error, message = BAD[bad]
    log = make_log(policy).arrays()
    changes = change(log)
    parameters = {name: changes.pop(name) for name in list(changes) if name not in log}
    learner = parameters.pop("learner", None)
    has = set(policy.get_params())
    needed = {"offset", "n_jobs", "estimator"} & set(parameters) | ({"estimator"} if learner == "wrong" else set())
    if missing := needed - has:
        pytest.skip(f"this policy has no {missing.pop()}")
    if learner == "linear" and "estimator" not in has and takes_missing(policy._learner()):
        pytest.skip("it takes missing values, and no learner that does not")
    if learner is not None and "estimator" in has:
        wants_regressor = (policy._learner_kind == "regressor") == (learner == "linear")
        parameters["estimator"] = Ridge() if wants_regressor else LogisticRegression()
    with pytest.raises(error, match=f"(?s){message}") as caught:
        policy.set_params(**parameters).fit(**(log | changes))
    assert isinstance(caught.value, OffsetTreeError)
    assert isinstance(caught.value, ValueError)


def test_bad_input_after_fit_is_refused(name: str) -> None:
    policy = fitted(name)
    log = make_log(policy)
    with pytest.raises(FeatureError, match=r"3 features, but .* expecting 4"):
        policy.predict(log.X[:, :3])
    with pytest.raises(FeatureError, match=r"3 features, but .* expecting 4"):
        policy.decide(log.X[0, :3])
    with pytest.raises(FeatureError, match="decide takes one context; got 2 rows"):
        policy.decide(log.X[:2])
    with pytest.raises(FeatureError, match="by name needs a policy fitted on named columns"):
        policy.decide({"u": 1.0})
    with pytest.raises(ActionError, match="row 0 has 77"):
        policy.score(log.X[:2], [77, 0], reward=[0, 1], propensity=0.5)
    other = np.where(policy.predict(log.X) == 0, 1, 0)
    with pytest.raises(LogError, match="in none of the 300 rows"):
        policy.score(log.X, other, reward=log.reward, propensity=log.propensity)
    with pytest.raises(PropensityError, match="missing"):
        policy.score(log.X, log.action, reward=log.reward)


def test_the_outcome_left_among_the_features_is_noticed(policy: BasePolicy) -> None:
    log = make_log(policy)
    table = np.column_stack([log.X, log.reward])
    with pytest.warns(OffsetTreeWarning, match="column 4 of X equals the reward in every row"):
        clone(policy).fit(table, log.action, reward=log.reward, propensity=log.propensity)
    frame = pd.DataFrame(table, columns=["u", "v", "w", "z", "visit"])
    with pytest.warns(OffsetTreeWarning, match="of X equals the reward"):
        policy.fit(frame, log.action, reward=log.reward, propensity=log.propensity)


def test_a_fit_that_fails_leaves_the_policy_as_it_was(policy: BasePolicy) -> None:
    log = make_log(policy, ["red", "blue", "green"])
    with pytest.raises(RewardError):
        policy.fit(log.X, log.action, reward=log.reward + 5, propensity=log.propensity)
    with pytest.raises(NotFittedError):
        policy.predict(log.X)
    before = policy.fit(**log.arrays()).predict(log.X)
    with pytest.raises(PropensityError):
        policy.fit(log.X[:, :2], np.arange(len(log)) % 2, reward=log.reward, propensity=0)
    np.testing.assert_array_equal(policy.predict(log.X), before)


def test_a_row_of_a_frame_is_taken_by_its_names(policy: BasePolicy) -> None:
    log = make_log(policy)
    frame = pd.DataFrame(log.X, columns=["u", "v", "w", "z"])
    policy.fit(frame, log.action, reward=log.reward, propensity=log.propensity)
    expected = policy.predict(frame[:5]).tolist()
    assert [policy.decide(frame[["z", "w", "v", "u"]].iloc[row]) for row in range(5)] == expected


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda policy, log: policy.fit(log), LogError, r"fit\(\*\*log.arrays\(\)\)"),
        (lambda policy, log: policy.fit(log.X), ActionError, "action is missing"),
        (lambda policy, log: policy.predict({"u": 1.0}), FeatureError, "Use decide"),
        (lambda policy, log: policy.decide(3), FeatureError, "got 3"),
        (lambda policy, log: policy.predict(pd.DataFrame(index=range(3))), FeatureError, "no columns"),
        (lambda policy, log: policy.predict(pl.LazyFrame({"u": [1.0]})), FeatureError, "collect"),
    ],
)
def test_the_slips_of_a_first_day_are_answered(name: str, use: Any, error: type[Exception], message: str) -> None:
    policy = fitted(name)
    log = make_log(policy)
    with pytest.raises(error, match=message):
        use(policy, log)


def test_rows_can_count_more_than_once_in_the_score(name: str) -> None:
    policy = fitted(name)
    log = make_log(policy)
    count = np.arange(len(log)) % 4
    once = log[np.repeat(np.arange(len(log)), count)]
    assert policy.score(**log.arrays(), sample_weight=count) == pytest.approx(policy.score(**once.arrays()))
