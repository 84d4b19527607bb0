from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from offsettree import ActionSets, LoggedData, OnlineActionOffsetTree, OnlineActionRegression, simulate_catalogue
from offsettree.actions._kernels_bilinear import MOST_SEEN
from offsettree.exceptions import (
    ActionError,
    FeatureError,
    LogError,
    OffsetTreeError,
    ParameterError,
    PropensityError,
    RewardError,
)
from offsettree.logs import SimulatedCatalogue

CATALOGUE = simulate_catalogue(6000, 60, 6, random_state=0)
TRAIN, TEST = CATALOGUE.split_days(8)


@pytest.fixture(scope="module")
def fitted() -> OnlineActionRegression:
    return OnlineActionRegression().fit(**TRAIN.log.arrays())


def test_it_decides_well_among_new_actions(fitted: OnlineActionRegression) -> None:
    new = set(TEST.sets.ids.tolist()) - set(TRAIN.sets.ids.tolist())
    assert new
    gain = TEST.value(fitted.predict(TEST.log.X, TEST.sets)) - TEST.uniform_value
    assert gain > 0.7 * (TEST.best_value - TEST.uniform_value)
    # Rows that may choose among new ones only.
    is_new = np.isin(TEST.sets.ids, list(new))
    rows = np.flatnonzero(np.logical_and.reduceat(is_new, TEST.sets.starts[:-1]))
    among_new = TEST._rows(rows)
    gain = among_new.value(fitted.predict(among_new.log.X, among_new.sets)) - among_new.uniform_value
    assert gain > 0.6 * (among_new.best_value - among_new.uniform_value)


def test_learning_from_rows_in_chunks_or_one_by_one_is_the_same() -> None:
    log = TRAIN.log[:300]
    whole = OnlineActionRegression().fit(**log.arrays())
    chunks = OnlineActionRegression()
    for first in range(0, 300, 70):
        chunks.partial_fit(**log[first : first + 70].arrays())
    single = OnlineActionRegression()
    for row in range(300):
        one = log[row]
        single.learn(one.X[0], one.action_sets, one.action[0], one.reward[0], one.propensity[0])
    assert whole.n_rows_ == chunks.n_rows_ == single.n_rows_ == 300
    np.testing.assert_array_equal(whole.weights_, chunks.weights_)
    np.testing.assert_allclose(whole.weights_, single.weights_, rtol=1e-4, atol=1e-6)


def test_one_decision_is_that_of_the_table(fitted: OnlineActionRegression) -> None:
    rewards = fitted.predict_rewards(TEST.log.X, TEST.sets)
    chosen = fitted.predict(TEST.log.X, TEST.sets)
    sets = TEST.sets
    assert sets.items is not None
    assert sets.item is not None
    without_ids = OnlineActionRegression(id_effects=False).fit(**TRAIN.log.arrays())
    places = without_ids._choose(TEST.log.X, sets) - sets.starts[:-1]
    for row in range(20):
        one = sets.take([row])
        assert fitted.decide(TEST.log.X[row], one) == chosen[row]
        np.testing.assert_allclose(
            fitted.rewards(TEST.log.X[row], one), rewards[sets.starts[row] : sets.starts[row + 1]], rtol=1e-5
        )
        # Arrays have no ids: the answer is a position.
        features = np.asarray(sets.items)[sets.item[sets.starts[row] : sets.starts[row + 1]]]
        assert without_ids.decide(TEST.log.X[row], features) == places[row]


def as_forms() -> dict[str, tuple[Any, ActionSets]]:
    X, sets = TRAIN.log.X, TRAIN.sets
    items: Any = sets.items
    assert sets.item is not None

    def made(form: Any, **more: Any) -> ActionSets:
        return ActionSets(sets.ids, sets.starts, items=form(items), item_ids=np.arange(len(items)), **more)

    return {
        "csr": (sp.csr_matrix(X), made(sp.csr_matrix)),
        "pairs": (X, ActionSets(sets.ids, sets.starts, pairs=items[sets.item])),
    }


@pytest.mark.parametrize("form", ["csr", "pairs"])
def test_the_form_of_the_features_does_not_matter(form: str, fitted: OnlineActionRegression) -> None:
    X, sets = as_forms()[form]
    log = TRAIN.log
    again = OnlineActionRegression().fit(X, log.action, reward=log.reward, propensity=log.propensity, action_sets=sets)
    np.testing.assert_allclose(again.weights_, fitted.weights_, rtol=1e-4, atol=1e-6)


