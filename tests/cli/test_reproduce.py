from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from offsettree.cli import main


def offsettree(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "offsettree.cli", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


def test_table_1_by_one_command_and_again_from_its_records(tmp_path: Path) -> None:
    command = ["reproduce", "table1", "--learners", "sklearn", "--datasets", "glass", "lymph", "--splits", "2"]
    first = offsettree(*command, "--jobs", "2", "--out", "results", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "| glass | " in first.stdout
    assert "mean difference to the paper" in first.stdout
    files = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert files == ["figure1-sklearn.png", "figure1-sklearn.svg", "table1-sklearn.jsonl", "table1-sklearn.md"]
    records = (tmp_path / "results" / "table1-sklearn.jsonl").read_text()
    second = offsettree(*command, "--out", "results", cwd=tmp_path)
    assert second.stdout == first.stdout
    assert (tmp_path / "results" / "table1-sklearn.jsonl").read_text() == records


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--datasets", "mnist"], "--datasets must be among ecoli, flare"),
        (["--methods", "magic"], "--methods must be among weighting"),
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


def test_an_interruption_keeps_what_was_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from offsettree.experiments import table1

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(table1, "run", interrupted)
    assert main(["reproduce", "table1"]) == 130
    assert "the same command goes on from there" in capsys.readouterr().err
