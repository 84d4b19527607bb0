"""The online offset tree against a plain reading of it, and against its promises."""

from __future__ import annotations

import copy
import itertools
import pickle
import threading
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone

from offsettree import ActionTree, OnlineOffsetTree, simulate_log
from offsettree.exceptions import (
    ActionError,
    FeatureError,
    LogError,
    ParameterError,
    PropensityError,
    RewardError,
    TopologyError,
)
from offsettree.online._layout import MOST_COLUMNS, SPACING
from tests.online.reading import PlainTree

Log = tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any]]
LOSSES = ["hinge", "logistic", "perceptron"]


def make_log(n_rows: int = 300, n_features: int = 5, n_actions: int = 5, seed: int = 0) -> Log:
    random = np.random.RandomState(seed)
    X = random.standard_normal((n_rows, n_features)) * 10.0 ** random.randint(-2, 3, n_features)
    X[random.uniform(size=X.shape) < 0.3] = 0
    action = random.randint(n_actions, size=n_rows)
    best = (X @ random.standard_normal((n_features, n_actions))).argmax(axis=1)
    reward = np.clip((action == best) * 0.7 + random.uniform(0, 0.3, n_rows), 0, 1)
    return X, action, reward, random.uniform(0.05, 0.9, n_rows)


def learned(policy: OnlineOffsetTree, log: Log, cuts: list[int] | None = None) -> OnlineOffsetTree:
    X, action, reward, propensity = log
    edges = [0, *sorted(cuts or []), len(action)]
    for first, last in itertools.pairwise(edges):
        if last > first:
            rows = slice(first, last)
            policy.partial_fit(X[rows], action[rows], reward=reward[rows], propensity=propensity[rows])
    return policy


def weights(policy: OnlineOffsetTree) -> NDArray[np.float32]:
    """One row per contest; where rates adapt, each lies beside one of squared gradients."""
    return np.asarray(policy._model.weights[:: int(policy._model.layout[SPACING])])


def numbers(policy: OnlineOffsetTree) -> list[bytes]:
    return [b"" if array is None else array.tobytes() for array in policy._model]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rate", ["adaptive", 0.3])
@pytest.mark.parametrize("offset", [0.5, "mean"])
@pytest.mark.parametrize("realizable", [False, True])
def test_a_plain_reading_of_the_algorithm_learns_the_same_weights(
    loss: Any, rate: Any, offset: Any, realizable: bool
) -> None:
    X, action, reward, propensity = make_log(n_rows=120)
    X = (X / np.abs(X).max(axis=0)).astype(np.float32).astype(np.float64)
    tree = ActionTree.random(5, random_state=1)
    policy = OnlineOffsetTree(
        loss=loss, learning_rate=rate, tree=tree, offset=offset, realizable=realizable, actions=range(5)
    )
    policy.partial_fit(X, action, reward=reward, propensity=propensity)
    adaptive = rate == "adaptive" and loss != "perceptron"
    pace = 0.5 if adaptive else 1.0 if rate == "adaptive" else rate
    plain = PlainTree(tree, 5, loss, adaptive=adaptive, rate=pace, offset=offset, realizable=realizable)
    for row in zip(X, action, reward, propensity, strict=True):
        plain.learn(*row)
    np.testing.assert_array_equal(policy.node_rows_, plain.heard)
    np.testing.assert_allclose(
        weights(policy)[:, :6], plain.weights, rtol=2e-3, atol=2e-4 * np.abs(plain.weights).max()
    )
    decided = [plain.decide(x) for x in X]
    assert np.mean(policy.predict(X) == decided) >= 0.98  # ties within the rounding of float32


@pytest.mark.parametrize("loss", LOSSES)
@given(cuts=st.lists(st.integers(0, 300), max_size=12))
@settings(max_examples=15, deadline=None)
def test_chunks_however_cut_give_the_same_bits(loss: Any, cuts: list[int]) -> None:
    log = make_log()
    whole = learned(OnlineOffsetTree(loss=loss, actions=range(5)), log)
    assert numbers(learned(OnlineOffsetTree(loss=loss, actions=range(5)), log, cuts)) == numbers(whole)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("n_bits", [None, 10])
