"""docs/cli.md says what ``--help`` says."""

from __future__ import annotations

import re
from pathlib import Path

from tools import cli_page


def squeezed(text: str) -> str:
    """Leave out what versions of Python write differently: line breaks, and ``-o OUT, --out OUT``."""
    text = re.sub(r"(-\w) [A-Z]+, (--)", r"\1, \2", text)
    return re.sub(r"\s+", "", text)


def test_the_reference_is_the_help_of_all_commands() -> None:
    text = Path(cli_page.PAGE).read_text(encoding="utf-8")
    assert cli_page.MARK in text
    assert squeezed(text) == squeezed(cli_page.page(text))
