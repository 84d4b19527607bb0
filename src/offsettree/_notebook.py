"""Tables for notebooks: HTML that escapes what it shows, follows light and dark themes, and needs no script."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

WIDTH, HEIGHT = 120, 14


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, bars: Sequence[str] | None = None) -> str:
    """Return a table of texts; `bars` are drawings, one per row, in a last column."""
    head_cells = "".join(
        f"<th style='text-align:left'>{html.escape(text)}</th>" for text in [*head, *([""] if bars else [])]
    )
    lines = []
    for place, row in enumerate(rows):
        cells = "".join(f"<td style='text-align:left'>{html.escape(text)}</td>" for text in row)
        lines.append(f"<tr>{cells}{f'<td>{bars[place]}</td>' if bars else ''}</tr>")
    return f"<table><thead><tr>{head_cells}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def paragraph(text: str) -> str:
    """Return a paragraph of text."""
    return f"<p>{html.escape(text)}</p>"


def interval_bar(value: float, low: float, high: float, span: tuple[float, float], *, mark: float | None = None) -> str:
    """Return a drawing of an interval on a scale; `mark` is a dashed line, such as that of the baseline."""
    ends = [each for each in (value, low, high) if math.isfinite(each)]
    if len(ends) < 3 or not span[1] > span[0]:
        return ""

    def x(number: float) -> float:
        return round(4 + (WIDTH - 8) * min(max((number - span[0]) / (span[1] - span[0]), 0.0), 1.0), 1)

    middle = HEIGHT / 2
    dashed = (
        f"<line x1='{x(mark)}' x2='{x(mark)}' y1='0' y2='{HEIGHT}' stroke='currentColor' stroke-dasharray='2'/>"
        if mark is not None and math.isfinite(mark)
        else ""
    )
    return (
        f"<svg width='{WIDTH}' height='{HEIGHT}' role='img' aria-label='{low:.4g} to {high:.4g}'>{dashed}"
        f"<line x1='{x(low)}' x2='{x(high)}' y1='{middle}' y2='{middle}' stroke='currentColor' stroke-width='2'/>"
        f"<circle cx='{x(value)}' cy='{middle}' r='3.5' fill='currentColor'/></svg>"
    )
