"""Epoch-Greedy as Langford and Zhang have it: explored rows only; and Costing at the nodes of an online tree."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from offsettree import (
    ActionTree,
    EpochGreedy,
    OffsetTree,
    OnlineActionRegression,
    OnlineOffsetTree,
    progressive_validation,
)
from offsettree.datasets import make_synsep
from offsettree.exceptions import ActionError, FeatureError, LogError, ParameterError, PropensityError, RewardError
from offsettree.online._kernels_losses import drawn_weight

X, Y = make_synsep(3000, random_state=0)


class Listening(OnlineOffsetTree):
    """Writes down what it learns from."""

    def _learn(self, X: Any, action: Any, reward: Any, propensity: Any) -> None:
        self.__dict__.setdefault("heard", []).append((action[0], reward[0], propensity[0]))
        super()._learn(X, action, reward, propensity)


class Told:
    """A policy that always chooses the first of four, and writes down what it is told."""

    actions_ = np.array(["a", "b", "c", "d"])

    def __init__(self) -> None:
        self.heard: list[tuple[str, float, float]] = []

    def decide(self, x: Any) -> str:
        return "a"

    def learn(self, x: Any, action: str, reward: float, propensity: float) -> None:
        self.heard.append((action, reward, propensity))


def test_over_a_stream_only_explored_rows_are_learned_from_each_as_a_uniform_one() -> None:
    tree = Listening(loss="perceptron", actions=range(9))
    explorer = EpochGreedy(tree, learn_from="exploration", random_state=0)
    result = progressive_validation(explorer, X, Y)
    rates = EpochGreedy(tree)._rates(1, 3000)
    assert len(tree.heard) == tree.n_rows_seen_ == pytest.approx(rates.sum(), abs=4 * np.sqrt(rates.sum()))
    actions, _, propensities = zip(*tree.heard, strict=True)
    assert set(propensities) == {1 / 9}
    counts = np.bincount(actions, minlength=9)
    assert (np.abs(counts - len(actions) / 9) < 5 * np.sqrt(len(actions) / 9)).all()
    # The log tells the propensities of all rows, explored or not.
    own = rates / 9 + (1 - rates)
    logged = result.records.propensity
    assert (np.isclose(logged, own) | np.isclose(logged, rates / 9)).all()


def test_over_a_stream_the_decisions_are_those_of_a_plain_loop() -> None:
    tree = OnlineOffsetTree(actions=range(9))
    result = progressive_validation(EpochGreedy(tree, learn_from="exploration", random_state=3), X[:600], Y[:600])
    plain, random = OnlineOffsetTree(actions=range(9)), np.random.RandomState(3)
    draws, chosen = random.random_sample((600, 2)), []
    for t in range(600):
        rate, greedy = min(1.0, (t + 1) ** (-1 / 3)), plain.decide(X[t])
        explored = draws[t, 0] < rate
        chosen.append(int(draws[t, 1] * 9) if explored else greedy)
        if explored:
            plain.learn(X[t], chosen[-1], float(chosen[-1] == Y[t]), 1 / 9)
    np.testing.assert_array_equal(result.records.action, chosen)
    np.testing.assert_array_equal(tree.predict(X), plain.predict(X))


def test_row_by_row_as_many_are_learned_from_as_were_explored() -> None:
    policy = Told()
    explorer = EpochGreedy(policy, constant=2.0, learn_from="exploration", random_state=0)
    rates = explorer._rates(1, 4000)
    for _ in range(4000):
        action, propensity = explorer.choose([0.0])
        explorer.learn([0.0], action, 1.0, propensity)
    assert len(policy.heard) == pytest.approx(rates.sum(), abs=4 * np.sqrt(rates.sum()))
    assert {propensity for _, _, propensity in policy.heard} == {0.25}
    counts = np.unique([action for action, _, _ in policy.heard], return_counts=True)[1]
    assert (np.abs(counts - len(policy.heard) / 4) < 5 * np.sqrt(len(policy.heard) / 4)).all()


def test_without_exploration_nothing_is_learned_and_with_nothing_else_everything() -> None:
    for constant, n_learned in ((0.0, 0), (1e9, 500)):
        policy = Told()
        explorer = EpochGreedy(policy, constant=constant, learn_from="exploration", random_state=0)
        for _ in range(500):
            action, propensity = explorer.choose([0.0])
            explorer.learn([0.0], action, 1.0, propensity)
        assert len(policy.heard) == n_learned


def test_another_word_is_refused() -> None:
    explorer = EpochGreedy(Told(), learn_from="mistakes")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="learn_from must be 'all' or 'exploration'; got 'mistakes'"):
        explorer.learn([0.0], "a", 1.0, 0.5)
    with pytest.raises(ParameterError, match="learn_from must be 'all' or 'exploration'; got 'mistakes'"):
        explorer.choose([0.0])


@pytest.mark.parametrize("learn_from", ["all", "exploration"])
@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"propensity": 0}, PropensityError),
        ({"propensity": 2}, PropensityError),
        ({"propensity": np.nan}, PropensityError),
        ({"propensity": None}, LogError),
        ({"reward": 7.0}, RewardError),
        ({"reward": np.nan}, RewardError),
        ({"action": 99}, ActionError),
        ({"action": "a"}, ActionError),
        ({"x": [np.nan, 1.0]}, FeatureError),
        ({"x": [1.0, 2.0, 3.0]}, FeatureError),
        ({"actions": [{"id": 0}]}, ParameterError),
    ],
)
def test_a_bad_row_is_refused_whether_or_not_it_would_be_learned_from(
    learn_from: Any, change: dict[str, Any], error: type[Exception]
) -> None:
    """With so high a propensity a row of the policy's own action is next to never one that was explored."""
    policy = OnlineOffsetTree(actions=range(9)).learn([1.0, 0.0], 0, 1.0, 0.5)
    explorer = EpochGreedy(policy, learn_from=learn_from, random_state=0)
    row: dict[str, Any] = {"x": [1.0, 0.0], "action": 0, "reward": 1.0, "propensity": 0.999999}
    with pytest.raises(error):
        explorer.learn(**(row | change))
    assert policy.n_rows_seen_ == 1
    explorer.learn(**row)


