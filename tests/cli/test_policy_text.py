"""What the commands make of policy files from elsewhere: saved from Python, or written by a stranger."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from offsettree import OffsetTree, RewardRegression, TableEncoder, load, save
from offsettree.cli import main
from offsettree.cli._output import columns, print_json, print_line
from offsettree.cli._policy_text import base_learner
from offsettree.encoding.table_encoder import EncodedColumn
from offsettree.learners import NominalEncoder
from tests.policy_file.forgery import forge, small_log

NAMES = ["age", "basket", "tenure", "visits"]


def called(*arguments: Any) -> tuple[int, str]:
    printed = io.StringIO()
    with redirect_stdout(printed):
        code = main([str(each) for each in arguments])
    return code, printed.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Policies saved from Python: a tree and a regression of named columns, one without names; and a log in CSV."""
    folder = tmp_path_factory.mktemp("saved")
    log = small_log()
    frame = pd.DataFrame(log.X, columns=NAMES)
    outcome = {"action": log.action, "reward": log.reward, "propensity": log.propensity}
    tree = OffsetTree(tree="balanced", random_state=0).fit(frame, **outcome)
    save(tree, folder / "tree.ot")
    save(RewardRegression(make_pipeline(StandardScaler(), Ridge())).fit(frame, **outcome), folder / "ridge.ot")
    save(OffsetTree(random_state=0).fit(log.X, **outcome), folder / "plain.ot")
    frame.assign(**outcome).to_csv(folder / "log.csv", index=False)
    return folder


def test_a_policy_saved_from_python_is_told_by_its_manifest(folder: Path) -> None:
    code, printed = called("inspect", folder / "tree.ot")
    assert code == 0
    assert "  learner   OffsetTree\n" in printed
    assert "tree='balanced'" in printed
    assert "age, basket, tenure, visits" in printed
    rows = load(folder / "tree.ot").manifest["training"]["node_rows"]
    drawn = [line for line in printed.splitlines() if "contest" in line and "learned" in line]
    assert [f"learned from {n:,} rows" in line for n, line in zip(rows, drawn, strict=True)] == [True] * 3
    assert drawn[0].startswith("contest")
    code, printed = called("inspect", folder / "ridge.ot")
    assert "  learner   RewardRegression, Ridge\n" in printed
    assert "actions=" not in printed
    assert "4 numbers without names" in called("inspect", folder / "plain.ot")[1]


@pytest.mark.parametrize(
    ("described", "name"),
    [
        ("None", ""),
        ("Ridge(alpha=2)", "Ridge"),
        ("Pipeline(steps=[('a', NominalEncoder(impute=True)), ('b', RidgeCV())])", "RidgeCV"),
        ("Pipeline(steps=[('a', A(x=[('z', Z())])), ('s', Stack(estimators=[('l', Lasso())]))])", "Stack"),
        ("Pipeline(steps=[('a', A()), ('b (', B(odd=')'))], memory=Memory(2))", "B"),
        ("Pipeline(steps=[", "Pipeline"),
    ],
)
def test_the_base_learner_is_the_last_step_of_a_pipeline(described: str, name: str) -> None:
    assert base_learner(described) == name


def forged(folder: Path, tmp_path: Path, **said: Any) -> Path:
    return forge(folder / "tree.ot", lambda manifest, arrays: manifest.update(said), tmp_path / "forged.ot")


FACTS: list[Any] = [
    [1, 2],
    "facts",
    {"policy": "hi", "log": {"train_rows": "x"}},
    {"log": "a log", "policy": {"name": 3, "seconds": "long"}},
    {"log": {"features": 7, "rows": None, "path": 5}},
    {"tree": {"rows": "a"}},
    {"tree": {"left": 1, "right": [], "rows": {}, "strength": "b"}},
    {"tree": [1]},
    {"importance": [{"feature": 3}]},
    {"importance": {"a": 1}},
    {"importance": [1, None, {"feature": ["a"], "changes": 10**400}]},
    {"warnings": 3, "verdict": ["good"]},
    {"log": {"columns": {"action": ["mail"], "reward": 5, "propensity": True}}},
]


@pytest.mark.parametrize("facts", FACTS, ids=range(len(FACTS)))
def test_facts_of_any_type_are_no_reason_to_fail(facts: Any, folder: Path, tmp_path: Path) -> None:
    path = forged(folder, tmp_path, facts=facts, bytes="many", path=3)
    code, printed = called("inspect", path)
    assert code == 0
    assert f"a policy of {path.stat().st_size:,} bytes, 4 actions" in printed
    assert called("inspect", path, "--json")[0] == 0
    assert called("evaluate", path, folder / "log.csv")[0] == 0


