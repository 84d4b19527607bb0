"""Commands in README and docs are run as they stand there, as processes, and print what is printed there."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from offsettree.cli import read_options

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
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


@pytest.mark.parametrize("page", [page for page in PAGES if transcript(page)], ids=lambda page: page.name)
def test_commands_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    checker = doctest.OutputChecker()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    environment = {**os.environ, "PATH": f"{OFFSETTREE.parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}
    for command, expected in transcript(page):
        done = subprocess.run(  # noqa: S602 - a page's own command, pipes and all
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        printed = done.stdout + done.stderr
        example = doctest.Example(command, expected)
        assert checker.check_output(expected, printed, flags), f"$ {command}\n" + checker.output_difference(
            example, printed, flags
        )


COMMANDS = [
    line.split(" #")[0].strip()
    for page in PAGES
    for block in blocks(page, "sh")
    for line in re.sub(r"\\\n\s*", "", block).splitlines()
    if line.startswith("offsettree ")
]


@pytest.mark.parametrize("command", sorted(set(COMMANDS)))
def test_commands_that_take_long_are_understood(command: str) -> None:
    assert read_options(shlex.split(command)[1:]).run is not None
