"""Online reward regression against a plain reading of it, and its promises as a policy."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from offsettree import EpochGreedy, OnlineRewardRegression, load, progressive_validation, save, simulate_log
from offsettree.exceptions import ActionError, FeatureError, ParameterError, PropensityError, RewardError
from offsettree.online._layout import MOST_COLUMNS

K = 4
Log = tuple[Any, NDArray[np.int64], NDArray[np.float64]]


def make_log(n_rows: int = 300, n_features: int = 6, density: float = 1.0, seed: int = 0) -> Log:
    random = np.random.RandomState(seed)
    X = random.standard_normal((n_rows, n_features)) * (random.uniform(size=(n_rows, n_features)) < density)
    action = random.randint(0, K, n_rows)
    reward = 1 / (1 + np.exp(-X[np.arange(n_rows), action % n_features] + 0.1 * random.standard_normal(n_rows)))
    return X, action, reward


def learned(log: Log, **settings: Any) -> OnlineRewardRegression:
    X, action, reward = log
    policy = OnlineRewardRegression(actions=range(K), **settings)
    return policy.partial_fit(X, action, reward=reward, propensity=0.25)


def state(policy: OnlineRewardRegression) -> bytes:
    return b"".join(b"" if array is None else array.tobytes() for array in policy._model)


class PlainRegression:
    """What `OnlineRewardRegression` promises, one row at a time, nothing shared with its kernels."""

    def __init__(self, n_features: int, rate: float | None) -> None:
        self.rate = rate
        self.weights, self.powers = np.zeros((K, n_features + 1)), np.zeros((K, n_features + 1))
        self.start: list[float | None] = [None] * K
        self.largest = np.zeros(n_features)
        self.n_rows, self.squares, self.rewards = 0, 0.0, 0.0

    @property
    def mean(self) -> float:
        return 2 * self.rewards / self.n_rows - 1 if self.n_rows else 0.0

    def scaled(self, x: NDArray[Any]) -> NDArray[np.float64]:
        if self.rate is not None:
            return np.append(x, 1.0)
        return np.append(x / np.where(self.largest > 0, self.largest, np.inf), 1.0)

    def rewards_of(self, x: NDArray[Any]) -> list[float]:
        z = self.scaled(x)
        starts = zip(self.weights, self.start, strict=True)
        scores = [self.mean if start is None else start + float(weights @ z) for weights, start in starts]
        return [(score + 1) / 2 for score in scores]

    def learn(self, x: NDArray[Any], action: int, reward: float) -> None:
        self.start[action] = self.mean if self.start[action] is None else self.start[action]
        self.largest = np.maximum(self.largest, np.abs(x))
        z = self.scaled(x)
        self.n_rows += 1
        self.squares += float(z @ z)
        self.rewards += reward
        error = 2 * reward - 1 - (self.start[action] or 0.0) - float(self.weights[action] @ z)
        direction, rate = z, self.rate
        if rate is None:
            rate = 0.5 * math.sqrt(self.n_rows / self.squares)
            self.powers[action] += error**2 * z**2
            direction = np.divide(z, np.sqrt(self.powers[action]), out=np.zeros_like(z), where=z != 0)
        # As very many small steps, each towards the reward.
        small = 1e-8
        left_over = (1 - small * rate * float(direction @ z)) ** (1 / small)
        self.weights[action] += error * (1 - left_over) / float(direction @ z) * direction


@pytest.mark.parametrize("rate", [None, 0.1])
def test_a_plain_reading_learns_and_predicts_the_same(rate: float | None) -> None:
    X, action, reward = make_log(200)
    action[:50] = 1  # others are first seen when the mean has moved
    plain = PlainRegression(X.shape[1], rate)
    policy = OnlineRewardRegression(learning_rate="adaptive" if rate is None else rate, actions=range(K))
    for x, a, r in zip(X, action.tolist(), reward.tolist(), strict=True):
        policy.learn(x, a, r, 0.25)
        plain.learn(x, a, r)
        expected = plain.rewards_of(x)
        np.testing.assert_allclose(policy.predict_rewards(x[np.newaxis])[0], expected, atol=2e-5)
    assert policy.n_rows_seen_ == 200


@given(cuts=st.lists(st.integers(0, 300), max_size=10))
@settings(max_examples=15, deadline=None)
def test_chunks_however_cut_give_the_same_bits(cuts: list[int]) -> None:
    X, action, reward = make_log()
    policy = OnlineRewardRegression(actions=range(K))
    bounds = [0, *sorted(cuts), 300]
    for first, last in pairwise(bounds):
        if first < last:
            policy.partial_fit(X[first:last], action[first:last], reward=reward[first:last], propensity=0.25)
    assert state(policy) == state(learned((X, action, reward)))


def test_constant_rates_teach_lists_what_they_teach_rows_spread_out() -> None:
    X, action, reward = make_log(150, MOST_COLUMNS + 40, density=0.1)
    X[:, MOST_COLUMNS:] = 0
    lists = learned((X, action, reward), learning_rate=0.05)
    narrow = X[:, :MOST_COLUMNS]
    spread_out = learned((narrow, action, reward), learning_rate=0.05)
    np.testing.assert_allclose(lists.predict_rewards(X), spread_out.predict_rewards(narrow), atol=1e-5)


# Each combination is compiled: those that differ in kind only.
@pytest.mark.parametrize(
    ("rate", "n_features", "n_bits"),
    [("adaptive", 7, None), ("adaptive", MOST_COLUMNS + 40, None), ("adaptive", 7, 12), (0.05, 7, None)],
)
def test_single_rows_and_sparse_rows_give_the_same_bits(rate: Any, n_features: int, n_bits: int | None) -> None:
    X, action, reward = make_log(150, n_features, density=0.1)
    S = sp.csr_matrix(X)
    whole = learned((X, action, reward), learning_rate=rate, n_bits=n_bits)
    sparse = learned((S, action, reward), learning_rate=rate, n_bits=n_bits)
    single, single_sparse = (
        OnlineRewardRegression(learning_rate=rate, n_bits=n_bits, actions=range(K)) for _ in range(2)
    )
    for i, (a, r) in enumerate(zip(action.tolist(), reward.tolist(), strict=True)):
        single.learn(X[i], a, r, 0.25)
        single_sparse.learn(S[i], a, r, 0.25)
    assert len({state(policy) for policy in (whole, sparse, single, single_sparse)}) == 1
    chosen = whole.predict(X)
    np.testing.assert_array_equal(sparse.predict(S), chosen)
    assert [whole.decide(x) for x in X] == chosen.tolist()
    assert [whole.decide(S[i]) for i in range(150)] == chosen.tolist()
    np.testing.assert_array_equal(whole.predict_rewards(S), whole.predict_rewards(X))
    np.testing.assert_array_equal(whole.predict_rewards(X).argmax(axis=1), chosen)


def test_many_sparse_rows_are_decided_on_from_a_table_as_each_alone() -> None:
    X, action, reward = make_log(4000, MOST_COLUMNS + 40, density=0.02)
    X.flat[::977] = 0.0
    S = sp.csr_matrix(X)
    S.data[::53] = 0.0  # stored, and of no account
    policy = learned((S, action, reward))
    assert policy._scaled_weights(S.nnz) is not None
    np.testing.assert_array_equal(policy.predict(S), [policy.decide(S[i]) for i in range(S.shape[0])])


def test_the_units_of_features_and_rewards_do_not_matter() -> None:
    X, action, reward = make_log()
    units = 2.0 ** np.array([-9, 3, 0, 14, -2, 1])
    assert np.array_equal(
        learned((X * units, action, reward)).predict(X * units), learned((X, action, reward)).predict(X)
    )
    policy = OnlineRewardRegression(reward_range=(-4, 4), actions=range(K))
    policy.partial_fit(X, action, reward=8 * reward - 4, propensity=0.25)
    np.testing.assert_allclose(
        policy.predict_rewards(X), 8 * learned((X, action, reward)).predict_rewards(X) - 4, atol=1e-5
    )


def test_the_range_of_the_rewards_is_the_one_it_began_with() -> None:
    X, action, reward = make_log()
    policy = learned((X, action, reward))
    expected = policy.predict_rewards(X)
    np.testing.assert_array_equal(policy.set_params(reward_range=(0, 10)).predict_rewards(X), expected)


def test_an_action_never_seen_is_worth_the_mean() -> None:
    X, action, reward = make_log()
    kept = action != 2
    policy = learned((X[kept], action[kept], reward[kept]))
    np.testing.assert_allclose(policy.predict_rewards(X)[:, 2], reward[kept].mean())
    # Where rewards are rare, what is new is not taken for the best of all.
    rare = OnlineRewardRegression(actions=range(K)).partial_fit(X, action, reward=np.zeros(300), propensity=0.25)
    assert rare.predict_rewards(X).max() < 0.05


def test_rewards_are_learned_well() -> None:
    X, y = load_digits(return_X_y=True)
    log = simulate_log(X, y, random_state=0)
    policy = OnlineRewardRegression(actions=range(10))
    for _ in range(5):
        policy.partial_fit(**log.arrays())
    assert (policy.predict(X) == y).mean() > 0.85


def test_a_stream_is_chosen_for_as_by_the_verbs() -> None:
    X, y = load_digits(return_X_y=True)
    compiled = EpochGreedy(OnlineRewardRegression(actions=range(10)), random_state=0)
    result = progressive_validation(compiled, X, y)
    explorer = EpochGreedy(OnlineRewardRegression(actions=range(10)), random_state=0)
    for x, label in zip(X, y.tolist(), strict=True):
        action, propensity = explorer.choose(x)
        explorer.learn(x, action, float(action == label), propensity)
    assert state(explorer.policy) == state(compiled.policy)
    assert result.error < 0.6


def test_masks_leave_out_actions_seen_or_not() -> None:
    X, action, reward = make_log()
    kept = action != 2
    policy = learned((X[kept], action[kept], reward[kept]))
    expected = policy.predict_rewards(X)
    mask = np.random.RandomState(1).uniform(size=(300, K)) < 0.5
    mask[np.arange(300), np.arange(300) % K] = True
    within = np.where(mask, expected, -np.inf).argmax(axis=1)
    np.testing.assert_array_equal(policy.predict(X, available=mask), within)


def test_files_and_copies_decide_alike_and_go_on_apart(tmp_path: Path) -> None:
    X, action, reward = make_log()
    kept = action != 2
    policy = learned((X[kept], action[kept], reward[kept]))
    save(policy, tmp_path / "policy.offsettree")
    np.testing.assert_array_equal(load(tmp_path / "policy.offsettree").predict(X), policy.predict(X))
    copy = pickle.loads(pickle.dumps(policy))
    before = state(policy)
    copy.partial_fit(X, action, reward=reward, propensity=0.25)
    assert state(policy) == before != state(copy)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"X": np.ones((3, 5))}, FeatureError),
        ({"X": np.full((3, 6), np.nan)}, FeatureError),
        ({"action": [0, 1, 9]}, ActionError),
        ({"reward": [0.0, 1.0, 2.0]}, RewardError),
        ({"propensity": [0.5, 0.0, 0.5]}, PropensityError),
    ],
)
def test_a_bad_chunk_is_refused_whole(change: dict[str, Any], error: type[Exception]) -> None:
    policy = learned(make_log())
    before = state(policy)
    chunk: dict[str, Any] = {
        "X": np.ones((3, 6)),
        "action": [0, 1, 2],
        "reward": [0.0, 1.0, 0.5],
        "propensity": [0.5] * 3,
    } | change
    with pytest.raises(error):
        policy.partial_fit(**chunk)
    assert state(policy) == before


def test_parameters_that_cannot_be_meant_are_refused() -> None:
    X, action, reward = make_log()
    for parameters, message in (
        ({"learning_rate": "fast"}, "learning_rate must be 'adaptive' or a number"),
        ({"learning_rate": 0}, "learning_rate must be 'adaptive' or a number"),
        ({"n_bits": 40}, "n_bits must be a whole number from 1 to 32"),
    ):
        with pytest.raises(ParameterError, match=message):
            learned((X, action, reward), **parameters)
    policy = learned((X, action, reward)).set_params(n_bits=9)
    with pytest.raises(ParameterError, match="must not change"):
        policy.learn(X[0], 0, 1.0, 0.5)
    with pytest.raises(AttributeError, match="has not learned"):
        _ = OnlineRewardRegression(actions=range(K)).n_rows_seen_
