"""What the verdict is compared with, what is required of it, and how rows are held out: as a user says it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import offsettree
from offsettree.cli import main
from offsettree.logs import LoggedData
from offsettree.workflow import advice, learn_policy

FAST = ["--learner", "reward-regression", "--base", "ridge", "--method", "snips", "--jobs", "1"]


def make_log(n_rows: int, seed: int, *, helps: float) -> pd.DataFrame:
    """Make a log in which the right action earns so much more; which one is right, x tells."""
    random = np.random.default_rng(seed)
    x, action = random.normal(size=n_rows), random.choice(["mail M", "mail W", "none"], n_rows)
    best = np.where(x > 0, "mail M", "mail W")
    reward = (random.random(n_rows) < 0.2 + helps * (action == best)).astype(float)
    days = pd.date_range("2026-01-01", periods=n_rows, freq="h")
    return pd.DataFrame(
        {"x": x, "day": days, "shop": np.arange(n_rows) // 10, "action": action, "reward": reward, "propensity": 1 / 3}
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verdict")
    for name, seed, helps in (("log", 0, 0.5), ("next", 1, 0.5), ("flat", 2, 0.0)):
        make_log(1500, seed, helps=helps).to_csv(folder / f"{name}.csv", index=False)
    assert main(["learn", str(folder / "log.csv"), *FAST, "-o", str(folder / "p.ot")]) == 0
    return folder


def call(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main([str(each) for each in arguments])
    said = capsys.readouterr()
    return code, " ".join(said.out.split()), " ".join(said.err.split())


Capture = pytest.CaptureFixture[str]


def test_learning_says_which_policy_to_use_and_what_it_rests_on(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    code, out, _ = call(capsys, "learn", folder / "log.csv", *FAST, "-o", tmp_path / "p.ot", "--require", "better")
    assert code == 0
    assert "Use the learned policy: it is better than what was logged and than always 'mail" in out
    assert "in 1" in out.partition("From 450 rows, ")[2][:5]
    assert (
        "learned from 1,050 rows (70 %). The one kept was learned again, with the same settings, from all 1,500" in out
    )
    facts = offsettree.load(tmp_path / "p.ot").manifest["facts"]
    assert facts["policy"]["refit"] is True
    assert facts["is_better"] is True
    _, out, _ = call(capsys, "inspect", tmp_path / "p.ot")
    assert "from all 1,500 rows of" in out


def test_without_refit_it_says_so(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    code, out, _ = call(capsys, "learn", folder / "log.csv", *FAST, "-o", tmp_path / "p.ot", "--no-refit")
    assert code == 0
    assert "learned again" not in out
    assert offsettree.load(tmp_path / "p.ot").manifest["facts"]["policy"]["refit"] is False
    _, out, _ = call(capsys, "inspect", tmp_path / "p.ot")
    assert "from 1,050 of 1,500 rows of" in out


@pytest.mark.parametrize("command", ["learn", "evaluate"])
def test_what_is_required_and_does_not_hold_is_exit_code_3(
    command: str, folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    if command == "learn":
        arguments = ["learn", folder / "flat.csv", *FAST, "-o", tmp_path / "p.ot"]
    else:
        arguments = ["evaluate", folder / "p.ot", folder / "flat.csv"]
    code, out, err = call(capsys, *arguments, "--require", "better")
    assert code == 3
    assert "--require better is not met" in err
    assert "Go on as before" in out
    assert call(capsys, *arguments)[0] == 0
    assert (tmp_path / "p.ot").exists() == (command == "learn")


def test_evaluating_compares_with_the_constant_of_training(folder: Path, capsys: Capture) -> None:
    code, out, _ = call(capsys, "evaluate", folder / "p.ot", folder / "next.csv", "--require", "better")
    assert code == 0
    assert "Use the learned policy" in out
    assert "generous" not in out
    told = json.loads(call(capsys, "evaluate", folder / "p.ot", folder / "next.csv", "--json")[1])
    assert told["constant"]["picked_on"] == "training rows"
    assert told["is_better"] is True


def test_a_file_that_names_no_constant_gets_the_best_of_these_rows(
    folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    log = LoggedData.read(folder / "log.csv", features=["x"])
    policy = offsettree.OffsetTree(random_state=0).fit(**log.arrays())
    offsettree.save(policy, tmp_path / "own.ot")
    code, out, _ = call(capsys, "evaluate", tmp_path / "own.ot", folder / "next.csv")
    assert code == 0
    assert "picked as the best on these same rows" in out


def test_a_baseline_may_be_an_action_or_a_policy(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    _, out, _ = call(capsys, "evaluate", folder / "p.ot", folder / "next.csv", "--baseline", "none")
    assert "Always 'none' earns 0.2" in out
    assert out.count("The learned policy earns") == 1
    assert "The learned policy is better than always 'none'" in out
    told = json.loads(
        call(capsys, "evaluate", folder / "p.ot", folder / "next.csv", "--baseline", folder / "p.ot", "--json")[1]
    )
    assert told["baseline"]["difference"]["value"] == 0
    assert told["is_better"] is False
    code, _, err = call(capsys, "evaluate", folder / "p.ot", folder / "next.csv", "--baseline", "mail X")
    assert code == 2
    assert "'mail X' is neither a policy file nor an action" in err
    assert "mail M, mail W, none" in err


def test_labels_are_compared_beside_files(
    folder: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = json.loads(call(capsys, "compare", folder / "next.csv", folder / "p.ot", "mail M", "--json")[1])
    data = pd.read_csv(folder / "next.csv")
    assert rows[1]["estimate"]["value"] == pytest.approx(data["reward"][data["action"] == "mail M"].mean())
    assert rows[1]["to_first"]["high"] < 0
    both = json.loads(call(capsys, "compare", folder / "next.csv", "mail M", "none", "--json")[1])
    assert both[0]["estimate"]["value"] == pytest.approx(rows[1]["estimate"]["value"])
    _, out, _ = call(capsys, "compare", folder / "next.csv", "mail M", folder / "p.ot", "--baseline", "none")
    assert "gain on none" in out
    Path("none").write_bytes((folder / "p.ot").read_bytes())
    _, _, err = call(capsys, "compare", folder / "next.csv", "mail M", "none")
    assert "'none' is a file and an action; taken as the file" in err


@pytest.mark.parametrize("command", ["evaluate", "compare", "decide", "inspect", "learn"])
def test_a_missing_file_is_told_of_before_anything_is_imported(command: str, tmp_path: Path) -> None:
    import subprocess
    import sys

    arguments = {
        "evaluate": ["nope.ot", "log.csv"],
        "compare": ["log.csv", "nope.ot"],
        "decide": ["nope.ot", "log.csv"],
        "inspect": ["nope.ot"],
        "learn": ["nope.ot"],
    }[command]
    (tmp_path / "log.csv").write_text("x,action,reward\n")
    code = (
        "import sys\nfrom offsettree.cli import main\n"
        f"code = main({[command, *arguments]!r})\n"
        "heavy = {'numpy', 'sklearn', 'pandas', 'pyarrow', 'numba'} & set(sys.modules)\n"
        "sys.exit(' '.join(heavy) or code)"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "there is no file or folder nope.ot" in done.stderr


def test_the_latest_rows_or_whole_groups_are_held_out(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    learn = ["learn", folder / "log.csv", *FAST, "-o", tmp_path / "p.ot"]
    _, out, _ = call(capsys, *learn, "--split-by-time", "day")
    assert "Held out: the 450 latest rows, by column 'day'" in out
    assert "column 'day' holds dates" in out
    _, out, _ = call(capsys, *learn, "--group", "shop")
    assert "Held out: all rows of 45 of the 150 groups, by column 'shop'" in out
    assert "Left out of the features: 'shop', which tells the groups apart" in out
    facts = json.loads(call(capsys, *learn, "--group", "shop", "--features", "x", "--json")[1])
    assert facts["log"]["features"] == ["x"]
    code, _, err = call(capsys, *learn, "--split-by-time", "nothing")
    assert code == 2
    assert "has no column 'nothing'" in err
    code, _, err = call(capsys, *learn, "--split-by-time", "action")
    assert code == 2
    assert "numbers, dates or times" in err


def test_one_of_three_is_a_number(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    pd.read_csv(folder / "log.csv").drop(columns="propensity").to_csv(tmp_path / "log.csv", index=False)
    learn = ["learn", tmp_path / "log.csv", *FAST, "-o", tmp_path / "p.ot"]
    code, out, _ = call(capsys, *learn, "--propensity", "1/3")
    assert code == 0
    told = json.loads(call(capsys, *learn, "--propensity", str(1 / 3), "--json")[1])
    assert f"earns {told['estimate']['value']:.3f}" in out
    for wrong in ("4/3", "1/0"):
        code, _, err = call(capsys, *learn, "--propensity", wrong)
        assert code == 2
        assert "must be a column or one number in (0, 1]" in err


def test_estimated_propensities_are_said_to_be_and_how_good(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    learn = ["learn", folder / "log.csv", *FAST, "-o", tmp_path / "p.ot", "--propensity-estimated"]
    code, out, _ = call(capsys, *learn)
    assert code == 0
    assert "The propensities were estimated from the features, not recorded. Log loss 1.09" in out.replace(
        "loss 1.10", "loss 1.09"
    )
    facts = json.loads(call(capsys, *learn, "--json")[1])
    assert facts["propensity"]["estimated"] is True
    assert facts["propensity"]["log_loss"] == pytest.approx(np.log(3), abs=0.02)
    _, out, _ = call(capsys, "evaluate", folder / "p.ot", folder / "next.csv", "--propensity-estimated")
    assert "The propensities were estimated from the features" in out


def test_an_offset_is_passed_on(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    learn = ["learn", folder / "log.csv", "--method", "snips", "-o", tmp_path / "p.ot", "--json"]
    facts = json.loads(call(capsys, *learn, "--learner", "offset-tree", "--offset", "0.25")[1])
    assert facts["policy"]["parameters"]["offset"] == "0.25"
    facts = json.loads(call(capsys, *learn, "--learner", "offset-tree", "--offset", "median")[1])
    assert facts["policy"]["parameters"]["offset"] == "'median'"
    code, _, err = call(capsys, *learn, "--learner", "offset-tree", "--offset", "middle")
    assert code == 2
    assert "'middle'" in err
    code, _, err = call(capsys, *learn, "--learner", "constant", "--offset", "0.5")
    assert code == 2
    assert "only offset-tree, offset-forest, action-offset-tree and online-action-offset-tree take an offset" in err
    code, _, err = call(capsys, "learn", folder / "log.csv", "--learner", "online", "--offset", "0.5")
    assert code == 2
    assert "--offset cannot be used with --learner online" in err


def test_a_file_without_a_header_is_read_on_demand(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    data = pd.read_csv(folder / "log.csv")[["x", "action", "reward"]]
    data.to_csv(tmp_path / "log.csv", index=False, header=False)
    data[["x", "reward"]].assign(action=1 + np.arange(len(data)) % 3).to_csv(
        tmp_path / "numbers.csv", index=False, header=False
    )
    code, _, err = call(capsys, "inspect", tmp_path / "numbers.csv")
    assert code == 2
    assert "or say that there is none: --no-header" in err
    (tmp_path / "twice.csv").write_text("7,saab,0,0\n8,van,1,0\n")
    code, _, err = call(capsys, "inspect", tmp_path / "twice.csv")
    assert code == 2
    assert "or say that there is none: --no-header" in err
    roles = ["--action", "column_2", "--reward", "column_3", "--propensity", "1/3", "--no-header"]
    code, out, _ = call(capsys, "learn", tmp_path / "log.csv", *roles, *FAST, "-o", tmp_path / "p.ot")
    assert code == 0
    assert "Read 1,500 decisions among 3 actions" in out
    code, out, _ = call(capsys, "decide", tmp_path / "p.ot", tmp_path / "log.csv", "--no-header")
    assert code == 0
    assert out.startswith('"row","decision" 1,')
    (tmp_path / "ragged.csv").write_text("1,a,0\n2,b\n")
    code, _, err = call(capsys, "inspect", tmp_path / "ragged.csv", *roles)
    assert code == 2
    assert "found in row 2" in err


def test_an_option_is_named_once(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "log.csv").write_text("x,y\n1,2\n3,4\n")
    code, _, err = call(capsys, "inspect", tmp_path / "log.csv")
    assert code == 2
    assert err.endswith("Name the column: --action")


def test_leaks_are_noticed_by_name(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    data = pd.read_csv(folder / "log.csv")
    data["cents"] = 100 * data["reward"] + 5
    data["bought"] = data["action"].where(data["reward"] > 0, "")
    data.to_csv(tmp_path / "log.csv", index=False)
    for command in (["inspect"], ["learn", *FAST, "-o", tmp_path / "p.ot"]):
        code, out, _ = call(capsys, command[0], tmp_path / "log.csv", *command[1:])
        assert code == 0
        assert "Warning: column 'cents' is the reward in other units" in out
        assert "Warning: column 'bought' names the logged action only where it paid" in out
        assert "leave it out with --features" in out
    code, out, _ = call(capsys, "inspect", folder / "log.csv")
    assert "Warning" not in out


def test_many_columns_alike_are_one_line(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    data = pd.read_csv(folder / "log.csv").head(300)
    random = np.random.default_rng(0)
    numbers = pd.DataFrame(random.normal(size=(300, 100)), columns=[f"v{i}" for i in range(100)])
    same = pd.DataFrame({f"same{i}": np.zeros(300) for i in range(21)})
    pd.concat([data, numbers, same], axis=1).to_csv(tmp_path / "log.csv", index=False)
    _, out, _ = call(capsys, "inspect", tmp_path / "log.csv")
    assert "21 columns are left out: each is the same in every row ('same0', 'same1'," in out
    assert "x, shop, v0, ... (102 columns) number 0.0 % 1 column each" in out
    assert "v57" not in out


def test_an_infinite_number_is_not_decided_on(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    data = pd.read_csv(folder / "next.csv").head(5)
    data.loc[2, "x"] = np.inf
    data.to_csv(tmp_path / "rows.csv", index=False)
    code, _, err = call(capsys, "decide", folder / "p.ot", tmp_path / "rows.csv")
    assert code == 2
    assert "column 'x' must hold finite numbers, as in training; got inf in row 3 of" in err


def test_bases_are_listed_in_the_help(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["learn", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "boosting, extra-trees, forest, histogram-tree, j48, logistic, tree" in text
    assert "m5p, reptree, ridge, tree" in text


def test_the_rules_of_a_policy_tree_are_printed_in_the_columns_of_the_log(
    folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    data = pd.read_csv(folder / "log.csv")
    data["side"] = np.where(data["x"] > 0, "right", "left")
    data[["side", "action", "reward", "propensity"]].to_csv(tmp_path / "log.csv", index=False)
    learn = ["learn", tmp_path / "log.csv", "--learner", "policy-tree", "--method", "snips", "-o", tmp_path / "p.ot"]
    code, out, _ = call(capsys, *learn, "--report", tmp_path / "r.html")
    assert code == 0
    rules = out.partition("The rules of the policy kept: ")[2]
    assert rules.startswith("if side is not ")
    assert "take mail M (" in rules
    assert "take mail W (" in rules
    assert "if side is not " in call(capsys, "inspect", tmp_path / "p.ot")[1]
    page = (tmp_path / "r.html").read_text()
    assert "The whole policy, as rules" in page
    assert "side is not" in page


def test_a_later_log_may_earn_more_than_the_training_log_did(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"x": random.normal(size=300), "action": random.choice(["a", "b"], 300), "propensity": 0.5})
    frame["reward"] = random.integers(0, 40, 300)
    frame.to_csv(tmp_path / "log.csv", index=False)
    learned = ["learn", tmp_path / "log.csv", "--learner", "constant", "-o", tmp_path / "p.ot"]
    assert main([str(each) for each in learned]) == 0
    frame.loc[7, "reward"] = 499
    frame.to_csv(tmp_path / "later.csv", index=False)
    assert main(["evaluate", str(tmp_path / "p.ot"), str(tmp_path / "later.csv")]) == 0
    assert main(["compare", str(tmp_path / "later.csv"), str(tmp_path / "p.ot"), "a"]) == 0


def test_no_verdict_stands_beside_a_leak() -> None:
    random = np.random.default_rng(0)
    action, paid = random.integers(2, size=600), random.integers(2, size=600).astype(float)
    X = pd.DataFrame({"age": random.normal(size=600), "result": 3 * paid + 1})
    learned = learn_policy(LoggedData(X, action, paid, 0.5), learner="constant", random_state=0)
    assert any("result" in text for text in learned.estimate.serious)
    assert not advice(learned.compared).is_better


def test_comparing_says_which_to_use(folder: Path, capsys: Capture) -> None:
    policy = folder / "p.ot"
    _, out, _ = call(capsys, "compare", folder / "next.csv", "none", policy)
    assert f"Use {policy}: it is better than what was logged and than always 'none' (95 % intervals)." in out
    _, out, _ = call(capsys, "compare", folder / "next.csv", policy, "none")
    assert f"Use {policy}: it is better than what was logged (95 % intervals); no other is shown to be better" in out
    _, out, _ = call(capsys, "compare", folder / "next.csv", "none", "--baseline", policy)
    assert f"Keep to {policy}: no other is shown to be better" in out
    _, out, _ = call(capsys, "compare", folder / "flat.csv", "none", "mail M", "mail W")
    assert "Go on as before: none of these is shown to be better than what was logged (95 % intervals, each by" in out


def test_comparing_on_training_rows_has_no_verdict_and_no_advice_for_python(folder: Path, capsys: Capture) -> None:
    _, out, _ = call(capsys, "compare", folder / "log.csv", folder / "p.ot", "none")
    assert "was trained on about" in out
    assert "train, test =" not in out
    assert "No verdict while a serious warning stands" in out
    assert "Use " not in out


def test_a_baseline_on_training_rows_repeats_nothing(folder: Path, capsys: Capture) -> None:
    _, out, _ = call(capsys, "evaluate", folder / "p.ot", folder / "log.csv", "--baseline", "none")
    assert out.count("No verdict while a serious warning stands") == 1
    assert out.count("The learned policy earns") == 1


def test_propensities_that_are_estimated_are_not_said_to_be_read(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    arguments = ["learn", folder / "log.csv", *FAST, "--propensity-estimated", "-o", tmp_path / "p.ot"]
    _, out, _ = call(capsys, *arguments)
    assert "Guessed by name: the action is column 'action', the reward is column 'reward' (if wrong" in out
    assert "The propensities were estimated from the features" in out


def test_a_constant_that_all_rows_pick_otherwise_is_named(tmp_path: Path, capsys: Capture) -> None:
    log = make_log(400, 0, helps=0.0)
    for seed in range(50):
        log = make_log(400, seed, helps=0.0)
        log.to_csv(tmp_path / "log.csv", index=False)
        arguments = ["learn", tmp_path / "log.csv", "--learner", "constant", "-o", tmp_path / "p.ot", "--report"]
        _, out, _ = call(capsys, *arguments, tmp_path / "r.html")
        kept = offsettree.load(tmp_path / "p.ot").decide({"x": 0.0, "day": str(log["day"][0]), "shop": 1})
        evaluated = offsettree.load(tmp_path / "p.ot").manifest["facts"]["constant"]["action"]
        if kept != evaluated:
            break
    else:
        pytest.fail("no such log")
    said = f"By all rows another action is the best: the policy kept always takes {kept!r}."
    assert said in out
    assert "the policy kept always takes" in " ".join((tmp_path / "r.html").read_text().split())
    _, out, _ = call(capsys, "inspect", tmp_path / "p.ot")
    assert f"It always takes {kept!r}" in out


def test_reasons_of_the_search_are_written_whole(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    _, out, _ = call(
        capsys,
        "learn",
        folder / "flat.csv",
        "--time-budget",
        "6",
        "-o",
        tmp_path / "p.ot",
        "--report",
        tmp_path / "r.html",
    )
    rows = offsettree.load(tmp_path / "p.ot").manifest["facts"]["candidates"]
    for row in rows:
        assert " ".join((row["reason"] or "").split()) in out
    assert "A candidate leaves the race if it is 1 standard error behind the one that would be chosen" in out
