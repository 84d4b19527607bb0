"""Every command x every format x every defect of a log with action sets: refused, with the row named, or told."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from offsettree import load
from offsettree.cli import main
from offsettree.logs import recognise_action_sets
from tests.cli.sets import write_logs

Change = Callable[[Any], Any]
INFINITY = float("inf")


def eligible(change: Callable[[list[dict[str, Any]]], Any]) -> Change:
    return lambda row: {**row, "eligible": change(row["eligible"])}


def multi(change: Callable[[list[dict[str, Any]]], Any]) -> Change:
    return lambda row: {**row, "c": {**row["c"], "_multi": change(row["c"]["_multi"])}}


def cell(column: str, value: Any) -> Change:
    def changed(table: pd.DataFrame) -> pd.DataFrame:
        table.loc[2, column] = value
        return table

    return changed


# Of the third decision. What needs no label is decided about whatever the label is: those have no word for `decide`.
TABLES: dict[str, tuple[Change, str, bool]] = {
    "empty set": (eligible(lambda each: []), "row 3 of .* has none", True),
    "no list": (eligible(lambda each: "x"), "row 3 of .* must list its actions as the rows before do", True),
    "duplicate ids": (eligible(lambda each: each[:1] * 2), "row 3 of .* twice", True),
    "no id": (
        eligible(lambda each: [{**one, "id": None} for one in each]),
        "row 3 of .* must give every .* 'id'",
        True,
    ),
    "infinite": (eligible(lambda each: [{**one, "g0": INFINITY} for one in each]), "'g0' of row 3 of .* is inf", True),
    "not in its set": (lambda row: {**row, "action": "gone"}, "row 3 of .* has 'gone', which is not among", False),
    "no action": (lambda row: {**row, "action": None}, "row 3 of .* must name the action", False),
    "NaN reward": (lambda row: {**row, "reward": None}, "row 3 of .* must be a finite number", False),
    "NaN propensity": (lambda row: {**row, "propensity": None}, "row 3 of .* must be a probability", False),
}

TEXTS: dict[str, tuple[Change, str, bool]] = {
    "empty set": (lambda block: block.split("\n")[0], "begins in line 13 .* no action", True),
    "duplicate ids": (lambda block: block + "\n" + block.split("\n")[1], "begins in line 13 .* the tag", True),
    "NaN": (lambda block: re.sub(r"g0:\S+", "g0:nan", block), "begins in line 13 .*'nan' is not a number", True),
    "no bar": (lambda block: block.replace("|a", "a", 1), "begins in line 13 .* no bar", True),
    "no action": (
        lambda block: re.sub(r"(?m)^0:\S+ ", "", block),
        "begins in line 13 .* no action with a label",
        False,
    ),
    "no chance": (lambda block: re.sub(r"(?m)^(0:[^:]+):\S+", r"\1:0", block), "line 13 of .* has 0", False),
}
DECISIONS: dict[str, tuple[Change, str, bool]] = {
    "empty set": (multi(lambda each: []), "row 3 of .* c._multi must list", True),
    "duplicate ids": (multi(lambda each: each[:1] * 4), "row 3 of .* have the id", True),
    "no id": (multi(lambda each: [{"a": each[0]["a"]}, *each[1:]]), "row 3 of .* lacks them", True),
    "not in its set": (lambda row: {**row, "_label_Action": 9}, "row 3 of .* one of the 4 actions", False),
    "no probability": (lambda row: {**row, "_label_probability": None, "p": []}, "row 3 of .* is missing", False),
}
SHEETS: dict[str, tuple[str, Change, str, bool]] = {
    "empty set": ("log", cell("shown", ""), "row 3 of .* must list the eligible actions", True),
    "duplicate ids": ("log", cell("shown", "i1 i1"), "row 3 of .* twice", True),
    "unknown id": ("log", cell("shown", "i1 new"), "row 3 of .* has 'new', and items has no row for it", True),
    "not in its set": ("log", cell("action", "gone"), "row 3 of .* has 'gone', which is not among", False),
    "no action": ("log", cell("action", None), "row 3 of .* must name the action", False),
    "no features": ("items", lambda table: table.tail(8), r"has 'i\d', and items has no row for it", True),
    "two rows": ("items", lambda table: pd.concat([table, table.head(1)]), r"every id must have one row in .*\(", True),
    "no id": ("items", cell("item_id", None), "must have its 'item_id'; row 3", True),
    "infinite": ("items", cell("g0", "inf"), r"'g0' of row 3 of the table of actions \(.* is inf", True),
}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    return write_logs(tmp_path_factory.mktemp("sets"), 60)


@pytest.fixture(scope="module")
def policies(logs: dict[str, list[str]]) -> dict[str, Path]:
    made = {}
    for name, log in logs.items():
        made[name] = Path(log[0]).parent / f"{name}.ot"
        learn = ["learn", *log, "--learner", "online-action-regression", "--method", "snips", "-o", str(made[name])]
        assert main(learn) == 0
    return made


def refuse_everywhere(log: list[Any], policy: Path, says: str, is_told: bool, capsys: Any) -> None:
    path, *more = map(str, log)
    out = str(policy.with_name("other.ot"))
    commands = [
        ["learn", path, *more, "--learner", "online-action-regression", "--method", "snips", "-o", out],
        ["evaluate", str(policy), path, *more],
        ["compare", path, str(policy), *more],
        *([["decide", str(policy), path, *more]] if is_told else []),
    ]
    for command in commands:
        capsys.readouterr()
        assert main(command) == 2, command
        assert re.search(says, " ".join(capsys.readouterr().err.split())), command
    if not is_told:
        assert main(["decide", str(policy), path, *more]) == 0


@pytest.mark.parametrize("name", ["ndjson", "parquet"])
@pytest.mark.parametrize("defect", TABLES)
def test_tables_with_a_list_column(
    name: str, defect: str, logs: dict[str, list[str]], policies: dict[str, Path], tmp_path: Path, capsys: Any
) -> None:
    change, says, is_told = TABLES[defect]
    rows = [json.loads(line) for line in Path(logs["ndjson"][0]).read_text().splitlines()]
    rows[2] = change(rows[2])
    path = tmp_path / f"log.{name}"
    if name == "ndjson":
        path.write_text("\n".join(map(json.dumps, rows)))
    elif defect == "no list":
        pytest.skip("a column of Parquet has one type")
    else:
        pd.DataFrame(rows).to_parquet(path)
    refuse_everywhere([path, "--eligible", "eligible"], policies[name], says, is_told, capsys)


@pytest.mark.parametrize("defect", TEXTS)
def test_multi_line_text(
    defect: str, logs: dict[str, list[str]], policies: dict[str, Path], tmp_path: Path, capsys: Any
) -> None:
    change, says, is_told = TEXTS[defect]
    blocks = Path(logs["vw"][0]).read_text().split("\n\n")
    blocks[2] = change(blocks[2])
    (tmp_path / "log.vw").write_text("\n\n".join(blocks))
    refuse_everywhere([tmp_path / "log.vw"], policies["vw"], says, is_told, capsys)


@pytest.mark.parametrize("defect", DECISIONS)
def test_decision_service_logs(
    defect: str, logs: dict[str, list[str]], policies: dict[str, Path], tmp_path: Path, capsys: Any
) -> None:
    change, says, is_told = DECISIONS[defect]
    rows = [json.loads(line) for line in Path(logs["dsjson"][0]).read_text().splitlines()]
    rows[2] = change(rows[2])
    (tmp_path / "log.dsjson").write_text("\n".join(map(json.dumps, rows)))
    refuse_everywhere([tmp_path / "log.dsjson"], policies["dsjson"], says, is_told, capsys)


@pytest.mark.parametrize("defect", SHEETS)
def test_a_table_of_actions(
    defect: str, logs: dict[str, list[str]], policies: dict[str, Path], tmp_path: Path, capsys: Any
) -> None:
    which, change, says, is_told = SHEETS[defect]
    log, items = (pd.read_csv(logs["csv"][place], dtype=str) for place in (0, 2))
    log, items = (change(log), items) if which == "log" else (log, change(items))
    log.to_csv(tmp_path / "log.csv", index=False)
    items.to_csv(tmp_path / "items.csv", index=False)
    more = ["--actions", tmp_path / "items.csv", *logs["csv"][3:]]
    refuse_everywhere([tmp_path / "log.csv", *more], policies["csv"], says, is_told, capsys)


@pytest.mark.parametrize("name", ["ndjson", "parquet", "dsjson", "csv"])
def test_gaps_among_features_are_missing_values(
    name: str, logs: dict[str, list[str]], tmp_path: Path, capsys: Any
) -> None:
    more = logs[name][1:]
    path = tmp_path / f"log.{name}"
    if name == "dsjson":
        rows = [json.loads(line) for line in Path(logs[name][0]).read_text().splitlines()]
        rows[2] = multi(lambda each: [{"id": each[0]["id"], "a": {}}, *each[1:]])(rows[2])
        path.write_text("\n".join(map(json.dumps, rows)))
    elif name == "csv":
        pd.read_csv(logs[name][0]).to_csv(path, index=False)
        cell("g0", None)(pd.read_csv(more[1])).to_csv(tmp_path / "items.csv", index=False)
        more = ["--actions", str(tmp_path / "items.csv"), *more[2:]]
    else:
        rows = [json.loads(line) for line in Path(logs["ndjson"][0]).read_text().splitlines()]
        rows[2] = eligible(lambda each: [{**one, "g0": None} for one in each])(rows[2])
        if name == "ndjson":
            path.write_text("\n".join(map(json.dumps, rows)))
        else:
            pd.DataFrame(rows).to_parquet(path)
    for learner in ("online-action-regression", "action-regression"):
        made = tmp_path / f"{learner}.ot"
        learn = ["learn", str(path), *more, "--learner", learner, "--method", "snips", "-o", str(made), "--jobs", "1"]
        assert main(learn) == 0
        assert main(["decide", str(made), str(path), *more]) == 0


def test_a_log_without_propensities_can_be_inspected(logs: dict[str, list[str]], tmp_path: Path, capsys: Any) -> None:
    table = pd.read_csv(logs["csv"][0]).drop(columns="propensity")
    table.to_csv(tmp_path / "log.csv", index=False)
    capsys.readouterr()
    assert main(["inspect", str(tmp_path / "log.csv"), *logs["csv"][1:]]) == 0
    assert "or have it estimated" in " ".join(capsys.readouterr().out.split())


def test_an_infinite_feature_is_not_taken_for_a_log_without_features(
    logs: dict[str, list[str]], tmp_path: Path, capsys: Any
) -> None:
    rows = [json.loads(line) for line in Path(logs["ndjson"][0]).read_text().splitlines()]
    rows[2]["f0"] = INFINITY
    (tmp_path / "log.ndjson").write_text("\n".join(map(json.dumps, rows)))
    capsys.readouterr()
    assert main(["inspect", str(tmp_path / "log.ndjson")]) == 2
    assert "'f0' of row 3 of" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("column", "says"),
    [("eligible", "row 3 of .* must list the eligible"), ("action", "row 3 of .*, which is not among")],
)
def test_a_wrong_row_does_not_hide_the_column_that_lists_the_sets(
    column: str, says: str, tmp_path: Path, capsys: Any
) -> None:
    """Nobody names the column: with one row in error it is recognised all the same, and all items are not eligible."""
    path = tmp_path / "shop.csv"
    assert main(["simulate", "catalogue", "--rows", "60", "--items", "12", "--eligible", "3", "-o", str(path)]) == 0
    table = pd.read_csv(path)
    left_out = sorted(set(table["action"]) - set(map(int, table.loc[2, "eligible"].split("|"))))
    table.loc[2, column] = "" if column == "eligible" else left_out[0]
    table.to_csv(path, index=False)
    capsys.readouterr()
    learn = ["learn", str(path), "--actions", str(tmp_path / "shop-items.csv"), "-o", str(tmp_path / "p.ot")]
    assert main([*learn, "--learner", "online-action-regression"]) == 2
    assert re.search(says, " ".join(capsys.readouterr().err.split()))


@pytest.mark.parametrize("name", ["choices", "items", "available"])
def test_a_column_that_often_equals_the_action_is_a_feature_whatever_it_is_called(
    name: str, tmp_path: Path, capsys: Any
) -> None:
    rows = range(300)
    action = ["xyz"[row % 3] for row in rows]
    asked = [own if row % 5 < 3 else "xyz"[(row + 1) % 3] for row, own in enumerate(action)]
    reward = [float(row % 7 < 3) for row in rows]
    path = tmp_path / "log.csv"
    columns = {"age": rows, name: asked, "action": action, "reward": reward, "propensity": 1 / 3}
    pd.DataFrame(columns).to_csv(path, index=False)
    assert recognise_action_sets(path) is None
    how = ["--learner", "reward-regression", "--base", "ridge", "--method", "snips"]
    assert main(["learn", str(path), *how, "-o", str(tmp_path / "p.ot")]) == 0
    assert name in load(tmp_path / "p.ot").encoder.names_in
    capsys.readouterr()