WORDS = """
policy log tree importance warnings verdict name seconds rows train_rows features path left right action strength
feature changes class parameters estimator search chosen chosen_policy value low columns node_rows n_rows_seen
"""
PLAIN: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(WORDS.split()),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=60)
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(["facts", "learner", "training", "estimate"], PLAIN)))
def test_whatever_a_manifest_says_beside_the_policy_is_told(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, said: dict[str, Any]
) -> None:
    code, _ = called("inspect", forged(folder, tmp_path_factory.getbasetemp(), **said))
    assert code == 0


def test_labels_cannot_steer_the_terminal(folder: Path, tmp_path: Path) -> None:
    odd = ["a\x1b[31mred", "b\nc", "d\x9b2J", "e\u202ef"]
    path = forged(folder, tmp_path, actions={"type": "text", "labels": odd}, facts={"verdict": "\x1b]0;title\x07"})
    code, printed = called("inspect", path)
    assert code == 0
    assert r"a\x1b[31mred, b\nc, d\x9b2J, e\u202ef" in " ".join(printed.split())
    assert not set(printed) & set("\x1b\x07\x9b\u202e")
    code, printed = called("inspect", path, "--json")
    assert json.loads(printed)["actions"]["labels"] == odd
    assert not set(printed) & set("\x1b\x07\x9b\u202e")


@pytest.mark.parametrize("how", [lambda text: print_line(text), lambda text: print_line(columns([[text, "b"]]))])
def test_control_characters_are_written_out(how: Callable[[str], None], capsys: pytest.CaptureFixture[str]) -> None:
    how("é\x1b[1m\ud800")
    assert capsys.readouterr().out.startswith(r"é\x1b[1m\ud800")
    print_json({"a": "\ud800"})
    assert capsys.readouterr().out == '{\n  "a": "\\ud800"\n}\n'


def test_errors_cannot_steer_the_terminal(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice = TableEncoder([EncodedColumn("\x1b[31m", "number")]).to_manifest()
    twice["columns"] *= 2
    assert called("decide", forged(folder, tmp_path, encoder=twice), folder / "log.csv")[0] == 2
    assert r"must have different names; got \x1b[31m, \x1b[31m" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["tree.ot", "ridge.ot"])
def test_columns_are_matched_by_the_names_that_the_policy_learned(name: str, folder: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(folder / "log.csv")
    rows[["visits", "reward", "basket", "tenure", "action", "propensity", "age"]].to_csv(
        tmp_path / "log.csv", index=False
    )
    code, printed = called("decide", folder / name, tmp_path / "log.csv")
    assert code == 0
    decided = pd.read_csv(io.StringIO(printed))["decision"]
    np.testing.assert_array_equal(decided, load(folder / name).predict(rows[NAMES]))
    code, printed = called("evaluate", folder / name, tmp_path / "log.csv", "--json", "--method", "ips")
    assert code == 0
    value = np.mean((rows["action"] == decided) * rows["reward"] / rows["propensity"])
    assert json.loads(printed)["estimate"]["value"] == pytest.approx(value)
    code, printed = called("compare", tmp_path / "log.csv", folder / name, folder / "tree.ot", "--json")
    assert code == 0


def test_only_a_policy_without_names_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ("decide", "plain.ot", "log.csv"),
        ("evaluate", "plain.ot", "log.csv"),
        ("compare", "log.csv", "plain.ot"),
    ):
        command, *paths = arguments
        assert called(command, *(folder / path for path in paths))[0] == 2
        assert "plain.ot was learned from arrays without column names" in capsys.readouterr().err


def test_nominal_columns_of_a_frame_need_an_encoder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pd.DataFrame({"plan": ["a", "b"] * 40, "age": np.arange(80.0)})
    outcome: dict[str, Any] = {"action": [0, 1, 1, 0] * 20, "reward": [1.0, 0.0] * 40, "propensity": 0.5}
    save(RewardRegression(make_pipeline(NominalEncoder(), Ridge())).fit(frame, **outcome), tmp_path / "policy.ot")
    frame.assign(**outcome).to_csv(tmp_path / "log.csv", index=False)
    assert called("decide", tmp_path / "policy.ot", tmp_path / "log.csv")[0] == 2
    assert "nominal columns" in capsys.readouterr().err
