"""Commands in README and docs are run as they stand there, and print what is printed there.

Those of the README, and all with a pipe, are processes; the others are called, which saves each a start of Python.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from offsettree.cli import main, read_options

ROOT = Path(__file__).parent.parent
MADE = ("gallery", "results")  # what a build of the site or an experiment writes
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not set(MADE) & set(page.parts)),
]
OFFSETTREE = Path(sys.executable).parent / "offsettree"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def transcript(page: Path) -> list[tuple[str, str]]:
    """Return the commands of a page's console blocks, each with what is printed below it."""
    found = []
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            # A command goes on in the next line after a backslash.
            command, _, output = re.sub(r"\\\n\s*", "", part).partition("\n")
            found.append((command, output))
    return found


def run_process(command: str) -> str:
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=300, check=False)  # noqa: S602
    return done.stdout + done.stderr


def call_command(arguments: list[str]) -> str:
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors), warnings.catch_warnings():
        warnings.simplefilter("default")  # printed, as in a process
        main(arguments)
    return out.getvalue() + errors.getvalue()


@pytest.mark.parametrize("page", [page for page in PAGES if transcript(page)], ids=lambda page: page.name)
def test_commands_print_what_the_page_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checker = doctest.OutputChecker()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{OFFSETTREE.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "100")
    for command, expected in transcript(page):
        words = shlex.split(command)
        is_process = page.name == "README.md" or words[0] != "offsettree" or "|" in words
        printed = run_process(command) if is_process else call_command(words[1:])
        example = doctest.Example(command, expected)
        assert checker.check_output(expected, printed, flags), f"$ {command}\n" + checker.output_difference(
            example, printed, flags
        )


def single_commands(page: Path) -> list[str]:
    """Return the commands of a page that stand without what they print: in shell blocks and in indented ones."""
    text = re.sub(r"\\\n\s*", "", page.read_text())
    lines = re.findall(r"^(?: {4})(offsettree \S.*)$", text, re.MULTILINE)
    return [line.split(" #")[0].strip() for line in lines]


COMMANDS = sorted({command for page in PAGES for command in single_commands(page)})


@pytest.mark.parametrize("command", COMMANDS)
def test_single_commands_are_understood(command: str) -> None:
    assert read_options(shlex.split(command)[1:]).run is not None


def test_single_commands_are_found() -> None:
    assert COMMANDS
