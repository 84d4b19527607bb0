"""The commands from a log to decisions, each as a user calls it."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest

import offsettree
from offsettree.cli import evaluate, main
from offsettree.cli._options import jobs
from offsettree.datasets import make_campaign
from offsettree.evaluation import DEFAULT_INTERVAL
from offsettree.evaluation._inputs import INTERVALS
from offsettree.evaluation._terms import METHODS
from offsettree.registry import CLASSIFIERS, FORMATS, REGRESSORS
from offsettree.workflow import LEARNERS
from offsettree.workflow.verdict import number


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a log, a policy learned from it by the command, and what that printed."""
    folder = tmp_path_factory.mktemp("campaign")
    pd.DataFrame(make_campaign(4000, random_state=1).columns).to_csv(folder / "log.csv", index=False)
    code, printed = called(
        "learn", folder / "log.csv", "--action", "mail", *RIDGE, "-o", folder / "policy.ot", "--json", "--jobs", 1
    )
    assert code == 0
    (folder / "learned.json").write_text(printed)
    return folder


RIDGE = ("--learner", "reward-regression", "--base", "ridge")


def called(*arguments: Any) -> tuple[int, str]:
    """Call a command in this process; return its exit code and what it printed."""
    import contextlib
    import io

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = main([str(each) for each in arguments])
    return code, printed.getvalue()


def test_learning_says_what_the_policy_earns_and_what_the_log_did(folder: Path, tmp_path: Path) -> None:
    code, printed = called("learn", folder / "log.csv", "--action", "mail", *RIDGE, "-o", tmp_path / "policy.ot")
    facts = json.loads((folder / "learned.json").read_text())
    estimate = facts["estimate"]
    assert code == 0
    text = " ".join(printed.split())
    assert f"The learned policy earns {number(estimate['value'], 3)} per decision" in text
    assert f"the logged one earned {number(estimate['baseline']['value'], 3)}" in text
    assert f"gain +{number(estimate['difference']['value'], 3)}" in text
    assert "the reward is column 'visited'" in text
    assert "column 'customer_id' is left out" in text


@pytest.mark.usefixtures("all_cores")
def test_workers_are_as_many_as_cores_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert jobs(Namespace(jobs=None)) == joblib.cpu_count()
    assert jobs(Namespace(jobs=3)) == 3
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert jobs(Namespace(jobs=None)) == 1


def test_the_same_seed_gives_the_same_policy_file(folder: Path, tmp_path: Path) -> None:
    called("learn", folder / "log.csv", "--action", "mail", *RIDGE, "-o", tmp_path / "policy.ot", "--jobs", 2)
    again = offsettree.load(tmp_path / "policy.ot")
    before = offsettree.load(folder / "policy.ot")
    rows = pd.read_csv(folder / "log.csv")
    assert (again.predict(rows) == before.predict(rows)).all()
    assert again.manifest["facts"]["estimate"] == before.manifest["facts"]["estimate"]


def test_json_has_all_facts_and_nothing_else_is_printed(folder: Path) -> None:
    facts = json.loads((folder / "learned.json").read_text())
    assert facts["log"]["rows"] == 4000
    assert facts["log"]["train_rows"] + facts["log"]["test_rows"] == 4000
    assert sum(each["rows"] for each in facts["log"]["actions"]) == 4000
    assert sum(each["policy_share"] for each in facts["log"]["actions"]) == pytest.approx(1)
    assert sum(each["importance"] for each in facts["importance"]) == pytest.approx(1)
    assert facts["reproduce"]["command"].startswith("offsettree learn ")


def test_the_estimate_is_of_rows_that_were_not_learned_from(folder: Path) -> None:
    facts = json.loads((folder / "learned.json").read_text())
    assert facts["estimate"]["n_rows"] == facts["log"]["test_rows"] == 1200
    code, printed = called("evaluate", folder / "policy.ot", folder / "log.csv", "--json")
    assert code == 0
    warnings = json.loads(printed)["estimate"]["warnings"]
    assert any("trained" in warning for warning in warnings)


