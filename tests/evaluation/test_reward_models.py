from __future__ import annotations

import importlib
from typing import Any, Self

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge

from offsettree import evaluate
from offsettree.evaluation._reward_models import forward_folds, random_folds
from tests.evaluation.test_evaluate import some_log

evaluate_module = importlib.import_module("offsettree.evaluation.evaluate")


class Recites(RegressorMixin, BaseEstimator):
    """Knows the rewards of the rows it was trained on by heart, and says 0.5 to all others."""

    def fit(self, X: Any, y: Any) -> Self:
        self.known_ = dict(zip(X[:, 0].tolist(), y.tolist(), strict=True))
        return self

    def predict(self, X: Any) -> Any:
        return np.array([self.known_.get(x, 0.5) for x in X[:, 0].tolist()])


def test_no_row_is_predicted_by_a_model_that_learned_from_it() -> None:
    log = some_log(200)
    found = evaluate(log.action, **log.arrays(), method="direct", baseline=None, reward_model=Recites(), random_state=0)
    assert found.value == 0.5
    assert found.stderr == 0


@pytest.mark.parametrize("n_rows", [1, 2, 3, 5, 17, 100])
def test_every_row_is_predicted_once_and_by_others(n_rows: int) -> None:
    random = np.random.RandomState(0)
    for folds in (random_folds(n_rows, random), forward_folds(random.permutation(n_rows))):
        tested = np.concatenate([test for _, test in folds])
        assert sorted(tested.tolist()) == list(range(n_rows))
        assert all(not set(train) & set(test) for train, test in folds)


def test_forward_folds_learn_from_rows_that_come_before() -> None:
    order = np.random.RandomState(0).permutation(100)
    place = np.argsort(order)
    for train, test in forward_folds(order):
        assert len(train) == 0 or place[train].max() < place[test].min()


def test_a_good_model_makes_the_estimate_surer() -> None:
    log = some_log(3000)
    chosen = np.full(3000, 2)
    plain = evaluate(chosen, **log.arrays(), method="ips")
    robust = evaluate(chosen, **log.arrays(), method="doubly_robust", random_state=0)
    assert robust.stderr < 0.8 * plain.stderr


def test_sparse_rows_have_a_linear_model_and_seeds_settle_the_trees() -> None:
    log = some_log(400)
    sparse = {**log.arrays(), "X": sp.csr_matrix(log.X)}
    first = evaluate(0, **sparse, method="direct", random_state=0)
    same = evaluate(0, **log.arrays(), method="direct", reward_model=Ridge(alpha=10.0), random_state=0)
    assert first.value == pytest.approx(same.value)
    trees = [evaluate(0, **log.arrays(), method="direct", random_state=seed).value for seed in (0, 0, 1)]
    assert trees[0] == trees[1] != trees[2]


def test_actions_with_few_rows_are_predicted_by_their_mean_drawn_towards_that_of_all() -> None:
    log: dict[str, Any] = {
        "X": np.zeros((40, 1)),
        "action": [0] * 38 + [1] * 2,
        "reward": np.r_[np.zeros(38), 1, 1],
        "propensity": 0.5,
    }
    found = evaluate(1, **log, method="direct", reward_model=Ridge(), random_state=0)
    assert 0.05 < found.value < 0.5


def test_a_log_of_many_rows_is_learned_from_in_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(random_folds.__globals__, "MOST_ROWS", 50)
    log = some_log(600)
    found = evaluate(0, **log.arrays(), method="direct", random_state=0)
    assert 0.2 < found.value < 0.8


class Counted(Ridge):
    """A ridge regression that tells how often it was fitted."""

    fits = 0

    def fit(self, X: Any, y: Any) -> Self:
        Counted.fits += 1
        return super().fit(X, y)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("method", "interval"),
    [
        ("doubly_robust", "mid_p"),
        ("doubly_robust", "bootstrap"),
        ("doubly_robust", "empirical_likelihood"),
        ("switch", "mid_p"),
        ("direct", "normal"),
    ],
)
def test_only_actions_that_are_taken_have_a_regressor(
    method: str, interval: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = some_log(600)
    n_actions = len(np.unique(log.action))
    chosen = np.where(log.X[:, 0] > 0, 0, 2)
    settings: dict[str, Any] = {"method": method, "interval": interval, "baseline": 2, "random_state": 0}
    found = []
    for by_terms in (evaluate_module.BY_TERMS, ()):
        monkeypatch.setattr(evaluate_module, "BY_TERMS", by_terms)
        for model in (Counted(), None):
            Counted.fits = 0
            found.append(evaluate(chosen, **log.arrays(), reward_model=model, **settings))
            needed = 2 if by_terms and interval != "empirical_likelihood" else n_actions
            assert Counted.fits == (0 if model is None else 5 * needed)
    assert n_actions > 2
    assert found[:2] == found[2:]
