"""The first decisions of a process, which NumPy takes alone, are those of the kernels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from offsettree import OffsetTree, RewardBoosting, load, save
from offsettree.models import _by_numpy, graph
from offsettree.models.layout import HAS_INFINITY, HAS_NAN
from offsettree.models.planes import Planes
from offsettree.models.scores import LeafMeans
from tests.strategies import seeds
from tests.suites.policies import fitted, make_log

NAMES = (
    "offset tree",
    "offset tree, shared",
    "offset forest",
    "policy tree",
    "reward boosting",
    "reward regression",
    "reward regression, one for all",
    "doubly robust",
    "doubly robust, ridge",
)

FIRST_DECISION = """
import sys
from offsettree import load
policy = load(sys.argv[1])
print(policy.decide([0.3, -0.2, 0.1, 0.4]), "numba" in sys.modules)
for _ in range(int(sys.argv[2])):
    policy.decide([0.3, -0.2, 0.1, 0.4])
print("numba" in sys.modules)
"""


def odd_rows(n_rows: int, n_columns: int) -> NDArray[np.float64]:
    random = np.random.default_rng(0)
    X = random.standard_normal((n_rows, n_columns))
    X[::3] = X[::3].round(1)
    X[::5] *= 1e39  # infinite as float32
    X[::7, 0] = -0.0
    return X


@pytest.fixture
def _without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_by_numpy, "MOST_DECISIONS", 10**9)
    monkeypatch.setattr(_by_numpy, "are_loaded", lambda kernels: False)
    monkeypatch.setattr(graph, "are_loaded", lambda kernels: False)


@pytest.mark.usefixtures("_without_kernels")
@pytest.mark.parametrize("name", NAMES)
def test_policies_decide_as_in_a_table(name: str) -> None:
    policy = fitted(name)
    X = odd_rows(60, 4)
    if policy._ready().inputs.missing:
        X[::11, 1] = np.nan
    assert [policy.decide(x) for x in X] == policy.predict(X).tolist()


@pytest.mark.usefixtures("_without_kernels")
@pytest.mark.parametrize("name", ["offset tree", "offset forest", "reward boosting"])
def test_what_kernels_refuse_is_refused(name: str) -> None:
    fast = fitted(name)._ready().fast
    for refused in (0, HAS_NAN, HAS_INFINITY, HAS_NAN | HAS_INFINITY):
        compiled, by_numpy = fast.one_row(refused), fast.one_row_by_numpy(refused)
        assert by_numpy is not None
        for odd in (0.0, np.nan, np.inf, -np.inf):
            x = np.array([0.1, odd, 0.2, -0.7])
            assert by_numpy(x) == compiled(x)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(("reward regression", "doubly robust"))])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_one_row_alone_has_the_numbers_that_it_has_in_a_table(name: str, dtype: Any) -> None:
    model = fitted(name)._ready().model
    X = (3 * np.random.default_rng(1).standard_normal((50, 4))).astype(dtype)
    for summand in getattr(model, "summands", ()):
        numbers_of = summand.of_one_row()
        np.testing.assert_array_equal(np.stack([numbers_of(x) for x in X]), summand.scores(X))


def test_leaf_means_are_the_product_of_the_shares_of_trees_with_what_leaves_hold() -> None:
    (means,) = (each for each in fitted("doubly robust")._ready().model.summands if isinstance(each, LeafMeans))
    X = np.random.default_rng(1).standard_normal((50, 4)).astype(np.float32)
    trees, n_trees = means.trees.for_sums(), means.trees.n_trees
    leaves = np.stack([_by_numpy.leaves_of(*trees, x.astype(np.float64)) for x in X])
    share = sp.csr_array(
        (np.full(leaves.size, 1 / n_trees), leaves.ravel(), np.arange(len(X) + 1) * n_trees),
        shape=(len(X), means.means.shape[0]),
    )
    np.testing.assert_array_equal(means.scores(X), (share @ means.means).toarray())


@given(seeds, st.integers(1, 40), st.booleans())
def test_linear_functions_are_added_up_in_the_same_order(seed: int, n_columns: int, missing: bool) -> None:
    random = np.random.default_rng(seed)
    weights, at_missing = random.standard_normal((2, 3, n_columns)) * 10.0 ** random.integers(-9, 9, (2, 1, 1))
    planes = Planes(weights, random.standard_normal(3), at_missing if missing else None)
    X = random.standard_normal((5, n_columns))
    if missing:
        X[random.random(X.shape) < 0.3] = np.nan
    np.testing.assert_array_equal(np.stack([planes._scores_of_one(x) for x in X]), planes.scores(X))


def test_only_the_first_decisions_go_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_by_numpy, "_decisions", iter(range(1, 100)))
    taken = [_by_numpy.goes_without("_kernels_of_nobody") for _ in range(_by_numpy.MOST_DECISIONS + 3)]
    assert taken == [True] * _by_numpy.MOST_DECISIONS + [False] * 3
    monkeypatch.setattr(_by_numpy, "_decisions", iter(range(1, 100)))
    assert not _by_numpy.goes_without("layout")  # a module that is loaded
    assert not _by_numpy.goes_without("_kernels_of_nobody", np.zeros((2, 3)))


@pytest.mark.parametrize("policy", [OffsetTree(random_state=0), RewardBoosting(n_trees=5, random_state=0)], ids=str)
def test_a_new_process_loads_no_compiler_for_its_first_decision(policy: Any, tmp_path: Path) -> None:
    save(policy.fit(**make_log(policy).arrays()), tmp_path / "policy.ot")
    command = [sys.executable, "-c", FIRST_DECISION, str(tmp_path / "policy.ot"), str(_by_numpy.MOST_DECISIONS)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()  # noqa: S603
    expected = load(tmp_path / "policy.ot").predict(np.array([[0.3, -0.2, 0.1, 0.4]]))[0]
    assert printed == [str(expected), "False", "True"]
