"""What every policy promises where rows may not choose every action, and where more than one is wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from offsettree import Banditron, ImportanceWeighted, LoggedData, OnlineOffsetTree, OnlineRewardRegression, load, save
from offsettree.base import BasePolicy
from offsettree.exceptions import ActionError, FeatureError, ParameterError
from tests.suites.policies import COLOURS, POLICIES, fitted, looks_at_x, make_log, n_actions_of

WITHOUT_SETS = OnlineOffsetTree | OnlineRewardRegression | Banditron  # learn from rows that could choose all actions
WITH_SETS = [name for name, policy in POLICIES.items() if not isinstance(policy, WITHOUT_SETS)]


@pytest.fixture(params=WITH_SETS)
def policy(request: pytest.FixtureRequest) -> BasePolicy:
    return clone(POLICIES[request.param])  # type: ignore[no-any-return]


@pytest.fixture(params=WITH_SETS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def some_sets(n_rows: int, n_actions: int, seed: int = 0) -> NDArray[np.bool_]:
    """Any sets, none of them empty."""
    random = np.random.RandomState(seed)
    mask = random.random_sample((n_rows, n_actions)) < 0.5
    mask[np.arange(n_rows), random.randint(n_actions, size=n_rows)] = True
    return mask


def log_within_sets(policy: BasePolicy, n_rows: int, seed: int) -> tuple[LoggedData, NDArray[np.bool_]]:
    """Uniform logging among the actions available; the right one earns 1 where it is among them."""
    log = make_log(policy, n_rows=n_rows, seed=seed)
    mask = some_sets(n_rows, n_actions_of(policy), seed)
    random = np.random.RandomState(seed + 1)
    action = np.array([random.choice(np.flatnonzero(row)) for row in mask])
    right = np.digitize(log.X[:, 0], [0.0] if n_actions_of(policy) == 2 else [-0.5, 0.5])
    return LoggedData(log.X, action, (action == right).astype(float), 1 / mask.sum(axis=1)), mask


def test_all_actions_available_is_the_same_as_no_mask(name: str) -> None:
    policy, plain = clone(POLICIES[name]), fitted(name)
    log = make_log(policy)
    everything = np.ones((len(log), n_actions_of(policy)), dtype=bool)
    policy.fit(**log.arrays(), available=everything)
    expected = plain.predict(log.X)
    np.testing.assert_array_equal(policy.predict(log.X), expected)
    np.testing.assert_array_equal(plain.predict(log.X, everything), expected)
    np.testing.assert_array_equal(plain.predict_proba(log.X, everything), plain.predict_proba(log.X))
    assert plain.decide(log.X[0], plain.actions_.tolist()) == plain.decide(log.X[0])
    assert plain.score(**log.arrays(), available=everything) == plain.score(**log.arrays())


def test_no_decision_leaves_the_available_set(name: str) -> None:
    policy = fitted(name, COLOURS)
    log = make_log(policy, COLOURS)
    labels, mask = policy.actions_, some_sets(len(log), n_actions_of(policy))
    chosen = policy.predict(log.X, mask)
    position = np.searchsorted(labels, chosen)
    assert mask[np.arange(len(log)), position].all()
    for form in (sp.csr_matrix, sp.csr_array, sp.coo_array, lambda mask: mask.astype(int), lambda mask: mask.tolist()):
        np.testing.assert_array_equal(policy.predict(log.X, form(mask)), chosen)
    probability = policy.predict_proba(log.X, mask)
    assert not probability[~mask].any()
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(labels[probability.argmax(axis=1)], chosen)
    for row in range(20):
        assert policy.decide(log.X[row], mask[row]) == chosen[row]
        assert policy.decide(log.X[row], labels[mask[row]]) == chosen[row]
        assert policy.decide(log.X[row].tolist(), set(labels[mask[row]].tolist())) == chosen[row]


def test_a_row_with_one_action_gets_that_one(name: str) -> None:
    policy = fitted(name)
    log = make_log(policy)
    only = np.arange(len(log)) % n_actions_of(policy)
    np.testing.assert_array_equal(policy.predict(log.X, only[:, np.newaxis] == np.arange(n_actions_of(policy))), only)


def test_it_learns_from_rows_that_had_some_of_the_actions(policy: BasePolicy) -> None:
    log, mask = log_within_sets(policy, 3000, 0)
    policy.fit(**log.arrays(), available=mask)
    test, test_mask = log_within_sets(policy, 1000, 1)
    if not looks_at_x(policy):
        pytest.skip("no one action is much better than the others here")
    right = np.digitize(test.X[:, 0], [0.0] if mask.shape[1] == 2 else [-0.5, 0.5])
    assert (policy.predict(test.X) == right).mean() > (0.75 if isinstance(policy, ImportanceWeighted) else 0.8)
    assert policy.score(**test.arrays(), available=test_mask) > test.reward.mean() + 0.1


def test_masks_of_any_form_teach_the_same(policy: BasePolicy) -> None:
    log, mask = log_within_sets(policy, 300, 0)
    expected = clone(policy).fit(**log.arrays(), available=mask).predict(log.X)
    np.testing.assert_array_equal(policy.fit(**log.arrays(), available=sp.csr_array(mask)).predict(log.X), expected)


def test_rows_without_a_choice_teach_nothing_of_it(policy: BasePolicy) -> None:
    """They would say that the worst action is the best."""
    if policy._learner_kind == "regressor" or getattr(policy, "reward_model", None) is not None:
        pytest.skip("it learns what each action earns, from these rows too")
    if not looks_at_x(policy):
        pytest.skip("a test of its own says so")
    log = make_log(policy, n_rows=1000)
    X = np.concatenate([log.X, log.X])
    action = np.concatenate([log.action, np.zeros(len(log), dtype=int)])
    mask = np.zeros((len(X), n_actions_of(policy)), dtype=bool)
    mask[: len(log)] = True
    mask[:, 0] = True
    reward = np.concatenate([log.reward, np.ones(len(log))])
    policy.fit(X, action, reward=reward, propensity=np.where(mask.all(axis=1), 1 / mask.shape[1], 1.0), available=mask)
    assert policy.score(**make_log(policy, n_rows=1000, seed=1).arrays()) > 0.7


def test_the_best_actions_come_in_order(name: str) -> None:
    policy = fitted(name, COLOURS)
    log = make_log(policy, COLOURS)
    n_actions = n_actions_of(policy)
    ranked = policy.rank(log.X, n_actions)
    assert ranked.shape == (len(log), n_actions)
    np.testing.assert_array_equal(ranked[:, 0], policy.predict(log.X))
    np.testing.assert_array_equal(np.sort(ranked, axis=1), np.tile(policy.actions_, (len(log), 1)))
    np.testing.assert_array_equal(policy.rank(log.X, 2), ranked[:, :2])
    left = np.ones((len(log), n_actions), dtype=bool)
    for place in range(n_actions):
        np.testing.assert_array_equal(policy.predict(log.X, left), ranked[:, place])
        left[np.arange(len(log)), np.searchsorted(policy.actions_, ranked[:, place])] = False


def test_a_ranking_stays_among_the_actions_available(name: str) -> None:
    policy = fitted(name)
    log = make_log(policy)
    mask = np.ones((len(log), n_actions_of(policy)), dtype=bool)
    mask[np.arange(len(log)), np.arange(len(log)) % 2] = n_actions_of(policy) == 2
    n = mask.sum(axis=1).min()
    ranked = policy.rank(log.X, n, sp.csr_array(mask))
    np.testing.assert_array_equal(ranked[:, 0], policy.predict(log.X, mask))
    assert mask[np.arange(len(log))[:, np.newaxis], ranked].all()


def test_bad_masks_are_refused_and_the_row_is_named(name: str) -> None:
    policy = clone(POLICIES[name])
    log = make_log(policy)
    n_actions = n_actions_of(policy)
    everything = np.ones((len(log), n_actions), dtype=bool)
    without_logged = everything.copy()
    without_logged[17, log.action[17]] = False
    empty = everything.copy()
    empty[[5, 9]] = False
    with pytest.raises(ActionError, match=r"must be available; row 17 has \d, .*\(1 such rows"):
        policy.fit(**log.arrays(), available=without_logged)
    with pytest.raises(ActionError, match=r"at least one action.* row 5 has 0 \(2 such rows in all\)"):
        policy.fit(**log.arrays(), available=empty)
    with pytest.raises(NotFittedError):
        policy.rank(log.X, 1)
    policy = fitted(name)
    with pytest.raises(ActionError, match="row 5 has 0"):
        policy.predict(log.X, sp.csr_matrix(empty))
    with pytest.raises(ActionError, match="must be available; row 17"):
        policy.score(**log.arrays(), available=without_logged)
    with pytest.raises(ActionError, match=rf"of shape \(n_rows, n_actions\) = \(300, {n_actions}\).*got \(299"):
        policy.predict(log.X, everything[1:])
    for odd in (everything * 2, everything.astype(str), [[0], [0, 1]]):
        with pytest.raises(ActionError, match="must hold true or false"):
            policy.predict(log.X, odd)
    with pytest.raises(ActionError, match="available must be one of the policy's"):
        policy.decide(log.X[0], [0, 77])
    with pytest.raises(ActionError, match="at least one action"):
        policy.decide(log.X[0], [])
    with pytest.raises(ActionError, match="at least one action"):
        policy.decide(log.X[0], [False] * n_actions)
    with pytest.raises(FeatureError, match="decide takes one context"):
        policy.decide(log.X[:2], [0])
    for n in (0, n_actions + 1, 1.5, True, "2"):
        with pytest.raises(ParameterError, match=f"from 1 to the number of actions, which is {n_actions}"):
            policy.rank(log.X, n)
    with pytest.raises(ActionError, match="at least 2 actions to every row; row 5 has 1"):
        policy.rank(log.X, 2, np.where(np.arange(len(log))[:, np.newaxis] == 5, np.eye(n_actions, dtype=bool)[0], True))


def test_masks_are_routed(policy: BasePolicy) -> None:
    log, mask = log_within_sets(policy, 300, 0)
    with sklearn.config_context(enable_metadata_routing=True):
        parameters = {"reward": log.reward, "propensity": log.propensity, "available": mask}
        assert np.isfinite(cross_val_score(policy, log.X, log.action, params=parameters, cv=3)).all()
        pipeline = make_pipeline(StandardScaler(), policy).fit(log.X, log.action, **parameters)
        chosen = pipeline.predict(log.X, available=mask)
    assert mask[np.arange(len(log)), chosen].all()


def test_a_constant_added_to_all_rewards_changes_nothing(policy: BasePolicy) -> None:
    """The rewards are such that no bit is lost in adding."""
    log = make_log(policy)
    reward = (np.random.RandomState(0).random_sample(len(log)) * 16).round() / 32 + log.reward / 2
    expected = clone(policy).fit(log.X, log.action, reward=reward, propensity=log.propensity).predict(log.X)
    for constant in (-3.0, 5.0, 1000.0):
        shifted = clone(policy).set_params(reward_range=(constant, constant + 1))
        shifted.fit(log.X, log.action, reward=reward + constant, propensity=log.propensity)
        np.testing.assert_array_equal(shifted.predict(log.X), expected)


def test_a_constant_that_costs_digits_leaves_nearly_all_decisions(policy: BasePolicy) -> None:
    log = make_log(policy, n_rows=1000)
    reward = 0.5 * log.reward + 0.5 * np.random.RandomState(0).random_sample(len(log))
    fitted = clone(policy).fit(log.X, log.action, reward=reward, propensity=log.propensity)
    policy.set_params(reward_range=(5, 6))
    policy.fit(log.X, log.action, reward=np.minimum(reward + 5, 6), propensity=log.propensity)
    assert (fitted.predict(log.X) == policy.predict(log.X)).mean() > 0.97


@pytest.mark.parametrize(
    "online", [policy(actions=[0, 1, 2]) for policy in (OnlineOffsetTree, OnlineRewardRegression, Banditron)]
)
def test_online_policies_decide_among_available_actions_but_do_not_learn_from_such_rows(
    online: Any, tmp_path: Path
) -> None:
    log = make_log(POLICIES["offset tree"])
    everything = np.ones((len(log), 3), dtype=bool)
    with pytest.raises(ParameterError, match="available must be None"):
        clone(online).fit(**log.arrays(), available=everything)
    wide = sp.csr_matrix((len(log), 1100 - log.X.shape[1]))
    for X in (log.X, sp.hstack([sp.csr_matrix(log.X), wide], format="csr")):  # spread out, and lists
        policy = clone(online).fit(X, log.action, reward=log.reward, propensity=log.propensity)
        plain = policy.predict(X)
        np.testing.assert_array_equal(policy.predict(X, everything), plain)
        mask = some_sets(len(log), 3)
        chosen = policy.predict(X, mask)
        assert mask[np.arange(len(log)), chosen].all()
        is_there = mask[np.arange(len(log)), plain]
        np.testing.assert_array_equal(chosen[is_there], plain[is_there])
        save(policy, tmp_path / "policy.ot")
        np.testing.assert_array_equal(load(tmp_path / "policy.ot").predict(X, mask), chosen)
        first = np.asarray(log.X[0]) if X is log.X else X[:1]
        assert policy.decide(first, mask[0]) == chosen[0]
        for row in range(30):
            x = X[row] if X is log.X else X[row : row + 1]
            labels = np.flatnonzero(mask[row]).tolist()
            assert policy.decide(x, mask[row]) == policy.decide(x, labels) == chosen[row]
        with pytest.raises(ActionError, match="at least one"):
            policy.decide(first, np.zeros(3, dtype=bool))
        ranks = policy.rank(X, 3)
        np.testing.assert_array_equal(ranks[:, 0], plain)
        np.testing.assert_array_equal(np.sort(ranks, axis=1), np.tile([0, 1, 2], (len(log), 1)))