def test_frames_and_mappings_name_the_same_features() -> None:
    users = pd.DataFrame({"age": [20.0, np.nan, 60.0], "plan": ["free", "paid", None]})
    goods = pd.DataFrame({"price": [1.0, 2.0, 3.0], "kind": ["a", "b", "a"]})
    ids = [["x", "y"], ["y", "z"], ["z", "x"]]
    sets = ActionSets(ids, items=goods, item_ids=["x", "y", "z"])
    table = OnlineActionRegression().fit(users, ["x", "z", "z"], reward=[1, 0, 1], propensity=0.5, action_sets=sets)
    single = OnlineActionRegression()
    rows = goods.to_dict("records")
    by_id = {label: {"id": label, **features} for label, features in zip("xyz", rows, strict=True)}
    contexts = users.to_dict("records")
    for row, (chosen, reward) in enumerate(zip("xzz", [1, 0, 1], strict=True)):
        single.learn(contexts[row], [by_id[label] for label in ids[row]], chosen, reward, 0.5)
    np.testing.assert_allclose(single.weights_, table.weights_, rtol=1e-4, atol=1e-6)
    for row in range(3):
        actions = [by_id[label] for label in ids[row]]
        assert single.decide(contexts[row], actions) == table.predict(users, sets)[row]


def test_mappings_may_nest_lists_and_differ_in_their_names() -> None:
    policy = OnlineActionRegression(id_effects=False)
    actions = [{"tags": ["new", "hot"], "size": {"w": 1.0}}, {"tags": ["old"], "price": 2}, {"flag": True}]
    for _ in range(30):
        policy.learn({"u": "a"}, actions, 1, 1.0, 0.5).learn({"u": "a"}, actions, 0, 0.0, 0.5)
    assert policy.decide({"u": "a"}, actions) == 1
    assert policy.decide({"u": "a"}, [{"tags": ["hot"]}, {"tags": ["old"]}]) == 1
    assert len(policy.rewards({}, actions)) == 3


def test_a_new_id_starts_from_its_features_and_an_old_one_keeps_what_it_has_earned() -> None:
    """Two items of the same features, one of which earns more than these explain."""
    random = np.random.default_rng(0)
    sets = ActionSets([["good", "poor"]] * 2000, items=[[1.0], [1.0]], item_ids=["good", "poor"])
    action = np.where(random.random(2000) < 0.5, "good", "poor")
    reward = (random.random(2000) < np.where(action == "good", 0.8, 0.2)).astype(float)
    X = np.ones((2000, 1))
    policy = OnlineActionRegression().fit(X, action, reward=reward, propensity=0.5, action_sets=sets)
    new = ActionSets([["good", "poor", "new"]], items=[[1.0]] * 3, item_ids=["good", "poor", "new"])
    good, poor, fresh = policy.predict_rewards(X[:1], new)
    assert abs(good - 0.8) < 0.1
    assert abs(poor - 0.2) < 0.1
    assert abs(fresh - 0.5) < 0.1
    # Few rows of an id do not outweigh its features.
    lucky = ActionSets([["lucky", "good"]], items=[[1.0]] * 2, item_ids=["lucky", "good"])
    policy.partial_fit(X[:1], ["lucky"], reward=[1.0], propensity=0.5, action_sets=lucky)
    assert policy.predict_rewards(X[:1], lucky)[0] < 0.6


def far_from_zero(catalogue: SimulatedCatalogue) -> SimulatedCatalogue:
    """Measure all features on other scales: ages and prices are not centred."""
    log, sets = catalogue.log, catalogue.sets
    items: Any = sets.items
    moved = ActionSets(sets.ids, sets.starts, items=100 * items + 400, item_ids=sets.item_ids)
    return replace(
        catalogue, log=LoggedData(log.X + 5, log.action, log.reward, log.propensity, action_sets=moved)
    )  # fmt: skip


@pytest.mark.parametrize("make", [OnlineActionRegression, OnlineActionOffsetTree])
def test_where_zero_is_on_the_scale_of_a_feature_does_not_matter(make: Any) -> None:
    plain = make().fit(**TRAIN.log.arrays())
    moved, test = make().fit(**far_from_zero(TRAIN).log.arrays()), far_from_zero(TEST)
    value = TEST.value(plain.predict(TEST.log.X, TEST.sets))
    assert abs(test.value(moved.predict(test.log.X, test.sets)) - value) < 0.01


