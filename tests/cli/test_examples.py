"""The examples that ``--help`` shows are run, in the order in which a user would, and succeed."""

from __future__ import annotations

import shlex
from importlib import import_module
from pathlib import Path

import pytest
from sklearn.datasets import dump_svmlight_file

from offsettree.cli import COMMANDS, main, read_options
from offsettree.datasets import make_synsep
from offsettree.experiments import noise

# `serve --demo` goes on until it is stopped (tests/service/test_server.py); `reproduce` is below.
LONG = ("serve", "reproduce")
# The same examples, on as much as is needed.
LESS = {
    "table1": ["--datasets", "lymph", "--splits", "1", "--jobs", "1"],
    "noise": ["--rows", "60", "--seeds", "1", "--jobs", "1"],
    "banditron": ["--rows", "60", "--seeds", "1", "--jobs", "1"],
}
EXPERIMENTS = [
    line.strip()
    for module in ("reproduce", "reproduce_table1", "reproduce_noise", "reproduce_banditron")
    for line in import_module(f"offsettree.cli.{module}").EXAMPLE.splitlines()
    if line.strip().startswith("offsettree")
]


def example(command: str) -> list[str]:
    words = shlex.split(import_module(f"offsettree.cli.{command}").EXAMPLE)
    return words[1 : words.index(">")] if ">" in words else words[1:]


def test_examples_of_help_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = []
    for command in ("simulate", "inspect", "learn", "decide", "evaluate", "compare", "completion"):
        words = example(command)
        if command == "simulate":
            words[words.index("20000")] = "1500"  # as much as is needed
        elif command == "learn":
            words += ["--learner", "reward-regression", "--base", "ridge"]  # all learners compete in other tests
        assert main(words) == 0, (words, capsys.readouterr().err)
        ran.append(command)
        if command == "learn":
            for copy in ("old.ot", "new.ot"):
                (tmp_path / copy).write_bytes((tmp_path / "policy.ot").read_bytes())
            for copy in ("customers.csv", "next-week.csv"):
                (tmp_path / copy).write_bytes((tmp_path / "campaign.csv").read_bytes())
    assert {*ran, *LONG} == set(COMMANDS)


@pytest.mark.parametrize("line", EXPERIMENTS)
def test_examples_of_experiments_run(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(noise, "SHARES", (0.0, 0.1))
    X, y = make_synsep(60, random_state=0)
    dump_svmlight_file(X, y, str(tmp_path / "news20.svm"))
    words = shlex.split(line)[1:]
    assert read_options(words).run is not None
    if "weka" in words:
        pytest.skip("takes minutes; tests/learners/test_weka.py runs these learners")
    assert main([*words, *LESS[words[1]]]) == 0
