"""The Banditron against a plain reading of it, and its promises as a policy."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from offsettree import Banditron
from offsettree.exceptions import ActionError, FeatureError, ParameterError
from offsettree.online._layout import MOST_COLUMNS


def test_a_plain_reading_learns_the_same_weights() -> None:
    random = np.random.RandomState(0)
    X = random.randint(-3, 4, size=(400, 6)).astype(float)
    y = (X @ random.standard_normal((6, 4))).argmax(axis=1)
    banditron = Banditron(gamma=0.3, actions=range(4), random_state=0)
    weights = np.zeros((4, 6), dtype=np.float32)
    for x, label in zip(X, y, strict=True):
        predicted = int((weights @ x.astype(np.float32)).argmax())
        assert banditron.decide(x) == predicted
        action, propensity = banditron.choose(x)
        assert propensity == pytest.approx(0.7 * (action == predicted) + 0.3 / 4)
        banditron.learn(x, action, float(action == label), propensity)
        # W <- W + U, U[r, j] = x_j (1[y = action] 1[action = r] / P(r) - 1[predicted = r])
        weights[action] += np.float32((action == label) / propensity) * x.astype(np.float32)
        weights[predicted] -= x.astype(np.float32)
    np.testing.assert_allclose(banditron._model.weights[:, :6], weights, rtol=1e-5, atol=1e-4)
    assert banditron.n_chosen_ == 400


@pytest.mark.parametrize("n_features", [6, MOST_COLUMNS + 3])
def test_chunks_single_rows_and_sparse_rows_give_the_same_bits(n_features: int) -> None:
    random = np.random.RandomState(0)
    X = random.standard_normal((200, n_features)) * (random.uniform(size=(200, n_features)) < 0.2)
    action, reward = random.randint(0, 3, 200), random.randint(0, 2, 200).astype(float)
    given: dict[str, Any] = {"reward": reward, "propensity": 0.4}
    whole = Banditron(actions=range(3)).partial_fit(X, action, **given)
    sparse = Banditron(actions=range(3)).partial_fit(sp.csr_matrix(X), action, **given)
    chunks, single = Banditron(actions=range(3)), Banditron(actions=range(3))
    for rows in (slice(0, 1), slice(1, 90), slice(90, 200)):
        chunks.partial_fit(X[rows], action[rows], reward=reward[rows], propensity=0.4)
    for x, a, r in zip(X, action.tolist(), reward.tolist(), strict=True):
        single.learn(x, a, r, 0.4)
    states = {policy._model.weights.tobytes() for policy in (whole, sparse, chunks, single)}
    assert len(states) == 1
    np.testing.assert_array_equal(whole.predict(X), sparse.predict(sp.csr_matrix(X)))
    assert [whole.decide(x) for x in X] == whole.predict(X).tolist()


def test_it_learns_what_is_separable() -> None:
    random = np.random.RandomState(0)
    X = np.eye(5)[random.randint(0, 5, 3000)]
    banditron = Banditron(gamma=0.1, actions=list("abcde"), random_state=0)
    for x in X:
        action, propensity = banditron.choose(x)
        banditron.learn(x, action, float(action == "abcde"[x.argmax()]), propensity)
    assert banditron.predict(np.eye(5)).tolist() == list("abcde")


def test_a_bad_chunk_is_refused_whole() -> None:
    banditron = Banditron(actions=range(3)).partial_fit(np.ones((2, 2)), [0, 1], reward=[1, 0], propensity=0.5)
    state = pickle.dumps(banditron)
    with pytest.raises(ActionError):
        banditron.partial_fit(np.ones((2, 2)), [0, 5], reward=[1, 0], propensity=0.5)
    with pytest.raises(FeatureError):
        banditron.learn(np.array([np.nan, 0]), 1, 1.0, 0.5)
    assert pickle.dumps(banditron) == state


def test_a_tiny_propensity_leaves_the_weights_finite() -> None:
    banditron = Banditron(actions=range(3))
    banditron.partial_fit(np.ones((2, 2)), [0, 1], reward=[1, 1], propensity=[1e-40, 1e-290])
    assert np.isfinite(banditron._model.weights).all()


def test_it_may_explore_more_or_less_as_it_goes() -> None:
    banditron = Banditron(gamma=0.4, actions=range(4), random_state=0)
    x = np.array([1.0, 2.0])
    assert {round(banditron.choose(x)[1], 3) for _ in range(50)} == {0.1, 0.7}
    banditron.set_params(gamma=0.2)
    assert {round(banditron.choose(x)[1], 3) for _ in range(50)} == {0.05, 0.85}
    banditron.set_params(reward_range=(0, 2))
    assert banditron.choose(x)[1] in (0.05, pytest.approx(0.85))
    with pytest.raises(ParameterError, match="must not change"):
        banditron.learn(x, 1, 1.0, 0.85)


def test_a_generator_of_numpy_draws_what_is_explored() -> None:
    x = np.ones(3)
    runs = []
    for _ in range(2):
        banditron = Banditron(gamma=0.5, actions=range(6), random_state=np.random.default_rng(3))
        runs.append([banditron.choose(x)[0] for _ in range(40)])
    assert runs[0] == runs[1]
    assert len(set(runs[0])) > 1