def test_single_rows_give_the_same_bits_as_one_call(loss: Any, kind: Any, n_bits: int | None) -> None:
    X, action, reward, propensity = make_log()
    X = X.astype(kind)
    whole = learned(OnlineOffsetTree(loss=loss, n_bits=n_bits, actions=range(5)), (X, action, reward, propensity))
    single = OnlineOffsetTree(loss=loss, n_bits=n_bits, actions=range(5))
    for x, a, r, p in zip(X, action.tolist(), reward.tolist(), propensity.tolist(), strict=True):
        single.learn(x, a, r, p)
    assert numbers(single) == numbers(whole)
    assert [single.decide(x) for x in X] == whole.predict(X).tolist()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_features", [7, MOST_COLUMNS + 40])
@pytest.mark.parametrize("n_bits", [None, 12])
def test_sparse_equals_dense_to_the_bit(loss: Any, n_features: int, n_bits: int | None) -> None:
    X, action, reward, propensity = make_log(n_features=n_features)
    X[:, 20:] *= np.random.RandomState(1).uniform(size=X[:, 20:].shape) < 0.02
    dense = learned(OnlineOffsetTree(loss=loss, n_bits=n_bits, actions=range(5)), (X, action, reward, propensity))
    for form in (sp.csr_matrix(X), sp.csr_array(X), with_long_indices(X)):
        sparse = OnlineOffsetTree(loss=loss, n_bits=n_bits, actions=range(5))
        sparse.partial_fit(form, action, reward=reward, propensity=propensity)
        assert numbers(sparse) == numbers(dense)
        np.testing.assert_array_equal(sparse.predict(form), dense.predict(X))
        assert sparse.decide(form[:1]) == dense.decide(X[0])


@pytest.mark.parametrize("n_features", [7, MOST_COLUMNS + 40])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_single_sparse_rows_give_the_same_bits_as_one_call(n_features: int, kind: Any) -> None:
    X, action, reward, propensity = make_log(n_rows=60, n_features=n_features)
    X = X.astype(kind)
    whole = learned(OnlineOffsetTree(actions=range(5)), (X, action, reward, propensity))
    single = OnlineOffsetTree(actions=range(5))
    rows = [sp.csr_matrix(X)[i] for i in range(len(X))]
    for i, row in enumerate(rows):
        if i % 3 == 0:  # out of order: put right before it is learned from
            row = sp.csr_matrix((row.data[::-1], row.indices[::-1], row.indptr), shape=row.shape)
        single.learn(row, int(action[i]), float(reward[i]), float(propensity[i]))
    assert numbers(single) == numbers(whole)
    assert [single.decide(row) for row in rows] == whole.predict(X).tolist()


@pytest.mark.parametrize("index", [-1, 5])
def test_a_sparse_row_with_an_entry_outside_is_refused(index: int) -> None:
    policy = learned(OnlineOffsetTree(actions=range(5)), make_log())
    row = sp.csr_matrix((1, 5))
    row.data, row.indices, row.indptr = np.ones(1), np.array([index], dtype=np.int32), np.array([0, 1], dtype=np.int32)
    state = pickle.dumps(policy)
    with pytest.raises(FeatureError, match="column indices from 0 to 4"):
        policy.learn(row, 1, 1.0, 0.5)
    with pytest.raises(FeatureError, match="column indices from 0 to 4"):
        policy.decide(row)
    assert pickle.dumps(policy) == state


