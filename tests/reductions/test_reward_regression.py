from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

from offsettree import RewardRegression, simulate_log
from offsettree.exceptions import ParameterError
from offsettree.learners import ConstantRegressor
from offsettree.models import Scores
from offsettree.reading import flatten

random = np.random.RandomState(0)
X = random.normal(size=(600, 3))
means = np.clip(0.5 + 0.2 * np.stack([X[:, 0], X[:, 1], -X[:, 0] - X[:, 1]], axis=1), 0, 1)
log = simulate_log(X, means, logging=[0.6, 0.3, 0.1], random_state=0)


def test_each_regressor_is_trained_on_the_rows_of_its_action() -> None:
    """Algorithm 4 with a separate regressor for each choice, and Algorithm 5."""
    policy = RewardRegression(LinearRegression()).fit(**log.arrays())
    values = np.stack(
        [LinearRegression().fit(X[log.action == a], log.reward[log.action == a]).predict(X) for a in range(3)], axis=1
    )
    np.testing.assert_allclose(policy.predict_rewards(X), values)
    np.testing.assert_array_equal(policy.predict(X), values.argmax(axis=1))


def test_the_single_regressor_sees_the_action_as_features() -> None:
    policy = RewardRegression(DecisionTreeRegressor(random_state=0), per_action=False).fit(**log.arrays())
    (shared,) = policy.estimators_
    together = np.hstack([X, np.eye(3)[log.action]])
    expected = DecisionTreeRegressor(random_state=0).fit(together, log.reward)
    for action in range(3):
        asked = np.hstack([X, np.tile(np.eye(3)[action], (len(X), 1))])
        np.testing.assert_allclose(policy.predict_rewards(X)[:, action], expected.predict(asked))
    assert shared.n_features_in_ == 6


@pytest.mark.parametrize("per_action", [True, False])
def test_an_action_without_rows_is_predicted_the_overall_mean(per_action: bool) -> None:
    policy = RewardRegression(LinearRegression(), actions=[0, 1, 2, 9], per_action=per_action).fit(**log.arrays())
    assert isinstance(policy.estimators_[-1], ConstantRegressor) == per_action
    np.testing.assert_allclose(policy.predict_rewards(X)[:, 3], log.reward.mean())


def test_predicted_rewards_are_in_the_units_of_the_log() -> None:
    plain = RewardRegression(LinearRegression()).fit(**log.arrays()).predict_rewards(X)
    scaled = RewardRegression(LinearRegression(), reward_range=(-100, 300))
    scaled.fit(X, log.action, reward=400 * log.reward - 100, propensity=log.propensity)
    np.testing.assert_allclose(scaled.predict_rewards(X), 400 * plain - 100)


def test_the_number_of_jobs_changes_nothing() -> None:
    one = RewardRegression(random_state=0).fit(**log.arrays()).predict_rewards(X)
    two = RewardRegression(random_state=0, n_jobs=2).fit(**log.arrays()).predict_rewards(X)
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("per_action", [True, False])
def test_frames_with_nominal_columns_reach_the_regressor(per_action: bool) -> None:
    frame = pd.DataFrame({"colour": ["red", "blue"] * 100, "size": np.arange(200.0)})
    frame_log = simulate_log(frame, [1, 0] * 100, random_state=1)
    encode = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    learner: Any = make_pipeline(encode, ExtraTreesRegressor(random_state=0))
    policy = RewardRegression(learner, per_action=per_action).fit(**frame_log.arrays())
    assert (policy.predict(frame) == [1, 0] * 100).mean() > 0.7


def test_per_action_must_be_a_truth_value() -> None:
    with pytest.raises(ParameterError, match="per_action must be True or False; got 'yes'"):
        RewardRegression(per_action="yes").fit(**log.arrays())  # type: ignore[arg-type]


class Recorder(BaseEstimator, RegressorMixin):
    """Says by its tags that it takes categories; keeps what it was shown."""

    def fit(self, X: Any, y: Any) -> Any:
        self.shown_ = X
        self.mean_ = {value: float(np.mean(y[X["action"] == value])) for value in X["action"].unique()}
        return self

    def predict(self, X: Any) -> Any:
        return np.array([self.mean_[value] for value in X["action"]])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


