"""Write the reference in docs/cli.md: what ``--help`` says, so that the page cannot say anything else."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
MARK = "<!-- what follows is written by tools/cli_page.py -->\n"


def reference() -> str:
    """Return the help of every command."""
    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1"}
    from offsettree.cli import COMMANDS

    calls = [(command,) for command in COMMANDS] + [("reproduce", result) for result in ("table1", "banditron")]
    parts = [f"### offsettree {' '.join(call)}\n\n```text\n{help_of(*call)}```\n" for call in calls]
    return "\n".join([f"```text\n{help_of()}```\n", *parts])


def help_of(*command: str) -> str:
    """Return what a command prints when asked for help."""
    from offsettree.cli import read_options

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        read_options([*command, "--help"])
    return printed.getvalue()


def page(text: str) -> str:
    """Return the page with its reference made anew."""
    return text.partition(MARK)[0] + MARK + "\n" + reference()


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"written {PAGE.name}")
