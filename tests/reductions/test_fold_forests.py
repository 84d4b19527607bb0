"""Votes of offset trees without each fold, and their part in what reward boosting decides on short logs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from offsettree import OffsetForest, RewardBoosting, simulate_log
from offsettree.logs import CheckedLog
from offsettree.models import BoostedWithVotes
from offsettree.reductions import _fold_forests
from offsettree.reductions._fold_forests import FoldForests


def make_arrays(n_rows: int, k: int, seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, 4))
    action = random.integers(k, size=n_rows)
    right = (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] > 0) % k
    reward = (action == right).astype(float)
    return {"X": X, "action": action, "reward": reward, "propensity": np.full(n_rows, 1 / k)}


class Keeper(OffsetForest):
    """Keeps the checked log, to learn nothing from it."""

    def _fit(self, log: CheckedLog) -> None:
        self.log_ = log


def checked(arrays: dict[str, Any], k: int) -> CheckedLog:
    return Keeper(actions=np.arange(k)).fit(**arrays).log_


def test_a_row_is_voted_on_by_trees_without_its_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays, k = make_arrays(300, 3), 3
    fold = np.arange(300) % 4
    log = checked(arrays, k)
    # What is settled by all rows: the offset, and the size of leaves.
    monkeypatch.setattr(_fold_forests, "resolve_offset", lambda *_: 0.3)
    monkeypatch.setattr(_fold_forests, "choose_leaf_scale", lambda *_: 0.5)
    shares = FoldForests(log, None, np.random.RandomState(0)).vote(fold)
    other = dict(arrays, reward=np.where(fold == 1, 1 - arrays["reward"], arrays["reward"]))
    turned = FoldForests(checked(other, k), None, np.random.RandomState(0)).vote(fold)

    assert np.array_equal(shares[fold == 1], turned[fold == 1])
    assert not np.array_equal(shares[fold == 2], turned[fold == 2])
    assert shares.shape == (300, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_votes_do_not_depend_on_the_number_of_threads() -> None:
    log, fold = checked(make_arrays(200, 3), 3), np.arange(200) % 3
    one, two = (FoldForests(log, n_jobs, np.random.RandomState(0)) for n_jobs in (None, 2))
    assert np.array_equal(one.vote(fold), two.vote(fold))
    assert len(one.joined().trees) == 3 * _fold_forests.N_TREES


def test_a_score_is_that_of_the_boosted_trees_plus_the_weighted_votes() -> None:
    X, y = load_digits(return_X_y=True)
    log = simulate_log(X, y, random_state=0)
    X = log.X[-50:]
    policy = RewardBoosting(random_state=0).fit(**log[:500].arrays())
    model = policy._voted
    assert isinstance(model, BoostedWithVotes)
    votes = np.zeros((50, 10))
    for tree, start in zip(model.forest.trees, range(0, 10**6, 9), strict=False):
        chosen = model.forest.contests.choose(tree, start, X, None)
        votes[np.arange(50), chosen] += 1
    assert len(model.forest.trees) == 8 * _fold_forests.N_TREES
    assert model.weight > 0
    np.testing.assert_allclose(model.scores(X), model.boosted.flat.scores(X) + model.weight * votes)
    assert np.array_equal(policy.predict(X), policy.actions_[model.scores(X).argmax(axis=1)])


def test_nominal_columns_are_the_same_to_trees_and_votes() -> None:
    arrays = make_arrays(600, 4)
    frame = pd.DataFrame(arrays["X"][:, 2:], columns=["a", "b"])
    words = np.array(["left", "right"])
    frame["side"] = words[(arrays["X"][:, 0] > 0).astype(int)]
    frame["other"] = words[(arrays["X"][:, 1] > 0).astype(int)]
    policy = RewardBoosting(random_state=0).fit(**dict(arrays, X=frame))
    assert policy.starts_[-1] == "votes"
    assert policy.score(**dict(arrays, X=frame)) > 0.95
    row = dict(frame.iloc[0])
    assert policy.decide(row) == policy.predict(frame[:1])[0]


def test_there_are_no_votes_on_longer_logs() -> None:
    assert "votes" not in RewardBoosting(n_trees=10, n_folds=2, random_state=0).fit(**make_arrays(1500, 3)).starts_
