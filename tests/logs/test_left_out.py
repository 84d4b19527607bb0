"""Columns that nothing should be learned from are left out, and said to be."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from offsettree import LoggedData, TableEncoder
from offsettree.exceptions import ActionError, LogError
from offsettree.logs import read_columns
from offsettree.workflow import learn_policy


def make_log(n_rows: int = 120, **more: Any) -> pd.DataFrame:
    random = np.random.default_rng(0)
    action = random.integers(0, 3, n_rows)
    columns = {"age": random.integers(18, 90, n_rows), "mail": np.array(["none", "mens", "womens"])[action]}
    columns |= {"visit": random.integers(0, 2, n_rows)}
    return pd.DataFrame(columns | {name: make(action) for name, make in more.items()})


def written(folder: Path, frame: pd.DataFrame) -> Path:
    frame.to_csv(folder / "log.csv", index=False)
    return folder / "log.csv"


def test_other_outcomes_propensities_and_actions_are_no_features(tmp_path: Path) -> None:
    more: dict[str, Any] = {
        "conversion": lambda a: a % 2,
        "propensity": lambda a: a / 10 + 0.1,
        "action_id": lambda a: (a * 7) % 5,
    }
    path = written(tmp_path, make_log(**more))
    roles: dict[str, Any] = {"action": "mail", "reward": "visit", "propensity": 1 / 3}
    log = LoggedData.read(path, **roles)
    assert log.feature_names == ["age"]
    assert any("'propensity', 'action_id'" in note and "features=[...]" in note for note in log.notes)
    assert next(iter(LoggedData.scan(path, **roles))).X.columns.tolist() == ["age"]
    kept = LoggedData.read(path, **roles, features=["age", "conversion", "action_id"])
    assert kept.X.columns.tolist() == ["age", "conversion", "action_id"]


def test_a_column_that_is_the_action_by_another_name_is_no_feature(tmp_path: Path) -> None:
    more: dict[str, Any] = {
        "template": lambda a: a * 11 + 3,
        "nearly": lambda a: np.where(np.arange(len(a)) == 77, 1 - a, a),
    }
    path = written(tmp_path, make_log(**more))
    roles: dict[str, Any] = {"action": "mail", "reward": "visit", "propensity": 1 / 3}
    found = read_columns(path, **roles)
    assert found.feature_names == found.X.columns.tolist() == ["age", "nearly"]
    assert "'template', each value of which goes with one value of the action 'mail'" in found.notes[-1]
    assert "template" in read_columns(path, **roles, features=["age", "template"]).X
    few = written(tmp_path, make_log(20, **more))
    assert "template" in read_columns(few, **roles).X


def test_a_log_with_nothing_else_says_what_was_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, make_log(conversion=lambda a: a)[["mail", "visit", "conversion"]])
    with pytest.raises(LogError, match=r"must have features.*'conversion' may not have been.*features=\[\.\.\.\]"):
        LoggedData.read(path, action="mail", reward="visit", propensity=0.5)


def test_columns_of_lists_are_left_out_unless_named(tmp_path: Path) -> None:
    rows = make_log().assign(propensity=0.5).to_dict("records")
    path = tmp_path / "log.ndjson"
    path.write_text("".join(json.dumps(row | {"tags": ["a", "b"]}) + "\n" for row in rows))
    log = LoggedData.read(path, action="mail")
    assert log.feature_names == ["age"]
    assert "'tags', as lists" in log.notes[-1]
    assert len(list(LoggedData.scan(path, action="mail"))) == 1
    with pytest.raises(LogError, match="column 'tags' holds list"):
        LoggedData.read(path, action="mail", features=["age", "tags"])


@pytest.mark.parametrize("form", [pd.DataFrame, pa.table])
def test_an_encoder_leaves_out_columns_of_lists(form: Any) -> None:
    encoder = TableEncoder.learn([form({"tags": [["a"], ["b"], []], "age": [1, 2, 3]})])
    assert encoder.names_in == ["age"]
    assert "column 'tags' is left out: columns must hold numbers" in encoder.notes[0]


def test_identifiers_in_any_order_are_left_out_and_amounts_are_kept() -> None:
    random = np.random.default_rng(0)
    n_rows = 2000
    frame = pd.DataFrame(
        {
            "contact": random.choice(10_000_000, n_rows, replace=False),
            "customer_id": random.integers(0, n_rows // 4, n_rows),
            "CustomerNo": random.integers(0, n_rows // 4, n_rows),
            "userId": [f"u{i}" for i in random.integers(0, n_rows // 4, n_rows)],
            "store_id": random.integers(0, 40, n_rows),
            "cents": (random.integers(1, 400, n_rows) * 25),
            "income": random.lognormal(10, 1, n_rows).round(),
            "balance": random.normal(0, 1e6, n_rows).round(),
            "year": random.integers(1930, 2010, n_rows),
            "paid": random.integers(0, n_rows // 4, n_rows),
        }
    )
    for pieces in ([frame], [frame[:700], frame[700:]]):
        kept = TableEncoder.learn(pieces).names_in
        assert kept == ["store_id", "cents", "income", "balance", "year", "paid"]


def test_identifiers_are_noticed_among_more_values_than_are_counted() -> None:
    random = np.random.default_rng(0)
    n_rows = 400_000
    frame = pd.DataFrame({"contact": random.integers(0, 10**9, n_rows), "x": random.normal(size=n_rows)})
    assert TableEncoder.learn([frame]).names_in == ["x"]


def test_numbers_among_words_are_counted() -> None:
    numbers = [{"a": 5}] * 500 + [{"a": 6}] * 500
    words = [{"a": f"w{i}"} for i in range(70)] * 10
    apart, together = TableEncoder.learn([numbers, words]), TableEncoder.learn([numbers + words])
    assert {"a=5", "a=6"} < set(apart.names_out)
    assert apart.to_manifest() == together.to_manifest()


def test_true_and_false_are_actions_by_these_names(tmp_path: Path) -> None:
    frame = make_log().assign(mail=lambda each: each.age > 50, p=0.5)
    frame.to_parquet(tmp_path / "log.parquet")
    for path in (written(tmp_path, frame), tmp_path / "log.parquet"):
        log = LoggedData.read(path, action="mail")
        assert log.actions.tolist() == ["False", "True"]
        assert (log.action == np.where(frame.mail, "True", "False")).all()


def test_one_action_is_said_plainly() -> None:
    log = LoggedData([[0.0]] * 10, ["x"] * 10, [1.0] * 10, 0.5)
    with pytest.raises(LogError, match="all of its 10 rows have 'x'"):
        learn_policy(log)


def test_a_pipe_is_refused_with_what_to_do(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("-", tmp_path / "pipe", "/dev/null"):
        with pytest.raises(LogError, match=r"which cannot be read twice\. Write it to a file first"):
            LoggedData.read(path)


def test_lines_without_labels_are_vowpal_wabbit_whatever_the_file_is_called(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("|user age:30 city=Oslo\n|user age:31 city=Rome\n")
    with pytest.raises(ActionError, match="must name the action; it is missing"):
        LoggedData.read(path)
    path.write_text("|action |reward |p |x |\n|a |1 |0.5 |3 |\n")
    with pytest.raises(LogError) as raised:
        LoggedData.read(path, delimiter="|")
    assert "vw" not in str(raised.value)
