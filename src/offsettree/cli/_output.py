"""What commands print: for people in lines and columns, for machines as JSON."""

from __future__ import annotations

import json
import math
import re
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

__all__ = ["as_options", "columns", "paragraph", "print_json", "print_line", "print_notes"]

WIDTH = 100
OPTIONS = "action|reward|propensity|features|format|delimiter|decimal|encoding|cost|reward_range|method|interval|level"


def print_line(text: str = "") -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


def paragraph(text: str, indent: str = "") -> str:
    """Break a long line; lines after the first are indented."""
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def print_notes(notes: Sequence[str]) -> None:
    """Print what was noticed."""
    for note in notes:
        print_line(paragraph(f"  - {as_options(note)}", "    "))


def as_options(text: str) -> str:
    """Write what Python calls ``reward=...`` as the option that it is on the command line."""
    text = re.sub(rf"\b({OPTIONS})=(\.\.\.|\[\.\.\.\])", lambda found: "--" + found[1].replace("_", "-"), text)
    return re.sub(
        rf"""\b({OPTIONS})=(?:'([^']*)'|"([^"]*)"|\(([^)]*)\))""",
        lambda found: f"--{found[1].replace('_', '-')} {found[2] or found[3] or (found[4] or '').replace(',', '')}",
        text,
    )


def print_json(answer: Any) -> None:
    """Print an answer as JSON; what is not finite is null, as JSON knows no such numbers."""
    sys.stdout.write(json.dumps(finite(answer), indent=2, ensure_ascii=False, default=_plain, allow_nan=False) + "\n")


def finite(value: Any) -> Any:
    """Replace numbers that are not finite by None."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def columns(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Return rows as aligned columns, those named in `right` aligned to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
