"""Exploration among the actions of each row: with features, or labels of which some are available."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsettree import (
    ActionSets,
    EpochGreedy,
    EpsilonGreedy,
    OnlineActionRegression,
    OnlineOffsetTree,
    OnlineRewardRegression,
    SquareCB,
    evaluate,
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


@pytest.mark.parametrize(
    "rewards",
    [
        [np.inf, 0.0],
        [np.inf, np.inf],
        [-np.inf, -np.inf, 1.0],
        [np.nan, 0.5],
        [np.nan, np.nan],
        [np.inf, np.nan, -np.inf],
    ],
)
def test_predictions_that_overflow_are_explored_with_probabilities(rewards: list[float]) -> None:
    chances = inverse_gap_weights(np.array(rewards), np.array([0, len(rewards)]), 10.0)
    assert chances.sum() == pytest.approx(1)
    assert (chances > 0).all()
    assert chances[int(np.argmax(np.nan_to_num(rewards, nan=-np.inf)))] == chances.max()


def test_probabilities_need_a_policy_that_predicts_rewards() -> None:
    policy = OnlineOffsetTree(actions=["a", "b"]).learn([0.0], "a", 1.0, 0.5)
    with pytest.raises(ParameterError, match="must predict rewards"):
        SquareCB(policy).predict_proba([[0.0]])


@pytest.mark.parametrize("make", [OnlineOffsetTree, OnlineRewardRegression])
@pytest.mark.parametrize("name", EXPLORERS)
def test_label_actions_may_be_masked(make: Any, name: str) -> None:
    if make is OnlineOffsetTree and name == "square":
        pytest.skip("it predicts no rewards")
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


def test_rows_explored_under_a_mask_are_learned_from_with_one_over_what_was_available(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the policy's own action, as many as were explored; all others."""
    labels = ["a", "b", "c", "d"]
    policy = OnlineRewardRegression(actions=labels)
    policy.partial_fit(np.ones((4, 1)), labels, reward=[0.0, 1.0, 0.5, 0.0], propensity=0.25)
    learned: list[tuple[str, float]] = []
    monkeypatch.setattr(policy, "learn", lambda x, action, reward, propensity: learned.append((action, propensity)))
    explorer = EpochGreedy(policy, learn_from="exploration", constant=0.4, exploration="agnostic", random_state=0)
    taken = Counter[str]()
    for _ in range(3000):
        explorer._n_chosen = 0
        action, propensity = explorer.choose([1.0], available=["a", "c", "d"])
        taken[action] += 1
        explorer.learn([1.0], action, 0.5, propensity, available=["a", "c", "d"])
    counts = Counter(action for action, _ in learned)
    assert {propensity for _, propensity in learned} == {1 / 3}
    assert counts["a"] == taken["a"] and counts["d"] == taken["d"]  # noqa: PT018
    assert 0.4 / 3 - 0.03 < counts["c"] / 3000 < 0.4 / 3 + 0.03 < taken["c"] / 3000
    with pytest.raises(ActionError, match="must be one of those available; 'b'"):
        explorer.learn([1.0], "b", 0.5, 0.2, available=["a", "c", "d"])
    with pytest.raises(ActionError, match="must be one of those available; 'b'"):
        EpsilonGreedy(policy).learn([1.0], "b", 0.5, 0.2, available=["a", "c", "d"])


def test_slots_are_filled_by_labels_too_each_with_its_propensity() -> None:
    policy = OnlineRewardRegression(actions=["a", "b", "c", "d"])
    policy.partial_fit(np.ones((4, 1)), policy.actions, reward=[0.0, 1.0, 0.5, 0.2], propensity=0.25)
    explorer = EpsilonGreedy(policy, epsilon=0.3, random_state=0)
    seen = Counter[tuple[str, ...]]()
    chance: dict[tuple[str, ...], float] = {}
    for _ in range(4000):
        slots = explorer.rank([1.0], n=2, available=["a", "b", "c"])
        key = tuple(label for label, _ in slots)
        seen[key] += 1
        chance[key] = slots[0][1] * slots[1][1]
    assert len(seen) == 6
    assert sum(chance.values()) == pytest.approx(1)
    for key, count in seen.items():
        assert abs(count / 4000 - chance[key]) < 0.03
    with pytest.raises(ParameterError, match="from 1 to the 4 eligible actions; got 5"):
        explorer.rank([1.0], n=5)


def test_the_value_of_a_slot_is_estimated_given_the_slots_before_as_logged() -> None:
    """As `rank` promises: rows of the second slot, with what the first has left, tell the value of any policy there."""
    catalogue = simulate_catalogue(3000, 30, 5, random_state=3)
    target = OnlineActionRegression().fit(**catalogue.log[:1000].arrays())
    explorer = EpsilonGreedy(OnlineActionRegression().fit(**catalogue.log[:300].arrays()), epsilon=0.6, random_state=0)
    random, X, sets = np.random.default_rng(0), catalogue.log.X, catalogue.sets
    left, expected, action, reward, propensity = [], [], [], [], []
    for row in range(1000, 3000):
        (first, _), (second, chance) = explorer.rank(X[row], sets.take([row]), 2)
        worth = dict(zip(sets[row], catalogue.expected[sets.starts[row] : sets.starts[row + 1]].tolist(), strict=True))
        left.append([label for label in sets[row] if label != first])
        expected.append([worth[label] for label in left[-1]])
        action.append(second)
        reward.append(float(random.random() < worth[second]))
        propensity.append(chance)
    slots = ActionSets(left, items=sets.items, item_ids=sets.item_ids)
    chosen = target.predict(X[1000:], slots)
    truth = float(np.mean([each[ids.index(label)] for each, ids, label in zip(expected, left, chosen, strict=True)]))
    estimate = evaluate(
        target, X[1000:], action, reward=reward, propensity=propensity, action_sets=slots, method="ips"
    )  # fmt: skip
    assert estimate.low < truth < estimate.high
    assert estimate.high - estimate.low < 0.15


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