def test_a_regressor_that_splits_nominal_columns_sees_the_action_as_one() -> None:
    """The paper's single regressor: the choice as an additional feature."""
    policy = RewardRegression(Recorder(), per_action=False).fit(**log.arrays())
    shown = policy.estimators_[0].shown_
    assert list(shown.columns) == ["x0", "x1", "x2", "action"]
    assert shown["action"].dtype == pd.CategoricalDtype(["0", "1", "2"])
    np.testing.assert_array_equal(shown["action"].astype(int), log.action)
    np.testing.assert_array_equal(shown.iloc[:, :3], X)
    means = [log.reward[log.action == action].mean() for action in range(3)]
    np.testing.assert_allclose(policy.predict_rewards(X), np.tile(means, (len(X), 1)))


@pytest.mark.parametrize("kind", ["array", "pandas", "polars"])
def test_boosting_sees_one_nominal_column_whatever_x_is(kind: str) -> None:
    import polars as pl

    forms: dict[str, Any] = {
        "array": X,
        "pandas": pd.DataFrame(X, columns=["a", "action", "c"]),
        "polars": pl.DataFrame(X, schema=["a", "action", "c"]),
    }
    rows = {"X": forms[kind], "action": log.action, "reward": log.reward, "propensity": log.propensity}
    policy = RewardRegression(HistGradientBoostingRegressor(max_iter=20), per_action=False).fit(**rows)
    (shared,) = policy.estimators_
    assert shared.is_categorical_.tolist() == [False, False, False, True]
    plain = RewardRegression(HistGradientBoostingRegressor(max_iter=20), per_action=False).fit(**log.arrays())
    np.testing.assert_allclose(policy.predict_rewards(forms[kind]), plain.predict_rewards(X))
    assert policy.score(**rows) > log.reward.mean()


def test_more_actions_than_boosting_has_bins_keep_zero_one_columns() -> None:
    learner = HistGradientBoostingRegressor(max_iter=2, max_bins=2)
    policy = RewardRegression(learner, per_action=False).fit(**log.arrays())
    assert policy.estimators_[0].n_features_in_ == 6


@given(st.integers(2, 12), st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_the_flat_model_of_a_nominal_action_predicts_as_the_regressor(n_actions: int, seed: int) -> None:
    random = np.random.RandomState(seed)
    rows = random.normal(size=(300, 2))
    rows[random.random_sample(rows.shape) < 0.1] = np.nan
    action, reward = random.randint(n_actions - 1, size=300), random.random_sample(300)
    learner = HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=3)
    policy = RewardRegression(learner, per_action=False, actions=range(n_actions))
    policy.fit(rows, action, reward=reward + 0.0, propensity=np.full(300, 1 / n_actions))
    flat = flatten(policy).model
    assert isinstance(flat, Scores)
    (summand,) = flat.summands
    np.testing.assert_allclose(summand.scores(rows), policy.predict_rewards(rows), atol=1e-12)


def test_wekas_trees_see_one_nominal_column() -> None:
    pytest.importorskip("jpype", reason="Weka's learners need the extra weka")
    from offsettree.learners import REPTree

    policy = RewardRegression(REPTree(), per_action=False).fit(**log.arrays())
    assert policy.estimators_[0]._model.columns.levels == [None, None, None, ["0", "1", "2"]]
    again = pickle.loads(pickle.dumps(policy))
    np.testing.assert_array_equal(again.predict(X), policy.predict(X))


def test_ridge_regressions_of_few_rows_start_no_worker_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting them took four seconds, and the fit a twentieth of one."""
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeRegressor

    from offsettree._workers import parallel
    from offsettree.reductions import reward_regression

    asked: list[int | None] = []

    def noting(**settings: Any) -> Any:
        asked.append(settings["n_jobs"])
        return parallel(n_jobs=None)

    monkeypatch.setattr(reward_regression, "parallel", noting)
    random = np.random.RandomState(0)
    X, action, reward = random.standard_normal((90, 2)), random.randint(2, size=90), random.randint(2, size=90)
    for learner in (Ridge(), make_pipeline(StandardScaler(), Ridge()), DecisionTreeRegressor()):
        RewardRegression(learner, n_jobs=2).fit(X, action, reward=reward, propensity=0.5)
    assert asked == [None, None, 2]
