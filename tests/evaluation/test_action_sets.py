from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from offsettree import EpsilonGreedy, OnlineActionRegression, evaluate, simulate_catalogue
from offsettree.exceptions import ActionError, LogError, ParameterError

TRAIN, TEST = simulate_catalogue(12_000, 60, 6, exploration=0.6, random_state=0).split_days(10)
POLICY = OnlineActionRegression().fit(**TRAIN.log.arrays())
CHOSEN = POLICY.predict(TEST.log.X, TEST.sets)
TRUE = TEST.value(CHOSEN)


@pytest.mark.parametrize("method", ["snips", "ips", "direct", "doubly_robust", "switch"])
def test_every_method_estimates_the_true_value(method: str) -> None:
    settings: dict[str, Any] = {} if method in ("snips", "ips") else {"reward_model": RidgeCV()}
    found = evaluate(POLICY, **TEST.log.arrays(), method=method, random_state=0, **settings)
    assert abs(found.value - TRUE) < 0.04
    assert found.n_rows == len(TEST.log)
    assert found.baseline is not None
    assert found.difference is not None
    assert found.difference.low > 0
    if method != "direct":
        assert found.low < TRUE < found.high


def test_a_reward_model_over_features_narrows_the_interval() -> None:
    plain = evaluate(POLICY, **TEST.log.arrays(), method="ips", interval="normal")
    robust = evaluate(
        POLICY, **TEST.log.arrays(), method="doubly_robust", reward_model=RidgeCV(), interval="normal", random_state=0
    )
    assert robust.high - robust.low < 0.9 * (plain.high - plain.low)


def test_decisions_as_ids_are_the_policy() -> None:
    assert evaluate(CHOSEN, **TEST.log.arrays()).value == evaluate(POLICY, **TEST.log.arrays()).value


def test_an_explorer_is_worth_a_mixture_of_its_policy_and_chance() -> None:
    explorer = EpsilonGreedy(POLICY, epsilon=0.5, random_state=0)
    expected = 0.5 * TRUE + 0.5 * TEST.uniform_value
    for method in ("snips", "doubly_robust"):
        found = evaluate(explorer, **TEST.log.arrays(), method=method, reward_model=RidgeCV(), random_state=0)
        assert found.low < expected < found.high
        assert abs(found.value - expected) < 0.03


def test_two_policies_are_compared_on_the_same_rows() -> None:
    first = TEST.sets.ids[TEST.sets.starts[:-1]]
    found = evaluate(POLICY, **TEST.log.arrays(), baseline=first)
    assert found.baseline is not None
    assert abs(found.baseline.value - TEST.value(first)) < 0.05


def test_what_is_not_eligible_is_refused() -> None:
    with pytest.raises(ActionError, match="must choose among the available actions"):
        evaluate(np.roll(CHOSEN, 1), **TEST.log.arrays())


def test_sets_come_without_masks_and_of_the_same_rows() -> None:
    log = TEST.log.arrays()
    with pytest.raises(LogError, match="leave out actions and available"):
        evaluate(POLICY, **log, actions=[1, 2])
    with pytest.raises(LogError, match="got sets of 10 rows"):
        evaluate(POLICY, **(log | {"action_sets": TEST.sets.take(np.arange(10))}))
    with pytest.raises(ParameterError, match="must be a regressor"):
        evaluate(POLICY, **log, method="direct", reward_model="linear")