def test_decisions_are_those_of_the_policy_in_every_format(folder: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(folder / "log.csv")
    expected = offsettree.load(folder / "policy.ot").predict(rows).tolist()
    for name, read in (
        ("d.csv", pd.read_csv),
        ("d.csv.gz", pd.read_csv),
        ("d.parquet", pl.read_parquet),
        ("d.ndjson", pl.read_ndjson),
        ("d.arrow", pl.read_ipc),
    ):
        code, printed = called("decide", folder / "policy.ot", folder / "log.csv", "-o", tmp_path / name)
        assert code == 0
        assert "4,000 decisions" in printed
        written = read(tmp_path / name)
        assert list(written.columns) == ["row", "decision"]
        assert written["decision"].to_list() == expected
        assert written["row"].to_list() == list(range(1, 4001))


def test_rows_decided_on_may_come_in_other_formats_and_with_columns_to_keep(folder: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(folder / "log.csv", parse_dates=["sent_at"])
    rows.drop(columns=["mail", "visited", "propensity"]).to_parquet(tmp_path / "rows.parquet")
    code, printed = called(
        "decide", folder / "policy.ot", tmp_path / "rows.parquet", "--keep", "customer_id", "--rank", 3
    )
    assert code == 0
    head, first, *_ = csv.reader(printed.splitlines())
    assert head == ["row", "customer_id", "decision_1", "decision_2", "decision_3"]
    ranked = offsettree.load(folder / "policy.ot").rank(rows, 3)
    assert first == ["1", str(rows["customer_id"][0]), *ranked[0]]


def test_evaluating_and_comparing_name_values_and_gains(folder: Path, tmp_path: Path) -> None:
    pd.DataFrame(make_campaign(3000, random_state=2).columns).to_parquet(tmp_path / "next.parquet")
    code, printed = called("evaluate", folder / "policy.ot", tmp_path / "next.parquet")
    assert code == 0
    assert "The learned policy earns" in printed
    code, printed = called(
        "compare", tmp_path / "next.parquet", folder / "policy.ot", folder / "policy.ot", "--json", "--method", "ips"
    )
    assert code == 0
    first, second = json.loads(printed)
    assert first["to_first"] is None
    assert second["to_first"]["value"] == second["to_first"]["low"] == 0
    assert first["estimate"]["method"] == "ips"
    code, printed = called("compare", tmp_path / "next.parquet", folder / "policy.ot", folder / "policy.ot")
    assert printed.splitlines()[1].startswith("(as logged)")


def test_inspecting_tells_logs_from_policies(folder: Path) -> None:
    code, printed = called("inspect", folder / "log.csv", "--action", "mail", "--json")
    log = json.loads(printed)
    assert code == 0
    assert log["kind"] == "log"
    assert log["rows"] == 4000
    assert log["propensity"]["mean_inverse"] == pytest.approx(6, rel=0.1)
    code, printed = called("inspect", folder / "policy.ot")
    assert code == 0
    assert "a policy of" in printed
    assert "decisions that change when it is shuffled" in printed


def test_wrong_propensities_are_noticed(folder: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(folder / "log.csv")
    rows["propensity"] = 0.5
    rows.to_csv(tmp_path / "log.csv", index=False)
    _, printed = called("inspect", tmp_path / "log.csv", "--action", "mail")
    assert "propensities cannot be right" in " ".join(printed.split())


def test_unknown_propensities_are_estimated_on_demand(folder: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(folder / "log.csv").drop(columns="propensity")
    rows.to_csv(tmp_path / "log.csv", index=False)
    common = ["learn", tmp_path / "log.csv", "--action", "mail", *RIDGE, "-o", tmp_path / "policy.ot"]
    assert called(*common)[0] == 2
    code, printed = called(*common, "--propensity-estimated", "--json")
    assert code == 0
    value = json.loads(printed)["estimate"]["baseline"]["value"]
    assert value == pytest.approx(rows["visited"].mean(), abs=0.03)


def test_the_command_offers_the_learners_and_estimators_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["learn", "--help"])
    printed = "".join(capsys.readouterr().out.split())
    assert f"--learner{{{','.join(LEARNERS)}}}" in printed
    assert f"--format{{{','.join(FORMATS)}}}" in printed
    assert set(evaluate.METHODS) == set(METHODS)
    assert set(evaluate.INTERVALS) == set(INTERVALS)
    assert evaluate.INTERVALS[0] == DEFAULT_INTERVAL
    assert f"forreward-regressionandaction-regression{','.join(REGRESSORS)};" in printed
    assert f"foroffset-tree,offset-forestandimportance-weighted{','.join(CLASSIFIERS)}(" in printed


def test_auto_compares_within_its_time(folder: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(folder / "log.csv").head(800)
    rows.to_csv(tmp_path / "log.csv", index=False)
    code, printed = called(
        "learn", tmp_path / "log.csv", "--action", "mail", "--time-budget", 0.01, "-o", tmp_path / "p.ot", "--json"
    )
    assert code == 0
    outcomes = [each["outcome"] for each in json.loads(printed)["candidates"]]
    assert outcomes[0] == "chosen"
    assert set(outcomes[1:]) == {"left out"}


@pytest.mark.parametrize("learner", ["online", "online-regression"])
def test_one_pass_learns_from_a_log_in_chunks(learner: str, tmp_path: Path) -> None:
    campaign = make_campaign(40_000, random_state=3)
    pd.DataFrame(campaign.columns).to_parquet(tmp_path / "log.parquet")
    code, printed = called(
        "learn", tmp_path / "log.parquet", "--action", "mail", "--learner", learner, "-o", tmp_path / "p.ot", "--json"
    )
    assert code == 0
    facts = json.loads(printed)
    assert facts["estimate"]["difference"]["low"] > 0
    decided = offsettree.load(tmp_path / "p.ot").predict(pd.read_parquet(tmp_path / "log.parquet"))
    assert campaign.value(decided) > campaign.value(campaign.columns["mail"]) + 0.03


def test_the_report_is_written(folder: Path, tmp_path: Path) -> None:
    code, _ = called(
        "learn",
        folder / "log.csv",
        "--action",
        "mail",
        *RIDGE,
        "-o",
        tmp_path / "p.ot",
        "--report",
        tmp_path / "r.html",
    )
    assert code == 0
    page = (tmp_path / "r.html").read_text()
    assert "The learned policy earns" in page
    assert "free-shipping" in page


@pytest.mark.parametrize(("dataset", "logging"), [("campaign", "uniform"), ("glass", "skewed"), ("lymph", "uniform")])
def test_simulated_logs_can_be_learned_from(dataset: str, logging: str, tmp_path: Path) -> None:
    out = tmp_path / "log.parquet"
    assert called("simulate", dataset, "--rows", 140, "--logging", logging, "-o", out)[0] == 0
    before = out.read_bytes()
    assert called("simulate", dataset, "--rows", 140, "--logging", logging, "-o", out)[0] == 0
    assert out.read_bytes() == before
    log = offsettree.LoggedData.read(out, action="mail" if dataset == "campaign" else "action")
    assert len(log) == 140
    assert (1 / log.propensity).mean() == pytest.approx(len(log.actions), rel=0.5)


WRONG = [
    ([], "the following arguments are required"),
    (["learn"], "the following arguments are required"),
    (["learn", "log.csv", "--seed", "-1"], "must be a whole number"),
    (["learn", "log.csv", "--jobs", "0"], "must be a whole number of at least 1"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_a_command_line_that_cannot_be_meant_is_explained(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--learner", "online", "--base", "ridge"], "--base cannot be used with --learner online"),
        (
            ["--learner", "online-regression", "--time-budget", "1"],
            "--time-budget cannot be used with --learner online-regression",
        ),
        (["--learner", "auto", "--base", "ridge"], "'auto' takes no base learner"),
        (["--learner", "offset-tree", "--base", "nonsense"], "there is no classifier called 'nonsense'"),
        (["--learner", "offset-tree", "--time-budget", "3"], "only the learner 'auto' takes a time budget"),
        (["--test-size", "1.5"], "test_size must be a share"),
        (["--propensity", "0.2", "--propensity-estimated"], "not both"),
        (["--action", "nothing"], "has no column 'nothing'"),
        (["--reward", "country"], "must be"),
        (["-o", "missing/policy.ot"], "does not. Create it first"),
        (["--reward-range", "0", "0.5"], "reward"),
        (["--level", "2"], "level must be between 0 and 1"),
    ],
)
def test_options_that_cannot_be_meant_are_explained(
    arguments: list[str], message: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [] if "--action" in arguments else ["--action", "mail"]
    out = [] if "-o" in arguments else ["-o", str(tmp_path / "policy.ot")]
    assert main(["learn", str(folder / "log.csv"), *given, *out, *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def bad_log(kind: str, path: Path) -> Path:
    """Write a log with one thing wrong."""
    rows = pd.DataFrame(make_campaign(300, random_state=0).columns).rename(columns={"mail": "action"})
    if kind == "text in the reward":
        rows = rows.astype({"visited": object})
        rows.loc[16, "visited"] = "yes"
    elif kind == "propensity 0":
        rows.loc[16, "propensity"] = 0.0
    elif kind == "propensity 1.7":
        rows.loc[16, "propensity"] = 1.7
    elif kind == "missing reward":
        rows = rows.astype({"visited": float})
        rows.loc[16, "visited"] = np.nan
    elif kind == "too many actions":
        rows["action"] = [f"offer-{i}" for i in range(len(rows))]
    elif kind == "header only":
        rows = rows.head(0)
    text = rows.to_csv(index=False).encode()
    if kind == "mixed encodings":
        text = text.replace(b"social", "sociäl".encode("latin-1"), 1)
    elif kind == "empty":
        text = b""
    elif kind == "cut Parquet":
        rows.to_parquet(path.with_suffix(".parquet"))
        half = path.with_suffix(".parquet").read_bytes()
        path.with_suffix(".parquet").write_bytes(half[: len(half) // 2])
        return path.with_suffix(".parquet")
    path.write_bytes(text)
    return path


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("text in the reward", ["row 17", "'visited'", "yes"]),
        ("propensity 0", ["row 17", "propensity", "0"]),
        ("propensity 1.7", ["row 17", "propensity", "1.7"]),
        ("missing reward", ["row 17", "visited", "missing"]),
        ("too many actions", ["action", "300"]),
        ("header only", ["no row"]),
        ("empty", ["empty"]),
        ("mixed encodings", ["row", "encoding"]),
        ("cut Parquet", ["cut"]),
    ],
)
def test_bad_logs_are_refused_with_file_row_and_remedy(
    kind: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").mkdir()
    log = bad_log(kind, tmp_path / "logs" / "log.csv")
    before = sorted(tmp_path.rglob("*"))
    assert main(["learn", str(log), *RIDGE, "-o", str(tmp_path / "policy.ot")]) == 2
    said = capsys.readouterr()
    assert log.name in said.err
    for word in words:
        assert word in said.err
    assert said.out == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_a_policy_that_is_none_is_refused(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "policy.ot").write_bytes((folder / "policy.ot").read_bytes()[:-100])
    for arguments in (
        ["decide", tmp_path / "policy.ot", folder / "log.csv", "-o", tmp_path / "out.csv"],
        ["evaluate", tmp_path / "policy.ot", folder / "log.csv"],
        ["inspect", tmp_path / "policy.ot"],
        ["decide", folder / "log.csv", folder / "log.csv"],
        ["decide", folder / "missing.ot", folder / "log.csv"],
    ):
        assert called(*arguments)[0] == 2
        assert str(arguments[1]) in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


def test_rows_that_lack_a_column_are_refused_and_nothing_is_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pd.read_csv(folder / "log.csv").drop(columns="basket").to_csv(tmp_path / "rows.csv", index=False)
    assert called("decide", folder / "policy.ot", tmp_path / "rows.csv", "-o", tmp_path / "out.csv")[0] == 2
    assert "has no column 'basket'" in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


def test_a_value_that_cannot_be_decided_on_is_named_with_file_and_row(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.read_csv(folder / "log.csv", nrows=30, dtype=str)
    (tmp_path / "rows").mkdir()
    frame.to_csv(tmp_path / "rows" / "1.csv", index=False)
    frame.loc[16, "age"] = "old"
    frame.to_csv(tmp_path / "rows" / "2.csv", index=False)
    assert called("decide", folder / "policy.ot", tmp_path / "rows", "-o", tmp_path / "out.csv")[0] != 0
    error = " ".join(capsys.readouterr().err.split())
    assert f"got 'old' in row 17 of {tmp_path / 'rows' / '2.csv'}" in error


def run(*arguments: Any, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "offsettree", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def wait_until_it_learns(process: subprocess.Popen[str]) -> None:
    """Wait until a command has loaded the compiler of kernels, which takes long on a busy machine."""
    maps = Path(f"/proc/{process.pid}/maps")
    end = time.monotonic() + 100
    while maps.exists() and time.monotonic() < end and "llvmlite" not in maps.read_text():
        time.sleep(0.1)
    time.sleep(3)


def test_an_interrupted_command_leaves_nothing_behind(tmp_path: Path) -> None:
    pd.DataFrame(make_campaign(60_000, random_state=1).columns).to_parquet(tmp_path / "log.parquet")
    before = sorted(tmp_path.iterdir())
    for how, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        process = run("learn", "log.parquet", "--action", "mail", "--report", "r.html", cwd=tmp_path)
        wait_until_it_learns(process)
        process.send_signal(how)
        printed, said = process.communicate(timeout=120)
        assert process.returncode == code
        assert printed == ""
        assert "Traceback" not in said
        assert sorted(tmp_path.iterdir()) == before


def test_a_reader_that_stops_early_is_no_error(folder: Path) -> None:
    process = run("decide", folder / "policy.ot", folder / "log.csv")
    assert process.stdout is not None
    assert process.stdout.readline() == '"row","decision"\n'
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=120) == 0


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom offsettree.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "sys.exit(' '.join({'numpy', 'sklearn', 'pandas', 'pyarrow', 'numba'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=False
    )
    assert done.returncode == 0, done.stderr


def test_rows_that_name_their_features_need_not_name_all_of_them(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    lines = []
    for age, is_member in zip(random.integers(20, 60, 600), random.random(600) < 0.5, strict=True):
        mail = int(random.integers(1, 3))
        cost = -float(mail == (1 if is_member else 2))
        lines.append(f"{mail}:{cost}:0.5 |user age:{age}{' member' * bool(is_member)}")
    (tmp_path / "log.vw").write_text("\n".join(lines))
    assert called("learn", tmp_path / "log.vw", "--learner", "offset-tree", "-o", tmp_path / "p.ot")[0] == 0
    (tmp_path / "rows.vw").write_text("|user age:30 member:1 odd:7\n|user age:31\n")
    (tmp_path / "plain.vw").write_text("|user age:31\n")
    _, printed = called("decide", tmp_path / "p.ot", tmp_path / "rows.vw")
    assert [line.split(",")[1] for line in printed.splitlines()[1:]] == ["1", "2"]
    _, printed = called("decide", tmp_path / "p.ot", tmp_path / "plain.vw")
    assert printed.splitlines()[1] == "1,2"
    (tmp_path / "next.vw").write_text("\n".join(line for line in lines if "member" not in line))
    code, printed = called("evaluate", tmp_path / "p.ot", tmp_path / "next.vw", "--json")
    assert code == 0
    assert json.loads(printed)["estimate"]["value"] == 1


def test_rows_of_very_many_features_are_sent_to_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{1 + i % 2}:-1:0.5 | w{i} w{i + 1}" for i in range(1500)]
    (tmp_path / "log.vw").write_text("\n".join(lines))
    for learner in ("offset-tree", "online"):
        assert called("learn", tmp_path / "log.vw", "--learner", learner, "-o", tmp_path / "p.ot")[0] == 2
        assert "name 1,501" in capsys.readouterr().err


def test_what_is_read_is_never_written_over(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, policy = tmp_path / "log.csv", tmp_path / "policy.ot"
    log.write_bytes((folder / "log.csv").read_bytes())
    policy.write_bytes((folder / "policy.ot").read_bytes())
    link = tmp_path / "link.csv"
    link.symlink_to(log)
    before = {path: path.read_bytes() for path in (log, policy)}
    for arguments in (
        ["learn", log, "--action", "mail", *RIDGE, "-o", log],
        ["learn", log, "--action", "mail", *RIDGE, "-o", tmp_path / "p.ot", "--report", log],
        ["learn", log, "--action", "mail", *RIDGE, "-o", link],
        ["decide", policy, log, "-o", link],
        ["decide", policy, log, "-o", log],
    ):
        assert called(*arguments)[0] == 2
        assert "Name another file" in capsys.readouterr().err
    (tmp_path / "letter.ot").write_text("Dear customer")
    assert called("learn", log, "--action", "mail", *RIDGE, "-o", tmp_path / "letter.ot")[0] == 2
    assert "may overwrite policy files only" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in before} == before


def test_a_log_without_propensities_can_be_inspected_and_evaluated_on(folder: Path, tmp_path: Path) -> None:
    pd.read_csv(folder / "log.csv").drop(columns="propensity").to_csv(tmp_path / "log.csv", index=False)
    code, printed = called("inspect", tmp_path / "log.csv", "--action", "mail")
    assert code == 0
    assert "No column holds the propensity" in " ".join(printed.split())
    pd.DataFrame(make_campaign(2000, random_state=5).columns).drop(columns="propensity").to_csv(tmp_path / "next.csv")
    code, printed = called("evaluate", folder / "policy.ot", tmp_path / "next.csv", "--propensity-estimated", "--json")
    assert code == 0
    assert json.loads(printed)["estimate"]["n_rows"] == 2000


def test_rewards_of_any_range_have_guaranteed_intervals(folder: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(folder / "log.csv")
    rows["visited"] = 40 * rows["visited"] - 10
    rows.to_csv(tmp_path / "log.csv", index=False)
    learn = ["learn", tmp_path / "log.csv", "--action", "mail", *RIDGE, "--interval", "bernstein"]
    code, printed = called(*learn, "-o", tmp_path / "p.ot", "--json")
    assert code == 0
    assert json.loads(printed)["log"]["reward_range"] == [-10, 30]
    code, printed = called("evaluate", tmp_path / "p.ot", tmp_path / "log.csv", "--interval", "bernstein", "--json")
    assert code == 0
    assert json.loads(printed)["estimate"]["low"] >= -10


def test_a_decimal_comma_is_read(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pd.read_csv(folder / "log.csv").to_csv(tmp_path / "eu.csv", sep=";", decimal=",", index=False)
    learn = ["learn", tmp_path / "eu.csv", "--action", "mail", *RIDGE, "-o", tmp_path / "p.ot"]
    assert called(*learn)[0] == 2
    assert "--decimal ," in capsys.readouterr().err
    assert called(*learn, "--decimal", ",")[0] == 0


def test_wrong_propensities_are_noticed_in_one_pass_as_well(tmp_path: Path) -> None:
    rows = pd.DataFrame(make_campaign(20_000, random_state=3).columns)
    rows["propensity"] = 0.5
    rows.to_parquet(tmp_path / "log.parquet")
    code, printed = called(
        "learn", tmp_path / "log.parquet", "--action", "mail", "--learner", "online", "-o", tmp_path / "p.ot"
    )
    assert code == 0
    assert "propensities cannot be right" in " ".join(printed.split())
