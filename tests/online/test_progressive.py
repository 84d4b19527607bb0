"""Progressive validation: compiled runs equal the loop that a user would write."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine

from offsettree import (
    Banditron,
    EpochGreedy,
    EpsilonGreedy,
    OnlineOffsetTree,
    OnlineRewardRegression,
    SquareCB,
    progressive_validation,
)
from offsettree.exceptions import ActionError, FeatureError, LogError, ParameterError, RewardError
from offsettree.online import progressive
from offsettree.online._layout import MOST_COLUMNS

LEARNERS: dict[str, Any] = {
    "tree": lambda: OnlineOffsetTree(actions=range(4)),
    "epsilon": lambda: EpsilonGreedy(OnlineOffsetTree(loss="logistic", actions=range(4)), random_state=3),
    "epoch": lambda: EpochGreedy(OnlineOffsetTree(loss="perceptron", actions=range(4)), random_state=3),
    "banditron": lambda: Banditron(actions=range(4), random_state=3),
}


def make_rows(n_rows: int = 600, n_features: int = 6) -> tuple[Any, Any]:
    random = np.random.RandomState(0)
    X = random.standard_normal((n_rows, n_features)) * (random.uniform(size=(n_rows, n_features)) < 0.5)
    return X, (X[:, :6] @ random.standard_normal((6, 4))).argmax(axis=1)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("n_features", [6, MOST_COLUMNS + 1])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_run_equals_the_loop_that_a_user_would_write(
    name: str, n_features: int, form: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progressive, "CHUNK", 250)
    X, y = make_rows(n_features=n_features)
    result = progressive_validation(LEARNERS[name](), form(X), y)
    learner = LEARNERS[name]()
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        action, propensity = learner.choose(x)
        reward = float(action == label)
        learner.learn(x, action, reward, propensity)
        record = result.records.action[i], result.records.reward[i], result.records.propensity[i]
        assert record == (action, reward, pytest.approx(propensity, rel=1e-12))
    assert result.error == pytest.approx(1 - result.records.reward.mean())


@pytest.mark.parametrize("name", LEARNERS)
def test_labels_and_their_table_are_the_same(name: str) -> None:
    X, y = make_rows()
    by_label = progressive_validation(LEARNERS[name](), X, y)
    by_table = progressive_validation(LEARNERS[name](), X, rewards=np.eye(4)[y])
    np.testing.assert_array_equal(by_label.records.action, by_table.records.action)
    np.testing.assert_array_equal(by_label.curve, by_table.curve)
    assert by_label.error == by_table.error


def test_other_learners_are_asked_one_row_at_a_time() -> None:
    class Steady:
        actions_ = np.array(["a", "b"])

        def __init__(self) -> None:
            self.heard: list[Any] = []

        def choose(self, x: Any) -> tuple[str, float]:
            return "b", 0.5

        def learn(self, x: Any, action: str, reward: float, propensity: float) -> None:
            self.heard.append((action, reward, propensity))

    learner = Steady()
    result = progressive_validation(learner, np.zeros((3, 1)), ["a", "b", "b"])
    assert learner.heard == [("b", 0.0, 0.5), ("b", 1.0, 0.5), ("b", 1.0, 0.5)]
    assert result.error == pytest.approx(1 / 3)
    np.testing.assert_allclose(result.curve, np.array([[1, 1], [2, 1 / 2], [3, 1 / 3]]))


def test_rewards_of_any_range() -> None:
    X, y = make_rows()
    policy = OnlineOffsetTree(reward_range=(-10, 30), actions=range(4))
    result = progressive_validation(EpochGreedy(policy, random_state=0), X, rewards=40 * np.eye(4)[y] - 10)
    plain = progressive_validation(EpochGreedy(OnlineOffsetTree(actions=range(4)), random_state=0), X, y)
    np.testing.assert_array_equal(result.records.action, plain.records.action)
    assert result.error == pytest.approx(40 * plain.error)
    assert result.value == pytest.approx(40 * plain.value - 10)


def test_a_run_goes_on_where_the_last_one_ended() -> None:
    X, y = make_rows()
    whole, halves = LEARNERS["epoch"](), LEARNERS["epoch"]()
    result = progressive_validation(whole, X, y)
    first, second = (progressive_validation(halves, X[rows], y[rows]) for rows in (slice(0, 250), slice(250, None)))
    np.testing.assert_array_equal(result.records.action, np.concatenate([first.records.action, second.records.action]))
    assert halves.n_chosen_ == len(X)


def test_what_is_learned_depends_on_nothing_that_was_not_chosen() -> None:
    X, y = make_rows()
    table = np.eye(4)[y]
    learner = LEARNERS["epoch"]()
    result = progressive_validation(copy.deepcopy(learner), X, rewards=table)
    hidden = np.random.RandomState(1).uniform(size=table.shape)
    hidden[np.arange(len(X)), result.records.action] = result.records.reward
    again = progressive_validation(copy.deepcopy(learner), X, rewards=hidden)
    np.testing.assert_array_equal(result.records.action, again.records.action)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, ParameterError, "either y, the right actions, or rewards"),
        ({"y": [0, 1], "rewards": np.zeros((2, 4))}, ParameterError, "either y, the right actions, or rewards"),
        ({"y": [0, 7]}, ActionError, "row 1 has 7"),
        ({"y": [0]}, LogError, "1"),
        ({"rewards": np.zeros((2, 3))}, LogError, "one column per action"),
        ({"rewards": np.full((2, 4), np.nan)}, RewardError, "finite"),
        ({"rewards": np.full((2, 4), 3.0)}, RewardError, "reward_range"),
        ({"y": [0, 1], "X": [[np.nan], [0.0]]}, FeatureError, "NaN"),
        ({"y": [0, 1], "X": [[1e20], [0.0]]}, FeatureError, "within"),
        ({"y": [0, 1], "X": np.ones(2)}, FeatureError, "1D"),
        ({"rewards": [["a"] * 4] * 2}, RewardError, "table of numbers"),
        ({"rewards": pd.DataFrame(np.zeros((2, 4)), columns=list("abcd"))}, RewardError, "must be the actions"),
        ({"y": [], "X": np.empty((0, 1))}, (FeatureError, LogError), "empty|no rows"),
    ],
)
def test_bad_input_is_refused_before_anything_is_learned(given: Any, error: Any, message: str) -> None:
    learner = OnlineOffsetTree(actions=range(4))
    with pytest.raises(error, match=message):
        progressive_validation(learner, **({"X": np.ones((2, 1))} | given))
    assert not hasattr(learner, "n_rows_seen_")
    assert not hasattr(learner, "n_features_in_")


def test_what_cannot_learn_is_named() -> None:
    with pytest.raises(ParameterError, match="int has no choose"):
        progressive_validation(3, np.ones((2, 1)), [0, 1])


def test_a_class_is_not_a_learner() -> None:
    with pytest.raises(ParameterError, match="the class EpochGreedy, to be called first"):
        progressive_validation(EpochGreedy, np.ones((2, 1)), [0, 1])


def test_a_frame_of_rewards_goes_by_its_columns() -> None:
    X, y = make_rows()
    table = pd.DataFrame(np.eye(4)[y], columns=[0, 1, 2, 3])[[3, 1, 0, 2]]
    expected = progressive_validation(LEARNERS["epoch"](), X, y)
    result = progressive_validation(LEARNERS["epoch"](), X, rewards=table)
    np.testing.assert_array_equal(result.records.action, expected.records.action)


def test_progress_is_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = make_rows()
    progressive_validation(LEARNERS["epoch"](), X, y, progress=True)
    assert "%" in capsys.readouterr().err
    progressive_validation(LEARNERS["epoch"](), X, y)
    assert capsys.readouterr().err == ""


def test_the_result_says_what_it_is() -> None:
    X, y = make_rows()
    result = progressive_validation(LEARNERS["banditron"](), X, y)
    assert repr(result) == f"<ProgressiveResult: 600 rows, error {result.error:.4f}, value {result.value:.4f}>"
    assert result.curve[-1].tolist() == pytest.approx([600, result.error])


def test_squarecb_around_an_online_policy_has_its_own_probabilities() -> None:
    X, y = load_wine(return_X_y=True)
    result = progressive_validation(SquareCB(OnlineRewardRegression(actions=[0, 1, 2]), random_state=0), X, y)
    assert result.records.propensity.max() <= 1
    assert len(set(result.records.propensity.round(6).tolist())) > 10  # they follow the predictions
