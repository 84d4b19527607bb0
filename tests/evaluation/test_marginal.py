from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from offsettree import ActionSets, EpsilonGreedy, LoggedData, OnlineActionRegression, evaluate, simulate_catalogue
from offsettree.evaluation import marginal_decisions, marginalise
from offsettree.exceptions import ActionError, LogError, ParameterError, PropensityError


def make(direct: float, seed: int, n_rows: int = 400) -> tuple[LoggedData, Any, Any, float]:
    """Simulate 30 eligible actions per row of three groups; rewards depend on the group, and by `direct` on the id."""
    random = np.random.default_rng(seed)
    ids = np.stack([random.choice(300, 30, replace=False) for _ in range(n_rows)])
    group = ids % 3
    mean = np.array([0.2, 0.5, 0.8])[group] + direct * (ids < 150)
    chance = random.dirichlet(np.ones(30), n_rows) * 0.5 + 0.5 / 30
    place = (chance.cumsum(axis=1) > random.random((n_rows, 1))).argmax(axis=1)
    rows = np.arange(n_rows)
    reward = (random.random(n_rows) < mean[rows, place]).astype(float)
    sets = ActionSets(ids.ravel(), np.arange(n_rows + 1) * 30)
    log = LoggedData(np.zeros((n_rows, 1)), ids[rows, place], reward, chance[rows, place], action_sets=sets)
    # The policy takes the first action of a small id: of all groups.
    first = np.argmax(ids < 150, axis=1)
    return log, group.ravel(), (ids[rows, first], chance.ravel()), float(mean[rows, first].mean())


def estimates(direct: float) -> tuple[list[float], list[float], list[float]]:
    plain, marginal, truth = [], [], []
    for seed in range(60):
        log, group, (chosen, chance), true = make(direct, seed)
        found = marginalise(log, group, logging=chance)
        plain.append(evaluate(chosen, **log.arrays(), method="ips", reward_range=(0, 1)).value)
        decided = marginal_decisions(chosen, log, group)
        marginal.append(evaluate(decided, **found.arrays(), method="ips", reward_range=(0, 1)).value)
        truth.append(true)
    return plain, marginal, truth


@pytest.mark.filterwarnings("ignore::offsettree.exceptions.OffsetTreeWarning")
def test_without_direct_effects_it_is_unbiased_and_of_far_less_variance() -> None:
    plain, marginal, truth = estimates(0.0)
    errors = np.array(marginal) - truth
    assert abs(errors.mean()) < 3 * errors.std() / np.sqrt(len(errors))
    assert errors.std() < 0.4 * (np.array(plain) - truth).std()


@pytest.mark.filterwarnings("ignore::offsettree.exceptions.OffsetTreeWarning")
def test_direct_effects_of_ids_bias_it() -> None:
    """The policy takes small ids only, which earn more than others of their group."""
    _, marginal, truth = estimates(0.2)
    errors = np.array(marginal) - truth
    assert errors.mean() < -3 * errors.std() / np.sqrt(len(errors))
    assert abs(errors.mean() + 0.1) < 0.05  # half of the ids have the effect, and all that the policy takes


def drawing(log: LoggedData, seed: int) -> Any:
    """Return the probabilities of a policy that draws, and takes small ids twice as often."""
    ids = log.action_sets.ids.reshape(len(log), -1)  # type: ignore[union-attr]
    chance = np.random.default_rng(seed).dirichlet(np.ones(ids.shape[1]), len(log)) * np.where(ids < 150, 2.0, 1.0)
    return (chance / chance.sum(axis=1, keepdims=True)).ravel()


def test_weights_are_those_of_the_paper() -> None:
    """Of Saito and Joachims (2022), equation 8: p_pi(e|x) / p_0(e|x), sums over the actions that share e."""
    log, group, (_, chance), _ = make(0.0, 1)
    policy = drawing(log, 1)
    sets: Any = log.action_sets
    pair = sets.find(log.action)
    row = np.repeat(np.arange(len(log)), 30)
    same = group == group[pair][row]
    weight = np.bincount(row[same], policy[same]) / np.bincount(row[same], chance[same])
    found = marginalise(log, group, logging=chance)
    decided = marginal_decisions(policy, log, group)
    value = evaluate(decided, **found.arrays(), method="ips", reward_range=(0, 1)).value
    assert value == pytest.approx((weight * log.reward).mean())
    # A policy that draws with certainty is one that takes.
    first = np.zeros(len(row))
    first[sets.starts[:-1]] = 1.0
    taken = marginal_decisions(sets.ids[sets.starts[:-1]], log, group)
    values = [
        evaluate(each, **found.arrays(), method="ips").value for each in (taken, marginal_decisions(first, log, group))
    ]
    assert values[0] == pytest.approx(values[1])


