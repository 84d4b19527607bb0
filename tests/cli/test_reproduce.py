from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from offsettree import __version__ as offsettree_version
from offsettree.cli import main
from offsettree.experiments import table1


def offsettree(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "offsettree", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


def test_table_1_by_one_command_and_again_from_its_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["reproduce", "table1", "--learners", "sklearn", "--datasets", "glass", "lymph", "--splits", "1"]
    first = offsettree(*command, "--jobs", "2", "--out", "results", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "| glass | " in first.stdout
    assert "mean difference to the paper" in first.stdout
    files = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert files == [
        "figure1-sklearn-part.png",
        "figure1-sklearn-part.svg",
        "table1-sklearn-part.md",
        "table1-sklearn.jsonl",
    ]
    records = (tmp_path / "results" / "table1-sklearn.jsonl").read_text()
    monkeypatch.chdir(tmp_path)
    assert main([*command, "--out", "results"]) == 0
    assert capsys.readouterr().out == first.stdout
    assert (tmp_path / "results" / "table1-sklearn.jsonl").read_text() == records


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--datasets", "mnist"], "--datasets must be among 'ecoli', 'flare'"),
        (["--methods", "magic"], "--methods must be among 'weighting'"),
        (["--splits", "0"], "--splits and --jobs must be at least 1"),
    ],
)
def test_wrong_arguments_exit_with_2_and_a_message(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "table1", "--out", str(tmp_path / "none"), *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", "table1", "--help"])
    assert stopped.value.code == 0
    assert "offsettree reproduce table1 --learners sklearn" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "run the paper's experiments again" in capsys.readouterr().out


def test_an_interrupted_run_keeps_what_was_done_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command = ["reproduce", "table1", "--datasets", "glass", "--methods", "separate tree", "--splits", "3"]
    command += ["--jobs", "1", "--out", str(tmp_path)]
    real, calls = table1.run_one, []

    def interrupted(**task: Any) -> Any:
        calls.append(task["split"])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(**task)

    monkeypatch.setattr(table1, "run_one", interrupted)
    assert main(command) == 130
    assert "run the same command again to resume" in capsys.readouterr().err
    assert len((tmp_path / "table1-sklearn.jsonl").read_text().splitlines()) == 1
    assert main(command) == 0
    assert calls == [0, 1, 1, 2]


def test_a_folder_that_cannot_be_made_is_said_before_any_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["reproduce", "table1", "--out", str(tmp_path / "file")]) == 2
    assert "file" in capsys.readouterr().err


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"offsettree {offsettree_version}\n"


def test_another_seed_has_a_table_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["reproduce", "table1", "--datasets", "glass", "--methods", "separate tree", "--splits", "2"]
    for seed in ("0", "1"):
        assert main([*command, "--seed", seed, "--jobs", "1", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    tables = [(tmp_path / name).read_text() for name in ("table1-sklearn-part.md", "table1-sklearn-part-seed-1.md")]
    assert "±" in tables[0]
    assert tables[0] != tables[1]
