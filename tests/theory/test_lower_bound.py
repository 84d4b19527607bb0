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


class Tied:
    """At reward 0 the only question of a context has as much advice for one label as for the other."""

    def __init__(self, n_actions: int) -> None:
        self.n_actions = n_actions

    def advise(self, oracle: Oracle, context: Hashable, action: int, reward: float, propensity: float) -> None:
        assert isinstance(context, int)
        if reward > 0:
            oracle.advise((context, 0), False, 1.0)
        elif action in (context, (context + 1) % self.n_actions):
            oracle.advise((context, 0), action == context, 1.0)

    def act(self, oracle: Oracle, context: Hashable) -> int:
        assert isinstance(context, int)
        return (context + oracle.predict((context, 0))) % self.n_actions


class Table:
    """Never looks at the context: what it advises is a table of weights by reward, action, question and label."""

    def __init__(self, weight: Any, choice: int = 0) -> None:
        self.weight = np.asarray(weight, dtype=float)
        self.choice = choice

    @classmethod
    def random(cls, k: int, seed: int) -> Table:
        """Draw one whose rows mostly advise one label, and whose labels are often tied."""
        random = np.random.RandomState(seed)
        shape = (2, k, random.randint(1, k + 1), 2)
        weight = random.randint(3, size=shape) * (random.random_sample(shape) < random.random_sample())
        return cls(weight, random.randint(k))

    def advise(self, oracle: Oracle, context: Hashable, action: int, reward: float, propensity: float) -> None:
        for (question, label), weight in np.ndenumerate(self.weight[int(reward), action]):
            oracle.advise((self.place(context), question), bool(label), float(weight))

    def place(self, context: Hashable) -> Hashable:
        """Return which questions are the same: all contexts have the same."""
        return 0

    def act(self, oracle: Oracle, context: Hashable) -> int:
        answers = sum(oracle.predict((0, question)) << question for question in range(self.weight.shape[2]))
        return int((self.choice + answers) % self.weight.shape[1])


def crossed() -> Table:
    """Two questions of two actions each, which reward 1 pairs in another way."""
    weight = np.zeros((2, 4, 2, 2))
    for action, rewarded in enumerate((0, 1, 1, 0)):
        weight[0, action, action // 2, int(action % 2 == 0)] = 1
        weight[1, action, rewarded, 0] = 1
    return Table(weight)


def crowded() -> Table:
    """Three actions with a question each, whose majority errs wherever it matters, and one for each pair, tied."""
    weight = np.zeros((2, 3, 6, 2))
    for action in range(3):
        weight[0, action, action, 1] = 2
        weight[1, action, action, 0] = 4
        weight[0, action, 3 + action, 1] = 1
        weight[0, (action + 1) % 3, 3 + action, 0] = 1
    return Table(weight)


class Constant(Table):
    """Has such a table, with other questions in each context, and always chooses the same action."""

    def place(self, context: Hashable) -> Hashable:
        return context

    def act(self, oracle: Oracle, context: Hashable) -> int:
        return self.choice


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


def assert_inequality(reduction: th.Reduction, k: int) -> th.FiniteProblem:
    problem, oracle = th.lower_bound_for(reduction, k)
    regret = th.policy_regret(problem, [reduction.act(oracle, x) for x in range(k)])
    assert regret > EXACT
    assert regret >= (k - 1) * th.oracle_regret(reduction, oracle, problem) - 2 * EXACT
    return problem


@given(sizes)
def test_theorem_5_1_holds_where_labels_are_tied_at_reward_0(k: int) -> None:
    assert_inequality(Tied(k), k)


def test_theorem_5_1_holds_where_rewards_pair_the_actions_in_another_way() -> None:
    for choice in range(4):
        assert_inequality(Constant(crossed().weight, choice), 4)
    assert_inequality(crossed(), 4)


def test_where_no_shift_of_certain_rewards_will_do_rewards_are_rarer() -> None:
    """The proof takes the regret of a rewarded row for 1 at most; but its advice at reward 0 is missing, too."""
    reduction = Constant(crowded().weight)
    problem = assert_inequality(reduction, 3)
    assert problem.probability.min() < 1 / 3
    assert problem.rewards.max() == 1
    oracle = th.SimulatingOracle(reduction, range(3), 3)
    for shift in range(3):
        certain = th.FiniteProblem.certain(np.roll(np.eye(3), shift, axis=1))
        assert th.policy_regret(certain, [0, 0, 0]) < 2 * th.oracle_regret(reduction, oracle, certain) - 0.1


@given(st.integers(2, 5), seeds)
@settings(deadline=None)
def test_theorem_5_1_holds_for_any_table_of_advice(k: int, seed: int) -> None:
    table = Table.random(k, seed)
    assert_inequality(table, k)
    assert_inequality(Constant(table.weight, table.choice), k)


def test_labels_too_near_to_a_tie_are_refused() -> None:
    weight = crowded().weight
    weight[0, :, :3] = 0
    weight[0, :, :3, 1] = 1e-9
    weight[1, :, :3, 0] = 1
    reduction = Constant(weight)
    with pytest.raises(ParameterError, match="so nearly alike"):
        th.lower_bound_for(reduction, 3)


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
