"""A reduction, a format and a learner from outside are used as those of the package: by decorator and entry point.

The contract suites of tests/suites run over them as well, see tests/toys.py.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

import offsettree
from offsettree import (
    LoggedData,
    OffsetTree,
    PolicySearch,
    RewardRegression,
    export_onnx,
    load,
    register_format,
    register_policy,
    save,
)
from offsettree.base import BasePolicy
from offsettree.cli import main
from offsettree.exceptions import LogError, OffsetTreeWarning, ParameterError
from offsettree.learners import make_learner
from offsettree.logs import CheckedLog
from offsettree.logs._ndjson import NdjsonReader
from offsettree.registry import POLICIES, CandidateEntry
from offsettree.selection import default_candidates
from offsettree.workflow import make_policy
from tests.cli import test_matrix
from tests.cli.test_matrix import make_log
from tests.suites.policies import make_log as make_numeric_log
from tests.suites.readers import FORMS
from tests.toys import toys, undone

ROOT = Path(__file__).parent.parent
ROWS = FORMS["toy rows, registered from outside"]
OURS = ["auto", "offset-tree", "offset-forest", "reward-regression", "importance-weighted", "doubly-robust"]


@pytest.mark.usefixtures("outside")
def test_registered_names_are_known_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(POLICIES)[:6] == OURS
    assert list(POLICIES)[-1] == "toy-advantage"
    assert type(make_policy("toy-advantage", "ridge", random_state=0).estimator[-1]).__name__ == "RidgeCV"
    assert type(make_learner("toy-linear", "regressor")) is toys.ToyLinearRegressor
    with pytest.raises(SystemExit):
        main(["learn", "--help"])
    printed = "".join(capsys.readouterr().out.split())
    assert ",online-regression,toy-advantage}" in printed
    assert ",dsjson,toy-rows}" in printed
    assert re.search(r"forreward-regression,[\w,-]*andtoy-advantageboosting,", printed)
    assert ",tree,toy-linear(j48," in printed
    with pytest.raises(SystemExit):
        main(["learn", "log.rows", "--learner", "unheard-of"])
    assert "invalid choice: 'unheard-of' (choose from " in capsys.readouterr().err


@pytest.mark.usefixtures("outside")
def test_every_command_takes_the_toys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = {"rows": ROWS.write(make_log(300, 0), tmp_path / "log")}
    check = test_matrix.test_every_command_takes_every_learner_and_every_format
    for learner in ("toy-advantage", "reward-regression"):
        check(learner, "rows", logs, tmp_path, monkeypatch, capsys)


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_a_learner_that_is_read_decides_by_flat_arrays_live_loaded_and_in_onnx(kind: str, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    learner = make_learner("toy-linear", kind)  # type: ignore[arg-type]
    policy: Any = toys.ToyAdvantage(learner) if kind == "regressor" else OffsetTree(learner, offset=0.4, random_state=0)
    log = make_numeric_log(policy)
    X = log.X.astype(np.float32)
    policy.fit(**log.arrays())
    asked = policy._ask(log.X)
    assert policy.compiled_ is not None
    np.testing.assert_array_equal(policy.predict(log.X), policy.actions_[asked])
    save(policy, tmp_path / "policy.ot")
    export_onnx(policy, tmp_path / "policy.onnx")
    saved = load(tmp_path / "policy.ot")
    assert saved.manifest["policy"]["kind"] == ("scores" if kind == "regressor" else "contests")
    np.testing.assert_array_equal(saved.predict(log.X), policy.predict(log.X))
    (_, label) = runtime.InferenceSession(tmp_path / "policy.onnx").run(None, {"X": X})
    np.testing.assert_array_equal(label, policy.predict(X))


def test_a_learner_that_is_not_read_is_asked_itself() -> None:
    log = make_numeric_log(OffsetTree())
    policy = RewardRegression(toys.ToyLinearRegressor()).fit(**log.arrays())
    assert policy.compiled_ is None
    np.testing.assert_array_equal(policy.predict(log.X), policy.actions_[policy._ask(log.X)])


@pytest.mark.usefixtures("outside")
def test_a_candidate_from_outside_is_compared_after_ours() -> None:
    assert [name for name, _ in default_candidates()][-2:] == ["offset tree", "toy advantage"]
    assert "toy advantage" not in [name for name, _ in default_candidates(sparse=True)]
    log = make_numeric_log(OffsetTree(), n_rows=400)
    with pytest.warns(OffsetTreeWarning, match=r"toy advantage \(no time to try it\)"):
        search = PolicySearch(nested=False, time_budget=0.01, random_state=0).fit(**log.arrays())
    assert search.results_[-1]["name"] == "toy advantage"


@pytest.mark.usefixtures("outside")
def test_a_candidate_has_its_rank_learner_and_settings() -> None:
    mine = CandidateEntry("mine", 15, "ridge", {"reward_range": (0, 2)}, sparse=True)
    register_policy("mine", base="regressor", candidates=[mine])(type("Mine", (toys.ToyAdvantage,), {}))
    for sparse in (False, True):
        names, policies = zip(*default_candidates(sparse=sparse), strict=True)
        assert names[:2] == ("constant", "mine")
        assert policies[1].reward_range == (0, 2)
        assert type(policies[1].estimator[-1]).__name__ == "RidgeCV"


@pytest.mark.usefixtures("outside")
def test_a_policy_is_made_by_name_with_its_own_settings() -> None:
    mine = type("Mine", (toys.ToyAdvantage,), {})
    register_policy("mine", settings={"estimator": Ridge(alpha=3)})(mine)
    assert make_policy("mine", n_jobs=2).estimator.alpha == 3  # which it does not have
    with pytest.raises(ParameterError, match=r"'mine' takes no base learner; got 'ridge'.* offset-tree, .*, toy-adv"):
        make_policy("mine", "ridge")


@pytest.mark.usefixtures("outside")
def test_an_online_policy_from_outside_learns_in_one_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class ToyOnline(offsettree.OnlineRewardRegression):
        pass

    register_policy("toy-online", online=True)(ToyOnline)
    logs = {"rows": ROWS.write(make_log(300, 0), tmp_path / "log")}
    monkeypatch.setattr("offsettree.workflow.streaming.CHUNK_ROWS", 100)
    assert main(["learn", str(logs["rows"]), "--learner", "toy-online", "-o", str(tmp_path / "p.ot"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["policy"]["name"] == "toy online"


@pytest.mark.usefixtures("outside")
def test_a_file_that_only_its_name_says_is_a_toy_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.rows").write_text("age,action,reward,propensity\n1,2,0,1\n")
    with pytest.raises(LogError, match=r"log.rows must be toy-rows, as its name says"):
        LoggedData.read(tmp_path / "log.rows")
    path = ROWS.write(make_log(20, 0), tmp_path / "other")
    assert len(LoggedData.read(path.rename(tmp_path / "other.csv"))) == 20


@pytest.mark.usefixtures("outside")
def test_a_format_without_a_test_has_its_suffix(tmp_path: Path) -> None:
    register_format("toy-like-json", suffixes=".like")(type("Like", (NdjsonReader,), {"roles": {"reward": "gain"}}))
    lines = [f'{{"age": {row}, "action": {row % 2}, "gain": 1, "propensity": 0.5}}\n' for row in range(10)]
    (tmp_path / "log.like").write_text("".join(lines))
    assert LoggedData.read(tmp_path / "log.like").reward.tolist() == [1.0] * 10


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """Install the toys as pip would, and return the environment of a process that has them."""
    site = tmp_path / "site"
    info = site / "offsettree_toys-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "offsettree_toys.py").write_text((ROOT / "tests" / "outside" / "offsettree_toys.py").read_text())
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: offsettree-toys\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[offsettree.policies]\ntoy-advantage = offsettree_toys:ToyAdvantage\nbroken = offsettree_toys:Missing\n"
        "[offsettree.formats]\ntoy-rows = offsettree_toys:ToyRowsReader\n"
        "[offsettree.learners]\ntoy-linear = offsettree_toys:ToyLinear\n"
    )
    path = os.pathsep.join([str(site), str(Path(offsettree.__file__).parent.parent)])
    return {**os.environ, "PYTHONPATH": path, "COLUMNS": "1000"}


def test_the_command_line_takes_what_an_installed_package_offers(installed: dict[str, str], tmp_path: Path) -> None:
    def run(*arguments: str, code: int = 0) -> str:
        command = [sys.executable, "-m", "offsettree", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=installed, capture_output=True, text=True, check=False)  # noqa: S603
        assert done.returncode == code, done.stderr
        return done.stderr if code else done.stdout

    ROWS.write(make_log(300, 0), tmp_path / "log")
    printed = run("learn", "--help")
    assert "online-regression,toy-advantage,broken}" in printed
    assert "dsjson,toy-rows}" in printed
    assert "toy-linear, of another package" in printed
    toy = ["--learner", "toy-advantage", "--base", "toy-linear", "--method", "snips", "--jobs", "1"]
    facts = json.loads(run("learn", "log.rows", *toy, "-o", "p.ot", "--json"))
    assert facts["policy"]["learner"] == "ToyAdvantage"
    assert facts["policy"]["parameters"]["estimator"] == "ToyLinearRegressor()"
    told = json.loads(run("evaluate", "p.ot", "log.rows", "--format", "toy-rows", "--json"))
    assert told["constant"]["action"] == facts["constant"]["action"]
    assert len(run("decide", "p.ot", "log.rows").splitlines()) == 301
    assert "ToyAdvantage" in run("inspect", "p.ot")
    assert load(tmp_path / "p.ot")._model.kind == "scores"  # without the package
    error = run("learn", "log.rows", "--learner", "broken", code=2)
    assert "offsettree_toys:Missing of offsettree-toys 1.0 fails with AttributeError" in error


class MostFrequent(BasePolicy):
    """The smallest policy there is: it has no learner, and decides by itself."""

    def __init__(self, *, reward_range: Any = (0.0, 1.0), actions: Any = None) -> None:
        self.reward_range = reward_range
        self.actions = actions

    def _fit(self, log: CheckedLog) -> None:
        self.best_ = int(np.bincount(log.position, minlength=len(self.actions_)).argmax())

    def _choose(self, X: Any) -> Any:
        return np.full(len(X), self.best_)


def test_a_policy_needs_no_base_learner() -> None:
    policy = MostFrequent().fit([[0.0], [1.0], [2.0]], ["mail", "call", "mail"], reward=[0, 1, 0], propensity=0.5)
    assert policy.decide([3.0]) == "mail"
    assert policy.predict([[3.0], [4.0]]).tolist() == ["mail", "mail"]
    assert clone(policy).get_params() == {"actions": None, "reward_range": (0.0, 1.0)}
    with pytest.raises(ParameterError, match="does not support masks"):
        policy.predict([[3.0]], available=[[True, False]])
    with pytest.raises(ValueError, match="NaN"):
        policy.predict([[np.nan]])


def test_the_steps_of_contributing_are_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    with undone():
        result = doctest.testfile(
            str(ROOT / "CONTRIBUTING.md"), module_relative=False, optionflags=flags, encoding="utf-8"
        )
    assert result.attempted > 10
    assert result.failed == 0