def with_long_indices(X: NDArray[Any]) -> Any:
    matrix = sp.csr_matrix(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def test_entries_that_are_stored_as_zero_do_not_matter() -> None:
    X, action, reward, propensity = make_log(n_features=MOST_COLUMNS + 1)
    explicit = sp.csr_matrix(np.ones_like(X))
    explicit.data[:] = X.ravel()
    policies = [
        learned(OnlineOffsetTree(actions=range(5)), (form, action, reward, propensity)) for form in (X, explicit)
    ]
    assert numbers(policies[0]) == numbers(policies[1])


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@given(powers=st.lists(st.integers(-20, 20), min_size=5, max_size=5))
@settings(max_examples=10, deadline=None)
def test_the_units_of_a_feature_do_not_matter(loss: Any, powers: list[int]) -> None:
    X, action, reward, propensity = make_log()
    units = 2.0 ** np.array(powers)
    policy = learned(OnlineOffsetTree(loss=loss, actions=range(5)), (X, action, reward, propensity))
    scaled = learned(OnlineOffsetTree(loss=loss, actions=range(5)), (X * units, action, reward, propensity))
    np.testing.assert_array_equal(scaled._model.weights, policy._model.weights)
    np.testing.assert_array_equal(scaled.predict(X * units), policy.predict(X))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_common_factor_of_propensities_does_not_matter(loss: Any) -> None:
    X, action, reward, propensity = make_log()
    policy = learned(OnlineOffsetTree(loss=loss, actions=range(5)), (X, action, reward, propensity))
    rarer = learned(OnlineOffsetTree(loss=loss, actions=range(5)), (X, action, reward, propensity / 4))
    np.testing.assert_array_equal(rarer._model.weights, policy._model.weights)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rate", ["adaptive", 0.1])
def test_a_weight_of_a_thousand_does_not_blow_up_the_model(loss: Any, rate: Any) -> None:
    X, action, reward, propensity = make_log(n_rows=2000)
    propensity[:] = 0.2
    calm = learned(OnlineOffsetTree(loss=loss, learning_rate=rate, actions=range(5)), (X, action, reward, propensity))
    loud = copy.deepcopy(calm)
    x = X[7]
    loud.learn(x, 3, 0.0, 0.2 / 1000)
    before, after = weights(calm), weights(loud)
    assert np.isfinite(after).all()
    z = np.append(x * calm._model.scales[:5], 1) if calm._model.scales is not None else np.append(x, 1)
    # The contest is taken to where its loss is flat, give or take a step; not a thousand steps beyond.
    margins = np.abs(after[:, :6] @ z)
    largest_step = {"hinge": 1.0, "logistic": 12.0, "perceptron": (z @ z)}[loss] + 1e-3
    assert (margins <= np.maximum(np.abs(before[:, :6] @ z), largest_step) + 1e-3).all()


def test_a_large_weight_equals_as_many_small_ones_for_constant_rates() -> None:
    x = make_log(n_rows=1)[0][0]
    x /= np.abs(x).max()
    for loss in ("hinge", "logistic"):
        once, often = (OnlineOffsetTree(loss=loss, learning_rate=0.05, actions=[0, 1]) for _ in range(2))
        for policy in (once, often):
            policy.learn(x, 0, 1.0, 1.0)
        # Weights are relative to the mean so far, which must stay the same in both.
        for _ in range(8):
            often.learn(x, 0, 1.0, 1.0)
        once._model.contests[0] = [1e12, 0.5e12, 1]
        once.learn(x, 0, 1.0, 1 / 8)
        np.testing.assert_allclose(weights(once), weights(often), rtol=1e-3)


def test_realizable_ignores_propensities() -> None:
    X, action, reward, propensity = make_log()
    policy, other = (OnlineOffsetTree(realizable=True, actions=range(5)) for _ in range(2))
    learned(policy, (X, action, reward, propensity))
    learned(other, (X, action, reward, np.full(len(X), 0.7)))
    assert numbers(policy) == numbers(other)


def test_a_reward_at_the_offset_says_nothing() -> None:
    policy = OnlineOffsetTree(actions=["a", "b"]).partial_fit([[1.0]], ["a"], reward=[0.5], propensity=[0.5])
    assert policy.n_rows_seen_ == 1
    assert policy.node_rows_.tolist() == [0]


def test_hashed_weights_are_bounded_whatever_the_vocabulary() -> None:
    random = np.random.RandomState(0)
    n_rows, n_columns = 3000, 2**40
    word = random.randint(0, 3, n_rows)
    matrix = sp.csr_matrix(
        (np.ones(n_rows, dtype=np.float32), word.astype(np.int64) * 12_345_678_901, np.arange(n_rows + 1)),
        shape=(n_rows, n_columns),
    )
    action = random.randint(0, 3, n_rows)
    policy = OnlineOffsetTree(n_bits=14, actions=range(3))
    policy.partial_fit(matrix, action, reward=(action == word) * 1.0, propensity=1 / 3)
    assert policy._model.weights.size == 2 * policy._model.scales.size == 2 * 2**14
    np.testing.assert_array_equal(policy.predict(matrix), word)


def test_hashing_into_enough_weights_decides_as_without() -> None:
    log = make_log(n_rows=1000)
    plain = learned(OnlineOffsetTree(actions=range(5)), log)
    hashed = learned(OnlineOffsetTree(n_bits=20, actions=range(5)), log)
    assert np.mean(plain.predict(log[0]) == hashed.predict(log[0])) > 0.97


def test_policies_learn_well_from_digits() -> None:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    log = simulate_log(X[:1500], y[:1500], random_state=0)
    for loss in ("hinge", "logistic"):
        policy = OnlineOffsetTree(loss=loss, tree="random", actions=range(10), random_state=0)
        for _ in range(10):
            policy.partial_fit(**log.arrays())
        assert np.mean(policy.predict(X[1500:]) == y[1500:]) > 0.55


def test_fit_is_one_pass_from_the_start() -> None:
    X, action, reward, propensity = make_log()
    policy = OnlineOffsetTree().fit(X, action, reward=reward, propensity=propensity)
    again = policy.fit(X, action, reward=reward, propensity=propensity)
    fresh = learned(OnlineOffsetTree(actions=range(5)), (X, action, reward, propensity))
    assert numbers(again) == numbers(fresh)


BAD_CHUNKS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "another number of features": ({"X": np.ones((2, 4))}, FeatureError, "4 features"),
    "an unknown action": ({"action": [0, 9]}, ActionError, "row 1 has 9"),
    "NaN": ({"X": [[0.0] * 5, [np.nan] * 5]}, FeatureError, "row 1"),
    "infinity": ({"X": [[np.inf] * 5, [0.0] * 5]}, FeatureError, "row 0"),
    "a value too large": ({"X": [[1e20] * 5, [0.0] * 5]}, FeatureError, "1e\\+20"),
    "propensity 0": ({"propensity": [0.5, 0.0]}, PropensityError, "row 1"),
    "no propensity": ({"propensity": None}, PropensityError, "missing"),
    "a reward outside": ({"reward": [0.0, 1.5]}, RewardError, "row 1"),
    "a missing reward": ({"reward": [0.0, np.nan]}, RewardError, "row 1"),
    "too few rewards": ({"reward": [1.0]}, LogError, "1"),
    "labels of another kind": ({"action": ["a", "b"]}, ActionError, "strings"),
}


