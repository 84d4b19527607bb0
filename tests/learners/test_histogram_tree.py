"""The histogram tree as a classifier: what scikit-learn asks of one, rows and weights of every kind, its parameters."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from offsettree.exceptions import FeatureError, LogError, OffsetTreeWarning, ParameterError
from offsettree.learners import HistogramTree
from tests.strategies import seeds

ON_ITS_OWN = HistogramTree(random_state=0)
IN_A_FOREST = HistogramTree(leaf_scale="auto", random_cuts=True, max_features=0.5, random_state=0)
REASON = "leaf_scale='auto' holds out rows, and copies of a row one by one"
NOT_FOR_AUTO = {f"check_sample_weight_equivalence_on_{kind}_data": REASON for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [ON_ITS_OWN, IN_A_FOREST],
    expected_failed_checks=lambda tree: NOT_FOR_AUTO if tree.leaf_scale == "auto" else {},
)
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def make_rows(seed: int = 0, n_rows: int = 500, n_columns: int = 4, noise: float = 0.2) -> tuple[Any, Any]:
    random = np.random.RandomState(seed)
    X = random.normal(size=(n_rows, n_columns))
    label = (X[:, 0] * X[:, 1] > 0) ^ (random.random_sample(n_rows) < noise)
    return X, label.astype(int)


def same_trees(one: HistogramTree, other: HistogramTree) -> bool:
    return all(
        np.array_equal(getattr(one.flat_tree_, name), getattr(other.flat_tree_, name))
        for name in one.flat_tree_.__dataclass_fields__
    )


@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        sp.csr_matrix,
        sp.csr_array,
        sp.csc_matrix,
        lambda X: X.astype(np.float64),
        lambda X: X.astype(np.int64),
        lambda X: X.astype(np.int8),
        lambda X: X.astype(np.float16),
        lambda X: X.astype(np.longdouble),
        lambda X: X.astype(">f4"),
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X.tolist(),
    ],
    ids=lambda form: getattr(form, "__name__", ""),
)
def test_rows_of_every_form_give_the_same_tree(form: Any) -> None:
    X, label = make_rows()
    X = (X * 20).round().astype(np.float32)
    expected = HistogramTree().fit(X, label)
    tree = HistogramTree().fit(form(X), label)
    assert same_trees(tree, expected)
    np.testing.assert_array_equal(tree.predict_proba(form(X)), expected.predict_proba(X))


def test_sparse_rows_are_written_out_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    X, label = make_rows()
    expected = HistogramTree().fit(X, label)
    monkeypatch.setattr("offsettree.learners._binning.BLOCK", 10)
    tree = HistogramTree().fit(sp.csr_matrix(X), label)
    assert same_trees(tree, expected)
    np.testing.assert_array_equal(tree.predict(sp.csr_matrix(X)), expected.predict(X))
    monkeypatch.setattr("offsettree.learners._binning.MOST_CODES", 1000)
    with pytest.raises(FeatureError, match=r"500 x 4: too many"):
        tree.fit(sp.csr_matrix(X), label)


def test_a_sparse_X_that_grows_large_when_binned_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    X, label = make_rows()
    text = sp.csr_matrix(np.hstack([X, np.zeros((len(X), 50))]))
    monkeypatch.setattr("offsettree.learners._binning.MANY_CODES", 1000)
    with pytest.warns(OffsetTreeWarning, match=r"one byte per row and column, here 500 x 54: .* MB.*SGDClassifier"):
        HistogramTree().fit(text, label)
    HistogramTree().fit(sp.csr_matrix(X), label)  # which takes more as it is than binned


def test_extreme_values_are_told_apart_as_far_as_float32_can() -> None:
    values = np.array([-1e300, -1e38, -1.0, -1e-40, -0.0, 0.0, 1e-45, 1e-40, 1e-3, 3e38, 1e300])
    with np.errstate(over="ignore"):
        _, bins = np.unique(values.astype(np.float32), return_inverse=True)
    X, label = np.repeat(values, 4)[:, np.newaxis], np.repeat(bins % 2, 4)
    tree = HistogramTree().fit(X, label)
    np.testing.assert_array_equal(tree.predict(X), label)


@given(seeds, st.sampled_from([1.0, 1e-30, 1e30]))
def test_thresholds_lie_between_the_values_and_neighbours_in_float32_are_one(seed: int, size: float) -> None:
    random = np.random.RandomState(seed)
    low = np.float32(random.uniform(-1, 1) * size)
    high = np.nextafter(low, np.float32(np.inf))
    tree = HistogramTree().fit([[low], [high]] * 2, [0, 1] * 2)
    assert tree.predict([[low], [high]]).tolist() == [0, 1]
    threshold = float(tree.flat_tree_.threshold[0])
    assert low <= threshold < high
    assert tree.predict([[threshold]]).tolist() == [0]
    # A float64 counts as the float32 next to it.
    between = float(low) + (float(high) - float(low)) * random.uniform(size=20)
    np.testing.assert_array_equal(tree.predict(between[:, np.newaxis]), between.astype(np.float32) == high)


def test_missing_values_go_where_they_do_best_or_else_with_the_larger_part() -> None:
    X = np.array([[0.0]] * 6 + [[1.0]] * 4 + [[np.nan]] * 4)
    assert HistogramTree().fit(X, [0] * 6 + [1] * 4 + [1] * 4).predict([[np.nan]]) == [1]
    assert HistogramTree().fit(X, [0] * 6 + [1] * 4 + [0] * 4).predict([[np.nan]]) == [0]
    only_missing = HistogramTree().fit(X, [0] * 6 + [0] * 4 + [1] * 4)
    assert only_missing.predict([[0.0], [1.0], [99.0], [np.nan]]).tolist() == [0, 0, 0, 1]
    assert HistogramTree().fit(X[:10], [0] * 6 + [1] * 4).predict([[np.nan]]) == [0]
    assert HistogramTree().fit(1 - X[:10], [0] * 6 + [1] * 4).predict([[np.nan]]) == [0]


@pytest.mark.parametrize(
    ("X", "label", "expected"),
    [
        ([[1.0, 2.0]], [5], [5]),
        ([[1.0, 2.0]] * 3, ["b", "a", "b"], ["b"]),
        ([[1.0, 2.0]] * 2, ["b", "a"], ["a"]),
        ([[0.0, 0.0], [1.0, 1.0]], [3, 3], [3]),
        ([[np.nan, np.nan], [np.nan, np.nan], [np.nan, np.nan]], [0, 1, 1], [1]),
    ],
    ids=["one row", "constants", "a tie goes to the first", "one class", "all missing"],
)
def test_where_nothing_can_be_told_apart_the_heavier_label_wins(X: Any, label: Any, expected: Any) -> None:
    tree = HistogramTree().fit(X, label)
    assert tree.predict([[1.0, 2.0]]).tolist() == expected
    assert tree.predict_proba([[1.0, 2.0]]).shape == (1, len(set(label)))
    assert len(tree.flat_tree_.left) == 1


def test_more_than_63_values_are_cut_at_quantiles_and_frequent_ones_kept_apart() -> None:
    random = np.random.RandomState(0)
    often = np.repeat([0.25, 0.75], 2000)
    X = np.concatenate([often, random.uniform(size=1000)])[:, np.newaxis]
    tree = HistogramTree().fit(X, (X[:, 0] == 0.75).astype(int))
    assert tree.score(X, X[:, 0] == 0.75) > 0.98
    assert tree.predict([[0.25], [0.75]]).tolist() == [0, 1]
    assert len(np.unique(tree._bins.edges)) - 1 <= 62
    long = np.linspace(0, 1, 100_000)[:, np.newaxis]
    assert HistogramTree().fit(long, (long[:, 0] > 0.3).astype(int)).score(long, long[:, 0] > 0.3) > 0.98


@given(seeds)
def test_a_weight_of_zero_is_no_row_and_one_of_three_is_three_rows(seed: int) -> None:
    random = np.random.RandomState(seed)
    X, label = make_rows(seed, n_rows=200)
    X = X.round(1) * np.where(random.random_sample(X.shape) < 0.1, np.nan, 1)
    times = random.randint(4, size=len(X))
    weighted = HistogramTree().fit(X, label, sample_weight=times)
    repeated = HistogramTree().fit(np.repeat(X, times, axis=0), np.repeat(label, times))
    X = X[times > 0]  # what did not occur goes with the larger part, in rows
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("size", [1e3, 1e10, 1e19, 1e38, 1e300])
def test_weights_may_be_huge(size: float) -> None:
    X, label = make_rows(noise=0.0)
    assert HistogramTree().fit(X, label, sample_weight=np.full(len(X), size)).score(X, label) > 0.9


@pytest.mark.parametrize("size", [1e-3, 1e-10, 1e-40, 1e-300])
def test_how_small_weights_are_makes_no_difference(size: float) -> None:
    X, label = make_rows()
    weight = 1 + (label == 1)
    mean_one = HistogramTree(max_depth=3).fit(X, label, sample_weight=weight / weight.mean())
    assert same_trees(mean_one, HistogramTree(max_depth=3).fit(X, label, sample_weight=size * weight))


def test_one_heavy_row_among_light_ones_is_heard() -> None:
    X = np.arange(60.0)[:, np.newaxis]
    label = np.arange(60) % 2
    tree = HistogramTree().fit(X, label, sample_weight=np.where(label == 1, 1e300, 1e-300))
    assert set(tree.predict(X)) == {1}


def test_leaves_weigh_as_much_as_leaf_scale_asks() -> None:
    X, label = make_rows(n_rows=2000)
    for scale in (0.0, 0.5, 2.0, 8.0):
        tree = HistogramTree(leaf_scale=scale, max_depth=20).fit(X, label)
        _, n_rows = np.unique(leaf_of(tree, X), return_counts=True)
        assert n_rows.min() >= max(1, scale * np.sqrt(2000)) * (1 - 1e-5)
        assert tree.leaf_scale_ == scale


def leaf_of(tree: HistogramTree, X: NDArray[np.float64]) -> NDArray[Any]:
    return np.asarray(tree._ask(X, np.arange(len(tree.flat_tree_.left))))


def test_auto_takes_large_leaves_for_noise_and_small_ones_for_clear_labels() -> None:
    X, label = make_rows(n_rows=1000, noise=0.0)
    assert HistogramTree(leaf_scale="auto", random_state=0).fit(X, label).leaf_scale_ <= 0.25
    X, label = make_rows(n_rows=1000, noise=0.4)
    assert HistogramTree(leaf_scale="auto", random_state=0).fit(X, label).leaf_scale_ >= 1
    for n_rows in (1, 2, 3):
        assert HistogramTree(leaf_scale="auto").fit(X[:n_rows], label[:n_rows]).leaf_scale_ >= 0


@pytest.mark.parametrize("parameters", [{"random_cuts": True}, {"max_features": 0.4}, {"leaf_scale": "auto"}])
def test_the_seed_decides_what_is_drawn(parameters: dict[str, Any]) -> None:
    X, label = make_rows(n_columns=8)
    trees = [HistogramTree(random_state=seed, **parameters).fit(X, label) for seed in (0, 0, 1, 2, 3)]
    assert same_trees(trees[0], trees[1])
    if parameters != {"leaf_scale": "auto"}:
        assert len({tree.flat_tree_.threshold.tobytes() for tree in trees}) == 4
    assert same_trees(*(HistogramTree(random_state=seed).fit(X, label) for seed in (0, 1)))


def test_one_column_in_eight_is_looked_at_and_constant_ones_do_not_count() -> None:
    X, label = make_rows(n_columns=8)
    roots = {
        int(HistogramTree(max_features=0.1, random_state=seed).fit(X, label).flat_tree_.feature[0])
        for seed in range(60)
    }
    assert roots == set(range(8))
    constant = np.ones((len(X), 50))
    constant[:, 17] = X[:, 0]
    for seed in range(5):
        tree = HistogramTree(max_features=0.01, random_state=seed).fit(constant, X[:, 0] > 0)
        assert tree.score(constant, X[:, 0] > 0) > 0.95


def test_it_survives_pickling_and_cloning() -> None:
    X, label = make_rows()
    tree = HistogramTree(random_cuts=True, random_state=3).fit(X, label)
    assert same_trees(pickle.loads(pickle.dumps(tree)), tree)
    assert same_trees(clone(tree).fit(X, label), tree)
    with pytest.raises(NotFittedError):
        clone(tree).predict(X)


@pytest.mark.parametrize(
    "parameters",
    [
        *({"max_depth": value} for value in (0, 65, 2.5, None, "deep")),
        *({"leaf_scale": value} for value in (-1, np.nan, None, "large", True, [1])),
        *({"max_features": value} for value in (0, 1.5, "sqrt", np.nan, True)),
        *({"ccp_alpha": value} for value in (-0.1, np.nan, "auto", None)),
        *({"random_cuts": value} for value in (None, "yes", 2)),
    ],
    ids=str,
)
def test_bad_parameters_are_named(parameters: dict[str, Any]) -> None:
    (name,) = parameters
    with pytest.raises(ParameterError, match=f"{name} must be"):
        HistogramTree(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_bad_rows_are_refused() -> None:
    X, label = make_rows(n_rows=6)
    with pytest.raises(LogError, match="Only binary"):
        HistogramTree().fit(X, range(6))
    with pytest.raises(LogError, match="one value per row"):
        HistogramTree().fit(X, label[:-1])
    with pytest.raises(LogError, match="must not be zero for every row"):
        HistogramTree().fit(X, label, sample_weight=np.zeros(6))
    with pytest.raises(FeatureError, match="infinity"):
        HistogramTree().fit([[np.inf], [0.0]], [0, 1])


def test_weights_that_are_shares_give_the_tree_of_equal_weights() -> None:
    X, label = make_rows()
    shares = np.full(len(label), 1 / len(label))
    assert same_trees(HistogramTree().fit(X, label), HistogramTree().fit(X, label, sample_weight=shares))


def test_a_leaf_costs_no_more_than_its_price() -> None:
    random = np.random.RandomState(0)
    X = random.normal(size=(20_000, 3))
    label = random.random_sample(20_000) < 0.5 + 0.04 * np.sign(X[:, 0])  # little, and certain
    limited = HistogramTree(ccp_alpha=0.005, leaf_price=5.0).fit(X, label)
    assert len(HistogramTree(ccp_alpha=0.005).fit(X, label).flat_tree_.left) == 1
    assert limited.flat_tree_.feature[0] == 0
    assert abs(limited.flat_tree_.threshold[0]) < 0.1
    few = slice(0, 800)  # where the share of the whole is the lower price
    assert same_trees(
        HistogramTree(ccp_alpha=0.005).fit(X[few], label[few]),
        HistogramTree(ccp_alpha=0.005, leaf_price=5.0).fit(X[few], label[few]),
    )
    with pytest.raises(ParameterError, match="leaf_price must be None or a number of at least 0; got -1"):
        HistogramTree(leaf_price=-1).fit(X[few], label[few])
