from __future__ import annotations

import json
from pathlib import Path

import pytest

from offsettree.cli import main
from offsettree.experiments import noise


def test_the_sweep_by_one_command_and_again_from_its_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noise, "SHARES", (0.0, 0.1))
    command = ["reproduce", "noise", "--rows", "60", "--seeds", "1", "--jobs", "1", "--out", str(tmp_path)]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "| wrong labels | best Banditron | its gamma |" in first
    assert "By mean errors the realizable tree is" in first
    records = (tmp_path / "noise.jsonl").read_text()
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["errors"]) == {"0.0", "0.1"}
    assert (tmp_path / "noise.jsonl").read_text() == records
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "noise-60-rows-1-runs.md",
        "noise-60-rows-1-runs.png",
        "noise-60-rows-1-runs.svg",
        "noise.jsonl",
    ]


def test_runs_of_other_numbers_leave_the_table_and_figure_of_the_default_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noise, "SHARES", (0.0, 0.1))
    command = ["reproduce", "noise", "--rows", "60", "--jobs", "1", "--out", str(tmp_path)]
    assert main(command) == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(before) == {"noise.jsonl", *(f"noise-60-rows.{kind}" for kind in ("md", "png", "svg"))}
    assert main([*command, "--seeds", "2"]) == 0
    assert main([*command, "--seeds", "6"]) == 0
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.suffix != ".jsonl"}
    assert {name: after[name] for name in before if name != "noise.jsonl"} == {
        name: content for name, content in before.items() if name != "noise.jsonl"
    }
    assert {"noise-60-rows-2-runs.md", "noise-60-rows-6-runs.md"} < set(after)


def test_wrong_arguments_exit_with_2_and_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "noise", "--rows", "0", "--out", str(tmp_path / "none")]) == 2
    assert "--rows, --seeds and --jobs must be at least 1; got 0" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["reproduce", "noise", "--help"])
    assert "offsettree reproduce noise --rows 20000" in capsys.readouterr().out