@pytest.mark.parametrize("learn_from", ["all", "exploration"])
@pytest.mark.parametrize(
    ("change", "error"),
    [({"action": "z"}, ActionError), ({"reward": 7.0}, RewardError), ({"propensity": 0}, PropensityError)],
)
def test_so_is_a_bad_row_among_eligible_actions(
    learn_from: Any, change: dict[str, Any], error: type[Exception]
) -> None:
    explorer = EpochGreedy(OnlineActionRegression(), learn_from=learn_from, random_state=0)
    eligible = [{"id": "a", "price": 1.0}, {"id": "b", "price": 2.0}]
    row: dict[str, Any] = {"x": {"age": 1.0}, "action": "a", "reward": 1.0, "propensity": 0.999999, "actions": eligible}
    with pytest.raises(error):
        explorer.learn(**(row | change))
    explorer.learn(**row)


def test_policies_of_other_kinds_learn_from_explored_rows_too() -> None:
    policy = OffsetTree(SGDClassifier(random_state=0), actions=range(9))
    explorer = EpochGreedy(policy, learn_from="exploration", random_state=0)
    progressive_validation(explorer, X[:150], Y[:150])
    assert 0 < policy.node_rows_.sum() < 150 * 4


def test_costing_accepts_a_row_in_proportion_to_its_weight() -> None:
    contests = np.zeros((2, 3))
    assert drawn_weight(contests, 0, 8.0, 5, 1) == 1.0  # the largest so far
    for weight in (1.0, 2.0, 6.0):
        accepted = np.mean([drawn_weight(contests, 0, weight, 5, row) for row in range(2, 20_002)])
        assert accepted == pytest.approx(weight / 8, abs=0.015)
    same = [drawn_weight(contests, node, 4.0, 5, row) for node in (0, 0) for row in range(500)]
    assert same[:500] == same[500:]
    contests[1, 1] = 8.0
    other = [drawn_weight(contests, 1, 4.0, 5, row) for row in range(500)]
    assert 0.4 < np.mean(np.array(other) == same[:500]) < 0.6  # contests draw apart


@pytest.mark.parametrize("bound", [None, 100.0])
def test_with_a_bound_on_the_weights_early_rows_are_drawn_no_more_often_than_their_weights_say(
    bound: float | None,
) -> None:
    """Propensities fall, so weights grow."""
    n = 3000
    propensity = 0.5 * np.arange(1, n + 1) ** (-1 / 2)
    policy = OnlineOffsetTree(
        loss="perceptron", weighting="costing", largest_weight=bound, actions=range(2), random_state=0
    )
    policy._start(np.zeros((1, 1)))
    contests, seed = policy._model.contests, policy._model.settings[5]
    weight = 0.5 / propensity
    drawn = np.array([drawn_weight(contests, 0, each, seed, row) for row, each in enumerate(weight)])
    expected = weight / 100
    early = slice(0, 1000)
    if bound is None:
        assert drawn.all()  # each is the largest so far
    else:
        assert drawn.sum() == pytest.approx(expected.sum(), abs=4 * np.sqrt(expected.sum()))
        assert drawn[early].sum() == pytest.approx(expected[early].sum(), abs=4 * np.sqrt(expected[early].sum()))