def test_whether_a_feature_is_there_tells_something_too() -> None:
    """A coupon of 5 or 6, on every other action: what counts is that there is one."""
    random = np.random.default_rng(0)
    policy = OnlineActionRegression(prior=1.0, id_effects=False)
    for _ in range(400):
        actions: list[dict[str, Any]] = [{"price": random.random() + 5}, {"price": random.random() + 5}]
        actions[random.integers(2)]["coupon"] = 5 + random.integers(2)
        taken = int(random.integers(2))
        policy.learn({}, actions, taken, float("coupon" in actions[taken]), 0.5)
    for coupon in (5, 6):
        with_coupon, without = policy.rewards({}, [{"price": 5.5, "coupon": coupon}, {"price": 5.5}])
        assert with_coupon > 0.8
        assert without < 0.2


def expected(action: dict[str, float]) -> float:
    return 0.1 + 0.5 * (action.get("price", 5.0) - 5) + 0.3 * action["q"]


@pytest.mark.parametrize(("n_rows", "share"), [(3, 1.0), (1000, 0.2)])
def test_a_feature_that_is_absent_from_now_and_then_on_does_not_ruin_what_was_learned(
    n_rows: int, share: float
) -> None:
    """A price from 5 to 6, on all actions of 3,000 decisions; then what is taken lacks it, three times or often."""
    random = np.random.default_rng(0)

    def offers(n: int = 5) -> list[dict[str, float]]:
        return [{"price": 5 + random.random(), "q": random.random()} for _ in range(n)]

    def learn(actions: list[dict[str, float]]) -> None:
        policy.learn({}, actions, 0, float(random.random() < expected(actions[0])), 0.2)

    policy, tests = OnlineActionRegression(), [offers() for _ in range(300)]
    for _ in range(3000):
        learn(offers())

    def value() -> float:
        return float(np.mean([expected(each[policy.decide({}, each)]) for each in tests]))

    before = value()
    assert before > 0.65
    for _ in range(n_rows):
        learn([{"q": random.random()}, *offers(4)] if random.random() < share else offers())
    assert value() > before - 0.01


@pytest.mark.parametrize("make", [OnlineActionRegression, OnlineActionOffsetTree])
def test_after_very_many_rows_a_feature_keeps_its_unit(make: Any) -> None:
    """Counts stop at what single precision holds: they are halved, so that shares of rows remain."""
    policy = make(id_effects=False, n_bits=14)

    def learn(n: int) -> None:
        for step in range(n):
            actions: list[dict[str, Any]] = [
                {"price": 5.0 + step % 3},
                {"price": 4.0 + step % 2, "coupon": 1.0 + step % 4},
            ]
            policy.learn({"age": 30.0 + step % 5}, actions, step % 2, float(step % 3 == 0), 0.5)

    learn(200)
    times = (MOST_SEEN - 50) / policy.totals_[:2].max()
    policy.totals_[:2] *= times
    policy.scales_[2] *= times
    shares = policy.scales_[2] / policy.totals_[:2].max()
    learn(200)
    assert MOST_SEEN / 2 < policy.totals_[:2].max() < MOST_SEEN
    np.testing.assert_allclose(policy.scales_[2] / policy.totals_[:2].max(), shares, atol=1e-4)


@pytest.mark.parametrize("make", [OnlineActionRegression, OnlineActionOffsetTree])
def test_products_that_share_places_do_not_make_a_step_too_long(make: Any) -> None:
    """Thousands of products in 256 places: a place moves once, not once for each of them."""
    random = np.random.default_rng(0)
    items = np.repeat([[1.0], [2.0], [3.0]], 60, axis=1)
    sets = ActionSets([[1, 2, 3]] * 500, items=items, item_ids=[1, 2, 3])
    action = random.integers(1, 4, 500)
    policy = make(n_bits=8)
    policy.fit(np.ones((500, 60)), action, reward=action == 2, propensity=1 / 3, action_sets=sets)
    assert np.isfinite(policy.weights_).all()
    assert policy.predict(np.ones((1, 60)), sets.take([0]))[0] == 2
    if make is OnlineActionRegression:
        rewards = policy.predict_rewards(np.ones((1, 60)), sets.take([0]))
        np.testing.assert_allclose(rewards, [0, 1, 0], atol=0.05)