@pytest.mark.parametrize("name", BAD_CHUNKS)
@pytest.mark.parametrize("begun", [True, False])
def test_a_bad_chunk_is_refused_whole(name: str, begun: bool) -> None:
    change, error, message = BAD_CHUNKS[name]
    good: dict[str, Any] = {"X": np.ones((2, 5)), "action": [0, 1], "reward": [0.0, 1.0], "propensity": [0.5, 0.5]}
    policy = OnlineOffsetTree(actions=range(5))
    if begun:
        learned(policy, make_log())
    elif name == "another number of features":
        return
    state = pickle.dumps(policy)
    with pytest.raises(error, match=message):
        policy.partial_fit(**(good | change))
    assert pickle.dumps(policy) == state


@pytest.mark.parametrize("x", [np.full(5, np.nan), np.full(5, 1e16), np.ones(4), "text", np.ones((2, 5))])
def test_a_bad_row_is_refused(x: Any) -> None:
    policy = learned(OnlineOffsetTree(actions=range(5)), make_log())
    state = pickle.dumps(policy)
    with pytest.raises(FeatureError):
        policy.learn(x, 1, 1.0, 0.5)
    with pytest.raises(FeatureError):
        policy.decide(x)
    assert pickle.dumps(policy) == state


@pytest.mark.parametrize(
    ("action", "reward", "propensity", "error"),
    [
        (7, 1.0, 0.5, ActionError),
        (1, 1.5, 0.5, RewardError),
        (1, 1.0, 0.0, PropensityError),
        (1, 1.0, 2, PropensityError),
    ],
)
def test_a_bad_outcome_is_refused(action: Any, reward: Any, propensity: Any, error: type[Exception]) -> None:
    policy = learned(OnlineOffsetTree(actions=range(5)), make_log())
    state = pickle.dumps(policy)
    with pytest.raises(error):
        policy.learn(np.ones(5), action, reward, propensity)
    assert pickle.dumps(policy) == state


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "squared"}, "loss must be one of"),
        ({"learning_rate": 0}, "learning_rate must be"),
        ({"learning_rate": "fast"}, "learning_rate must be"),
        ({"offset": 2}, "offset must be"),
        ({"offset": "median"}, "offset must be"),
        ({"n_bits": 40}, "n_bits must be"),
        ({"n_bits": 2.5}, "n_bits must be"),
        ({"realizable": "yes"}, "realizable must be"),
        ({"tree": "learned"}, "ActionTree.learned"),
        ({"tree": "bushy"}, "tree must be"),
        ({"actions": None}, "actions="),
        ({"actions": ["a"]}, "at least two"),
        ({"reward_range": (1, 0)}, "reward_range"),
    ],
)
def test_parameters_that_cannot_be_meant_are_refused(parameters: dict[str, Any], message: str) -> None:
    policy = OnlineOffsetTree(**({"actions": ["a", "b"]} | parameters))
    with pytest.raises((ParameterError, TopologyError), match=message):
        policy.partial_fit([[1.0]], ["a"], reward=[1.0], propensity=[0.5])


