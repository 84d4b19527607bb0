from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from offsettree import LoggedData, OnlineActionRegression, simulate_catalogue
from offsettree.exceptions import ActionError, LogError

VW = """shared |User age:25 paid
'a |Item price:3 sport
0:-1:0.25 'b |Item price:5

shared |User age:61
0:0:0.5 'b |Item price:5 |Pair near
'c |Item price:1

"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def records(table: Any) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = table.to_dict("records")
    return made


def test_lines_of_vowpal_wabbit_are_decisions(tmp_path: Path) -> None:
    log = LoggedData.read(write(tmp_path, "log.vw", VW), action_sets=True)
    assert log.action_sets is not None
    assert list(log.action_sets) == [["a", "b"], ["b", "c"]]
    assert log.action.tolist() == ["b", "b"]
    assert log.reward.tolist() == [1, 0]
    assert log.propensity.tolist() == [0.25, 0.5]
    assert records(log.X) == [{"User.age": 25, "User.paid": 1}, {"User.age": 61, "User.paid": 0}]
    assert records(log.action_sets.pairs)[0] == {"Item.price": 3, "Item.sport": 1, "Pair.near": 0}
    assert records(log.action_sets.pairs)[2] == {"Item.price": 5, "Item.sport": 0, "Pair.near": 1}


def test_without_tags_actions_are_known_by_position_and_costs_may_be_complements(tmp_path: Path) -> None:
    text = VW.replace("'a ", "").replace("'b ", "").replace("'c ", "").rstrip("\n")
    log = LoggedData.read(write(tmp_path, "log.vw", text), action_sets=True, cost="one_minus_reward")
    assert log.action.tolist() == [1, 0]
    assert log.reward.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (VW.replace("0:0:0.5 ", ""), "begins in line 5 is not: it has no action with a label"),
        (VW.replace("'a |", "0:1:0.5 'a |"), "begins in line 1 is not: it has labels of several"),
        ("shared |u x\n\n" + VW, "a shared line but no action"),
        (VW.replace("0:0:0.5", "0:0"), "a label must be action:cost:probability"),
        (VW.replace("price:1", "price:nan"), "'nan' is not a number"),
        (VW.replace("'c |Item", "'c Item"), "no bar"),
        (VW.replace("'a |", "shared |"), "a shared line is not the first"),
    ],
)
def test_wrong_lines_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(LogError, match=message):
        LoggedData.read(write(tmp_path, "log.vw", text), action_sets=True, format="vw")


def ds_line(chosen: int, **changes: Any) -> dict[str, Any]:
    line = {
        "_label_cost": -1.0,
        "_label_probability": 0.8,
        "_label_Action": chosen,
        "_labelIndex": chosen - 1,
        "EventId": "e",
        "a": [chosen, 3 - chosen],
        "p": [0.8, 0.2],
        "c": {
            "User": {"age": 25, "city": "rome"},
            "_multi": [{"i": {"id": "x"}, "price": 3}, {"i": {"id": "y"}, "new": 1}],
        },
    }
    return line | changes


def test_decision_service_logs_have_the_features_of_their_actions(tmp_path: Path) -> None:
    lines = [ds_line(1), {"RewardValue": 1}, ds_line(2, _label_cost=0.0), ds_line(1, _skipLearn=True)]
    path = write(tmp_path, "log.dsjson", "\n".join(map(json.dumps, lines)))
    log = LoggedData.read(path, action_sets=True)
    assert log.action_sets is not None
    assert list(log.action_sets) == [["x", "y"]] * 2
    assert log.action.tolist() == ["x", "y"]
    assert log.reward.tolist() == [1, 0]
    assert records(log.X)[0] == {"User.age": 25, "User.city": "rome"}
    pairs: Any = log.action_sets.pairs
    assert pairs["price"].tolist()[0] == 3
    assert np.isnan(pairs["price"].tolist()[1])
    policy = OnlineActionRegression().fit(**log.arrays())
    assert (
        policy.decide({"User": {"age": 25, "city": "rome"}}, [{"id": "x", "price": 3}, {"id": "z", "new": 1}]) in "xz"
    )


def test_parts_of_one_action_have_names_that_do_not_depend_on_their_number(tmp_path: Path) -> None:
    parts: Any = [{"price": 3}, {"new": 1}]
    lines = [
        ds_line(1, c={"User": {"age": 25}, "_multi": [{"_tag": "x", "j": parts}, {"_tag": "y", "j": parts[:1]}]}),
        # Of two that have a feature of the same name, each keeps its place.
        ds_line(2, c={"_multi": [{"_tag": "x", "j": [*parts, {"new": 2}]}, {"_tag": "y", "j": []}]}),
    ]  # fmt: skip
    log = LoggedData.read(write(tmp_path, "log.dsjson", "\n".join(map(json.dumps, lines))), action_sets=True)
    assert log.action_sets is not None
    pairs: Any = log.action_sets.pairs
    assert list(pairs.columns) == ["j.price", "j.new", "j.0.price", "j.1.new", "j.2.new"]
    assert pairs["j.price"].tolist()[:2] == [3, 3]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"c": {"User": {"age": 1}}}, "c._multi must list"),
        ({"c": {"_multi": []}}, "c._multi must list"),
        ({"_label_Action": 3}, "must be one of the 2 actions"),
        ({"_label_cost": None}, "_label_cost is missing"),
        ({"_label_probability": "high"}, "_label_probability must be a number"),
    ],
)
def test_wrong_decisions_are_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = write(tmp_path, "log.dsjson", json.dumps(ds_line(1)) + "\n" + json.dumps(ds_line(1, **changes)))
    with pytest.raises(LogError, match=f"row 2 of .*{message}"):
        LoggedData.read(path, action_sets=True)


ROWS: list[dict[str, Any]] = [
    {
        "age": 25,
        "city": "rome",
        "action": "a",
        "reward": 1.0,
        "propensity": 0.5,
        "eligible": [{"id": "a", "price": 3.0, "near": 0.1}, {"id": "b", "price": 5.0, "near": 0.2}],
    },
    {
        "age": 61,
        "city": "oslo",
        "action": "c",
        "reward": 0.0,
        "propensity": 0.3,
        "eligible": [
            {"id": "b", "price": 5.0, "near": 0.3},
            {"id": "c", "price": 1.0, "near": 0.4},
            {"id": "a", "price": 3.0, "near": 0.5},
        ],
    },
]


def tabled(folder: Path, form: str, rows: list[dict[str, Any]]) -> Path:
    if form == "ndjson":
        return write(folder, "log.ndjson", "\n".join(map(json.dumps, rows)))
    path = folder / "log.parquet"
    pd.DataFrame(rows).to_parquet(path)
    return path


@pytest.mark.parametrize("form", ["ndjson", "parquet"])
def test_a_list_column_has_the_actions_and_their_features(tmp_path: Path, form: str) -> None:
    log = LoggedData.read(tabled(tmp_path, form, ROWS), action_sets=True, eligible="eligible")
    assert log.action_sets is not None
    assert list(log.action_sets) == [["a", "b"], ["b", "c", "a"]]
    assert list(log.X.columns) == ["age", "city"]
    pairs: Any = log.action_sets.pairs
    assert pairs["near"].tolist() == [0.1, 0.2, 0.3, 0.4, 0.5]
    chunks = list(LoggedData.scan(tabled(tmp_path, form, ROWS), 1, action_sets=True, eligible="eligible"))
    assert [len(chunk) for chunk in chunks] == [1, 1]
    assert [list(chunk.action_sets or []) for chunk in chunks] == [[["a", "b"]], [["b", "c", "a"]]]


@pytest.mark.parametrize("form", ["ndjson", "parquet"])
def test_a_list_of_ids_comes_with_a_table_of_actions(tmp_path: Path, form: str) -> None:
    rows = [{**row, "eligible": [each["id"] for each in row["eligible"]]} for row in ROWS]
    items = pd.DataFrame({"id": ["a", "b", "c"], "price": [3.0, 5.0, 1.0]})
    log = LoggedData.read(tabled(tmp_path, form, rows), action_sets=True, eligible="eligible", items=items)
    assert log.action_sets is not None
    assert log.action_sets.item is not None
    assert log.action_sets.item.tolist() == [0, 1, 1, 2, 0]
    assert log.action_sets.pairs is None


CSV = "age,item,reward,p,eligible,near_1,near_2,near_3\n25,1,1,0.5,1|2,0.1,0.2,0.3\n61,3,0,0.5,2 3,0.4,0.5,0.6\n"
ITEMS = "item_id,price,kind\n1,3.0,x\n2,5.0,y\n3,1.0,x\n"


def read_csv(folder: Path, text: str = CSV, items: str = ITEMS, **more: Any) -> LoggedData:
    arguments = {
        "eligible": "eligible",
        "pair_columns": ["near"],
        "action": "item",
        "reward": "reward",
        "propensity": "p",
    }
    return LoggedData.read(
        write(folder, "log.csv", text), action_sets=True, items=write(folder, "items.csv", items), item_id="item_id",
        **(arguments | more),
    )  # fmt: skip


def test_csv_comes_with_a_second_table_and_columns_of_pairs(tmp_path: Path) -> None:
    log = read_csv(tmp_path)
    assert log.action_sets is not None
    assert list(log.action_sets) == [[1, 2], [2, 3]]
    assert list(log.X.columns) == ["age"]
    pairs: Any = log.action_sets.pairs
    assert pairs["near"].tolist() == [0.1, 0.2, 0.5, 0.6]
    assert list(log.action_sets.items.columns) == ["price", "kind"]  # type: ignore[union-attr]
    OnlineActionRegression().fit(**log.arrays())
    indexed = read_csv(tmp_path, items=pd.read_csv(StringIO(ITEMS)).to_csv())  # pandas writes an index without a name
    assert list(indexed.action_sets.items.columns) == ["price", "kind"]  # type: ignore[union-attr]
    assert any("without a name" in note for note in indexed.notes)
    everything = read_csv(tmp_path, eligible=None, features=["age"])
    assert list(everything.action_sets or []) == [[1, 2, 3]] * 2


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"text": CSV.replace("1|2", "2")}, ActionError, "row 1 of .*log.csv has 1, which is not among"),
        ({"text": CSV.replace("1|2", "")}, ActionError, "must list the eligible actions|at least one eligible action"),
        ({"text": CSV.replace("1|2", "1|1")}, ActionError, "row 1 of .*log.csv has 1 twice"),
        (
            {"items": ITEMS.replace("2,5.0,y\n", "")},
            ActionError,
            "row 1 of .*log.csv has 2, and items has no row for it",
        ),
        ({"items": ITEMS.replace("item_id", "number")}, LogError, "must have a column 'item_id'"),
        ({"text": CSV.replace("near_2", "other_2")}, LogError, "there is none called 'near_2'"),
    ],
)
def test_wrong_tables_are_named(tmp_path: Path, settings: Any, error: type[LogError], message: str) -> None:
    with pytest.raises(error, match=message):
        read_csv(tmp_path, **settings)


def test_a_table_must_say_what_is_eligible_and_a_stream_says_it_itself(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="which actions each row could choose from"):
        LoggedData.read(write(tmp_path, "log.csv", CSV), action_sets=True)
    with pytest.raises(LogError, match="leave out eligible"):
        LoggedData.read(write(tmp_path, "log.vw", VW), action_sets=True, eligible="x")
    missing = [{**ROWS[0], "eligible": [{"price": 1.0}]}, ROWS[1]]
    with pytest.raises(ActionError, match=r"row 1 of .*log\.ndjson, must give every eligible action its"):
        LoggedData.read(tabled(tmp_path, "ndjson", missing), action_sets=True, eligible="eligible")


def test_actions_may_differ_in_their_features(tmp_path: Path) -> None:
    rows = [ROWS[0], {**ROWS[1], "eligible": [{"id": "c", "kind": "new"}]}]
    log = LoggedData.read(tabled(tmp_path, "ndjson", rows), action_sets=True, eligible="eligible")
    assert log.action_sets is not None
    assert records(log.action_sets.pairs)[2]["kind"] == "new"
    OnlineActionRegression().fit(**log.arrays())


def test_very_many_names_become_columns_of_a_sparse_matrix_that_files_share(tmp_path: Path) -> None:
    lines = []
    for row in range(300):
        lines += [
            f"shared |u w{row} w{row + 1000} w{row + 2000} w{row + 3000}",
            f"0:-1:0.5 |i k{row}",
            f"|i k{row + 1}",
            "",
        ]
    log = LoggedData.read(write(tmp_path, "log.vw", "\n".join(lines)), action_sets=True)
    again = LoggedData.read(write(tmp_path, "again.vw", "\n".join([*lines[4:], *lines[:4]])), action_sets=True)
    assert log.X.shape == again.X.shape == (300, 1 << 18)
    assert (log.X[1] != again.X[0]).nnz == 0


def test_a_log_in_the_format_of_vowpal_wabbit_teaches_the_same_as_the_arrays(tmp_path: Path) -> None:
    catalogue = simulate_catalogue(400, 20, 4, random_state=0)
    sets, log = catalogue.sets, catalogue.log
    items: Any = sets.items
    assert sets.item is not None
    lines = []
    for row in range(len(log)):
        lines.append("shared |u " + " ".join(f"f{j}:{value!r}" for j, value in enumerate(log.X[row].tolist())))
        for pair in range(sets.starts[row], sets.starts[row + 1]):
            label = f"0:{-log.reward[row]}:{log.propensity[row]} " if sets.ids[pair] == log.action[row] else ""
            features = " ".join(f"g{j}:{value!r}" for j, value in enumerate(items[sets.item[pair]].tolist()))
            lines.append(f"{label}'i{sets.ids[pair]} |a {features}")
        lines.append("")
    read = LoggedData.read(write(tmp_path, "log.vw", "\n".join(lines)), action_sets=True)
    assert read.action_sets is not None
    arrays = OnlineActionRegression(id_effects=False).fit(**log.arrays())
    file = OnlineActionRegression(id_effects=False).fit(**read.arrays())
    np.testing.assert_allclose(
        file.predict_rewards(read.X, read.action_sets), arrays.predict_rewards(log.X, sets), atol=0.05
    )