def test_a_weight_moves_by_its_share_of_what_is_not_known() -> None:
    """No features but what is always there: after n rows, the belief of 4 rows and these say how far it moves."""
    policy = OnlineActionRegression(prior=4.0, id_effects=False, interactions="context-action")
    for reward in (0.0, 1.0):  # less the mean so far: 0, and 0.5
        policy.learn({}, [{}], 0, reward, 1.0)
    assert policy.rewards({}, [{}])[0] == pytest.approx(0.5 + 0.5 / (4 + 2))
    assert policy.weights_[1].max() == pytest.approx(2.0)  # rows, beside the prior


def test_rows_of_rare_actions_count_as_much_as_others() -> None:
    """The logging policy takes the first action nearly always where x is positive; the model cannot tell x apart."""
    catalogue = simulate_catalogue(8000, 30, 5, exploration=0.2, random_state=3)
    weighted = OnlineActionRegression().fit(**catalogue.log.arrays())
    plain = OnlineActionRegression(importance="none").fit(**catalogue.log.arrays())
    assert not np.array_equal(weighted.weights_, plain.weights_)
    uniform = simulate_catalogue(500, 30, 5, random_state=3).log.arrays()
    np.testing.assert_array_equal(
        OnlineActionRegression().fit(**uniform).weights_,
        OnlineActionRegression(importance="none").fit(**uniform).weights_,
    )


def test_copies_and_pickles_decide_the_same(fitted: OnlineActionRegression) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(TEST.log.X, TEST.sets), fitted.predict(TEST.log.X, TEST.sets))
    fresh = clone(fitted)
    with pytest.raises(NotFittedError, match="has not learned yet"):
        fresh.predict(TEST.log.X, TEST.sets)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"prior": 0}, "prior must be"),
        ({"id_prior": -1}, "id_prior must be"),
        ({"interactions": "some"}, "interactions must be"),
        ({"importance": None}, "importance must be"),
        ({"n_bits": 99}, "n_bits must be"),
        ({"reward_range": (1, 0)}, "reward_range"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        OnlineActionRegression(**settings).fit(**TRAIN.log[:5].arrays())


GOOD: dict[str, Any] = {"x": {"u": 1.0}, "actions": [{"id": 1}, {"id": 2}], "chosen": 1, "reward": 1, "propensity": 0.5}


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"actions": []}, ActionError, "at least one action"),
        ({"actions": [1, 2]}, ActionError, "actions must be the eligible actions"),
        ({"actions": [{"id": 1}, {}]}, ActionError, "either all actions have an 'id' or none"),
        ({"actions": [{"id": 1}, {"id": 1}]}, ActionError, "1 is there twice"),
        ({"actions": np.ones(3)}, ActionError, "a row of features per eligible action"),
        ({"actions": np.full((2, 1), np.nan), "chosen": 0}, FeatureError, "must be finite"),
        ({"actions": TEST.sets}, ActionError, "the set of one row"),
        ({"chosen": 3}, ActionError, "3 is not among"),
        ({"chosen": True}, ActionError, "True is not among"),
        ({"x": "words"}, FeatureError, "x must be numbers"),
        ({"x": [np.inf]}, FeatureError, "x must be finite"),
        ({"x": {"u": np.inf}}, FeatureError, "'u' is inf"),
        ({"x": {"u": object()}}, FeatureError, "'u' is <object"),
        ({"x": [[1.0], [2.0]]}, FeatureError, "one context"),
        ({"reward": 2}, RewardError, "reward must be"),
        ({"propensity": 0}, PropensityError, "propensity must be"),
    ],
)
def test_a_wrong_row_is_refused_and_nothing_learned(
    changes: dict[str, Any], error: type[OffsetTreeError], text: str
) -> None:
    policy = OnlineActionRegression().learn(**GOOD)
    before = policy.weights_.copy()
    with pytest.raises(error, match=text):
        policy.learn(**(GOOD | changes))
    np.testing.assert_array_equal(policy.weights_, before)


def test_a_log_without_sets_and_sets_of_other_rows_are_refused(fitted: OnlineActionRegression) -> None:
    log = TRAIN.log
    with pytest.raises(LogError, match="got nothing"):
        OnlineActionRegression().fit(log.X, log.action, reward=log.reward, propensity=log.propensity)
    with pytest.raises(FeatureError, match="a row per action set"):
        fitted.predict(TEST.log.X[:3], TEST.sets)
