"""A log that was judged, its rows, and the two ways in which a policy may learn from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from offsettree import ConstantPolicy, LoggedData, OffsetTree, estimate_propensity, evaluate
from offsettree._available import Available
from offsettree.base import BasePolicy
from offsettree.exceptions import ActionError, LogError, PropensityError, RewardError
from offsettree.logs import CheckedLog, Columns


def make_log() -> CheckedLog:
    columns = Columns(np.array(["b", "a", "b"], dtype=object), np.array([0.0, 5.0, 10.0]), np.array([0.5, 0.25, 0.5]))
    mask = np.array([[True, True], [True, False], [True, True]])
    return CheckedLog.of(np.arange(3.0)[:, np.newaxis], columns, np.array(["a", "b"]), (0, 10), mask)


def test_rewards_are_kept_as_logged_and_scaled_for_learners() -> None:
    log = make_log()
    X, position, reward, propensity, available = log.parts()
    assert X is log.X
    assert propensity is log.propensity
    assert isinstance(available, Available)
    assert position.tolist() == [1, 0, 1]
    assert reward.tolist() == [0.0, 0.5, 1.0]
    assert log.reward.tolist() == [0.0, 5.0, 10.0]
    assert log.reward_range == (0.0, 10.0)


def test_some_rows_are_a_checked_log_again() -> None:
    log = make_log()
    part = log.take(np.array([2, 1]))
    assert (part.actions is log.actions, part.reward_range) == (True, (0.0, 10.0))
    for name in ("X", "position", "reward", "propensity"):
        np.testing.assert_array_equal(getattr(part, name), getattr(log, name)[[2, 1]])
    assert part.available is not None
    assert part.available.dense().tolist() == [[True, True], [True, False]]


def test_rows_are_counted_from_the_first_of_a_chunk() -> None:
    columns = Columns(np.array([0, 7]), np.zeros(2), np.ones(2))
    with pytest.raises(ActionError, match="row 101 has 7"):
        CheckedLog.of(np.zeros((2, 1)), columns, np.array([0, 1]), (0, 1), first_row=100)


def test_what_was_judged_is_not_judged_again_but_must_fit_to_the_rows_of_x() -> None:
    log = LoggedData(np.zeros((3, 1)), ["b", "a", "b"], [0, 1, 0], 0.5)
    again = LoggedData(np.ones((3, 1)), log.columns)
    assert again.reward is log.reward
    assert again.action.tolist() == ["b", "a", "b"]
    with pytest.raises(LogError, match="action must have one value per row of X; got 3 values for 2 rows"):
        LoggedData(np.ones((2, 1)), log.columns)
    cut = log.columns._replace(propensity=log.propensity[:2])
    for use in (LoggedData, OffsetTree().fit, lambda X, columns: evaluate(["a"] * 3, X, columns)):
        with pytest.raises(LogError, match="propensity must have one value per row"):
            use(np.ones((3, 1)), cut)
    with pytest.raises(LogError, match="got 3 values for 2 rows"):
        estimate_propensity(np.ones((2, 1)), log.columns)
    with pytest.raises(LogError, match="Leave those out"):
        OffsetTree().fit(np.ones((3, 1)), log.columns, reward=[1, 1, 1], propensity=0.5)


def test_what_was_put_in_the_place_of_judged_columns_is_judged() -> None:
    log = LoggedData(np.zeros((4, 1)), [0, 1, 0, 1], [0, 1, 0, 1], 0.5)
    log.action = [1.0, 0.0, 1.0, 0.0]  # type: ignore[assignment]
    assert OffsetTree().fit_log([log]).actions_.tolist() == [0, 1]
    log.reward = np.array([0.0, np.nan, 0.0, 1.0])
    with pytest.raises(RewardError, match="row 1 has nan"):
        OffsetTree().fit(**log.judged())
    log.reward, log.action = np.zeros(4), np.array([0, 1])
    with pytest.raises(LogError, match="action must have one value per row"):
        OffsetTree().fit(**log.judged())
    with pytest.raises(LogError, match="action must have one value per row"):
        OffsetTree().fit_log([log])


class BesidesIt:
    """A class beside a policy that learns from the parts of a log."""

    def _fit(self, X: Any, action: Any, reward: Any, propensity: Any, available: Any = None) -> None:
        self.seen_ = len(reward)


class OfAMixin(BesidesIt, ConstantPolicy):  # type: ignore[misc]
    pass


class OfAnyParts(ConstantPolicy):
    def _fit(self, *parts: Any) -> None:
        self.seen_ = len(parts[2])


class OfALogAndMore(ConstantPolicy):
    def _fit(self, log: CheckedLog, verbose: bool = False) -> None:
        self.seen_ = len(log.reward)


class Between(BasePolicy):
    """Leaves `_fit` to a class beside it."""


class OfAClassBeside(Between, ConstantPolicy):
    seen_ = 4


@pytest.mark.parametrize("kind", [OfAClassBeside, OfAMixin, OfAnyParts, OfALogAndMore])
def test_however_a_policy_learns_it_is_handed_what_it_takes(kind: Any) -> None:
    policy = kind().fit(np.zeros((4, 1)), [0, 1, 0, 1], reward=[0, 1, 0, 1], propensity=0.5)
    assert policy.seen_ == 4


def test_labels_take_no_more_room_than_those_of_the_rows() -> None:
    log = LoggedData(np.zeros((3, 1)), ["a", "b", "a long one"], [0, 1, 0], 0.5)
    assert log[:2].action.dtype == np.dtype("U1")


def test_a_log_without_propensities_is_refused() -> None:
    with pytest.raises(PropensityError, match="propensity is missing"):
        LoggedData(np.zeros((2, 1)), ["a", "b"], [0, 1])


class OfParts(ConstantPolicy):
    """Defines `_fit` as policies did before there were checked logs."""

    def _fit(self, X: Any, *columns: Any) -> None:
        self.seen_ = (X, *columns)
        super()._fit(X, *columns)


class OfALog(OfParts):
    def _fit(self, log: CheckedLog) -> None:
        self.log_ = log
        super()._fit(log)


@pytest.mark.parametrize("policy", [OfParts(reward_range=(0, 2)), OfALog(reward_range=(0, 2))])
def test_a_policy_learns_from_a_log_or_from_its_parts(policy: Any) -> None:
    log: dict[str, Any] = {"X": np.zeros((4, 1)), "action": [0, 1, 0, 1], "reward": [0, 2, 1, 2], "propensity": 0.5}
    policy.fit(**log)
    assert policy.action_ == ConstantPolicy(reward_range=(0, 2)).fit(**log).action_ == 1
    X, position, reward, propensity, available = policy.seen_
    assert X.shape == (4, 1)
    assert (position.tolist(), reward.tolist()) == ([0, 1, 0, 1], [0.0, 1.0, 0.5, 1.0])
    assert propensity.tolist() == [0.5] * 4
    assert available is None
