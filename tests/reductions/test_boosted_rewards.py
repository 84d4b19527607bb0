"""`reward_model="boosting"`: one model of all actions wherever rewards are predicted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor

from offsettree import DoublyRobust, LoggedData, OffsetTree, PolicySearch, PolicyTree, evaluate
from offsettree.exceptions import ParameterError
from offsettree.logs import CheckedLog
from offsettree.reading.cannot_flatten import name_of
from offsettree.reductions._cross_fit import CrossFit


def corners(n_rows: int, seed: int = 0, scale: float = 1.0) -> LoggedData:
    """Rewards that depend on two columns together, and are never 0 or 1 alone."""
    random = np.random.RandomState(seed)
    X = random.normal(size=(n_rows, 4))
    action = random.randint(3, size=n_rows)
    best = np.where(X[:, 0] * X[:, 1] > 0, 0, 1 + (X[:, 2] > 0))
    reward = np.clip(0.2 + 0.6 * (action == best) + 0.1 * random.normal(size=n_rows), 0, 1)
    return LoggedData(X, action, scale * reward, 1 / 3)


def judged(log: LoggedData, X: Any) -> CheckedLog:
    return CheckedLog(X, log.action, log.reward, log.propensity, np.arange(3))


def test_boosting_predicts_better_than_linear_models_and_not_the_rows_it_learned_from() -> None:
    log = corners(1200)
    errors = {}
    for name in ("linear", "boosting"):
        fitted = CrossFit.make(name, judged(log, log.X), np.random.RandomState(0))
        errors[name] = float(np.mean((fitted.error * log.propensity) ** 2))
    assert 0.005 < errors["boosting"] < 0.8 * errors["linear"]


def right(policy: Any, n_rows: int = 1000) -> float:
    test = corners(n_rows, seed=1)
    best = np.where(test.X[:, 0] * test.X[:, 1] > 0, 0, 1 + (test.X[:, 2] > 0))
    return float((policy.predict(test.X) == best).mean())


@pytest.mark.parametrize("policy", [PolicyTree(), OffsetTree(), DoublyRobust(RandomForestRegressor(5))], ids=name_of)
def test_policies_that_take_a_reward_model_take_boosting(policy: Any) -> None:
    policy = clone(policy).set_params(reward_model="boosting", random_state=0).fit(**corners(400).arrays())
    assert right(policy) > 0.5


@pytest.mark.parametrize("kind", ["sparse", "frame", "nominal"])
def test_boosting_takes_rows_in_every_form(kind: str) -> None:
    log = corners(200)
    X: Any = sp.csr_matrix(log.X) if kind == "sparse" else pd.DataFrame(log.X, columns=[*"abcd"])
    if kind == "nominal":
        X["e"] = np.where(log.X[:, 3] > 0, "up", "down")
    fitted = CrossFit.make("boosting", judged(log, X), np.random.RandomState(0))
    assert fitted.rewards(np.array([2, 0])).shape == (200, 2)


@pytest.mark.parametrize("scale", [1.0, 50.0])
def test_evaluate_is_surer_with_boosting(scale: float) -> None:
    """In the units of the reward, for one action per row and for probabilities alike."""
    log = corners(600, scale=scale)
    best = np.where(log.X[:, 0] * log.X[:, 1] > 0, 0, 1 + (log.X[:, 2] > 0))
    plain = evaluate(best, **log.arrays(), method="ips", interval="normal")
    found = evaluate(best, **log.arrays(), method="doubly_robust", reward_model="boosting", random_state=0)
    assert found.stderr < 0.5 * plain.stderr
    assert abs(found.value - 0.8 * scale) < 0.05 * scale
    certain = np.eye(3)[best]
    same = evaluate(certain, **log.arrays(), method="doubly_robust", reward_model="boosting", random_state=0)
    assert same.value == pytest.approx(found.value)


def test_rewards_that_are_all_equal_and_single_rows_are_predicted_by_their_mean() -> None:
    log = corners(60)
    for name in ("boosting", "linear"):
        alike = evaluate(
            log.action,
            log.X,
            log.action,
            reward=np.full(60, 0.3),
            propensity=1 / 3,
            method="direct",
            reward_model=name,
            baseline=None,
            reward_range=(0, 1),
            random_state=0,
        )
        assert alike.value == pytest.approx(0.3)


@pytest.mark.parametrize(
    "use",
    [
        lambda log: DoublyRobust(reward_model="magic").fit(**log.arrays()),
        lambda log: OffsetTree(reward_model="magic").fit(**log.arrays()),
        lambda log: PolicySearch(reward_model="magic").fit(**log.arrays()),
        lambda log: evaluate(log.action, **log.arrays(), method="direct", reward_model="magic"),
    ],
)
def test_names_that_nobody_knows_are_refused(use: Any) -> None:
    with pytest.raises(ParameterError, match=r"must be a regressor .* 'linear', 'boosting'; got 'magic'"):
        use(corners(30))
