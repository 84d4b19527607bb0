"""One decision is taken by kernels of its own: they must agree with those of tables, to the bit."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest

from offsettree import ActionOffsetTree, ActionRegression, ActionSets, OnlineActionOffsetTree, simulate_catalogue
from offsettree.encoding import TableEncoder
from offsettree.exceptions import FeatureError


@pytest.fixture(scope="module")
def catalogue() -> Any:
    return simulate_catalogue(1500, 90, 70, kind="nonlinear", random_state=3)


def one_set(catalogue: Any, row: int) -> tuple[Any, Any, ActionSets]:
    sets = catalogue.sets
    pairs = np.arange(sets.starts[row], sets.starts[row + 1])
    features = np.ascontiguousarray(sets.items[sets.item[pairs]])
    return catalogue.log.X[row], features, ActionSets([list(range(len(pairs)))], pairs=features)


def without_ids(catalogue: Any) -> dict[str, Any]:
    """Return the log with the features of items as those of pairs."""
    sets, log = catalogue.sets, catalogue.log.arrays()
    in_pairs: dict[str, Any] = {
        "action_sets": ActionSets([sets[row] for row in range(len(sets))], pairs=sets.items[sets.item])
    }
    return {**log, **in_pairs}


def test_scores_of_one_decision_are_those_of_a_table(catalogue: Any) -> None:
    policy = ActionRegression(id_effects=False, random_state=0).fit(**without_ids(catalogue))
    scores: Any = policy.core_.scores
    assert len(scores.trees["feature"]) > 0
    for row in range(20):
        x, features, sets = one_set(catalogue, row)
        np.testing.assert_array_equal(policy.rewards(x, features), policy.predict_rewards(x[np.newaxis], sets))


@pytest.mark.parametrize("tree", ["seeded", "similar", "given"])
@pytest.mark.parametrize("settings", [{}, {"heights": "separate"}, {"predicted_rewards": False}])
def test_the_winner_of_one_decision_is_that_of_a_table(catalogue: Any, tree: Any, settings: dict[str, Any]) -> None:
    policy = ActionOffsetTree(tree=tree, random_state=0, **settings).fit(**without_ids(catalogue))
    for row in range(20):
        x, features, sets = one_set(catalogue, row)
        assert policy.decide(x, features) == policy.predict(x[np.newaxis], sets)[0]


def test_ties_of_one_decision_are_won_by_the_smaller_id(catalogue: Any) -> None:
    policy = ActionOffsetTree(random_state=0).fit(**without_ids(catalogue))
    x, features, _ = one_set(catalogue, 0)
    assert policy.decide(x, np.repeat(features[:1], 13, axis=0)) == 0
    named = [str(place) for place in range(9, 2, -1)]
    same = ActionSets([named], pairs=np.repeat(features[:1], len(named), axis=0))
    assert policy.decide(x, same) == policy.predict(x[np.newaxis], same)[0] == "3"


def test_online_tournaments_of_one_decision_are_those_of_a_table(catalogue: Any) -> None:
    policy = OnlineActionOffsetTree(id_effects=False).fit(**without_ids(catalogue))
    for row in range(20):
        x, features, sets = one_set(catalogue, row)
        assert policy.decide(x, features) == policy.predict(x[np.newaxis], sets)[0]


@pytest.mark.parametrize("learner", [ActionRegression, ActionOffsetTree])
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e308])
def test_one_decision_refuses_what_is_not_finite(catalogue: Any, learner: Any, bad: float) -> None:
    policy = learner(random_state=0).fit(**without_ids(catalogue))
    x, features, _ = one_set(catalogue, 0)
    broken = features.copy()
    broken[3, 1] = bad
    with pytest.raises(FeatureError, match=r"finite|standard deviations"):
        policy.decide(x, broken)
    wrong = x.copy()
    wrong[0] = bad
    with pytest.raises(FeatureError, match=r"finite|standard deviations"):
        policy.decide(wrong, features)


@pytest.mark.parametrize("learner", [ActionRegression, ActionOffsetTree])
def test_mappings_decide_as_frames_do(catalogue: Any, learner: Any) -> None:
    log = catalogue.log.arrays()
    X = pd.DataFrame(log["X"]).add_prefix("x")
    sets = copy.copy(catalogue.sets)
    sets.items = pd.DataFrame(catalogue.sets.items).add_prefix("a")
    sets.items["kind"] = np.where(sets.items["a0"] > 0, "red", "blue")
    policy = learner(random_state=0).fit(**log | {"X": X, "action_sets": sets})
    chosen = policy.predict(X[:20], sets.take(np.arange(20)))
    for row in range(20):
        table = sets.items.iloc[sets.item[sets.starts[row] : sets.starts[row + 1]]].to_dict("records")
        actions = [{"id": label, **each} for label, each in zip(sets[row], table, strict=True)]
        assert policy.decide(X.iloc[row].to_dict(), actions) == chosen[row]


def test_short_lists_of_plain_rows_are_encoded_as_tables_are() -> None:
    frame = pd.DataFrame(
        {"price": [1.0, None, 3.5, 2.0] * 10, "size": [1, 2, 3, 4] * 10, "kind": ["a", "b", "True", "a"] * 10}
    )
    encoder = TableEncoder.learn([frame])
    odd: list[dict[str, Any]] = [
        {"price": 1, "size": 2.5, "kind": "true", "more": 1},
        {"price": None, "size": 7, "kind": "unknown"},
        {"price": float("nan"), "size": -1, "kind": "b"},
    ]
    for rows in (
        odd,
        odd[:1],
        [{**odd[0], "kind": None}, *odd],
        [{**odd[0], "price": "3"}],
        [{**odd[0], "size": True}],
    ):
        np.testing.assert_array_equal(encoder.encode(rows), encoder.encode(pd.DataFrame(rows)))
    with pytest.raises(FeatureError, match="size"):
        encoder.encode([{"price": 1.0, "kind": "a"}])
    with pytest.raises(FeatureError, match="finite"):
        encoder.encode([{"price": 1.0, "size": float("inf"), "kind": "a"}])
