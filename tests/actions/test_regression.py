from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeCV

from offsettree import ActionRegression, ActionSets, simulate_catalogue
from offsettree.exceptions import ActionError, FeatureError, OffsetTreeError, ParameterError

TRAIN, TEST = simulate_catalogue(4000, 40, 6, random_state=0).split_days(8)


def share_of_gain(policy: Any) -> float:
    value = TEST.value(policy.predict(TEST.log.X, TEST.sets))
    return (value - TEST.uniform_value) / (TEST.best_value - TEST.uniform_value)


@pytest.fixture(scope="module")
def fitted() -> ActionRegression:
    return ActionRegression(RidgeCV()).fit(**TRAIN.log.arrays())


@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(None, id="default"),
        pytest.param(RidgeCV(), id="ridge"),
        pytest.param(ExtraTreesRegressor(30, min_samples_leaf=5), id="trees"),
    ],
)
def test_it_decides_well_among_actions_half_of_which_are_new(estimator: Any) -> None:
    policy = ActionRegression(estimator, random_state=0).fit(**TRAIN.log.arrays())
    assert share_of_gain(policy) > 0.6
    rewards = policy.predict_rewards(TEST.log.X, TEST.sets)
    assert np.corrcoef(rewards, TEST.expected)[0, 1] > 0.6


def test_products_are_what_a_linear_model_needs() -> None:
    """Without them, and without slopes of ids, the best action is the same in every context."""
    with_products, without = (
        ActionRegression(RidgeCV(), interactions=each, id_effects=False).fit(**TRAIN.log.arrays())
        for each in (True, False)
    )
    assert share_of_gain(without) < share_of_gain(with_products) - 0.2


def test_one_decision_is_that_of_the_table(fitted: ActionRegression) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    chosen, rewards = fitted.predict(TEST.log.X, TEST.sets), fitted.predict_rewards(TEST.log.X, TEST.sets)
    for row in range(10):
        one = TEST.sets.take([row])
        assert again.decide(TEST.log.X[row], one) == chosen[row]
        np.testing.assert_allclose(
            again.rewards(TEST.log.X[row], one), rewards[TEST.sets.starts[row] : TEST.sets.starts[row + 1]]
        )
    assert fitted.predict_proba(TEST.log.X, TEST.sets).sum() == len(TEST.log)


