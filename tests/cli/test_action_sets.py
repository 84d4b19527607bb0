"""Every command x every learner over action sets x every format that has them, run for real on small logs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from offsettree.cli import main
from offsettree.registry import POLICIES
from tests.cli.sets import write_logs

LEARNERS = [name for name, entry in POLICIES.known.items() if entry.over_sets]
FORMATS = ["ndjson", "parquet", "vw", "dsjson", "csv"]
# Those that take their time are run on some of the formats.
SOME = {"action-offset-tree": ("vw", "csv")}
QUICK = {"action-regression": ["--base", "ridge"]}
CASES = [(learner, name) for learner in LEARNERS for name in SOME.get(learner, FORMATS)]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    return write_logs(tmp_path_factory.mktemp("sets"))


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: Any, code: int = 0) -> str:
        assert main([str(each) for each in arguments]) == code
        found = capsys.readouterr()
        return found.out if code == 0 else found.err

    return run


@pytest.mark.parametrize(("learner", "name"), CASES)
def test_every_command_takes_every_learner_and_every_format(
    learner: str, name: str, logs: dict[str, list[str]], tmp_path: Path, call: Any
) -> None:
    log, policy = logs[name], tmp_path / "p.ot"
    more = ["--method", "snips", *QUICK.get(learner, [])]
    facts = json.loads(call("learn", *log, "--learner", learner, "-o", policy, *more, "--json", "--jobs", 1))
    assert facts["log"]["rows"] == 260
    assert facts["log"]["sets"]["most"] == 4
    assert facts["constant"]["popular"] is True
    told = json.loads(call("evaluate", policy, *log, "--json"))
    assert told["use"] == "open"
    assert any("trained on" in text for text in told["estimate"]["warnings"])
    decided = call("decide", policy, *log).splitlines()
    assert len(decided) == 261
    assert all(line.split(",")[1].strip('"').startswith("i") for line in decided[1:])
    ranked = call("decide", policy, *log, "--rank", 2).splitlines()
    assert [line.split(",")[:2] for line in ranked[1:4]] == [line.split(",") for line in decided[1:4]]
    first, second = json.loads(call("compare", *log, policy, "i3", "--json") if name != "csv" else "[{}, {}]") or [{}]
    if first:
        assert second["policy"] == "i3"
    assert json.loads(call("inspect", policy, "--json"))["kind"] == "policy"
    assert "over actions with features" in call("inspect", policy)
    assert "eligible    4 to 4 actions" in call("inspect", *log)


def test_the_search_tries_them_all_and_the_report_shows_what_matters(
    logs: dict[str, list[str]], tmp_path: Path, call: Any
) -> None:
    learn = ["learn", *logs["csv"], "-o", tmp_path / "p.ot", "--report", tmp_path / "r.html", "--time-budget", "5"]
    text = call(*learn, "--jobs", 1)
    assert "Each is among 4 eligible actions, with 3 features of their own." in text
    assert "most popular" in text
    page = (tmp_path / "r.html").read_text()
    assert ", of the action" in page
    assert "The most popular of the eligible actions earns" in page
    assert len(call("decide", tmp_path / "p.ot", *logs["csv"]).splitlines()) == 261


def test_new_items_are_decided_among_without_learning_again(
    logs: dict[str, list[str]], tmp_path: Path, call: Any
) -> None:
    call("learn", *logs["csv"], "--learner", "online-action-regression", "--method", "snips", "-o", tmp_path / "p.ot")
    items = pd.read_csv(logs["csv"][2]).head(3).assign(item_id=["n1", "n2", "n3"])
    items.to_csv(tmp_path / "new.csv", index=False)
    rows = pd.read_csv(logs["csv"][0]).head(5).assign(shown="n1 n3").drop(columns=["action", "reward", "propensity"])
    rows.to_csv(tmp_path / "rows.csv", index=False)
    out = call("decide", tmp_path / "p.ot", tmp_path / "rows.csv", "--actions", tmp_path / "new.csv", "--keep", "shown")
    assert {line.split(",")[2].strip('"') for line in out.splitlines()[1:]} <= {"n1", "n3"}


def test_a_learner_over_labels_takes_the_sets_as_masks(logs: dict[str, list[str]], tmp_path: Path, call: Any) -> None:
    learn = ["learn", *logs["ndjson"], "--learner", "reward-regression", "--base", "ridge", "--method", "snips"]
    facts = json.loads(call(*learn, "-o", tmp_path / "p.ot", "--json"))
    assert facts["policy"]["learner"] == "RewardRegression"
    assert json.loads(call("inspect", tmp_path / "p.ot", "--json"))["learner"]["class"] == "RewardRegression"
    decided = call("decide", tmp_path / "p.ot", *logs["ndjson"]).splitlines()[1:]
    rows = [json.loads(line) for line in Path(logs["ndjson"][0]).read_text().splitlines()]
    for line, row in zip(decided, rows, strict=True):
        assert line.split(",")[1].strip('"') in [each["id"] for each in row["eligible"]]
    assert json.loads(call("evaluate", tmp_path / "p.ot", *logs["ndjson"], "--json"))["constant"]["popular"] is True


WITHOUT_PROPENSITY: dict[str, Callable[[str], str]] = {
    "csv": lambda text: pd.read_csv(StringIO(text)).drop(columns="propensity").to_csv(index=False),
    "ndjson": lambda text: re.sub(r', "propensity": [0-9.]+', "", text),
    "vw": lambda text: re.sub(r"(?m)^(0:-?[0-9.]+):[0-9.]+ ", r"\1 ", text),
    "dsjson": lambda text: re.sub(r', "_label_probability": [0-9.]+|, "p": \[[0-9.]+\]', "", text),
}


@pytest.mark.parametrize("name", WITHOUT_PROPENSITY)
def test_propensities_that_were_not_recorded_are_estimated(
    name: str, logs: dict[str, list[str]], tmp_path: Path, call: Any
) -> None:
    text = WITHOUT_PROPENSITY[name](Path(logs[name][0]).read_text())
    assert "propensity" not in text
    path = tmp_path / f"log.{name}"
    path.write_text(text)
    log = [path, *logs[name][1:]]
    learn = ["learn", *log, "--learner", "online-action-regression", "--method", "snips", "-o", tmp_path / "p.ot"]
    assert "propensity" in call(*learn, code=2) or name in ("vw", "dsjson")
    facts = json.loads(call(*learn, "--propensity-estimated", "--report", tmp_path / "r.html", "--json"))
    assert facts["propensity"]["estimated"] is True
    assert facts["propensity"]["log_loss"] == pytest.approx(np.log(4), abs=0.05)  # the log is uniform
    assert any("propensities were estimated" in text for text in facts["log"]["notes"])
    assert "propensities were estimated" in (tmp_path / "r.html").read_text()
    told = json.loads(call("evaluate", tmp_path / "p.ot", *log, "--propensity-estimated", "--json"))
    truth = json.loads(call("evaluate", tmp_path / "p.ot", *logs[name], "--json"))
    assert told["estimate"]["value"] == pytest.approx(truth["estimate"]["value"], abs=0.05)
    compared = json.loads(call("compare", *log[:1], tmp_path / "p.ot", "--propensity-estimated", "--json", *log[1:]))
    assert compared[0]["estimate"]["value"] == told["estimate"]["value"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row: {**row, "eligible": []}, "every row must have at least one eligible action; row 3 of"),
        (lambda row: {**row, "eligible": None}, "row 3 of .*must list the eligible actions; it is empty"),
        (lambda row: {**row, "action": "gone"}, "row 3 of .* has 'gone', which is not among"),
        (lambda row: {**row, "eligible": [row["eligible"][0]] * 2}, "row 3 of .* twice"),
        (lambda row: {**row, "eligible": [{"g0": 1.0}]}, "row 3 of .*must give every eligible action its 'id'"),
        (lambda row: {**row, "action": None}, "row 3 of .*must name the action; it is missing"),
        (lambda row: {**row, "propensity": None}, "row 3 of .*must be a probability in .*missing"),
        (lambda row: {**row, "propensity": 1.5}, "row 3 of .*must be a probability"),
        (lambda row: {**row, "reward": None}, "row 3 of .*must be a finite number"),
    ],
)
def test_wrong_rows_are_named(change: Any, message: str, logs: dict[str, list[str]], tmp_path: Path, call: Any) -> None:
    rows = [json.loads(line) for line in Path(logs["ndjson"][0]).read_text().splitlines()]
    rows[2] = change(rows[2])
    (tmp_path / "log.ndjson").write_text("\n".join(map(json.dumps, rows)))
    learn = ["learn", tmp_path / "log.ndjson", "--eligible", "eligible", "-o", tmp_path / "p.ot"]
    text = call(*learn, "--learner", "popular-action", code=2)
    assert "log.ndjson" in text
    assert re.search(message, text), text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--propensity-estimated", "--propensity", "propensity"], "not both"),
        (["--learner", "action-regression", "--distill"], "leave it out for a log with action sets"),
        (["--learner", "online", "--eligible", "eligible"], "use online-action-regression"),
        (["--eligible", "nowhere"], "has no column 'nowhere'"),
        (["--actions", "none.csv"], "there is no file or folder none.csv"),
        (["--action-since", "x"], "belong together"),
    ],
)
def test_wrong_options_are_told(
    arguments: list[str], message: str, logs: dict[str, list[str]], tmp_path: Path, call: Any
) -> None:
    assert message in call("learn", *logs["ndjson"], *arguments, "-o", tmp_path / "p.ot", code=2)


def test_wrong_tables_of_actions_are_told(logs: dict[str, list[str]], tmp_path: Path, call: Any) -> None:
    items = pd.read_csv(logs["csv"][2])
    changed = {
        "every id must have one row": pd.concat([items, items.head(1)]),
        "items has no row for it": items.tail(8),
        "must have its 'item_id'": items.assign(item_id=[None, *items["item_id"][1:]]),
        "must have a column 'item_id'": items.rename(columns={"item_id": "number"}),
    }
    for message, table in changed.items():
        table.to_csv(tmp_path / "items.csv", index=False)
        arguments = [logs["csv"][0], "--actions", tmp_path / "items.csv", *logs["csv"][3:]]
        assert message in call("learn", *arguments, "--learner", "popular-action", "-o", tmp_path / "p.ot", code=2)


def test_features_that_change_over_time_are_those_of_the_time(tmp_path: Path, call: Any) -> None:
    log = pd.DataFrame(
        {"x": range(60), "day": [1, 2, 3] * 20, "action": ["a", "b"] * 30, "reward": [0, 1] * 30, "propensity": 0.5}
    )
    log.to_csv(tmp_path / "log.csv", index=False)
    items = pd.DataFrame({"id": ["a", "b", "b"], "since": [1, 1, 3], "price": [1.0, 2.0, 5.0]})
    items.to_csv(tmp_path / "items.csv", index=False)
    second = ["--actions", tmp_path / "items.csv", "--action-since", "since", "--time", "day"]
    learn = ["learn", tmp_path / "log.csv", *second, "--learner", "online-action-regression", "--method", "snips"]
    facts = json.loads(call(*learn, "-o", tmp_path / "p.ot", "--json"))
    assert facts["log"]["sets"]["item_features"] == ["price"]
    assert "day" not in facts["log"]["features"]
    items.assign(since=[2, 1, 3]).to_csv(tmp_path / "items.csv", index=False)
    assert "at that time" in call(*learn, "-o", tmp_path / "p.ot", code=2)


@pytest.mark.parametrize("suffix", ["ndjson", "parquet", "csv"])
def test_a_simulated_catalogue_is_read_as_it_is(suffix: str, tmp_path: Path, call: Any) -> None:
    log = tmp_path / f"c.{suffix}"
    told = json.loads(call("simulate", "catalogue", "--rows", 120, "--items", 9, "--eligible", 3, "-o", log, "--json"))
    assert told["rows"] == 120
    second = [] if told["items"] is None else ["--actions", told["items"]]
    learn = ["learn", log, *second, "--learner", "online-action-regression", "--method", "snips"]
    facts = json.loads(call(*learn, "-o", tmp_path / "p.ot", "--json"))
    assert facts["log"]["sets"]["most"] == 3
    assert "--items is for the catalogue" in call("simulate", "ecoli", "--items", 3, "-o", log, code=2)
