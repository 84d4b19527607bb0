from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from offsettree import LoggedData, estimate_propensity, evaluate, simulate_log
from offsettree.exceptions import ActionError, LogError, ParameterError


def softmax_log(n_rows: int = 4000, steepness: float = 0.8, seed: int = 0) -> LoggedData:
    random = np.random.RandomState(seed)
    X = random.normal(size=(n_rows, 3))
    scores = np.exp(steepness * X @ random.normal(size=(3, 4)))
    rewards = (random.random_sample((n_rows, 4)) < 1 / (1 + np.exp(-X[:, :1] * np.arange(4)))).astype(float)
    return simulate_log(X, rewards, scores / scores.sum(axis=1, keepdims=True), random_state=seed)


def test_estimates_are_near_the_truth_and_as_good_to_evaluate_with() -> None:
    log = softmax_log()
    found = estimate_propensity(log.X, log.action, random_state=0)
    assert np.abs(np.log(found.propensity / log.propensity)).mean() < 0.1
    assert found.log_loss < found.constant_log_loss - 0.1
    true = evaluate(2, **log.arrays())
    estimated = evaluate(2, **{**log.arrays(), "propensity": found})
    assert abs(true.value - estimated.value) < true.stderr
    naive = evaluate(2, **{**log.arrays(), "propensity": 0.25}, baseline=None)
    assert abs(naive.value - true.value) > abs(estimated.value - true.value)
    assert estimated.warnings == ()


def test_a_model_that_is_too_sure_is_calibrated() -> None:
    """Naive Bayes takes a feature that is there four times for four pieces of evidence."""
    log = softmax_log(steepness=0.4)
    X = np.hstack([log.X] * 4)
    plain = estimate_propensity(X, log.action, GaussianNB(), calibrate=False, random_state=0)
    found = estimate_propensity(X, log.action, GaussianNB(), random_state=0)

    def off(estimate: Any) -> float:
        predicted, taken, _ = estimate.calibration.T
        return float(np.abs(predicted - taken).max())

    assert off(plain) > 0.05
    assert off(found) < 0.5 * off(plain)
    assert found.log_loss < plain.log_loss


def test_calibrated_propensities_add_up_to_frequencies() -> None:
    log = softmax_log(2000)
    found = estimate_propensity(log.X, log.action, random_state=0)
    assert (1 / found.propensity).mean() == pytest.approx(4, rel=0.15)
    assert found.calibration[:, 2].sum() == 4 * 2000


def test_small_ones_are_raised_and_counted() -> None:
    log = softmax_log(steepness=4)
    found = estimate_propensity(log.X, log.action, clip=0.2, random_state=0)
    assert found.propensity.min() == 0.2
    assert found.n_clipped == (found.propensity == 0.2).sum() > 40
    assert any("raised to it" in text for text in found.warnings)
    assert not any("raised" in text for text in estimate_propensity(log.X, log.action, clip=1e-9).warnings)
    automatic = estimate_propensity(log.X, log.action, random_state=0)
    assert automatic.clip == pytest.approx(5 / (np.sqrt(4000) * np.log(4000)))


def test_a_log_without_exploration_and_a_model_worse_than_none_are_told() -> None:
    X = np.random.RandomState(0).normal(size=(600, 1))
    certain = estimate_propensity(X, (X[:, 0] > 0).astype(int), LogisticRegression(C=1e6), random_state=0)
    assert any("hardly explored" in text for text in certain.warnings)
    noise = np.random.RandomState(1).randint(3, size=600)
    worse = estimate_propensity(X, noise, KNeighborsClassifier(1), calibrate=False, random_state=0)
    assert any("worse" in text for text in worse.warnings)


def test_every_form_of_x_works_and_rare_actions_do_not_break_it() -> None:
    log = softmax_log(600)
    expected = estimate_propensity(log.X, log.action, random_state=0).propensity
    frame = pd.DataFrame(log.X, columns=list("abc"))
    np.testing.assert_allclose(estimate_propensity(frame, log.action, random_state=0).propensity, expected)
    nominal = frame.assign(colour="red", a=frame["a"].where(frame["a"] > -2))
    assert len(estimate_propensity(nominal, log.action, random_state=0)) == 600
    sparse = estimate_propensity(sp.csr_matrix(log.X), log.action, random_state=0).propensity
    np.testing.assert_allclose(sparse, expected, rtol=0.05)
    labels = np.where(np.arange(600) == 7, "rare", np.where(log.action > 1, "x", "y"))
    found = estimate_propensity(log.X, labels, random_state=0)
    assert found.actions.tolist() == ["rare", "x", "y"]
    assert found.propensity[7] == found.clip
    two = estimate_propensity([[0.0], [1.0]], ["a", "b"], n_folds=2)
    assert np.isfinite(two.propensity).all()


def test_long_logs_are_calibrated_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    log = softmax_log(1000)
    monkeypatch.setitem(estimate_propensity.__globals__, "MOST_ROWS", 300)
    assert estimate_propensity(log.X, log.action, random_state=0).log_loss < 1.4


def test_it_can_be_read() -> None:
    log = softmax_log(300)
    text = repr(estimate_propensity(log.X, log.action, random_state=0))
    assert "300 propensities of 4 actions" in text
    assert "log loss" in text


class Confused(LogisticRegression):
    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), 2), np.nan)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_folds": 1}, "n_folds must be"),
        ({"n_folds": 1000}, "n_folds must be"),
        ({"clip": 0}, "clip must be"),
        ({"clip": 1.5}, "clip must be"),
        ({"clip": 0.9}, "at most 1 / n_actions"),
        ({"estimator": Ridge()}, "must be a classifier"),
        ({"estimator": RidgeClassifier()}, "predict_proba"),
        ({"estimator": Confused()}, "finite probabilities"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    log = softmax_log(50)
    with pytest.raises(ParameterError, match=message):
        estimate_propensity(log.X, log.action, **settings)


def test_one_action_is_refused() -> None:
    with pytest.raises(ActionError, match="at least two actions"):
        estimate_propensity([[0.0], [1.0]], ["a", "a"])


def test_an_empty_log_is_called_so() -> None:
    with pytest.raises(LogError, match="the log is empty"):
        estimate_propensity(np.empty((0, 3)), np.empty(0, dtype=int))
