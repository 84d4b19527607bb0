"""What forbids a verdict does so in every command and for every learner, and is printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import offsettree
from offsettree.cli import main
from offsettree.exceptions import ParameterError
from offsettree.workflow import streaming
from offsettree.workflow.streaming import learn_from_stream

RIDGE = ["--learner", "reward-regression", "--base", "ridge", "--method", "snips", "--jobs", "1"]
Capture = pytest.CaptureFixture[str]


def make_log(n_rows: int, seed: int) -> pd.DataFrame:
    """Make a log in which x tells what to do."""
    random = np.random.default_rng(seed)
    x, action = random.normal(size=n_rows), random.choice(["mail M", "mail W", "none"], n_rows)
    best = np.where(x > 0, "mail M", "mail W")
    reward = (random.random(n_rows) < 0.2 + 0.5 * (action == best)).astype(float)
    return pd.DataFrame({"x": x, "action": action, "reward": reward, "propensity": 1 / 3})


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "CHUNK_ROWS", 500)


def call(capsys: Capture, *arguments: Any) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main([str(each) for each in arguments])
    said = capsys.readouterr()
    return code, " ".join(said.out.split()), " ".join(said.err.split())


def written(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("learner", [RIDGE, ["--learner", "online"], ["--learner", "online-regression"]])
def test_no_learner_has_a_verdict_beside_a_leak(learner: list[str], tmp_path: Path, capsys: Capture) -> None:
    data = make_log(1500, 0)
    log = written(data.assign(cents=100 * data["reward"] + 5), tmp_path / "log.csv")
    learn = ["learn", log, *learner, "-o", tmp_path / "p.ot"]
    code, out, _ = call(capsys, *learn, "--require", "better")
    assert code == 3
    assert "Warning: column 'cents' is the reward in other units" in out
    assert "No verdict while a serious warning stands" in out
    told = json.loads(call(capsys, *learn, "--json")[1])
    assert told["use"] == "open"
    assert any("'cents'" in text for text in told["estimate"]["serious"])
    data = make_log(800, 1)
    later = written(data.assign(cents=100 * data["reward"] + 5), tmp_path / "later.csv")
    told = json.loads(call(capsys, "evaluate", tmp_path / "p.ot", later, "--json")[1])
    assert told["use"] == "open"
    assert any("'cents'" in text for text in told["estimate"]["serious"])
    assert "Warning (" in call(capsys, "compare", later, tmp_path / "p.ot", "none")[1]


def test_evaluating_has_no_verdict_by_poor_propensities(tmp_path: Path, capsys: Capture) -> None:
    log = written(make_log(900, 0), tmp_path / "log.csv")
    assert call(capsys, "learn", log, *RIDGE, "-o", tmp_path / "p.ot")[0] == 0
    sure = make_log(900, 1).drop(columns="propensity")
    sure["action"] = np.where(sure["x"] > 0, "mail M", "mail W")
    later = written(sure, tmp_path / "later.csv")
    evaluate = ["evaluate", tmp_path / "p.ot", later, "--propensity-estimated"]
    _, out, _ = call(capsys, *evaluate)
    assert "Warning: most actions can be predicted with certainty" in out
    told = json.loads(call(capsys, *evaluate, "--json")[1])
    assert told["use"] == "open"
    assert any("certainty" in text for text in told["estimate"]["serious"])


def test_a_column_that_gives_the_action_away_is_hinted_at(tmp_path: Path, capsys: Capture) -> None:
    data = make_log(900, 0).drop(columns="propensity")
    price = data["action"].map({"mail M": 2.0, "mail W": 3.0, "none": 0.0}) + np.linspace(0, 0.5, 900)
    log = written(data.assign(price=price), tmp_path / "log.csv")
    _, out, _ = call(capsys, "learn", log, *RIDGE, "--propensity-estimated", "-o", tmp_path / "p.ot")
    assert "No verdict while a serious warning stands" in out
    assert "a column gives the action away, such as the price of what was sent" in out


def test_a_constant_picked_by_these_rows_settles_nothing_but_one_that_is_named_does(
    tmp_path: Path, capsys: Capture
) -> None:
    train, log = make_log(1500, 0), written(make_log(1500, 1), tmp_path / "log.csv")
    policy = offsettree.OffsetTree(random_state=0).fit(
        train[["x"]], train["action"], reward=train["reward"], propensity=1 / 3
    )
    offsettree.save(policy, tmp_path / "own.ot")
    evaluate = ["evaluate", tmp_path / "own.ot", log]
    code, out, _ = call(capsys, *evaluate, "--require", "better")
    assert code == 3
    assert "as that was picked on the same rows" in out
    told = json.loads(call(capsys, *evaluate, "--json")[1])
    assert (told["constant"]["picked_on"], told["use"], told["is_better"]) == ("these rows", "learned", False)
    assert told["constant"]["gain"]["low"] > 0  # which would be a verdict, had it been picked elsewhere
    told = json.loads(call(capsys, *evaluate, "--baseline", "mail W", "--json")[1])
    assert (told["constant"]["picked_on"], told["constant"]["action"]) == ("named", "mail W")
    assert told["is_better"] is True


def test_doubts_of_the_constant_are_printed(tmp_path: Path, capsys: Capture) -> None:
    """Few rows took the best constant, which the policy hardly ever takes."""
    random = np.random.default_rng(0)
    data = make_log(1500, 0)
    chances = np.array([0.49, 0.49, 0.02])
    taken = random.choice(3, 1500, p=chances)
    data["action"], data["propensity"] = np.array(["mail M", "mail W", "none"])[taken], chances[taken]
    best = np.where(data["x"] > 0, "mail M", "mail W")
    data["reward"] = np.where(data["action"] == "none", 0.98, np.where(data["action"] == best, 1.0, 0.0))
    log = written(data, tmp_path / "log.csv")
    learn = ["learn", log, *RIDGE, "-o", tmp_path / "p.ot", "--interval", "normal"]
    told = json.loads(call(capsys, *learn, "--json")[1])
    assert told["constant"]["action"] == "none"
    assert told["constant"]["doubts"]
    assert not any(text in told["estimate"]["warnings"] for text in told["constant"]["doubts"])
    assert "Warning: of always 'none': the 450 rows are worth" in call(capsys, *learn)[1]


@pytest.mark.parametrize("learner", [RIDGE, ["--learner", "online"]])
def test_equal_rewards_have_no_interval_and_the_remedy_is_named(
    learner: list[str], tmp_path: Path, capsys: Capture
) -> None:
    log = written(make_log(1200, 0).assign(reward=1), tmp_path / "log.csv")
    _, out, _ = call(capsys, "learn", log, *learner, "-o", tmp_path / "p.ot", "--report", tmp_path / "r.html")
    assert "earns 1.000 per decision [no interval]" in out
    assert "--reward-range low high" in out
    assert "No verdict while a serious warning stands" in out
    assert "nan" not in (tmp_path / "r.html").read_text().lower()


@pytest.mark.parametrize("option", [["--no-refit"], ["--test-size", "0.5"], ["--distill"], ["--level", "2"]])
def test_what_an_online_learner_cannot_do_is_refused(option: list[str], tmp_path: Path, capsys: Capture) -> None:
    log = written(make_log(1200, 0), tmp_path / "log.csv")
    code, _, err = call(capsys, "learn", log, "--learner", "online", *option, "-o", tmp_path / "p.ot")
    assert code == 2
    refusal = f"{option[0]} cannot be used with --learner"
    assert ("level must be between 0 and 1" if "--level" in option else refusal) in err
    assert not (tmp_path / "p.ot").exists()


def test_levels_are_checked_before_a_log_is_read() -> None:
    with pytest.raises(ParameterError, match="level must be between 0 and 1"):
        learn_from_stream("no such file", level=1.0)


def test_actions_alike_but_for_blanks_are_noted_by_online_learners_as_well(tmp_path: Path, capsys: Capture) -> None:
    data = make_log(1200, 0)
    data.loc[::20, "action"] = " none "
    log = written(data, tmp_path / "log.csv")
    for learner in (RIDGE, ["--learner", "online"], ["--learner", "online-regression"]):
        _, out, _ = call(capsys, "learn", log, *learner, "-o", tmp_path / "p.ot")
        assert "' none '" in out.partition("Learned:")[0]
        assert "'none'" in out.partition("Learned:")[0]


def test_groups_make_intervals_wider_where_their_rows_are_alike(tmp_path: Path, capsys: Capture) -> None:
    data = make_log(1500, 0)
    shop = np.arange(1500) // 30
    data["reward"] = (np.random.default_rng(0).random(50) < 0.5).astype(float)[shop]  # that of its shop, whatever
    log = written(data.assign(shop=shop), tmp_path / "log.csv")
    learn = ["learn", log, "--learner", "constant", "--method", "snips", "-o", tmp_path / "p.ot", "--features", "x"]
    _, out, _ = call(capsys, *learn, "--group", "shop")
    assert "From 450 rows of 15 groups, taken to be independent" in out
    told = json.loads(call(capsys, *learn, "--group", "shop", "--json")[1])
    alone = json.loads(call(capsys, *learn, "--json")[1])
    assert told["estimate"]["n_groups"] == 15
    width, other = (each["estimate"]["high"] - each["estimate"]["low"] for each in (told, alone))
    assert width > 2.5 * other


def test_a_distilled_tree_is_written_with_its_loss(tmp_path: Path, capsys: Capture) -> None:
    log = written(make_log(1200, 0), tmp_path / "log.csv")
    learn = ["learn", log, *RIDGE, "--distill", "-o", tmp_path / "p.ot", "--report", tmp_path / "r.html"]
    code, out, _ = call(capsys, *learn)
    assert code == 0
    assert "Learned: offset tree distilled from RewardRegression" in out
    assert "The tree imitates its teacher, RewardRegression, in fewer steps" in out
    facts = offsettree.load(tmp_path / "p.ot").manifest["facts"]
    assert facts["policy"]["learner"] == "OffsetTree"
    assert "Beside its teacher" in (tmp_path / "r.html").read_text()
    assert abs(facts["policy"]["loss"]["value"]) < 0.1
    assert set(offsettree.load(tmp_path / "p.ot").predict(make_log(50, 3))) <= {"mail M", "mail W", "none"}