def test_more_weights_than_can_be_kept_ask_for_hashing() -> None:
    wide = sp.csr_matrix((1, 2_000_000_000))
    with pytest.raises(ParameterError, match="n_bits"):
        OnlineOffsetTree(actions=range(10)).partial_fit(wide, [1], reward=[1.0], propensity=[0.5])


def test_decisions_can_be_taken_before_the_first_row() -> None:
    policy = OnlineOffsetTree(actions=["a", "b", "c"])
    assert policy.decide([1.0, 2.0]) in ("a", "b", "c")
    assert policy.choose(np.array([1.0, 2.0])) == (policy.decide([1.0, 2.0]), 1.0)
    with pytest.raises(FeatureError):
        policy.learn([1.0], "a", 1.0, 0.5)


def test_frames_and_contexts_by_name() -> None:
    frame = pd.DataFrame({"age": [20.0, 60.0] * 50, "new": [True, False] * 50})
    action = np.array(["mail", "call"] * 50)
    policy = OnlineOffsetTree(actions=["call", "mail"])
    policy.partial_fit(frame, action, reward=np.ones(100), propensity=0.5)
    assert policy.feature_names_in_.tolist() == ["age", "new"]
    assert policy.decide({"age": 20.0, "new": True}) == policy.predict(frame)[0]
    policy.learn({"age": 20.0, "new": 1.0}, "mail", 1.0, 0.5)
    assert policy.n_rows_seen_ == 101


