"""Policies that decide by their compiled form: fast, and as if they did not."""

from __future__ import annotations

import copy
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import offsettree
from offsettree import BinaryOffset, OffsetTree
from offsettree.exceptions import FeatureError
from offsettree.models._batches import usable_threads
from offsettree.models.graph import SplitGraph
from offsettree.reductions._sides import descend
from tests.suites.policies import make_log

LEARNERS = {
    "tree": DecisionTreeClassifier(max_depth=4),
    "logistic": LogisticRegression(),
    "forest": RandomForestClassifier(5, max_depth=4),
    "naive Bayes": GaussianNB(),
}


@pytest.fixture(params=LEARNERS)
def policy(request: pytest.FixtureRequest) -> OffsetTree:
    policy = OffsetTree(clone(LEARNERS[request.param]), random_state=0)
    return policy.fit(**make_log(policy, ["red", "blue", "green"]).arrays())


X_NEW = np.random.RandomState(7).normal(size=(200, 4))


def test_predict_is_the_grouped_descent(policy: OffsetTree) -> None:
    expected = policy.actions_[descend(policy.tree_, policy.estimators_, X_NEW)]
    np.testing.assert_array_equal(policy.predict(X_NEW), expected)
    np.testing.assert_array_equal(policy.predict(np.asfortranarray(X_NEW)), expected)
    np.testing.assert_array_equal(policy.predict(X_NEW.tolist()), expected)
    np.testing.assert_array_equal(
        policy.predict_proba(X_NEW).argmax(axis=1), np.searchsorted(policy.actions_, expected)
    )


def test_decide_is_predict_whatever_form_the_row_has(policy: OffsetTree) -> None:
    for X in (X_NEW, X_NEW.astype(np.float32), (3 * X_NEW).astype(np.int64), (3 * X_NEW).astype(np.int8)):
        expected = policy.predict(X).tolist()
        assert [policy.decide(row) for row in X] == expected
        assert [policy.decide(row) for row in np.asfortranarray(X)] == expected
        assert [policy.decide(row) for row in X[:, ::-1].copy()[:, ::-1]] == expected
        assert [policy.decide(row.tolist()) for row in X[:20]] == expected[:20]
        assert [policy.decide(tuple(row.tolist())) for row in X[:20]] == expected[:20]
        assert [policy.decide(row[np.newaxis]) for row in X[:20]] == expected[:20]
        swapped = X.astype(X.dtype.newbyteorder(">"))
        assert [policy.predict(row[np.newaxis]).item() for row in swapped[:20]] == expected[:20]
        if not isinstance(policy.estimator, GaussianNB):
            assert [policy.decide(sp.csr_matrix(row[np.newaxis])) for row in X[:20]] == expected[:20]
    read_only = X_NEW.copy()
    read_only.flags.writeable = False
    expected = policy.predict(X_NEW).tolist()
    assert [policy.decide(row) for row in read_only] == policy.predict(read_only).tolist() == expected
    unpickled = pickle.loads(pickle.dumps(X_NEW[0]))
    assert policy.decide(unpickled) == policy.decide(X_NEW[0])


@pytest.mark.parametrize(
    ("x", "match"),
    [
        ([1.0, 2.0], "2 features, but"),
        (np.zeros(5), "5 features, but"),
        ([0.0, np.inf, 0.0, 0.0], "column 1 has inf"),
        (np.array([0.0, 0.0, -np.inf, 0.0]), "column 2 has -inf"),
        ([0.0, "high", 0.0, 0.0], "could not convert|dtype"),
        ([0.0, [1.0, 2.0], 0.0, 0.0], "inhomogeneous"),
        (7.0, "a sequence of numbers"),
        (np.zeros((2, 4)), "one context"),
        ({"u": 1}, "named columns"),
    ],
)
def test_the_fast_way_refuses_what_the_long_way_refuses(policy: OffsetTree, x: Any, match: str) -> None:
    with pytest.raises((FeatureError, ValueError), match=match) as compiled:
        policy.decide(x)
    with pytest.raises((FeatureError, ValueError)) as plain:
        policy._decide_checked(x, None)
    assert str(compiled.value) == str(plain.value)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite_values_are_refused_or_taken_as_before(policy: OffsetTree, value: float) -> None:
    X = X_NEW.copy()
    X[150, 2] = value
    takes_it = np.isnan(value) and isinstance(policy.estimator, DecisionTreeClassifier | RandomForestClassifier)
    for bad, row in ((X, X[150]), (X.astype(np.float32), X[150].tolist())):
        if takes_it:
            assert policy.predict(bad)[150] == policy.decide(row)
            continue
        with pytest.raises(FeatureError, match="row 150, column 2"):
            policy.predict(bad)
        with pytest.raises(FeatureError, match="row 0, column 2"):
            policy.decide(row)


def test_the_compiled_form_is_told(policy: OffsetTree) -> None:
    assert (policy.compiled_ is None) == isinstance(policy.estimator, GaussianNB)
    assert not hasattr(clone(policy), "compiled_")


