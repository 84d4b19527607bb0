from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from offsettree import ActionSets, LoggedData
from offsettree.exceptions import ActionError, FeatureError, LogError

IDS = [["a", "b"], ["b", "c", "a"], ["c"]]
ITEMS = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
PAIRS = np.arange(6.0)[:, np.newaxis]
X = np.arange(6.0).reshape(3, 2)


def make(**changes: Any) -> ActionSets:
    arguments: dict[str, Any] = {"ids": IDS, "items": ITEMS, "item_ids": ["a", "b", "c"], "pairs": PAIRS}
    return ActionSets(**(arguments | changes))


def features(sets: ActionSets) -> list[list[list[float]]]:
    """Return what is known about each action of each row."""
    tables: list[Any] = [sets.items, sets.pairs]
    items, pairs = (sp.csr_matrix(each).toarray() for each in tables)
    joined = np.hstack([items[sets.item], pairs])
    return [each.tolist() for each in np.split(joined, sets.starts[1:-1])]


@given(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=6, unique=True), min_size=1, max_size=8), st.data())
def test_rows_taken_keep_their_actions_and_features(ids: list[list[int]], data: st.DataObject) -> None:
    n_pairs = sum(map(len, ids))
    sets = ActionSets(
        ids, items=np.arange(31.0)[:, np.newaxis], item_ids=np.arange(31), pairs=np.arange(n_pairs)[:, np.newaxis]
    )
    rows = data.draw(st.lists(st.integers(0, len(ids) - 1), min_size=1))
    taken = sets.take(rows)
    assert list(taken) == [ids[row] for row in rows]
    assert features(taken) == [features(sets)[row] for row in rows]
    chosen = [data.draw(st.sampled_from(ids[row])) for row in rows]
    assert taken.ids[taken.find(chosen)].tolist() == chosen
    assert list(taken.only(taken.find(chosen))) == [[each] for each in chosen]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_array, pd.DataFrame])
def test_features_come_in_every_form(form: Any) -> None:
    sets = make(items=form(ITEMS), pairs=form(PAIRS)).take([2, 0])
    assert features(sets) == [[[3.0, 30.0, 5.0]], [[1.0, 10.0, 0.0], [2.0, 20.0, 1.0]]]


def test_an_array_of_all_ids_is_the_same_as_lists() -> None:
    assert list(make(ids=np.array(list("abbcac")), starts=[0, 2, 5, 6])) == list(make())


def test_features_that_change_over_time_are_those_of_the_rows_time() -> None:
    sets = ActionSets(
        [["a", "b"], ["a", "b"], ["a"]],
        items=[[1.0], [2.0], [3.0]],
        item_ids=["a", "b", "a"],
        item_since=["2026-01-01", "2026-01-01", "2026-02-01"],
        time=["2026-01-31", "2026-02-01", "2026-01-01"],
    )
    assert sets.item is not None
    assert sets.item.tolist() == [0, 1, 2, 1, 0]


