"""Exploration among the actions of each row: with features, or labels of which some are available."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsettree import (
    EpochGreedy,
    EpsilonGreedy,
    OnlineActionRegression,
    OnlineOffsetTree,
    OnlineRewardRegression,
    SquareCB,
    simulate_catalogue,
)
from offsettree.actions import ActionOffsetTree
from offsettree.exceptions import ActionError, ParameterError
from offsettree.online.square_cb import inverse_gap_weights

TRAIN, TEST = simulate_catalogue(2000, 30, 5, random_state=0).split_days(8)
POLICY = OnlineActionRegression().fit(**TRAIN.log.arrays())
EXPLORERS: dict[str, Any] = {
    "epsilon": lambda policy: EpsilonGreedy(policy, epsilon=0.4, random_state=0),
    "epoch": lambda policy: EpochGreedy(policy, constant=0.5, random_state=0),
    "epoch, explored": lambda policy: EpochGreedy(policy, learn_from="exploration", random_state=0),
    "square": lambda policy: SquareCB(policy, gamma_scale=5.0, exponent=0.0, random_state=0),
}


@pytest.mark.parametrize("name", EXPLORERS)
def test_actions_are_taken_as_often_as_their_propensities_say(name: str) -> None:
    one = TEST.sets.take([3])
    n_draws = 3000
    taken, total = Counter[int](), Counter[int]()
    explorer = EXPLORERS[name](POLICY)
    for _ in range(n_draws):
        explorer._n_chosen = 0  # the rate of the first row, again and again
        before = explorer.predict_proba(TEST.log.X[3:4], action_sets=one)
        action, propensity = explorer.choose(TEST.log.X[3], one)
        assert propensity == pytest.approx(before[one[0].index(action)])
        taken[action] += 1
        total[action] += 1 / propensity
    assert before.sum() == pytest.approx(1)
    assert set(taken) == set(one[0])
    for action in one[0]:
        # Inverse propensities of any action sum to the number of draws.
        assert total[action] / n_draws == pytest.approx(1, abs=0.35)


@pytest.mark.parametrize("name", EXPLORERS)
def test_before_the_first_row_all_are_equally_likely_and_then_it_learns(name: str) -> None:
    explorer = EXPLORERS[name](OnlineActionRegression())
    catalogue = simulate_catalogue(3000, 20, 4, random_state=2)
    random = np.random.default_rng(0)
    for row in range(3000):
        actions = catalogue.sets.take([row])
        action, propensity = explorer.choose(catalogue.log.X[row], actions)
        if row == 0:
            assert propensity == pytest.approx(0.25)
        span = slice(catalogue.sets.starts[row], catalogue.sets.starts[row + 1])
        expected = catalogue.expected[span][actions[0].index(action)]
        explorer.learn(catalogue.log.X[row], action, float(random.random() < expected), propensity, actions)
    value = catalogue.value(explorer.predict(catalogue.log.X, action_sets=catalogue.sets))
    assert value > catalogue.uniform_value + 0.5 * (catalogue.best_value - catalogue.uniform_value)


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=6), min_size=1, max_size=4), st.floats(0, 1000))
def test_inverse_gap_weights_are_probabilities_that_rise_with_the_reward(rows: list[list[float]], gamma: float) -> None:
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    flat = inverse_gap_weights(np.concatenate(rows), starts, gamma)
    for row, chances in zip(rows, np.split(flat, starts[1:-1]), strict=True):
        assert chances.sum() == pytest.approx(1)
        assert (chances > 0).all()
        best = int(np.argmax(row))
        assert chances[best] >= 1 / len(row) - 1e-12
        for place, reward in enumerate(row):
            if place != best:
                assert chances[place] == pytest.approx(1 / (len(row) + gamma * (row[best] - reward)))


@pytest.mark.parametrize("make", [OnlineOffsetTree, OnlineRewardRegression])
@pytest.mark.parametrize("name", EXPLORERS)
def test_label_actions_may_be_masked(make: Any, name: str) -> None:
    if make is OnlineOffsetTree and name == "square":
        pytest.skip("it predicts no rewards")
    if name == "epoch, explored":
        with pytest.raises(ParameterError, match="learn_from must be 'all' where available is given"):
            EXPLORERS[name](make(actions=["a", "b"])).choose([0.0, 1.0], available=["a"])
        return
    labels = ["a", "b", "c", "d"]
    X = np.random.default_rng(0).normal(size=(200, 2))
    action = np.array(labels)[np.arange(200) % 4]
    policy = make(actions=labels).partial_fit(X, action, reward=(action == "b").astype(float), propensity=0.25)
    explorer = EXPLORERS[name](policy)
    mask = np.array([[True, False, True, True]])
    chances = explorer.predict_proba(X[:1], mask)
    assert chances.sum() == pytest.approx(1)
    assert chances[0, 1] == 0
    drawn = Counter[str]()
    for _ in range(300):
        explorer._n_chosen = 0
        label, propensity = explorer.choose(X[0], available=["a", "c", "d"])
        assert propensity == pytest.approx(chances[0, labels.index(label)])
        drawn[label] += 1
    assert "b" not in drawn
    assert explorer.choose(X[0], available=["c"])[0] == "c"


def test_a_policy_that_has_not_learned_explores_uniformly_among_the_available() -> None:
    explorer = EpsilonGreedy(OnlineOffsetTree(actions=["a", "b", "c"]), random_state=0)
    drawn = {explorer.choose([1.0], available=["a", "c"]) for _ in range(50)}
    assert {label for label, _ in drawn} <= {"a", "c"}


def test_actions_and_masks_are_not_mixed_up() -> None:
    over_sets, labels = EpsilonGreedy(POLICY), EpsilonGreedy(OnlineOffsetTree(actions=["a", "b"]))
    with pytest.raises(ParameterError, match=r"pass actions=\[...\]"):
        over_sets.choose([1.0])
    with pytest.raises(ParameterError, match=r"pass available=\[...\]"):
        labels.choose([1.0], actions=[{"id": "a"}])
    with pytest.raises(ParameterError, match=r"pass available=\[...\]"):
        labels.learn([1.0], "a", 1.0, 0.5, actions=[{"id": "a"}])
    with pytest.raises(ActionError, match="at least one action"):
        over_sets.choose([1.0], actions=[])
    with pytest.raises(ParameterError, match="must predict rewards"):
        SquareCB(OnlineOffsetTree(actions=["a", "b"])).choose([1.0])
    with pytest.raises(ParameterError, match="gamma_scale must be"):
        SquareCB(POLICY, gamma_scale=-1).choose(TEST.log.X[0], TEST.sets.take([0]))
    tree = ActionOffsetTree(random_state=0).fit(**TRAIN.log.arrays())
    one = TEST.sets.take([0])
    action, propensity = EpsilonGreedy(tree, random_state=0).choose(TEST.log.X[0], one)
    with pytest.raises(ParameterError, match="must have learn"):
        EpsilonGreedy(tree).learn(TEST.log.X[0], action, 1.0, propensity, one)


@pytest.mark.parametrize("name", EXPLORERS)
@pytest.mark.parametrize("form", ["sets", "array", "mappings"])
def test_a_list_is_of_different_actions_each_with_its_propensity_among_those_left(name: str, form: str) -> None:
    policy = OnlineActionRegression(id_effects=False).fit(**TRAIN.log.arrays())
    one = TEST.sets.take([3])
    items: Any = one.items
    features = items[one.item]
    actions: Any = {"sets": one, "array": features, "mappings": [{"id": i, "f": 1.0 * i} for i in one[0]]}[form]
    labels = list(range(5)) if form == "array" else one[0]
    explorer = EXPLORERS[name](policy)
    for _ in range(30):
        chosen = explorer.choose_list(TEST.log.X[3], actions, 5)
        assert sorted(label for label, _ in chosen) == sorted(labels)
        assert chosen[-1][1] == pytest.approx(1)
        assert all(0 < propensity <= 1 + 1e-12 for _, propensity in chosen)
    with pytest.raises(ParameterError, match="n must be"):
        explorer.choose_list(TEST.log.X[3], actions, 6)


def test_slots_are_drawn_as_often_as_the_product_of_their_propensities_says() -> None:
    one = TEST.sets.take([3])
    explorer = EpsilonGreedy(POLICY, epsilon=0.6, random_state=0)
    total = Counter[tuple[int, ...]]()
    n_draws = 4000
    for _ in range(n_draws):
        chosen = explorer.choose_list(TEST.log.X[3], one, 2)
        total[tuple(label for label, _ in chosen)] += 1 / np.prod([propensity for _, propensity in chosen])  # type: ignore[assignment]
    # All twenty ordered pairs: inverse propensities of each sum to the number of draws.
    assert len(total) == 20
    assert sum(total.values()) / n_draws == pytest.approx(20, rel=0.1)
