"""Output of the commands: lines, aligned columns, or JSON."""

from __future__ import annotations

import json
import math
import re
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from offsettree._messages import as_options

WIDTH = 100
LONGEST = 2000
# Labels are untrusted. These characters move the cursor, colour, reorder or break lines, or cannot be encoded.
CONTROLS = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def print_line(text: str = "") -> None:
    """Print one or more lines, with control characters escaped."""
    sys.stdout.write(f"{printable(text)}\n")


def printable(text: str) -> str:
    """Escape control characters, such as terminal colours; keep line ends."""
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def shown(value: Any) -> str:
    """Return a value as one line of limited length."""
    text = str(value)
    return printable(text[:LONGEST]).replace("\n", "\\n") + "..." * (len(text) > LONGEST)


def paragraph(text: str, indent: str = "") -> str:
    """Break a long line; lines after the first are indented."""
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def print_notes(notes: Sequence[str]) -> None:
    """Print notes as a list."""
    for note in notes:
        print_line(paragraph(f"  - {as_options(note)}", "    "))


def print_json(answer: Any) -> None:
    """Print JSON; numbers that are not finite become null."""
    text = json.dumps(finite(answer), indent=2, ensure_ascii=False, default=_plain, allow_nan=False)
    sys.stdout.write(CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def finite(value: Any) -> Any:
    """Return records as dicts, and replace numbers that are not finite by None."""
    if hasattr(value, "as_dict"):
        return finite(value.as_dict())
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
    """Return rows as aligned columns; the columns numbered in `right` are right-aligned."""
    rows = [[printable(cell).replace("\n", "\\n") for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