def test_copies_learn_apart(tmp_path: Path) -> None:
    policy = learned(OnlineOffsetTree(actions=range(5)), make_log())
    joblib.dump(policy, tmp_path / "policy")
    twins = copy.deepcopy(policy), pickle.loads(pickle.dumps(policy)), joblib.load(tmp_path / "policy")
    mapped = joblib.load(tmp_path / "policy", mmap_mode="r")
    state = numbers(policy)
    X = make_log(seed=1)[0]
    for twin in (*twins, mapped):
        before = twin.predict(X)
        learned(twin, make_log(seed=1))
        twin.learn(X[0], 1, 1.0, 0.5)
        assert numbers(twin) != state
        assert (twin.predict(X) != before).any()  # it decides by what it learns into
    assert numbers(policy) == state
    assert len({tuple(numbers(twin)) for twin in (*twins, mapped)}) == 1


def test_threads_may_decide_at_the_same_time() -> None:
    log = make_log(n_rows=500, n_features=MOST_COLUMNS + 10)
    X = log[0]
    policy = learned(OnlineOffsetTree(actions=range(5)), log)
    expected = policy.predict(X).tolist()
    found: list[list[int]] = []
    threads = [threading.Thread(target=lambda: found.append([policy.decide(x) for x in X])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_what_has_not_begun_has_no_rows() -> None:
    policy = OnlineOffsetTree(actions=range(3))
    assert not hasattr(policy, "node_rows_")
    assert not hasattr(policy, "n_rows_seen_")


def test_rows_in_any_form_are_decided_on_alike() -> None:
    log = make_log()
    X = log[0]
    policy = learned(OnlineOffsetTree(actions=range(5)), log)
    expected = policy.predict(X).tolist()
    by_columns = np.asfortranarray(X)
    assert [policy.decide(x) for x in by_columns] == expected
    assert [policy.decide(x.tolist()) for x in X] == expected
    assert [policy.decide(tuple(x)) for x in X] == expected
    assert policy.decide([1, 0, 0, 2, 3]) == policy.decide(np.array([1.0, 0, 0, 2, 3]))
    twin = copy.deepcopy(policy)
    policy.learn(by_columns[3], np.int64(2), np.float64(1.0), float(np.float32(0.5)))
    twin.learn(X[3].copy(), 2, 1.0, 0.5)
    assert numbers(policy) == numbers(twin)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("tiny", [1e-4, 1e-12, 1e-290])
@pytest.mark.parametrize("at", [0, 300])
def test_one_tiny_propensity_does_not_end_the_learning(loss: Any, tiny: float, at: int) -> None:
    random = np.random.RandomState(0)
    X = random.standard_normal((6000, 5))
    y = (X @ random.standard_normal((5, 4))).argmax(axis=1)
    action = random.randint(0, 4, 6000)
    propensity = np.full(6000, 0.25)
    shares = []
    for p in (0.25, tiny):
        propensity[at] = p
        log = X[:5000], action[:5000], (action == y)[:5000] * 1.0, propensity[:5000]
        policy = learned(OnlineOffsetTree(loss=loss, actions=range(4)), log)
        assert np.isfinite(policy._model.weights).all()
        shares.append(np.mean(policy.predict(X[5000:]) == y[5000:]))
    assert shares[1] > shares[0] - 0.12


def test_rewards_equal_to_the_offset_but_for_rounding_say_nothing() -> None:
    policy = OnlineOffsetTree(actions=[0, 1], reward_range=(0.1, 0.7))
    policy.partial_fit([[1.0]] * 3, [0, 1, 0], reward=[0.4] * 3, propensity=0.5)
    assert policy.node_rows_.tolist() == [0]


@pytest.mark.parametrize("change", [{"reward_range": (0, 10)}, {"loss": "logistic"}, {"realizable": True}])
def test_parameters_must_not_change_once_learning_has_begun(change: dict[str, Any]) -> None:
    policy = learned(OnlineOffsetTree(actions=range(5)), make_log())
    decided = policy.decide(np.ones(5))
    policy.set_params(**change)
    with pytest.raises(ParameterError, match="must not change"):
        policy.learn(np.ones(5), 1, 1.0, 0.5)
    with pytest.raises(ParameterError, match="must not change"):
        policy.partial_fit(np.ones((1, 5)), [1], reward=[1.0], propensity=0.5)
    assert policy.decide(np.ones(5)) == decided
    X, action, reward, propensity = make_log()
    policy.fit(X, action, reward=reward, propensity=propensity)


def test_what_is_refused_before_the_first_row_settles_nothing() -> None:
    policy = OnlineOffsetTree(actions=range(3))
    for bad in (np.ones((2, 4)), np.full(4, 1e16), np.full(4, np.nan), "text"):
        with pytest.raises(FeatureError):
            policy.decide(bad)
    assert policy.decide(np.ones(5)) in range(3)


def test_a_first_context_by_name_settles_the_names() -> None:
    policy = OnlineOffsetTree(actions=["mail", "call"])
    action, propensity = policy.choose({"age": 20.0, "new": 1.0})
    policy.learn({"new": 1.0, "age": 20.0}, action, 1.0, propensity)
    assert policy.feature_names_in_.tolist() == ["age", "new"]
    assert OnlineOffsetTree(actions=[0, 1]).decide(pd.Series({"age": 20.0, "new": 1.0})) in (0, 1)


def test_values_far_beyond_what_was_seen_are_decided_on() -> None:
    random = np.random.RandomState(0)
    X = random.choice([-1.0, 1.0], size=(500, 1)) * 1e-14
    right = (X[:, 0] > 0).astype(int)
    policy = OnlineOffsetTree(actions=[0, 1]).partial_fit(X, right, reward=np.ones(500), propensity=0.5)
    assert [policy.decide(np.array([x])) for x in (-1e14, 1e14)] == [0, 1]


@pytest.mark.parametrize("n_bits", [None, 13])
def test_many_sparse_rows_are_decided_on_as_each_alone_though_sums_cancel(n_bits: int | None) -> None:
    random = np.random.RandomState(0)
    X = sp.csr_matrix(sp.random(400, MOST_COLUMNS + 10, density=0.03, random_state=0))
    X.data = random.choice([-1.0, 1.0, 2.0], size=X.nnz)
    action = random.randint(0, 4, 400)
    policy = OnlineOffsetTree(n_bits=n_bits, actions=range(4))
    policy.partial_fit(X, action, reward=random.randint(0, 2, 400) * 1.0, propensity=0.25)
    chosen = policy.predict(X).tolist()
    assert [policy.decide(X[i]) for i in range(400)] == chosen
    assert policy.predict(X.toarray()).tolist() == chosen
    explicit = X.copy()
    explicit.data[::7] = 0
    stored = explicit.copy()
    explicit.eliminate_zeros()
    assert policy.predict(stored).tolist() == policy.predict(explicit).tolist()


@pytest.mark.parametrize("constant", [-3.0, 8.0])
def test_a_constant_added_to_all_rewards_does_not_matter(constant: float) -> None:
    X, action, reward, propensity = make_log()
    reward = np.round(reward * 4) / 4  # so that adding the constant loses nothing
    for offset in (0.25, "mean"):
        plain = OnlineOffsetTree(offset=offset, actions=range(5))
        shifted = clone(plain).set_params(reward_range=(constant, constant + 1))
        learned(plain, (X, action, reward, propensity))
        learned(shifted, (X[:200], action[:200], reward[:200] + constant, propensity[:200]))
        for i in range(200, len(X)):
            shifted.learn(X[i], int(action[i]), float(reward[i] + constant), float(propensity[i]))
        assert numbers(shifted) == numbers(plain)


def test_a_generator_of_numpy_draws_the_tree() -> None:
    drawn = [
        OnlineOffsetTree(tree="random", actions=range(50), random_state=np.random.default_rng(seed))
        for seed in (0, 0, 1)
    ]
    for policy in drawn:
        policy.decide(np.ones(3))
    first, again, other = (policy.tree_.left.tolist() for policy in drawn)
    assert first == again != other
    with pytest.raises(ParameterError, match="random_state must be"):
        OnlineOffsetTree(tree="random", actions=range(5), random_state="seven").decide(np.ones(3))  # type: ignore[arg-type]
