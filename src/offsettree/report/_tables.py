"""Plain tables, and charts: tables with a drawing in every row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from offsettree.report._charts import Scale, axis
from offsettree.report._html import Html, element, join, label


class Row(NamedTuple):
    """A row of a chart: a name, a drawing, and the number it shows."""

    name: object
    drawing: Html
    figure: str
    figure_soft: str = ""
    below: object = None
    main: bool = False


def section(identity: str, heading: str, *content: object, class_: str | None = None) -> Html:
    """Return one card of the page."""
    head = element("h2", heading, id=f"{identity}-heading")
    return element("section", head, *content, id=identity, class_=class_, aria_labelledby=f"{identity}-heading")


def chart(
    rows: Sequence[Row],
    heads: tuple[str, str, str],
    *,
    scale: Scale | None = None,
    names: str | None = None,
    tall: bool = False,
) -> Html:
    """Return a table with a drawing per row; its column heads are for screen readers only.

    The style sheet lays out the rows as a grid, which drops the table semantics, so the roles restate them.
    """
    # The unit ch is the width of a digit; brackets, points and commas are narrower.
    room = round(0.86 * max(len(row.figure) + len(row.figure_soft) for row in rows)) + 2
    head = element("tr", *(element("th", text, scope="col", role="columnheader") for text in heads), role="row")
    body = (element("tr", *_cells(row), role="row", class_=_kind(row)) for row in rows)
    sizes = f"--room: {room}ch;" + (f" --names: {names};" if names else "")
    table = element(
        "table",
        element("thead", head, role="rowgroup"),
        element("tbody", join(body), role="rowgroup"),
        class_="chart" + (" bars" if scale is None else "") + (" tall" if tall else ""),
        role="table",
        style=sizes,
    )
    if scale is None:
        return table
    return join([table, element("div", element("div", axis(scale)), class_="chart-axis", style=sizes)])


def _kind(row: Row) -> str | None:
    return "main" if row.main else None if row.figure else "bare"


def _cells(row: Row) -> Iterable[Html]:
    below = None if row.below is None else element("span", row.below, class_="sub")
    soft = element("span", row.figure_soft, class_="soft") if row.figure_soft else None
    space = Html("&nbsp;") if soft else None
    yield element("th", element("span", label(row.name), below), scope="row", role="rowheader")
    if not row.figure:
        return
    yield element("td", row.drawing, class_="plotted", role="cell")
    yield element("td", element("span", row.figure, space, soft), class_="num", role="cell")


def pairs(rows: Iterable[tuple[str, object]]) -> Html:
    """Return a table of names and values."""
    body = (element("tr", element("th", name, scope="row"), element("td", value)) for name, value in rows)
    return element("table", element("tbody", join(body)), class_="plain")


def columns(heads: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: int = 1) -> Html:
    """Return a table with a header; its last `numbers` columns are numeric."""
    first = len(heads) - numbers

    def kind(position: int) -> str | None:
        return "num" if position >= first else None

    head = element("tr", *(element("th", text, scope="col", class_=kind(i)) for i, text in enumerate(heads)))
    body = (element("tr", *(element("td", cell, class_=kind(i)) for i, cell in enumerate(row))) for row in rows)
    return element("table", element("thead", head), element("tbody", join(body)), class_="plain list")


def details(summary: str, *content: object) -> Html:
    """Return content that is shown on demand."""
    # It scrolls, so it must be focusable by keyboard.
    inside = element("div", *content, class_="scroll", tabindex=0, role="region", aria_label=summary)
    return element("details", element("summary", summary), inside)


def legend(*entries: tuple[str, str]) -> Html:
    """Return a legend of pairs (class of the mark, text)."""
    return element("ul", *(element("li", element("i", class_=kind), text) for kind, text in entries), class_="legend")
