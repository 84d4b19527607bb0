from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from offsettree import LoggedData
from offsettree.exceptions import ActionError, FeatureError, LogError, PropensityError, RewardError

table = np.arange(12.0).reshape(6, 2)
FORMS: dict[str, Any] = {
    "array": table,
    "list": table.tolist(),
    "csr": sp.csr_matrix(table),
    "csc": sp.csc_array(table),
    "pandas": pd.DataFrame(table, columns=["u", "v"]),
    "polars": pl.DataFrame(table, schema=["u", "v"]),
}


def make(**changes: Any) -> LoggedData:
    arguments: dict[str, Any] = {
        "X": table,
        "action": list("abcabc"),
        "reward": [0, 1, 0.5, 1, 0, 0],
        "propensity": 1 / 3,
    }
    return LoggedData(**(arguments | changes))


@pytest.mark.parametrize("form", FORMS)
def test_rows_can_be_taken_from_every_form_of_X(form: str) -> None:
    log = make(X=FORMS[form])
    assert len(log) == 6
    for rows in ([0, 2], np.array([True, False, True, False, False, False]), slice(0, 3, 2)):
        part = log[rows]
        np.testing.assert_array_equal(part.action, ["a", "c"])
        X = part.X.toarray() if hasattr(part.X, "toarray") else np.asarray(part.X)
        np.testing.assert_array_equal(X, table[[0, 2]])
    assert len(log[3]) == 1
    assert len(log[-1]) == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_split_holds_every_row_once_in_order(form: str) -> None:
    train, test = make(X=FORMS[form], reward=np.arange(6)).split(test_size=1 / 3, random_state=0)
    assert len(test) == 2
    assert sorted([*train.reward, *test.reward]) == list(range(6))
    assert list(train.reward) == sorted(train.reward)
    again, _ = make(X=FORMS[form], reward=np.arange(6)).split(test_size=1 / 3, random_state=0)
    np.testing.assert_array_equal(train.reward, again.reward)


def test_arrays_are_named_as_fit_takes_them() -> None:
    assert list(make().arrays()) == ["X", "action", "reward", "propensity"]


def test_one_propensity_stands_for_all_rows() -> None:
    np.testing.assert_array_equal(make(propensity=0.25).propensity, np.full(6, 0.25))


def test_it_prints_what_it_is_and_pickles() -> None:
    log = make()
    assert repr(log) == "<LoggedData: 6 rows, 2 features, 3 actions, mean reward 0.417>"
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(log)).action, log.action)
    np.testing.assert_array_equal(log.actions, ["a", "b", "c"])


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"X": np.empty((0, 2)), "action": [], "reward": [], "propensity": []}, LogError, "empty"),
        ({"X": np.arange(6)}, FeatureError, "rows and features"),
        ({"action": list("ab")}, LogError, "2 values for 6 rows"),
        ({"action": None}, ActionError, "action is missing"),
        ({"action": ["a", "b", None, "a", "b", "c"]}, ActionError, "missing in row 2"),
        ({"action": ["a", 1, "b", "a", "b", "c"]}, ActionError, "row 1 has 1 "),
        ({"action": [0.5, 1, 1, 1, 1, 1]}, ActionError, "row 0 has 0.5"),
        ({"action": [1.0, 2, np.nan, 1, 1, 1]}, ActionError, "missing in row 2"),
        ({"action": np.ones((6, 1))}, ActionError, r"shape \(6, 1\)"),
        ({"reward": None}, RewardError, "reward is missing"),
        ({"reward": [1, 0]}, RewardError, "2 values for 6 rows"),
        ({"reward": [1, 0, np.nan, 0, np.inf, 1]}, RewardError, r"row 2 has nan \(2 rows in all\)"),
        ({"reward": list("abcdef")}, RewardError, "must be numbers"),
        ({"reward": np.ones((6, 1))}, RewardError, "one number per row"),
        ({"propensity": None}, PropensityError, "look better than they are"),
        ({"propensity": 0}, PropensityError, r"in \(0, 1\]; row 0 has 0.0 \(6 rows in all\)"),
        ({"propensity": [0.1, 0.1, 1.7, 0.1, 0.1, 0.1]}, PropensityError, r"row 2 has 1.7 \(1 row in all\)"),
        ({"propensity": [0.1] * 5}, PropensityError, "5 values for 6 rows"),
    ],
)
def test_bad_logs_are_refused(changes: dict[str, Any], error: type[Exception], message: str | None) -> None:
    with pytest.raises(error, match=message):
        make(**changes)


def test_whole_floats_truth_values_and_object_integers_are_integers() -> None:
    for action in ([0.0, 1.0, 0.0, 1.0, 0.0, 1.0], [False, True] * 3, np.array([0, 1] * 3, dtype=object)):
        log = make(action=action)
        assert log.action.dtype.kind == "i"
        np.testing.assert_array_equal(log.action, [0, 1] * 3)


def test_pandas_strings_are_strings() -> None:
    assert make(action=pd.Series(list("abcabc"))).actions.tolist() == ["a", "b", "c"]
    assert make(action=pl.Series(list("abcabc"))).actions.tolist() == ["a", "b", "c"]


def test_wrong_rows_are_named() -> None:
    with pytest.raises(IndexError, match="positions below 6"):
        make()[[7]]
    with pytest.raises(LogError, match="cannot be split"):
        make().split(test_size=7)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_frame_is_taken_apart_by_the_names_of_its_columns(kind: Any) -> None:
    frame = kind({"age": [25, 61], "sent": ["call", "mail"], "visit": [1, 0], "p": [0.5, 0.25]})
    log = LoggedData.from_frame(frame, action="sent", reward="visit", propensity="p")
    assert list(log.X.columns) == ["age"]
    assert log.action.tolist() == ["call", "mail"]
    assert log.propensity.tolist() == [0.5, 0.25]
    with pytest.raises(LogError, match="no column prob; it has age, sent, visit, p"):
        LoggedData.from_frame(frame, action="sent", reward="visit", propensity="prob")


def test_numbers_in_disguise_are_numbers_and_text_is_not() -> None:
    assert make(reward=pd.array([1, 0, 1, 0, 1, 0], dtype="Int64")).reward.tolist() == [1, 0, 1, 0, 1, 0]
    assert make(reward=[True, False] * 3).reward.tolist() == [1, 0] * 3
    with pytest.raises(RewardError, match="row 1 has nan"):
        make(reward=pd.array([1, None, 1, 0, 1, 0], dtype="Int64"))
    with pytest.raises(RewardError, match="row 0 has 'yes'"):
        make(reward=["yes", "no"] * 3)


def test_rounding_above_one_is_forgiven() -> None:
    assert make(propensity=1 + 1e-9).propensity.max() == 1


def test_no_rows_and_ragged_rows_are_refused() -> None:
    with pytest.raises(LogError, match="empty"):
        make()[[]]
    with pytest.raises(FeatureError, match="rows of equal length"):
        make(X=[[1.0], [1.0, 2.0]] * 3)
