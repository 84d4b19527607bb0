from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from offsettree.datasets import make_synsep
from offsettree.exceptions import ParameterError

SEEDS = st.integers(0, 2**32 - 1)


def keywords_by_class(X: NDArray[Any], y: NDArray[Any]) -> list[Any]:
    """Tell a class's keywords from its documents: 5 of at least 20 are missing in each, none in all of hundreds."""
    return [np.any(X[y == label, :120] > 0, axis=0) for label in range(9)]


def same(X: Any, other: Any) -> bool:
    return np.array_equal(X.indptr, other.indptr) and np.array_equal(X.indices, other.indices)


@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_a_document_has_its_classs_keywords_but_5_and_20_of_the_other_280_words(seed: int) -> None:
    sparse, y = make_synsep(3000, random_state=seed)
    X = sparse.toarray()
    assert X.shape == (3000, 400)
    assert set(np.unique(X)) == {0, 1}
    assert set(np.unique(y)) == set(range(9))
    keywords = keywords_by_class(X, y)
    for label, own in enumerate(keywords):
        assert 20 <= own.sum() <= 40
        np.testing.assert_array_equal(X[y == label, :120].sum(axis=1), own.sum() - 5)
    np.testing.assert_array_equal(X[:, 120:].sum(axis=1), 20)


@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_the_classes_are_separated_by_their_keywords(seed: int) -> None:
    sparse, y = make_synsep(3000, random_state=seed)
    X = sparse.toarray()
    # A linear score per class, its keywords for and all others against it: the own one beats the others by a margin.
    weights = np.array([np.where(own, 1.0, -1.0) for own in keywords_by_class(X, y)])
    scores = X[:, :120] @ weights.T
    own = scores[np.arange(len(y)), y]
    scores[np.arange(len(y)), y] = -np.inf
    assert (own >= scores.max(axis=1) + 2).all()


def test_keywords_that_could_be_two_classes_documents_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from offsettree.datasets import synthetic

    # Out of 120 keywords it next to never happens; out of 60, 20 of one class are often among 40 of another.
    monkeypatch.setattr(synthetic, "N_KEYWORDS", 60)
    for seed in range(5):
        keywords = synthetic._draw_keywords(np.random.default_rng(seed))
        assert all(len(set(own) - set(other)) > 5 for own in keywords for other in keywords if own is not other)


def test_all_words_and_classes_are_equally_likely() -> None:
    sparse, y = make_synsep(90_000, random_state=5)
    X = sparse.toarray()
    shares = np.bincount(y) / len(y)
    np.testing.assert_allclose(shares, 1 / 9, atol=0.006)
    np.testing.assert_allclose(X[:, 120:].mean(axis=0), 20 / 280, atol=0.005)
    for label, own in enumerate(keywords_by_class(X, y)):
        documents = X[y == label, :120]
        np.testing.assert_allclose(documents[:, own].mean(axis=0), 1 - 5 / own.sum(), atol=0.025)
    # Pairs too: words drawn without replacement are a little less often together than apart.
    together = (X[:, 120:].T @ X[:, 120:])[np.triu_indices(280, 1)] / len(y)
    assert together.mean() == pytest.approx(20 * 19 / (280 * 279), rel=1e-3)
    assert together.std() < 1.1 * np.sqrt(together.mean() / len(y))


def test_the_matrix_is_what_fast_code_wants() -> None:
    X, y = make_synsep(200_000, random_state=0)
    assert X.format == "csr"
    assert X.dtype == np.float32
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert y.dtype == np.int64
    inside = np.ones(X.nnz - 1, dtype=bool)
    inside[X.indptr[1:-1] - 1] = False
    assert (np.diff(X.indices)[inside] > 0).all()  # sorted, and no word twice


def test_the_seed_decides_everything() -> None:
    (X, y), (X_again, y_again), (X_other, y_other) = (
        make_synsep(1000, label_noise=0.3, random_state=seed) for seed in (1, 1, 2)
    )
    assert same(X, X_again)
    np.testing.assert_array_equal(y, y_again)
    assert not same(X, X_other)
    assert (y != y_other).any()
    state = np.random.RandomState(1)
    first, second = make_synsep(1000, random_state=state), make_synsep(1000, random_state=state)
    assert not same(first[0], second[0])


@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_label_noise_replaces_that_share_of_labels_by_any_other(share: float) -> None:
    X, y = make_synsep(40_000, random_state=3)
    X_noisy, noisy = make_synsep(40_000, label_noise=share, random_state=3)
    assert same(X, X_noisy)
    replaced = noisy != y
    assert replaced.mean() == pytest.approx(share, abs=0.01)
    shift = (noisy - y)[replaced] % 9
    np.testing.assert_allclose(np.bincount(shift, minlength=9)[1:] / replaced.sum(), 1 / 8, atol=0.03)


def test_one_row_will_do() -> None:
    X, y = make_synsep(1, random_state=0)
    assert X.shape == (1, 400)
    assert y.shape == (1,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_rows": 0}, "n_rows must be a whole number of at least 1; got 0"),
        ({"n_rows": 1.5}, "n_rows must be a whole number of at least 1; got 1.5"),
        ({"n_rows": True}, "n_rows must be a whole number of at least 1; got True"),
        ({"label_noise": 1.5}, r"label_noise must be in \[0, 1\]: the share of labels replaced; got 1.5"),
        ({"label_noise": float("nan")}, r"label_noise must be in \[0, 1\]"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make_synsep(**{"n_rows": 10, **arguments})