def test_blocks_of_rows_give_the_same(fitted: ActionRegression, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fitted.predict_rewards(TEST.log.X, TEST.sets)
    monkeypatch.setattr("offsettree.actions._encoding.BLOCK_NUMBERS", 5000)
    np.testing.assert_allclose(fitted.predict_rewards(TEST.log.X, TEST.sets), whole)


def own_effects(n_rows: int = 3000) -> tuple[dict[str, Any], list[str], Any]:
    """Ten items of the same features, of which every other one earns more than these explain."""
    random = np.random.default_rng(0)
    ids = [f"i{place}" for place in range(10)]
    items = np.ones((10, 1)) + 0.01 * random.normal(size=(10, 1))
    place = random.integers(10, size=n_rows)
    log = {
        "X": random.normal(size=(n_rows, 1)),
        "action": np.array(ids)[place],
        "reward": (random.random(n_rows) < np.where(place % 2 == 0, 0.8, 0.2)).astype(float),
        "propensity": 0.1,
        "action_sets": ActionSets([ids] * n_rows, items=items, item_ids=ids),
    }
    return log, ids, items


def test_a_new_id_starts_from_its_features_and_an_old_one_keeps_what_it_has_earned() -> None:
    log, ids, items = own_effects()
    policy = ActionRegression(RidgeCV(), random_state=0).fit(**log)
    sets = ActionSets([[*ids, "new"]], items=np.vstack([items, [[1.0]]]), item_ids=[*ids, "new"])
    *old, new = policy.predict_rewards([[0.0]], sets)
    assert all(0.7 < each < 0.9 for each in old[::2])
    assert all(0.1 < each < 0.3 for each in old[1::2])
    assert 0.35 < new < 0.65
    without = ActionRegression(RidgeCV(), id_effects=False).fit(**log)
    assert max(without.predict_rewards([[0.0]], sets)) < 0.65


def test_ids_that_tell_nothing_have_no_effects() -> None:
    log, *_ = own_effects()
    log["reward"] = (np.random.default_rng(1).random(3000) < 0.5).astype(float)
    policy = ActionRegression(RidgeCV(), random_state=0).fit(**log)
    assert policy.id_effects_ is not None
    assert policy.id_effects_.penalty >= 300


def frames() -> tuple[pd.DataFrame, ActionSets]:
    random = np.random.default_rng(0)
    users = pd.DataFrame({"age": random.normal(40, 9, 300), "plan": random.choice(["free", "paid"], 300)})
    goods = pd.DataFrame({"price": random.normal(5, 1, 12), "kind": random.choice(["a", "b"], 12)})
    ids = [random.choice(12, 3, replace=False).tolist() for _ in range(300)]
    pairs = pd.DataFrame({"affinity": random.normal(size=900)})
    return users, ActionSets(ids, items=goods, item_ids=np.arange(12), pairs=pairs)


def test_frames_are_encoded_and_mappings_name_the_same_features() -> None:
    users, sets = frames()
    action = sets.ids[sets.starts[:-1]]
    reward = np.random.default_rng(1).random(300)
    policy = ActionRegression(RidgeCV()).fit(users, action, reward=reward, propensity=1 / 3, action_sets=sets)
    rewards = policy.predict_rewards(users, sets)
    items, pairs, item = sets.items, sets.pairs, sets.item
    assert items is not None
    assert pairs is not None
    assert item is not None
    for row in range(5):
        span = range(sets.starts[row], sets.starts[row + 1])
        actions = [
            {"id": int(sets.ids[pair]), **items.iloc[item[pair]].to_dict(), **pairs.iloc[pair].to_dict()}
            for pair in span
        ]
        context = users.iloc[row].to_dict()
        np.testing.assert_allclose(policy.rewards(context, actions), rewards[list(span)], rtol=1e-5)
        assert policy.decide(context, actions) in sets[row]
    with pytest.raises(FeatureError, match="must be a frame, as in fit"):
        policy.predict(np.ones((300, 2)), sets)


GOOD = (TEST.log.X[0], TEST.sets.take([0]))


@pytest.mark.parametrize(
    ("x", "actions", "error", "text"),
    [
        (GOOD[0], [], ActionError, "at least one action"),
        (GOOD[0], np.ones((3, 2)), FeatureError, "the features of fit, 6 per action"),
        (GOOD[0], [{"price": 1}], FeatureError, "the features of fit"),
        (GOOD[0], np.full((3, 6), np.nan), FeatureError, "must be finite"),
        (GOOD[0][:2], GOOD[1], FeatureError, "X must have 6 features"),
        ({"age": 3}, GOOD[1], FeatureError, "X must be"),
        (GOOD[0], TEST.sets, ActionError, "one context"),
        (GOOD[0], ActionSets([[1, 2]]), FeatureError, "if and only if they had some in fit"),
    ],
)
def test_wrong_decisions_are_refused(
    fitted: ActionRegression, x: Any, actions: Any, error: type[OffsetTreeError], text: str
) -> None:
    with pytest.raises(error, match=text):
        fitted.decide(x, actions)


@pytest.mark.parametrize(
    ("settings", "text"),
    [({"importance": "some"}, "importance must be"), ({"estimator": "ridge"}, "estimator must be a regressor")],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        ActionRegression(**settings).fit(**TRAIN.log.arrays())


def test_sets_without_features_and_an_unfitted_policy_are_refused() -> None:
    sets = ActionSets(TRAIN.sets.ids, TRAIN.sets.starts)
    log = TRAIN.log.arrays() | {"action_sets": sets}
    with pytest.raises(FeatureError, match="must have features"):
        ActionRegression().fit(**log)
    with pytest.raises(NotFittedError):
        ActionRegression().predict(TEST.log.X, TEST.sets)


def test_weights_need_a_propensity_that_varies() -> None:
    log = simulate_catalogue(2000, 30, 5, exploration=0.3, random_state=1).log.arrays()
    plain = ActionRegression(RidgeCV()).fit(**log)
    weighted = ActionRegression(RidgeCV(), importance="inverse_propensity").fit(**log)
    sets, X = log["action_sets"], log["X"]
    assert not np.allclose(plain.predict_rewards(X, sets), weighted.predict_rewards(X, sets))


def test_the_best_come_first_and_each_is_the_best_of_what_is_left(fitted: ActionRegression) -> None:
    X, sets = TEST.log.X[:20], TEST.sets.take(np.arange(20))
    ranked = fitted.rank(X, sets, 6)
    rewards = fitted.predict_rewards(X, sets)
    for row in range(20):
        span = slice(sets.starts[row], sets.starts[row + 1])
        assert ranked[row].tolist() == sets.ids[span][np.argsort(-rewards[span], kind="stable")].tolist()
    np.testing.assert_array_equal(fitted.rank(X, sets, 1)[:, 0], fitted.predict(X, sets))
    with pytest.raises(ParameterError, match="of which a row has 6; got 7"):
        fitted.rank(X, sets, 7)


def test_effects_of_ids_need_not_be_linear() -> None:
    """Every other item earns more where x is far from 0, the rest where it is near; all have the same features."""
    log, ids, items = own_effects(6000)
    random = np.random.default_rng(2)
    place = np.array([int(label[1:]) for label in log["action"]])
    is_far = np.abs(log["X"][:, 0]) > 0.7
    log["reward"] = (random.random(6000) < np.where(is_far == (place % 2 == 0), 0.9, 0.1)).astype(float)
    policy = ActionRegression(RidgeCV(), random_state=0).fit(**log)
    assert policy.id_effects_ is not None
    assert policy.id_effects_.trees is not None
    sets = ActionSets([[*ids, "new"]], items=np.vstack([items, [[1.0]]]), item_ids=[*ids, "new"])
    for x, better in ((0.0, 1), (2.0, 0)):
        *old, new = policy.predict_rewards([[x]], sets)
        assert min(old[better::2]) > 0.7
        assert max(old[1 - better :: 2]) < 0.3
        assert 0.3 < new < 0.7
