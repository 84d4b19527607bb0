"""Every command x every learner x every format, run for real on small logs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import offsettree
from offsettree import registry
from offsettree.cli import main
from offsettree.workflow import LEARNERS, streaming
from tests.cli import test_action_sets
from tests.suites.readers import FORMS

FORMATS = {
    "csv": "csv by pandas",
    "ndjson": "ndjson by polars",
    "parquet": "parquet by pandas",
    "arrow": "arrow by polars",
    "vw": "vw",
    "dsjson": "dsjson",
}
# Those that take their time are tried with fewer parts, and on some of the formats.
SLOW = {
    "auto": ("csv", "dsjson"),
    "offset-forest": ("ndjson", "vw"),
    "doubly-robust": ("parquet", "csv"),
    "reward-boosting": ("csv", "arrow"),
}
HEADINGS = {
    "learned": "Use the learned policy",
    "constant": "Always take one action",
    "logged": "Go on as before",
    "open": "No verdict yet",
}
MORE = {"auto": ["--time-budget", "0.01"], "reward-regression": ["--base", "ridge"]}


def make_log(n_rows: int, seed: int) -> pd.DataFrame:
    """Make a log in which age and city tell what to do."""
    random = np.random.default_rng(seed)
    age, city = random.integers(18, 80, n_rows), random.choice(["Paris", "Rome"], n_rows)
    action = random.integers(1, 4, n_rows)
    best = np.where(age < 45, 1, np.where(city == "Rome", 2, 3))
    reward = (random.random(n_rows) < np.where(action == best, 0.8, 0.2)).astype(float)
    score = random.normal(size=n_rows).round(4)
    columns = {"age": age.astype(float), "city": city, "score": score, "action": action, "reward": reward}
    return pd.DataFrame({**columns, "propensity": np.full(n_rows, 1 / 3)})


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("logs")
    return {name: FORMS[form].write(make_log(300, 0), folder / f"{name}-log") for name, form in FORMATS.items()}


# Those over actions with features are run by test_action_sets.py.
OVER_LABELS = [learner for learner in LEARNERS if not registry.POLICIES[learner].over_sets]
CASES = [(learner, name) for learner in OVER_LABELS for name in SLOW.get(learner, FORMATS)]


@pytest.mark.parametrize(("learner", "name"), CASES)
def test_every_command_takes_every_learner_and_every_format(
    learner: str,
    name: str,
    logs: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(streaming, "CHUNK_ROWS", 100)
    log, policy = logs[name], tmp_path / "p.ot"
    method = [] if learner.startswith("online") else ["--method", "snips"]

    def call(*arguments: Any) -> str:
        assert main([str(each) for each in arguments]) == 0
        return capsys.readouterr().out

    learn = ["learn", log, "--learner", learner, "-o", policy, *method, *MORE.get(learner, [])]
    facts = json.loads(call(*learn, "--report", tmp_path / "r.html", "--json", "--jobs", 1))
    assert facts["log"]["rows"] == 300
    assert HEADINGS[facts["use"]] in (tmp_path / "r.html").read_text()
    assert facts["constant"]["action"] in (1, 2, 3)
    told = json.loads(call("evaluate", policy, log, "--json"))
    if not learner.startswith("online"):  # those that learn row by row remember none
        assert any("trained on" in text for text in told["estimate"]["warnings"])
        assert told["use"] == "open"
    assert told["constant"]["action"] == facts["constant"]["action"]
    decided = call("decide", policy, log).splitlines()
    assert len(decided) == 301
    assert {line.split(",")[1] for line in decided[1:]} <= {"1", "2", "3"}
    first, second = json.loads(call("compare", log, policy, "2", "--json"))
    assert second["policy"] == "2"
    assert second["to_first"]["value"] == pytest.approx(second["estimate"]["value"] - first["estimate"]["value"])
    assert json.loads(call("inspect", policy, "--json"))["kind"] == "policy"
    assert "a policy of" in call("inspect", policy)


DISTILLED = {"reward-regression": "csv", "policy-tree": "ndjson", "constant": "vw", "offset-forest": "parquet"}


@pytest.mark.parametrize("learner", DISTILLED)
def test_what_was_learned_is_distilled_on_demand(
    learner: str, logs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, policy = logs[DISTILLED[learner]], tmp_path / "p.ot"
    more = ["--learner", learner, "--distill", "--method", "snips", "--jobs", "1", "--report", str(tmp_path / "r.html")]
    assert main(["learn", str(log), *more, *MORE.get(learner, []), "-o", str(policy), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["policy"]["learner"] == "OffsetTree"
    assert facts["policy"]["loss"]["low"] <= facts["policy"]["loss"]["value"] <= facts["policy"]["loss"]["high"]
    assert HEADINGS[facts["use"]] in (tmp_path / "r.html").read_text()
    assert main(["evaluate", str(policy), str(log), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert any("trained on" in text for text in told["estimate"]["warnings"])
    assert main(["decide", str(policy), str(log)]) == 0
    assert {line.split(",")[1] for line in capsys.readouterr().out.splitlines()[1:]} <= {"1", "2", "3"}
    assert main(["inspect", str(policy)]) == 0


@pytest.mark.parametrize("name", FORMATS)
def test_logs_of_every_format_are_looked_into(
    name: str, logs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", str(logs[name])]) == 0
    assert "a log of 300 decisions among 3 actions" in capsys.readouterr().out


def test_the_table_has_all_commands_learners_and_formats() -> None:
    assert {learner for learner, _ in (*CASES, *test_action_sets.CASES)} == set(LEARNERS)
    assert {name for _, name in CASES} == set(FORMATS) == set(registry.FORMATS)


def test_the_command_itself_learns_and_decides(logs: dict[str, Path], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "offsettree"]
    learn = ["learn", str(logs["csv"]), "--learner", "reward-regression", "--method", "snips", "-o", "p.ot"]
    done = subprocess.run([*command, *learn], cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "Written policy: p.ot" in done.stdout
    assert len(offsettree.load(tmp_path / "p.ot").predict(make_log(50, 1))) == 50
    wrong = [*command, "evaluate", "none.ot", str(logs["csv"])]
    done = subprocess.run(wrong, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 2
    assert "there is no file or folder none.ot" in done.stderr