def test_an_item_that_is_not_there_yet_is_refused() -> None:
    with pytest.raises(ActionError, match="row 0 has 'b', and items has no row for it at that time"):
        ActionSets([["a", "b"]], items=[[1.0], [2.0]], item_ids=["a", "b"], item_since=[1, 3], time=[2])


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "an empty set": ({"ids": [["a"], [], ["b"]]}, ActionError, "row 1 has none"),
    "no rows": ({"ids": []}, LogError, "at least one row"),
    "duplicate ids": ({"ids": [["a"], ["b", "a", "b"]]}, ActionError, "row 1 has 'b' twice"),
    "an unknown id": ({"ids": [["a", "z"]], "pairs": None}, ActionError, "row 0 has 'z', and items has no row"),
    "an id twice in the table": ({"item_ids": ["a", "b", "b"]}, ActionError, "'b' is there 2 times"),
    "ids of two kinds": ({"ids": [["a", 1]]}, ActionError, "all integers or all strings"),
    "a missing id": ({"ids": [["a", None]]}, ActionError, "ids is missing"),
    "ids of another kind than the table's": ({"ids": [[1, 2]], "pairs": None}, ActionError, "of one kind"),
    "a row that is no list": ({"ids": ["ab"]}, LogError, "row 0 has 'ab'"),
    "NaN in items": ({"items": ITEMS * np.nan}, FeatureError, "items must be finite; row 0"),
    "NaN in sparse pairs": (
        {"pairs": sp.csr_matrix([[0.0], [0], [0], [np.nan], [0], [0]])}, FeatureError, "pairs must be finite; row 3",
    ),
    "words in an array": ({"items": [["x"]] * 3}, FeatureError, "items must be a table of numbers"),
    "a table too short": ({"pairs": PAIRS[:-1]}, FeatureError, "pairs must have one row per eligible action"),
    "features of one dimension": ({"pairs": PAIRS.ravel()}, FeatureError, "shape"),
    "items without ids": ({"item_ids": None}, LogError, "item_ids"),
    "ids without items": ({"items": None}, LogError, "pass items"),
    "since without times": ({"item_since": [0, 0, 0]}, LogError, "belong together"),
    "times of another length": ({"item_since": [0, 0], "time": [1, 1, 1]}, LogError, "got shapes"),
    "starts that do not end": ({"ids": np.array(["a", "b"]), "starts": [0, 1]}, LogError, "starts must be"),
    "starts that wrap": ({"ids": ["a", "b"], "starts": [0, 2**63 - 1, -(2**63), 2]}, LogError, "starts must be"),
    "an array without starts": ({"ids": np.array(["a", "b"])}, LogError, "needs starts"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_named(case: str) -> None:
    changes, error, text = REFUSED[case]
    with pytest.raises(error, match=text):
        make(**changes)


def log(**changes: Any) -> LoggedData:
    arguments: dict[str, Any] = {"X": X, "action": ["b", "b", "c"], "reward": [0, 1, 1], "propensity": 0.5}
    return LoggedData(**(arguments | {"action_sets": make()} | changes))


def test_a_log_carries_the_sets_of_its_rows() -> None:
    train, test = log().split(test_size=1, random_state=0)
    assert train.action_sets is not None
    assert test.action_sets is not None
    assert [*train.action_sets, *test.action_sets] == [IDS[int(x) // 2] for x in [*train.X[:, 0], *test.X[:, 0]]]
    assert train.arrays()["action_sets"] is train.action_sets
    assert "action_sets" not in LoggedData(X, [1, 2, 1], [0, 1, 1], 0.5).arrays()
    assert "a set of eligible actions per row" in repr(train)
    assert list(pickle.loads(pickle.dumps(train)).action_sets) == list(train.action_sets)


def test_the_logged_action_must_be_in_its_set() -> None:
    with pytest.raises(ActionError, match=r"row 0 has 'c', which is not among \['a', 'b'\] \(1 row in all\)"):
        log(action=["c", "b", "c"])
    with pytest.raises(ActionError, match="of one kind"):
        log(action=[1, 2, 3])


def test_a_log_takes_sets_of_its_own_rows_only() -> None:
    with pytest.raises(LogError, match="a set per row of X, 2; it has 3"):
        log(X=X[:2], action=["b", "b"], reward=[0, 1])
    with pytest.raises(LogError, match="must be the eligible actions of each row"):
        log(action_sets=IDS)


def test_pairs_can_be_left_out_but_not_all_of_a_row() -> None:
    sets = make().without(np.array([1, 2, 4]))
    assert list(sets) == [["a"], ["c"], ["c"]]
    assert features(sets) == [[[1.0, 10.0, 0.0]], [[3.0, 30.0, 3.0]], [[3.0, 30.0, 5.0]]]
    with pytest.raises(ActionError, match="row 2 has none"):
        make().without(np.array([5]))
