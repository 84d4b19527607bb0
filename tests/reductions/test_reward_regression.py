from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

from offsettree import RewardRegression, simulate_log
from offsettree.exceptions import ParameterError
from offsettree.learners import ConstantRegressor

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