@pytest.mark.filterwarnings("ignore::offsettree.exceptions.OffsetTreeWarning")
def test_policies_that_draw_are_valued_without_bias_if_the_assumption_holds_and_only_then() -> None:
    bias = {}
    for direct in (0.0, 0.2):
        errors = []
        for seed in range(60):
            log, group, (_, chance), _ = make(direct, seed)
            policy = drawing(log, seed)
            ids = log.action_sets.ids  # type: ignore[union-attr]
            mean = np.array([0.2, 0.5, 0.8])[group] + direct * (ids < 150)
            found = marginalise(log, group, logging=chance)
            decided = marginal_decisions(policy, log, group)
            value = evaluate(decided, **found.arrays(), method="ips", reward_range=(0, 1)).value
            errors.append(value - (policy * mean).sum() / len(log))
        bias[direct] = np.mean(errors) / (np.std(errors) / np.sqrt(len(errors)))
    assert abs(bias[0.0]) < 3
    assert bias[0.2] < -3  # it takes small ids more often, and these earn more


def test_explorers_are_valued_by_the_chances_of_groups() -> None:
    train, test = simulate_catalogue(2000, 30, 5, exploration=1.0, random_state=0).split_days(8)
    explorer = EpsilonGreedy(OnlineActionRegression().fit(**train.log.arrays()), epsilon=0.5, random_state=0)
    group = test.sets.items[test.sets.item, 0] > 0  # type: ignore[index]
    decided = marginal_decisions(explorer, test.log, group)
    by_hand = marginal_decisions(explorer.predict_proba(test.log.X, action_sets=test.sets), test.log, group)
    marginal = marginalise(test.log, group)
    values = [evaluate(each, **marginal.arrays()).value for each in (decided, by_hand)]
    assert values[0] == values[1]
    single = marginal_decisions(explorer, test.log, test.sets.ids)
    alone = marginalise(test.log, test.sets.ids)
    assert evaluate(single, **alone.arrays()).value == pytest.approx(evaluate(explorer, **test.log.arrays()).value)


def test_groups_of_single_ids_change_nothing() -> None:
    train, test = simulate_catalogue(2000, 30, 5, exploration=1.0, random_state=0).split_days(8)
    policy = OnlineActionRegression().fit(**train.log.arrays())
    log = test.log
    marginal = marginalise(log, test.sets.ids)
    np.testing.assert_array_equal(marginal.action, log.action)
    np.testing.assert_allclose(marginal.propensity, log.propensity)
    decided = marginal_decisions(policy, log, test.sets.ids)
    assert evaluate(decided, **marginal.arrays()).value == pytest.approx(evaluate(policy, **log.arrays()).value)


def test_what_does_not_fit_is_refused() -> None:
    log, group, (chosen, chance), _ = make(0.0, 0)
    with pytest.raises(PropensityError, match="must sum to 1 and agree"):
        marginalise(log, group)
    with pytest.raises(PropensityError, match="must sum to 1 and agree"):
        marginalise(log, group, logging=chance * 0.9)
    with pytest.raises(LogError, match="logging must be 'uniform'"):
        marginalise(log, group, logging="some")
    with pytest.raises(LogError, match="group"):
        marginalise(log, group[:-1], logging=chance)
    with pytest.raises(LogError, match="logging"):
        marginalise(log, group, logging=chance[:-1])
    with pytest.raises(ActionError, match="must be one of its row's eligible actions"):
        marginal_decisions(np.full(len(log), 999), log, group)
    with pytest.raises(LogError, match="must have action sets"):
        marginalise(LoggedData([[0.0]], ["a"], [1], 0.5), ["a"])
    assert len(chosen) == len(log)
    for wrong in (chance * 0.9, np.where(np.arange(len(chance)) == 40, np.nan, chance)):
        with pytest.raises(ParameterError, match=r"row \d+ sum to"):
            marginal_decisions(wrong, log, group)
    with pytest.raises(LogError, match="policy"):
        marginal_decisions(chance[:-1], log, group)
