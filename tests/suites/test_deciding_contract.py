"""What every policy promises once it is fitted, live and loaded from a file: the contract of `offsettree.Policy`."""

from __future__ import annotations

import copy
import pickle
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from offsettree import Policy, SavedPolicy, load, save
from offsettree.base import BasePolicy
from offsettree.exceptions import ActionError, FeatureError, ParameterError
from tests.suites.policies import POLICIES, make_log

LABELS = ["red", "blue", "green"]
CANNOT_BE_FLATTENED = "offset tree, not compiled"
EXPLORES = ("banditron",)  # without a mask only, when asked for probabilities
X = make_log(POLICIES["offset tree"], seed=5, n_rows=40).X


@cache
def fitted(name: str, form: str) -> Any:
    if form == "live":
        policy = clone(POLICIES[name])
        return policy.fit(**make_log(policy, LABELS).arrays())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.ot"
        unknown = name == CANNOT_BE_FLATTENED
        save(fitted(name, "live"), path, fallback="pickle" if unknown else None)
        return load(path, allow_pickle=unknown)


@pytest.fixture(params=POLICIES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["live", "loaded"])
def policy(request: pytest.FixtureRequest, name: str) -> Any:
    return fitted(name, request.param)


def some_sets(policy: Policy, n_rows: int = len(X)) -> NDArray[np.bool_]:
    random = np.random.RandomState(0)
    mask = random.random_sample((n_rows, len(policy.actions_))) < 0.5
    mask[np.arange(n_rows), random.randint(mask.shape[1], size=n_rows)] = True
    return mask


def test_it_is_a_policy_and_a_scikit_learn_estimator_only_where_it_learns(policy: Any) -> None:
    assert isinstance(policy, Policy)
    assert isinstance(policy, SavedPolicy) != isinstance(policy, BasePolicy)
    np.testing.assert_array_equal(policy.actions_, np.unique(LABELS[: len(policy.actions_)]))
    np.testing.assert_array_equal(policy.classes_, policy.actions_)
    assert policy.n_features_in_ == X.shape[1]


def test_live_and_loaded_decide_alike(name: str) -> None:
    live, loaded = fitted(name, "live"), fitted(name, "loaded")
    np.testing.assert_array_equal(loaded.predict(X), live.predict(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), live.predict_proba(X))
    np.testing.assert_array_equal(loaded.rank(X, 2), live.rank(X, 2))


def test_one_row_gets_the_same_as_in_a_table_whatever_its_form(policy: Any) -> None:
    expected = policy.predict(X).tolist()
    assert set(expected) <= set(LABELS)
    assert [policy.decide(row) for row in X] == expected
    assert [policy.decide(row.tolist()) for row in X] == expected
    assert [policy.decide(tuple(row)) for row in X] == expected
    assert [policy.decide(row[np.newaxis]) for row in X] == expected
    assert [policy.decide(sp.csr_matrix(row[np.newaxis])) for row in X[:10]] == expected[:10]
    for table in (X.astype(np.float32), (4 * X).astype(np.int64), np.asfortranarray(X), X[::2]):
        assert [policy.decide(row) for row in table] == policy.predict(table).tolist()
    assert type(policy.decide(X[0])) is str


def test_the_action_predicted_is_the_most_probable(policy: Any) -> None:
    probability = policy.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(policy.actions_[probability.argmax(axis=1)], policy.predict(X))


def test_no_decision_leaves_the_available_set(policy: Any, name: str) -> None:
    mask, labels = some_sets(policy), policy.actions_
    chosen = policy.predict(X, mask)
    assert mask[np.arange(len(X)), np.searchsorted(labels, chosen)].all()
    for form in (sp.csr_matrix, sp.coo_array, lambda mask: mask.astype(int), lambda mask: mask.tolist()):
        np.testing.assert_array_equal(policy.predict(X, form(mask)), chosen)
    for row in range(10):
        assert policy.decide(X[row], mask[row]) == policy.decide(X[row], labels[mask[row]]) == chosen[row]
    everything = np.ones(mask.shape, dtype=bool)
    np.testing.assert_array_equal(policy.predict(X, everything), policy.predict(X))
    only = np.arange(len(X)) % len(labels)
    np.testing.assert_array_equal(policy.predict(X, only[:, np.newaxis] == np.arange(len(labels))), labels[only])
    if name not in EXPLORES:
        probability = policy.predict_proba(X, mask)
        assert not probability[~mask].any()
        np.testing.assert_array_equal(labels[probability.argmax(axis=1)], chosen)


def test_each_place_of_a_ranking_is_what_it_would_choose_without_those_before(policy: Any) -> None:
    n = len(policy.actions_)
    ranked, left = policy.rank(X, n), np.ones((len(X), n), dtype=bool)
    np.testing.assert_array_equal(ranked[:, 0], policy.predict(X))
    np.testing.assert_array_equal(np.sort(ranked, axis=1), np.tile(policy.actions_, (len(X), 1)))
    for place in range(n):
        np.testing.assert_array_equal(policy.predict(X, left), ranked[:, place])
        left[np.arange(len(X)), np.searchsorted(policy.actions_, ranked[:, place])] = False


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda policy: policy.predict(X[:, :3]), FeatureError, "3 features, but .* expecting 4"),
        (lambda policy: policy.decide(X[0, :3]), FeatureError, "3 features, but .* expecting 4"),
        (lambda policy: policy.decide(X[:2]), FeatureError, "decide takes one context; got 2 rows"),
        (lambda policy: policy.decide({"u": 1.0}), FeatureError, "by name needs a policy fitted on named columns"),
        (lambda policy: policy.decide(3), FeatureError, "got 3"),
        (lambda policy: policy.predict({"u": 1.0}), FeatureError, "Use decide"),
        (lambda policy: policy.predict(pl.LazyFrame({"u": [1.0]})), FeatureError, "collect"),
        (lambda policy: policy.predict(X[:0]), FeatureError, "0 sample"),
        (lambda policy: policy.predict(np.where(X > 1, np.inf, X)), FeatureError, "infinity"),
        (lambda policy: policy.decide([0.0, np.inf, 0.0, 0.0]), FeatureError, "row 0, column 1 has inf"),
        (lambda policy: policy.predict(X, np.zeros((len(X), len(policy.actions_)))), ActionError, "at least one"),
        (lambda policy: policy.predict(X, some_sets(policy)[1:]), ActionError, "of shape"),
        (lambda policy: policy.decide(X[0], ["red", "never heard of"]), ActionError, "one of the policy's"),
        (lambda policy: policy.decide(X[0], []), ActionError, "at least one action"),
        (lambda policy: policy.rank(X, 0), ParameterError, "from 1 to the number of actions"),
        (lambda policy: policy.rank(X, 2, sp.csr_array(np.eye(len(X), len(policy.actions_)))), ActionError, "at least"),
    ],
)
def test_what_cannot_be_decided_on_is_refused(policy: Any, use: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"(?s){message}"):
        use(policy)


def test_copies_and_pickles_decide_alike(policy: Any) -> None:
    expected = policy.predict(X).tolist()
    for other in (pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy)):
        assert other.predict(X).tolist() == [other.decide(row) for row in X] == expected
