"""The examples that ``--help`` shows are run, in the order in which a user would, and succeed."""

from __future__ import annotations

import shlex
from importlib import import_module
from pathlib import Path

import pytest

from offsettree.cli import COMMANDS, main

# `serve` goes on until it is stopped (tests/service); `reproduce` takes minutes (tests/cli/test_reproduce.py).
LONG = ("serve", "reproduce")


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
