"""Completion in real shells: bash is there; zsh and fish are tried where they are installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from offsettree.cli import COMMANDS, main


@pytest.fixture
def scripts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    for shell, name in (("bash", "offsettree.bash"), ("zsh", "_offsettree"), ("fish", "offsettree.fish")):
        assert main(["completion", shell]) == 0
        (tmp_path / name).write_text(capsys.readouterr().out)
    return tmp_path


def ask(shell: str, text: str, folder: Path) -> list[str]:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([found, "-c", text], cwd=folder, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return done.stdout.split("\n")


def in_bash(words: str, folder: Path) -> list[str]:
    count = len(words.split(" ")) - 1
    line = (
        f'source ./offsettree.bash; COMP_WORDS=({words} ""); COMP_CWORD={count}; _offsettree; echo "${{COMPREPLY[@]}}"'
    )
    return ask("bash", line.replace(' ""', "") if not words.endswith(" ") else line, folder)[0].split()


def test_bash_completes_commands_options_and_values(scripts: Path) -> None:
    (scripts / "log.csv").write_text("")
    assert in_bash("offsettree le", scripts) == ["learn"]
    assert set(in_bash("offsettree ", scripts)) >= set(COMMANDS)
    assert in_bash("offsettree learn --propensity-e", scripts) == ["--propensity-estimated"]
    assert in_bash("offsettree learn log.csv --learner offset-f", scripts) == ["offset-forest"]
    assert in_bash("offsettree learn lo", scripts) == ["log.csv"]
    assert in_bash("offsettree completion z", scripts) == ["zsh"]


def test_fish_completes_commands_options_and_values(scripts: Path) -> None:
    def first_words(line: str) -> list[str]:
        found = ask("fish", f"source ./offsettree.fish; complete -C '{line}'", scripts)
        return [each.split("\t")[0] for each in found if each]

    assert first_words("offsettree le") == ["learn"]
    assert "--propensity-estimated" in first_words("offsettree learn --prop")
    assert first_words("offsettree learn --learner offset-f") == ["offset-forest"]


def test_zsh_reads_its_script_and_completes(scripts: Path) -> None:
    # compadd is called by zsh's completion with all that fits; here it prints that instead of showing it.
    text = """
    autoload -U compinit; fpath=(. $fpath); compinit -u -D
    _describe() { print -l -- ${(P)2} }
    _arguments() { print -l -- "$@" }
    source ./_offsettree
    words=(offsettree ''); CURRENT=2; _offsettree
    words=(offsettree learn --); CURRENT=3; _offsettree
    """
    printed = "\n".join(ask("zsh", text, scripts))
    assert "learn:learn a policy from a log" in printed
    assert "--propensity-estimated[" in printed
    assert ":value:(auto offset-tree" in printed


def test_a_shell_that_is_not_known_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["completion", "tcsh"])
    assert "bash" in capsys.readouterr().err
