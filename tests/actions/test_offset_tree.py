from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from offsettree import ActionOffsetTree, ActionSets, simulate_catalogue
from offsettree.actions._tournament import Contests
from offsettree.exceptions import ParameterError

CATALOGUE = simulate_catalogue(4000, 40, 6, random_state=0)
TRAIN, TEST = CATALOGUE.split_days(8)


def share_of_gain(policy: Any) -> float:
    value = TEST.value(policy.predict(TEST.log.X, TEST.sets))
    return (value - TEST.uniform_value) / (TEST.best_value - TEST.uniform_value)


@pytest.mark.parametrize("tree", ["seeded", "similar", "given"])
@pytest.mark.parametrize("heights", ["cumulative", "separate"])
def test_it_decides_well_among_actions_half_of_which_are_new(tree: Any, heights: Any) -> None:
    policy = ActionOffsetTree(tree=tree, heights=heights, random_state=0).fit(**TRAIN.log.arrays())
    assert share_of_gain(policy) > 0.5
    assert len(policy.estimators_) == len(policy.n_rows_) == 3
    # About half of the rows climb; of six actions, two have no contest at the second height.
    assert policy.n_rows_[0] == len(TRAIN.log)
    assert len(TRAIN.log) / 4 < policy.n_rows_[1] < len(TRAIN.log) / 2
    assert len(TRAIN.log) / 4 < policy.n_rows_[2] < len(TRAIN.log) / 2


@pytest.mark.parametrize("predicted_rewards", [True, False])
@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(None, id="default"),
        pytest.param(ExtraTreesClassifier(n_estimators=10, min_samples_leaf=5), id="trees"),
        pytest.param(GaussianNB(), id="bayes"),
        pytest.param(KNeighborsClassifier(25), id="no weights"),
    ],
)
def test_swapping_the_sides_flips_the_answer_of_any_classifier(estimator: Any, predicted_rewards: bool) -> None:
    policy = ActionOffsetTree(estimator, predicted_rewards=predicted_rewards, inputs="both", random_state=0).fit(
        **TRAIN.log[:600].arrays()
    )
    x, own = policy.encoding_.tables(TEST.log.X, TEST.sets)
    a = policy.core_.inputs(x, own, TEST.sets)
    random = np.random.default_rng(0)
    row = np.arange(200)
    left = TEST.sets.starts[row] + random.integers(0, 3, 200)
    right = TEST.sets.starts[row] + random.integers(3, 6, 200)
    for height in (1, 2, 3):
        forth = policy.core_.left_wins(height, x, a, TEST.sets.ids, Contests(row, left, right))
        back = policy.core_.left_wins(height, x, a, TEST.sets.ids, Contests(row, right, left))
        np.testing.assert_array_equal(forth, ~back)
    assert 0 < forth.mean() < 1


def test_the_order_in_which_actions_are_listed_does_not_matter() -> None:
    policy = ActionOffsetTree(random_state=0).fit(**TRAIN.log.arrays())
    chosen = policy.predict(TEST.log.X, TEST.sets)
    shuffled = ActionSets([each[::-1] for each in TEST.sets], items=TEST.sets.items, item_ids=TEST.sets.item_ids)
    np.testing.assert_array_equal(policy.predict(TEST.log.X, shuffled), chosen)


def test_one_decision_is_that_of_the_table() -> None:
    policy = ActionOffsetTree(random_state=0).fit(**TRAIN.log.arrays())
    again = pickle.loads(pickle.dumps(policy))
    chosen = policy.predict(TEST.log.X, TEST.sets)
    for row in range(10):
        assert again.decide(TEST.log.X[row], TEST.sets.take([row])) == chosen[row]
    given = ActionOffsetTree(tree="given", random_state=0).fit(**TRAIN.log.arrays())
    places = given._choose(TEST.log.X, TEST.sets) - TEST.sets.starts[:-1]
    items: Any = TEST.sets.items
    for row in range(10):
        features = items[TEST.sets.take([row]).item]
        assert given.decide(TEST.log.X[row], features) == places[row]


def test_larger_sets_than_those_learned_from_are_decided() -> None:
    policy = ActionOffsetTree(random_state=0).fit(**TRAIN.log.arrays())
    everything = ActionSets([np.arange(40).tolist()] * 5, items=TEST.sets.items, item_ids=TEST.sets.item_ids)
    assert len(policy.predict(TEST.log.X[:5], everything)) == 5


def test_rows_of_one_action_are_decided_and_teach_nothing() -> None:
    sets = ActionSets([["a"], ["a", "b"], ["b"], ["b", "a"]], items=[[0.0], [1.0]], item_ids=["a", "b"])
    policy = ActionOffsetTree(random_state=0)
    policy.fit(
        [[1.0], [2.0], [1.0], [3.0]], ["a", "b", "b", "b"], reward=[1, 1, 0, 1], propensity=0.5, action_sets=sets
    )
    assert policy.n_rows_ == [2]
    assert policy.predict([[1.0], [2.0], [1.0], [3.0]], sets).tolist()[::2] == ["a", "b"]


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"tree": "tall"}, "tree must be"),
        ({"heights": "all"}, "heights must be"),
        ({"inputs": "none"}, "inputs must be"),
        ({"offset": 2.0}, "offset must be"),
        ({"offset": "median"}, "offset must be"),
        ({"estimator": "logistic"}, "estimator must be"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        ActionOffsetTree(**settings).fit(**TRAIN.log[:50].arrays())


def test_it_must_learn_first() -> None:
    with pytest.raises(NotFittedError):
        ActionOffsetTree().predict(TEST.log.X, TEST.sets)
