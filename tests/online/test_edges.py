"""What online policies of all kinds do at the edges: rows put together wrongly, names, tiny values, masks."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from offsettree import Banditron, OnlineOffsetTree, OnlineRewardRegression
from offsettree.exceptions import ActionError, FeatureError, ParameterError, RewardError
from offsettree.online._layout import MOST_COLUMNS


def make_log() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    random = np.random.RandomState(0)
    X, action = random.standard_normal((100, 5)), random.randint(0, 4, 100)
    return X, action, random.uniform(size=100), random.uniform(0.1, 1, 100)


def numbers(policy: Any) -> list[bytes]:
    return [b"" if array is None else array.tobytes() for array in policy._model]


def stray_rows() -> list[sp.csr_matrix]:
    """Return matrices whose rows begin or end outside of what they store."""
    far, short, falling = (sp.csr_matrix(np.ones((1, 5))) for _ in range(3))
    far.indptr[1] = 2**30
    short.data = short.data[:1]
    falling.indptr[0] = 3
    two = sp.csr_matrix(np.ones((2, 5)))
    two.indptr[1] = 11
    return [far, short, falling, two]


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("policy", [OnlineOffsetTree, OnlineRewardRegression, Banditron])
def test_a_sparse_row_that_is_put_together_wrongly_is_refused(policy: Any, place: int) -> None:
    X, action, reward, propensity = make_log()
    fitted = policy(actions=range(4)).partial_fit(X, action, reward=reward, propensity=propensity)
    stray = stray_rows()[place]
    n_rows = stray.shape[0]
    calls: list[Callable[[], Any]] = [
        lambda: fitted.predict(stray),
        lambda: fitted.partial_fit(stray, [0] * n_rows, reward=[1.0] * n_rows, propensity=0.5),
    ]
    if n_rows == 1:
        calls += [lambda: fitted.decide(stray), lambda: fitted.learn(stray, 0, 1.0, 0.5)]
    before = pickle.dumps(fitted)
    for call in calls:
        with pytest.raises(FeatureError, match="indptr"):
            call()
    assert pickle.dumps(fitted) == before


def test_a_first_row_by_name_is_learned_from() -> None:
    by_name = OnlineOffsetTree(actions=["mail", "call"]).learn({"age": 3.0, "income": 1.0}, "mail", 1.0, 0.5)
    assert by_name.feature_names_in_.tolist() == ["age", "income"]
    by_frame = OnlineOffsetTree(actions=["mail", "call"])
    by_frame.partial_fit(pd.DataFrame({"age": [3.0], "income": [1.0]}), ["mail"], reward=[1.0], propensity=0.5)
    assert numbers(by_name) == numbers(by_frame)
    fresh = OnlineOffsetTree(actions=["mail", "call"])
    with pytest.raises(ActionError):
        fresh.learn({"age": 3.0}, "fax", 1.0, 0.5)
    assert not hasattr(fresh, "feature_names_in_")


def test_an_attribute_that_changes_is_noticed_by_single_rows_too() -> None:
    X, action, reward, propensity = make_log()
    policy = OnlineOffsetTree(actions=range(4)).partial_fit(X, action, reward=reward, propensity=propensity)
    policy.offset = 0.2
    with pytest.raises(ParameterError, match="must not change"):
        policy.learn(np.ones(5), 0, 1.0, 0.5)
    policy.offset = 0.5
    policy.learn(np.ones(5), 0, 1.0, 0.5)
    assert "_row_checks" in policy.__dict__


def test_single_rows_and_chunks_refuse_the_same_rewards() -> None:
    policy = OnlineOffsetTree(reward_range=(-0.1, 0.3), actions=[0, 1])
    policy.learn(np.ones(5), 0, 0.3, 0.5)
    with pytest.raises(RewardError, match=r"0\.30000000000000004"):
        policy.learn(np.ones(5), 0, 0.30000000000000004, 0.5)


@pytest.mark.parametrize("n_features", [20, MOST_COLUMNS + 40])
@pytest.mark.parametrize("policy", [OnlineOffsetTree, OnlineRewardRegression])
def test_features_as_small_as_1e_15_are_learned_from(policy: Any, n_features: int) -> None:
    random = np.random.RandomState(0)
    X = np.zeros((2000, n_features))
    X[:, 3] = random.choice([-1e-15, 1e-15], 2000)
    action = random.randint(0, 2, 2000)
    reward = ((X[:, 3] > 0) == (action == 1)).astype(float)
    fitted = policy(actions=[0, 1]).partial_fit(X, action, reward=reward, propensity=0.5)
    assert ((X[:, 3] > 0) == fitted.predict(X)).mean() > 0.99


@pytest.mark.parametrize("shape", ["balanced", "random", "chain"])
def test_masks_are_obeyed_by_trees_of_any_shape(shape: str) -> None:
    random = np.random.RandomState(1)
    k = 9
    chain: Any = 0
    for label in range(1, k):
        chain = (chain, label)
    X, reward, action = random.standard_normal((400, 5)), random.uniform(size=400), random.randint(0, k, 400)
    policy = OnlineOffsetTree(tree=chain if shape == "chain" else shape, actions=range(k), random_state=0)
    policy.partial_fit(X, action, reward=reward, propensity=1 / k)
    mask = random.uniform(size=(400, k)) < 0.3
    mask[np.arange(400), random.randint(0, k, 400)] = True
    tree, scales = policy.tree_, policy._model.scales
    weights = policy._model.weights[::2, :6]

    def winner(node: int, row: int) -> int | None:
        """Let the winners of both sides meet, if there are two."""
        if node < 0:
            return int(~node) if mask[row, ~node] else None
        left, right = winner(int(tree.left[node]), row), winner(int(tree.right[node]), row)
        if left is None or right is None:
            return right if left is None else left
        return left if weights[node] @ np.append(X[row] * scales[:5], 1.0) > 0 else right

    assert policy.predict(X, mask).tolist() == [winner(0, row) for row in range(400)]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 2e15, -1e300])
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("policy", [OnlineOffsetTree, OnlineRewardRegression, Banditron])
def test_a_long_chunk_with_one_bad_number_leaves_no_trace(policy: Any, begun: bool, bad: float) -> None:
    random = np.random.RandomState(0)
    X, action = random.standard_normal((3000, 5)), random.randint(0, 4, 3000)
    outcome: dict[str, Any] = {"reward": random.uniform(size=3000), "propensity": 0.25}
    X[1700, 3] = bad
    learner = policy(actions=range(4))
    if begun:
        learner.partial_fit(X[:200], action[:200], reward=outcome["reward"][:200], propensity=0.25)
        assert policy is Banditron or learner._can_check_afterwards(X)
    before = pickle.dumps(learner)
    with pytest.raises(FeatureError, match=r"row 1700.*column 3|within 1e\+15"):
        learner.partial_fit(X, action, **outcome)
    assert pickle.dumps(learner) == before
    X[1700, 3] = 1e15
    learner.partial_fit(X, action, **outcome)
    looked_at = policy(actions=range(4))  # before it learns, as the order is not that of the kernels
    if begun:
        looked_at.partial_fit(X[:200], action[:200], reward=outcome["reward"][:200], propensity=0.25)
    looked_at.partial_fit(np.asfortranarray(X), action, **outcome)
    assert numbers(looked_at) == numbers(learner)
