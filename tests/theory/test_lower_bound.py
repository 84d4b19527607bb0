"""Theorem 5.1 for reductions of any kind, and the bounds that the paper only mentions."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offsettree import ActionTree
from offsettree import theory as th
from offsettree.exceptions import ParameterError
from offsettree.theory.oracles import Oracle
from tests.strategies import seeds

EXACT = 1e-12
sizes = st.integers(2, 9)


class Peeking:
    """A reduction that tells one context from another: it asks k - 1 questions, of which it mixes up the labels."""

    def __init__(self, n_actions: int, seed: int) -> None:
        random = np.random.RandomState(seed)
        self.n_actions = n_actions
        self.flips = random.random_sample((n_actions, n_actions)) < 0.5
        self.offset = random.random_sample()

    def advise(self, oracle: Oracle, context: Hashable, action: int, reward: float, propensity: float) -> None:
        assert isinstance(context, int)
        good = reward >= self.offset
        weight = abs(reward - self.offset) / propensity
        oracle.advise((context, action), bool(good != self.flips[context, action]), weight)

    def act(self, oracle: Oracle, context: Hashable) -> int:
        assert isinstance(context, int)
        says = [oracle.predict((context, a)) != self.flips[context, a] for a in range(self.n_actions)]
        return int(np.argmax(says)) if any(says) else context


class Restless:
    """Advises the contrary of what it hears."""

    def advise(self, oracle: Oracle, context: Hashable, action: int, reward: float, propensity: float) -> None:
        oracle.advise((context, 0), not oracle.predict((context, 0)), 1.0)

    def act(self, oracle: Oracle, context: Hashable) -> int:
        return int(oracle.predict((context, 0)))


def assert_lower_bound(reduction: th.Reduction, k: int) -> float:
    problem, oracle = th.lower_bound_for(reduction, k)
    regret = th.policy_regret(problem, [reduction.act(oracle, x) for x in range(k)])
    binary = th.oracle_regret(reduction, oracle, problem)
    assert regret >= (k - 1) / k - EXACT
    assert binary <= 1 / k + EXACT
    assert regret >= (k - 1) * binary - EXACT
    return binary


@given(sizes, seeds)
def test_theorem_5_1_holds_for_the_offset_tree_over_any_tree(k: int, seed: int) -> None:
    tree = ActionTree.random(k, random_state=seed)
    assert assert_lower_bound(th.OffsetTreeReduction(tree), k) > 0


@given(sizes)
def test_theorem_5_1_holds_for_importance_weighting_with_all_pairs(k: int) -> None:
    assert assert_lower_bound(th.AllPairsReduction(k), k) == pytest.approx(1 / (2 * k))


@given(sizes, seeds)
def test_theorem_5_1_holds_for_reductions_that_nobody_has_thought_of(k: int, seed: int) -> None:
    assert_lower_bound(Peeking(k, seed), k)


@given(sizes, seeds)
def test_where_all_rewards_are_zero_the_oracle_has_no_regret(k: int, seed: int) -> None:
    for reduction in (th.OffsetTreeReduction(ActionTree.random(k, random_state=seed)), Peeking(k, seed)):
        oracle = th.SimulatingOracle(reduction, range(k), k)
        nothing = th.FiniteProblem.certain(np.zeros((k, k)))
        assert th.oracle_regret(reduction, oracle, nothing) == pytest.approx(0, abs=EXACT)


def test_the_oracle_ignores_advice() -> None:
    oracle = th.SimulatingOracle(th.OffsetTreeReduction(ActionTree.balanced(3)), range(3), 3)
    before = oracle.predict((0, 0))
    oracle.advise((0, 0), not before, 1e9)
    assert oracle.predict((0, 0)) == before


def test_a_reduction_that_never_settles_is_named() -> None:
    with pytest.raises(ParameterError, match=r"must settle on what it advises.*Restless has not"):
        th.SimulatingOracle(Restless(), range(2), 2)


@given(seeds, st.floats(0.1, 1))
@settings(max_examples=50)
def test_the_all_pairs_reduction_advises_the_induced_problem(seed: int, share: float) -> None:
    problem = th.FiniteProblem.random(n_contexts=2, n_actions=4, random_state=seed)
    reduction, weight = th.AllPairsReduction(4), np.zeros((6, 2, 2))
    place = {first * 4 + second: at for at, (first, second) in enumerate(th.pairs(4))}

    class Adder:
        probability = 0.0

        def advise(self, question: tuple[Hashable, int], label: bool, weighs: float) -> None:
            weight[place[question[1]], int(str(question[0])), int(label)] += self.probability * weighs

        def predict(self, question: tuple[Hashable, int]) -> bool:
            return True

    adder = Adder()
    for probability, x, rewards in zip(problem.probability, problem.context, problem.rewards, strict=True):
        for action, reward in enumerate(rewards.tolist()):
            adder.probability = probability / 4
            reduction.advise(adder, int(x), action, reward, 1 / 4)
    np.testing.assert_allclose(weight, th.importance_weighted_problem(problem).weight, atol=EXACT)


@pytest.mark.parametrize(("k", "factors"), [(10, [9.0, 4.5, 3.4]), (26, [25.0, 6.3, 4.8])])
def test_the_factors_of_theorem_4_1_on_labels(k: int, factors: list[float]) -> None:
    tree = ActionTree.balanced(k)
    assert [round(th.label_factor(tree, offset), 1) for offset in (1 / 2, 1 / k, 0)] == factors


@given(sizes, st.floats(0, 1), seeds)
def test_the_factor_on_labels_follows_from_the_mean_depth(k: int, offset: float, seed: int) -> None:
    tree = ActionTree.random(k, random_state=seed)
    depth = np.mean([len(list(tree.path(action))) for action in range(k)])
    expected = depth * (1 - offset) + (2 * (k - 1) - depth) * offset
    assert th.label_factor(tree, offset) == pytest.approx(expected)


@given(st.integers(2, 3), st.integers(1, 2), seeds)
@settings(max_examples=40, deadline=None)
def test_over_sequences_of_actions_the_bound_grows_to_k_to_the_power_of_t(k: int, horizon: int, seed: int) -> None:
    """A choice is a sequence of T actions: the offset tree over all of them keeps the bound of the discussion."""
    random = np.random.RandomState(seed)
    step_rewards = random.random_sample((3, horizon, k))
    sequences = list(product(range(k), repeat=horizon))
    rewards = [[np.mean([step_rewards[x, t, a] for t, a in enumerate(each)]) for each in sequences] for x in range(3)]
    problem = th.FiniteProblem.certain(rewards)
    tree = ActionTree.random(len(sequences), random_state=seed)
    classifier = random.random_sample((tree.n_nodes, 3)) < 0.5
    regret = th.policy_regret(problem, th.offset_tree_policy(tree, classifier))
    binary = th.binary_regret(th.offset_tree_problem(problem, tree, classifier), classifier)
    assert regret <= th.horizon_bound(binary, k, horizon) + EXACT


def test_the_horizon_bound_is_the_papers() -> None:
    assert th.horizon_bound(0.01, 4, 1) == th.offset_tree_bound(0.01, 4) == pytest.approx(0.03)
    assert th.horizon_bound(0.01, 4, 3) == pytest.approx(0.64)
    with pytest.raises(ParameterError, match="horizon must be a whole number of at least 1; got 0"):
        th.horizon_bound(0.01, 4, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *(((0.01, 4, bad), "horizon must be a whole number") for bad in (0, 1.5, np.nan, np.inf, "2", None, True)),
        *(((0.01, bad, 2), "n_actions must be a whole number") for bad in (0, 1, 2.5, np.nan, np.inf, "2", None)),
        *(((bad, 4, 2), "binary_regret must be a number") for bad in (-1, np.nan, np.inf, "0", None)),
        ((0.01, 10, 400), r"n_actions \*\* horizon must be a number that a float can hold; got 10 \*\* 400"),
    ],
)
def test_the_horizon_bound_refuses_what_has_no_meaning(arguments: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        th.horizon_bound(*arguments)


@pytest.mark.parametrize("offset", [-1, 2, np.nan, np.inf, "0.5", None])
def test_the_factor_on_labels_is_of_an_offset_among_rewards(offset: Any) -> None:
    with pytest.raises(ParameterError, match="offset must be a number from 0 to 1"):
        th.label_factor(ActionTree.balanced(3), offset)
