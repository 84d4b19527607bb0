from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
from sklearn.datasets import dump_svmlight_file

from offsettree.cli import main
from offsettree.datasets import downloaded, make_synsep
from offsettree.experiments import banditron


def offsettree(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "offsettree", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


def test_section_7_2_by_one_command_and_again_from_its_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["reproduce", "banditron", "--data", "synsep", "--rows", "3000", "--seeds", "2"]
    first = offsettree(*command, "--jobs", "2", "--out", "results", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "| offset tree, realizable | " in first.stdout
    assert "| 10.72 % |" in first.stdout
    assert "The paper's figures are for RCV1" in first.stdout
    assert "%  " in first.stderr  # how far it is
    results = tmp_path / "results"
    assert sorted(path.name for path in results.iterdir()) == [
        "banditron-synsep-3000-rows-2-runs.md",
        "banditron-synsep-3000-rows-2-runs.png",
        "banditron-synsep-3000-rows-2-runs.svg",
        "banditron-synsep.jsonl",
    ]
    assert (results / "banditron-synsep-3000-rows-2-runs.md").read_text() in first.stdout
    before = {path.name: path.read_bytes() for path in results.iterdir()}
    monkeypatch.chdir(tmp_path)
    assert main([*command, "--out", "results"]) == 0
    assert capsys.readouterr().out == first.stdout
    assert {path.name: path.read_bytes() for path in results.iterdir()} == before


def test_an_svmlight_file_is_run_by_its_path_and_written_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = make_synsep(400, random_state=0)
    dump_svmlight_file(X, y, str(tmp_path / "documents.svm"))
    out = tmp_path / "results"
    command = ["reproduce", "banditron", "--data", str(tmp_path / "documents.svm"), "--seeds", "1", "--out", str(out)]
    assert main(command) == 0
    assert "one pass of 400 rows of documents.svm, 1 seed" in capsys.readouterr().out
    assert (out / "banditron-documents.svm-1-runs.png").exists()
    assert main([*command, "--rows", "100"]) == 0
    assert "one pass of 100 rows of documents.svm" in (out / "banditron-documents.svm-100-rows-1-runs.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rows", "0"], "rows must be at least 1; got 0"),
        (["--seeds", "0"], "--seeds and --jobs must be at least 1; got 0"),
        (["--jobs", "0"], "--seeds and --jobs must be at least 1"),
        (["--data", "mnist"], "newsgroups-tfidf, rcv1 or an svmlight file; 'mnist' is none of these names"),
        (["--seed", "-1"], "there must be 1 to 1,000 runs, and a seed from 0"),
        (["--data", "no/such.svm"], "'no/such.svm' is none of these names, and there is no such file"),
        (["--data", __file__], "is not in svmlight format (label index:value ...): line 1 begins with 'from'"),
    ],
)
def test_wrong_arguments_exit_with_2_and_a_message(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "banditron", "--out", str(tmp_path / "none"), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert not (tmp_path / "none").exists()


def test_rcv1_that_cannot_be_downloaded_is_explained_in_a_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> Any:
        raise URLError("Name or service not known")

    monkeypatch.setattr(downloaded, "fetch_rcv1", fail)
    assert main(["reproduce", "banditron", "--data", "rcv1", "--out", str(tmp_path / "none")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("offsettree: RCV1 must be on disk or downloadable")
    assert error.count("\n") == 1


def test_missing_plots_are_said_before_any_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["reproduce", "banditron", "--out", str(tmp_path / "none")]) == 2
    assert "pip install offsettree[plots]" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_an_interrupted_run_keeps_what_was_done_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command = ["reproduce", "banditron", "--rows", "50", "--seeds", "1", "--jobs", "1", "--out", str(tmp_path)]
    real, calls = banditron.run_one, []

    def interrupted(*task: Any) -> Any:
        calls.append(task[-1])
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*task)

    monkeypatch.setattr(banditron, "run_one", interrupted)
    assert main(command) == 130
    assert "run the same command again to resume" in capsys.readouterr().err
    assert len((tmp_path / "banditron-synsep.jsonl").read_text().splitlines()) == 2
    assert main(command) == 0
    methods = list(banditron.METHODS)
    assert calls == [*methods[:3], *methods[2:]]


def test_a_file_is_no_folder_to_write_to(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("kept")
    for out in (file, file / "within"):
        assert main(["reproduce", "banditron", "--rows", "50", "--out", str(out)]) != 0
        assert f"--out must be a folder, existing or new; {out} is a file" in capsys.readouterr().err
    assert file.read_text() == "kept"


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", "banditron", "--help"])
    assert stopped.value.code == 0
    assert "offsettree reproduce banditron --data synsep --rows 30000" in capsys.readouterr().out


def test_another_seed_has_other_rows_and_files_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["reproduce", "banditron", "--rows", "60", "--seeds", "1", "--jobs", "1", "--out", str(tmp_path)]
    assert main(command) == 0
    assert main([*command, "--seed", "2"]) == 0
    capsys.readouterr()
    records = banditron.open_records(tmp_path, "synsep")
    assert {record["seed"] for record in records} == {0, 2000}
    assert (tmp_path / "banditron-synsep-60-rows-1-runs-seed-2.md").exists()
    assert (tmp_path / "banditron-synsep-60-rows-1-runs.md").exists()
