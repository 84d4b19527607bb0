"""Lists of dictionaries that are read at once: the same numbers as when each is read by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from offsettree import ActionOffsetTree, ActionRegression, OnlineActionOffsetTree, OnlineActionRegression
from offsettree.actions._hashing import hash_mappings, hash_plain
from offsettree.encoding import TableEncoder
from offsettree.encoding.plain_rows import picked_rows, plain_rows
from offsettree.exceptions import ActionError, FeatureError

ROWS: list[dict[str, Any]] = [
    {"price": 1.5, "id": "a", "size": 2, "kind": "x"},
    {"price": -3.25, "id": "b", "size": 4, "kind": "y"},
    {"price": 0.0, "id": "c", "size": 7, "kind": "x"},
]


def test_columns_and_rows_are_those_of_the_dictionaries() -> None:
    plain = plain_rows(ROWS)
    assert plain is not None
    assert plain.names == ("price", "id", "size", "kind")
    assert plain.column("id") == ["a", "b", "c"]
    assert plain.columns(("size", "price")) == [2, 4, 7, 1.5, -3.25, 0.0]
    assert plain.rows_without("id")[:6] == [1.5, 2, "x", -3.25, 4, "y"]
    assert plain.rows_without("none") is plain.values
    with pytest.raises(KeyError):
        plain.column("none")


@pytest.mark.parametrize(
    "rows",
    [
        [*ROWS, {"price": 1.0, "id": "d", "size": 1}],
        [*ROWS, {"id": "d", "price": 1.0, "size": 1, "kind": "x"}],
        [*ROWS, {"price": 1.0, "id": "d", "size": 1, "kind": "x", "more": 1}],
        [{1: 2.0}, {1: 3.0}],
        [{}, {}],
        tuple(ROWS),
        [pd.Series(ROWS[0])],
    ],
)
def test_others_are_not_read_at_once(rows: Any) -> None:
    assert plain_rows(rows) is None


def test_values_of_dictionaries_that_differ_are_picked() -> None:
    picked = picked_rows([*ROWS, {"id": "d", "size": 1, "price": 1.0}], ("size", "price"))
    assert picked is not None
    assert picked.column("size") == [2, 4, 7, 1]
    assert picked_rows(ROWS, ("size", "weight")) is None


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        [{"id": row["id"], "price": row["price"], "size": row["size"]} for row in ROWS],
        [{"id": 1}, {"id": 2}],
        [{"price": 10**15, "size": 1e-40}, {"price": 3e38, "size": -1}],
    ],
)
def test_hashed_at_once_they_are_what_they_are_one_by_one(rows: Any) -> None:
    plain = plain_rows(rows)
    assert plain is not None
    found, expected = hash_plain(plain), hash_mappings(rows, "an action")
    assert found is not None
    pairs: Any = zip(found, expected, strict=True)
    for own, other in pairs:
        np.testing.assert_array_equal(own, other)
        assert own.dtype == other.dtype


@pytest.mark.parametrize("value", [None, True, np.float64(1.0), np.nan, np.inf, 1e39, 10**400, [1.0], {"a": 1.0}])
def test_what_is_not_plain_is_left_to_others(value: Any) -> None:
    for rows in ([{"x": value}, {"x": value}], [{"x": value, "y": "word"}] * 2):
        plain = plain_rows(rows)
        assert plain is not None
        assert hash_plain(plain) is None


@pytest.mark.parametrize(
    "learner", [ActionRegression, ActionOffsetTree, OnlineActionRegression, OnlineActionOffsetTree]
)
def test_decisions_do_not_depend_on_how_mappings_are_read(learner: Any) -> None:
    from offsettree import ActionSets

    random = np.random.RandomState(0)
    items = pd.DataFrame({"price": random.normal(size=12), "size": random.randint(9, size=12)})
    items["kind"] = np.where(items["price"] > 0, "x", "y")
    ids = [[f"i{place}" for place in random.permutation(12)[:6]] for _ in range(300)]
    sets = ActionSets(ids, items=items, item_ids=[f"i{place}" for place in range(12)])
    X = pd.DataFrame({"age": random.normal(size=300), "town": random.choice(["a", "b"], 300)})
    action = [each[random.randint(6)] for each in ids]
    reward = (random.random_sample(300) < 0.5).astype(float)
    policy = learner().fit(X, action, reward=reward, propensity=1 / 6, action_sets=sets)
    chosen = policy.predict(X[:40], sets.take(range(40)))
    for row in range(40):
        context = X.iloc[row].to_dict()
        actions = [{"id": label, **items.iloc[int(label[1:])].to_dict()} for label in ids[row]]
        backwards = [dict(reversed(each.items())) for each in actions]
        backwards[0] = actions[0]
        assert policy.decide(context, actions) == chosen[row]
        assert policy.decide(context, tuple(actions)) == chosen[row]
        if learner in (ActionRegression, ActionOffsetTree):  # others add features up in the order in which they come
            assert policy.decide(context, backwards) == chosen[row]


@pytest.mark.parametrize("learner", [OnlineActionRegression, OnlineActionOffsetTree])
def test_bad_actions_are_refused_however_they_are_read(learner: Any) -> None:
    policy = learner().learn({"age": 1.0}, ROWS, "a", reward=1.0, propensity=0.5)
    for wrong, error, says in (
        ([ROWS[0], ROWS[0]], ActionError, "'a' is there twice"),
        ([{**ROWS[0], "id": 1.5}, ROWS[1]], ActionError, "whole number or a text"),
        ([{**ROWS[0], "id": True}, ROWS[1]], ActionError, "whole number or a text"),
        ([ROWS[0], {"price": 1.0}], ActionError, "either all actions have an 'id' or none"),
        ([{**ROWS[0], "price": np.inf}, ROWS[1]], FeatureError, "'price' is inf"),
        ([{**ROWS[0], "price": 1e39}, ROWS[1]], FeatureError, "'price' is 1e"),
        ([], ActionError, "at least one action"),
    ):
        with pytest.raises(error, match=says):
            policy.decide({"age": 1.0}, wrong)


def test_constant_columns_and_gaps_are_encoded_as_in_tables() -> None:
    frame = pd.DataFrame({"a": [1.0, None, 3.0] * 5, "b": [2.0, 2.0, None] * 5, "c": [1, 2, 3] * 5})
    encoder = TableEncoder.learn([frame])
    rows = frame.to_dict("records")
    plain = plain_rows(rows)
    np.testing.assert_array_equal(encoder.encode_plain(plain), encoder.encode(frame))
    assert encoder.encode_plain(None) is None
