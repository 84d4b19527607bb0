from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from offsettree import BinaryOffset
from offsettree.exceptions import ActionError
from offsettree.reductions._offset import Votes


class Spy(DecisionTreeClassifier):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.seen_ = (y, sample_weight)
        return super().fit(X, y, sample_weight)


def test_of_two_actions_of_which_one_is_right_every_row_tells_the_right_one_with_weight_one() -> None:
    """Appendix A: rewards (0, 1) or (1, 0) and uniform logging; the reduction recovers the label, nothing is lost."""
    random = np.random.RandomState(0)
    X, right, action = random.normal(size=(200, 3)), random.randint(2, size=200), random.randint(2, size=200)
    reward = (action == right).astype(float)
    policy = BinaryOffset(Spy(max_depth=2)).fit(X, action, reward=reward, propensity=0.5)
    label, weight = policy.estimator_.seen_
    np.testing.assert_array_equal(label == 1, right == 0)
    np.testing.assert_array_equal(weight, np.ones(200))
    np.testing.assert_array_equal(Votes.cast(reward, np.full(200, 0.5), 0.5).weight, np.ones(200))


def test_without_the_offset_rows_of_reward_zero_are_lost() -> None:
    random = np.random.RandomState(0)
    X, right, action = random.normal(size=(200, 3)), random.randint(2, size=200), random.randint(2, size=200)
    reward = (action == right).astype(float)
    # No warning: that most rewards equal the offset is what an offset of 0 is for.
    policy = BinaryOffset(Spy(max_depth=2), offset=0.0).fit(X, action, reward=reward, propensity=0.5)
    label, _ = policy.estimator_.seen_
    np.testing.assert_array_equal(label == 1, right[reward == 1] == 0)


def test_examples_are_signed_and_weighted_as_in_algorithm_1() -> None:
    """With actions 1 and -1: y = sign(a (r - 1/2)), w = abs(r - 1/2) / p."""
    random = np.random.RandomState(0)
    X, action = random.normal(size=(100, 2)), random.choice([-1, 1], size=100)
    reward, propensity = random.random_sample(100), random.uniform(0.1, 0.9, size=100)
    policy = BinaryOffset(Spy(max_depth=2), actions=[1, -1])
    policy.fit(X, action, reward=reward, propensity=propensity)
    label, weight = policy.estimator_.seen_
    np.testing.assert_array_equal(np.where(label == 1, 1, -1), np.sign(action * (reward - 0.5)))
    expected = np.abs(reward - 0.5) / propensity
    np.testing.assert_allclose(weight, expected / expected.mean())


def test_three_actions_are_too_many() -> None:
    with pytest.raises(ActionError, match="Use OffsetTree"):
        BinaryOffset().fit([[0.0]] * 3, [0, 1, 2], reward=[0, 1, 0], propensity=1 / 3)