def test_the_bound_on_the_weights_is_kept_and_checked() -> None:
    made: dict[str, Any] = {"weighting": "costing", "actions": range(2), "random_state": 0}
    policy = OnlineOffsetTree(**made, largest_weight=1e9).learn([1.0], 0, 1.0, 0.5)
    assert not policy._model.weights.any()  # drawn once in 1e9 rows
    assert OnlineOffsetTree(**made).learn([1.0], 0, 1.0, 0.5)._model.weights.any()
    policy.largest_weight = 5.0
    with pytest.raises(ParameterError, match="must not change once it has begun to learn"):
        policy.learn([1.0], 0, 1.0, 0.5)
    bad: Any
    for bad in (0, -1.0, np.nan, np.inf, "2"):
        with pytest.raises(ParameterError, match="largest_weight must be a number above 0"):
            OnlineOffsetTree(**made, largest_weight=bad).learn([1.0], 0, 1.0, 0.5)
    with pytest.raises(ParameterError, match="largest_weight must be None unless weighting='costing'"):
        OnlineOffsetTree(actions=range(2), largest_weight=2.0).learn([1.0], 0, 1.0, 0.5)


def test_a_perceptron_with_costing_takes_steps_of_one_only() -> None:
    """With rows of ones and zeros every weight is then a whole number; fractional steps leave others."""
    random = np.random.RandomState(0)
    rows = X[:2000]
    action, propensity = random.randint(9, size=2000), random.uniform(0.02, 1, size=2000)
    reward = (action == Y[:2000]).astype(float)
    learned = {}
    for weighting in ("steps", "costing"):
        policy = OnlineOffsetTree(loss="perceptron", weighting=weighting, actions=range(9), random_state=0)
        policy.partial_fit(rows, action, reward=reward, propensity=propensity)
        learned[weighting] = policy._model.weights
    assert (learned["costing"] == np.round(learned["costing"])).all()
    assert (learned["steps"] != np.round(learned["steps"])).any()


def test_costing_does_not_depend_on_chunks_but_on_its_seed() -> None:
    log: dict[str, Any] = {"action": Y[:900], "reward": np.ones(900), "propensity": np.linspace(0.01, 1, 900)}

    def learned(cuts: list[int], seed: int) -> bytes:
        policy = OnlineOffsetTree(weighting="costing", actions=range(9), random_state=seed)
        for first, last in zip([0, *cuts], [*cuts, 900], strict=True):
            policy.partial_fit(X[first:last], **{name: values[first:last] for name, values in log.items()})
        return bytes(policy._model.weights.tobytes())

    assert learned([], 0) == learned([1, 450, 451], 0)
    assert learned([], 0) != learned([], 1)


def test_costing_learns() -> None:
    tree = OnlineOffsetTree(weighting="costing", actions=range(9), random_state=0)
    assert progressive_validation(EpochGreedy(tree, random_state=0), X, Y).error < 0.7


def test_another_weighting_is_refused_and_models_of_former_versions_learn_on() -> None:
    with pytest.raises(ParameterError, match="weighting must be 'steps' or 'costing'; got 'none'"):
        OnlineOffsetTree(weighting="none", actions=range(2)).learn([1.0], 0, 1.0, 0.5)  # type: ignore[arg-type]
    policy = OnlineOffsetTree(tree=ActionTree.balanced(3), actions=range(3)).learn([1.0, 2.0], 0, 1.0, 0.5)
    policy._model = policy._model._replace(settings=policy._model.settings[:4].copy())
    del policy.__dict__["weighting"]
    again = pickle.loads(pickle.dumps(policy)).learn([1.0, 0.0], 1, 1.0, 0.5)
    assert again.n_rows_seen_ == 2
    again.weighting = "costing"
    with pytest.raises(ParameterError, match="must not change once it has begun to learn"):
        again.learn([1.0, 0.0], 1, 1.0, 0.5)
    explorer = EpochGreedy(policy, random_state=0)
    del explorer.__dict__["learn_from"]
    assert pickle.loads(pickle.dumps(explorer)).learn([1.0, 0.0], 1, 1.0, 0.5).policy.n_rows_seen_ == 2
