"""Explorers: what they draw is what they say, and what they log can be learned from."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import scipy.stats
from sklearn.linear_model import SGDClassifier

from offsettree import (
    Banditron,
    EpochGreedy,
    EpsilonGreedy,
    OffsetTree,
    OnlineOffsetTree,
    progressive_validation,
    simulate_log,
)
from offsettree.datasets import make_synsep
from offsettree.exceptions import ParameterError

ACTIONS = ["a", "b", "c", "d"]


def fitted_tree() -> OffsetTree:
    random = np.random.RandomState(0)
    X = random.standard_normal((400, 2))
    log = simulate_log(X, np.take(ACTIONS, (X > 0) @ [1, 2]), random_state=0)
    return OffsetTree(random_state=0).fit(**log.arrays())


EXPLORERS: dict[str, Any] = {
    "epsilon": lambda seed: EpsilonGreedy(fitted_tree(), epsilon=0.3, random_state=seed),
    "epoch, agnostic": lambda seed: EpochGreedy(fitted_tree(), random_state=seed),
    "epoch, realizable": lambda seed: EpochGreedy(
        fitted_tree(), exploration="realizable", constant=5, random_state=seed
    ),
    "banditron": lambda seed: Banditron(gamma=0.4, actions=ACTIONS, random_state=seed).partial_fit(
        [[1.0, 0.0], [0.0, 1.0]], ["b", "c"], reward=[1, 1], propensity=0.25
    ),
}


@pytest.mark.parametrize("name", EXPLORERS)
def test_logged_propensities_pass_a_chi_square_test(name: str) -> None:
    explorer = EXPLORERS[name](0)
    x = np.array([0.5, -0.5])
    n_rows = 4000
    counts, expected = np.zeros(4), np.zeros(4)
    greedy = ACTIONS.index(explorer.decide(x))
    for _ in range(n_rows):
        action, propensity = explorer.choose(x)
        position = ACTIONS.index(action)
        counts[position] += 1
        # The others, and what is left for the greedy one, follow from any one propensity.
        others = (1 - propensity) / 3 if position == greedy else propensity
        expected += others
        expected[greedy] += 1 - 4 * others
    assert expected.sum() == pytest.approx(n_rows)
    assert scipy.stats.chisquare(counts, expected).pvalue > 1e-3


@pytest.mark.parametrize("name", EXPLORERS)
def test_ips_with_logged_propensities_finds_the_value_of_every_action(name: str) -> None:
    explorer = EXPLORERS[name](1)
    x = np.array([0.5, -0.5])
    worth = np.array([0.1, 0.9, 0.4, 0.6])
    total = np.zeros(4)
    weights = np.zeros(4)
    n_rows = 6000
    for _ in range(n_rows):
        action, propensity = explorer.choose(x)
        position = ACTIONS.index(action)
        total[position] += worth[position] / propensity
        weights[position] += 1 / propensity**2
    error = worth * np.sqrt(weights) / n_rows
    np.testing.assert_array_less(np.abs(total / n_rows - worth), 4 * error + 1e-9)


def test_the_rates_fall_as_the_paper_says() -> None:
    tree = fitted_tree()
    row = np.array([1, 8, 1000, 1_000_000])
    agnostic, realizable = EpochGreedy(tree), EpochGreedy(tree, exploration="realizable")
    assert [agnostic._rates(t, 1)[0] for t in row] == pytest.approx([1, 0.5, 0.1, 0.01])
    assert [realizable._rates(t, 1)[0] for t in row] == pytest.approx(row**-0.5)


def test_an_explorer_says_what_it_would_do() -> None:
    explorer = EpsilonGreedy(fitted_tree(), epsilon=0.2)
    probability = explorer.predict_proba(np.array([[0.5, -0.5]]))
    assert sorted(probability[0]) == pytest.approx([0.05, 0.05, 0.05, 0.85])
    assert explorer.predict(np.array([[0.5, -0.5]]))[0] == explorer.decide([0.5, -0.5])


def test_around_a_policy_that_knows_nothing_all_actions_are_as_likely() -> None:
    explorer = EpsilonGreedy(OffsetTree(SGDClassifier(random_state=0), actions=ACTIONS), epsilon=0.1, random_state=0)
    chosen = [explorer.choose([1.0, 2.0]) for _ in range(200)]
    assert {propensity for _, propensity in chosen} == {0.25}
    assert {action for action, _ in chosen} == set(ACTIONS)


def test_any_policy_with_partial_fit_can_be_explored_around() -> None:
    random = np.random.RandomState(0)
    X = np.sign(random.standard_normal((300, 2)))
    y = np.take(ACTIONS, (X > 0) @ [1, 2])
    policy = OffsetTree(SGDClassifier(random_state=0), actions=ACTIONS, random_state=0)
    result = progressive_validation(EpsilonGreedy(policy, epsilon=0.5, random_state=0), X, y)
    assert len(result.records) == 300
    assert np.mean(policy.predict(X) == y) > 0.4


def test_a_policy_that_cannot_learn_from_single_rows_is_named() -> None:
    explorer = EpsilonGreedy(fitted_tree())
    action, propensity = explorer.choose([0.0, 1.0])
    with pytest.raises(ParameterError, match="must have learn or partial_fit"):
        explorer.learn([0.0, 1.0], action, 1.0, propensity)


@pytest.mark.parametrize(
    ("explorer", "message"),
    [
        (EpsilonGreedy(OnlineOffsetTree(actions=ACTIONS), epsilon=1.5), "epsilon must be"),
        (EpochGreedy(OnlineOffsetTree(actions=ACTIONS), exploration=cast("Any", "bold")), "exploration must be"),
        (EpochGreedy(OnlineOffsetTree(actions=ACTIONS), constant=-1), "constant must be"),
        (EpsilonGreedy(OnlineOffsetTree()), r"give the policy actions=\[...\]"),
        (EpsilonGreedy("policy"), "policy must be"),
        (Banditron(actions=ACTIONS, gamma=-0.1), "gamma must be"),
        (Banditron(), "actions="),
    ],
)
def test_what_cannot_be_meant_is_refused(explorer: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        explorer.choose([0.0, 1.0])


def test_a_log_of_an_explorer_is_worth_a_uniform_log_of_the_same_effective_size() -> None:
    X, y = make_synsep(12_000, random_state=0)
    test_X, test_y = X[10_000:], y[10_000:]
    explorer = EpochGreedy(OnlineOffsetTree(actions=range(9)), constant=3, random_state=0)
    log = progressive_validation(explorer, X[:10_000], y[:10_000]).records
    weight = 1 / log.propensity
    # Rows of a uniform log that weigh as much: (sum of 1/p)^2 / (sum of 1/p^2).
    n_effective = int(weight.sum() ** 2 / (weight**2).sum())
    uniform = simulate_log(X[:10_000], y[:10_000], random_state=1)[:n_effective]
    error = {}
    for name, rows in {"explorer": log, "uniform": uniform}.items():
        policy = OnlineOffsetTree(loss="logistic", actions=range(9))
        for _ in range(5):
            policy.partial_fit(**rows.arrays())
        error[name] = np.mean(policy.predict(test_X) != test_y)
    assert error["explorer"] <= error["uniform"] + 0.02


def test_the_first_rows_are_explored_with_their_own_rates() -> None:
    explorer = EpochGreedy(OnlineOffsetTree(actions=ACTIONS), random_state=0)
    seen = []
    for _ in range(8):
        action, propensity = explorer.choose(np.array([1.0, 2.0]))
        seen.append(propensity if action != explorer.decide([1.0, 2.0]) else (1 - propensity) / 3)
    assert seen == pytest.approx([t ** (-1 / 3) / 4 for t in range(1, 9)])


@pytest.mark.parametrize("name", EXPLORERS)
def test_what_it_would_do_is_what_it_does(name: str) -> None:
    explorer = EXPLORERS[name](0)
    x = np.array([0.5, -0.5])
    expected = dict(zip(explorer.actions_.tolist(), explorer.predict_proba(x.reshape(1, -1))[0], strict=True))
    action, propensity = explorer.choose(x)
    assert propensity == pytest.approx(expected[action])


def test_a_policy_that_chooses_what_is_not_there_is_told_so() -> None:
    class Odd:
        actions_ = np.array(ACTIONS)

        def decide(self, x: Any) -> str:
            return "z"

    with pytest.raises(ParameterError, match="'z'"):
        EpsilonGreedy(Odd()).choose([1.0])