def test_copies_and_pickles_decide_alike(policy: OffsetTree) -> None:
    for prepared in (False, True):
        if prepared:
            policy.decide(X_NEW[0])
        for other in (pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy)):
            assert [other.decide(row) for row in X_NEW[:20]] == policy.predict(X_NEW[:20]).tolist()
            assert other.get_params()["random_state"] == 0


def test_a_second_fit_is_compiled_anew(policy: OffsetTree) -> None:
    before = policy.predict(X_NEW)
    policy.decide(X_NEW[0])
    log = make_log(policy, ["one", "two", "three"], seed=3)
    policy.fit(-log.X, log.action, reward=log.reward, propensity=log.propensity)
    assert policy.decide(X_NEW[0]) in ("one", "two", "three")
    assert set(policy.predict(X_NEW)).isdisjoint(before)
    with pytest.raises(FeatureError):
        policy.fit(log.X.astype(str), log.action, reward=log.reward, propensity=log.propensity)
    assert policy.decide(X_NEW[0]) == policy.predict(X_NEW)[0]


def test_threads_may_ask_at_once(policy: OffsetTree) -> None:
    expected = clone(policy).fit(**make_log(policy, ["red", "blue", "green"]).arrays()).predict(X_NEW).tolist()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(policy.decide, X_NEW)) == expected


@pytest.mark.usefixtures("all_cores")
def test_processes_and_joblib_may_ask(policy: OffsetTree) -> None:
    X = np.tile(X_NEW, (150, 1))
    expected = policy.predict(X)
    for backend in ("loky", "threading"):
        answers = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(policy.predict)(X) for _ in range(2))
        for answer in answers:
            np.testing.assert_array_equal(answer, expected)


@pytest.mark.usefixtures("all_cores")
def test_threads_are_as_many_as_the_environment_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    assert usable_threads() == joblib.effective_n_jobs(-1)
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
        assert usable_threads() == 1
        monkeypatch.setenv(name, "many")
        assert usable_threads() == joblib.effective_n_jobs(-1)


def test_frames_of_numbers_are_compiled_and_names_are_checked() -> None:
    columns = ["u", "v", "w", "z"]
    policy = OffsetTree(random_state=0)
    log = make_log(policy)
    policy.fit(pd.DataFrame(log.X, columns=columns), log.action, reward=log.reward, propensity=log.propensity)
    assert isinstance(policy.compiled_, SplitGraph)
    expected = policy.predict(pd.DataFrame(X_NEW, columns=columns)).tolist()
    assert [policy.decide(row) for row in X_NEW] == expected
    with pytest.warns(UserWarning, match="valid feature names"):
        assert policy.predict(X_NEW).tolist() == expected


def test_two_actions_and_one_contest() -> None:
    policy = BinaryOffset(DecisionTreeClassifier(max_depth=3), random_state=0)
    policy.fit(**make_log(policy, ["call", "mail"]).arrays())
    assert isinstance(policy.compiled_, SplitGraph)
    expected = np.where(policy.estimator_.predict(X_NEW) == 1, "call", "mail")
    np.testing.assert_array_equal(policy.predict(X_NEW), expected)
    assert [policy.decide(row) for row in X_NEW] == expected.tolist()


def test_the_shared_classifier_decides_in_flat_arrays_as_if_it_were_asked() -> None:
    policy = OffsetTree(DecisionTreeClassifier(max_depth=6), node_models="shared", random_state=0)
    policy.fit(**make_log(policy).arrays())
    assert isinstance(policy.compiled_, SplitGraph)
    expected = policy.actions_[policy._ask(X_NEW)].tolist()
    assert [policy.decide(row) for row in X_NEW] == policy.predict(X_NEW).tolist() == expected


SCRIPT = """
import sys, numpy as np
import offsettree
from sklearn.tree import DecisionTreeClassifier
assert "numba" not in sys.modules
X = np.random.RandomState(0).normal(size=(60, 2))
log = {"X": X, "action": np.arange(60) % 3, "reward": X[:, 0] > 0, "propensity": 0.5}
policy = offsettree.OffsetTree(DecisionTreeClassifier(random_state=0)).fit(**log)
assert "numba" not in sys.modules
print(policy.decide(X[0]) == policy.predict(X)[0], "numba" in sys.modules)
"""


@pytest.mark.parametrize("place", ["read-only", "nowhere"])
def test_it_works_where_machine_code_cannot_be_kept_beside_the_package(place: str, tmp_path: Path) -> None:
    """And numba is loaded by the first decision, not by the import."""
    package = tmp_path / "library" / "offsettree"
    source = Path(offsettree.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__", "data"))
    # A file in the place of the folder that would be made: root may write to what is read-only.
    for folder in (package, *(package / name for name in ("models", "learners", "reductions"))):
        (folder / "__pycache__").touch()
    environment = dict(os.environ) | {"PYTHONPATH": str(package.parent), "HOME": str(tmp_path / "home")}
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        environment.pop(name, None)
    if place == "nowhere":
        (tmp_path / "home").touch()
    else:
        (tmp_path / "home").mkdir()
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False
    )
    assert run.stderr == ""
    assert run.stdout.split() == ["True", "True"]
