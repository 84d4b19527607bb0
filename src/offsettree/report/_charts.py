"""Small SVG charts with widths in percent: they fit any screen without a script."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from offsettree.report._band import Band
from offsettree.report._html import Html, element, join
from offsettree.report._numbers import count, number, ticks

_EDGE = 0.03  # margin at both ends of a scale, so that dots and tick labels are not cut off


class Scale(NamedTuple):
    """A horizontal scale, in percent of the width."""

    low: float
    high: float
    most_ticks: int = 5

    def at(self, value: float) -> str:
        """Return the position of a number."""
        share = (value - self.low) / (self.high - self.low)
        return _place(_EDGE + (1 - 2 * _EDGE) * min(max(share, 0.0), 1.0))


def _place(share: float) -> str:
    return f"{100 * share:.2f}%"


def scale_over(bands: Iterable[Band], *, also: Iterable[float] = (), most_ticks: int = 5) -> Scale:
    """Return a scale that covers every interval."""
    ends = [end for band in bands for end in (*band.ends, band.value)] + list(also)
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    span = high - low
    if span <= 1e-9 * max(abs(low), abs(high), 1e-9):
        # All numbers are practically equal.
        room = abs(low) / 10 or 1.0
        return Scale(low - room, high + room, most_ticks)
    return Scale(low - span * 0.04, high + span * 0.04, most_ticks)


def interval_plot(scale: Scale, band: Band, *, kind: str, reference: float | None = None) -> Html:
    """Draw a dot with its interval; a dashed line marks the reference."""
    parts = [*_grid(scale)]
    if reference is not None:
        place = scale.at(reference)
        parts.append(element("line", x1=place, x2=place, y1=0, y2="100%", class_="reference"))
    if band.low is not None and band.high is not None:
        low, high = scale.at(band.low), scale.at(band.high)
        parts.append(element("line", x1=low, x2=high, y1="50%", y2="50%", class_=f"range {kind}"))
        parts.extend(element("line", x1=end, x2=end, y1="32%", y2="68%", class_=f"end {kind}") for end in (low, high))
    parts.append(element("circle", cx=scale.at(band.value), cy="50%", r=5, class_=f"dot {kind}"))
    return _plot(parts)


def bars(shares: Sequence[tuple[float | None, str]], largest: float) -> Html:
    """Draw bars below each other, as shares of the largest, in a row of fixed height."""
    height = 76 / len(shares)
    parts = []
    for position, (share, kind) in enumerate(shares):
        if share is not None and largest > 0 and share > 0:
            parts.append(
                element(
                    "rect",
                    x=0,
                    y=f"{12 + height * position:.1f}%",
                    width=_place(min(share / largest, 1.0)),
                    height=f"{height - 4:.1f}%",
                    rx=2,
                    class_=f"bar {kind}",
                )
            )
    return _plot(parts)


def axis(scale: Scale) -> Html:
    """Draw the tick labels below a plot."""
    marks = ticks(scale.low, scale.high, scale.most_ticks)
    places = next((p for p in range(6) if all(abs(round(mark, p) - mark) <= 1e-9 * abs(mark) for mark in marks)), 6)
    return _plot(
        (
            element("text", number(mark, places), x=scale.at(mark), y=14, class_="tick", text_anchor="middle")
            for mark in marks
        ),
        class_="plot axis",
    )


def histogram(edges: Sequence[float], counts: Sequence[int], described: str) -> Html:
    """Draw a histogram; bars are equally wide even if the edges are unevenly spaced."""
    tallest, n = max(counts), len(counts)
    every = max(1, math.ceil(n / 6))
    parts = [element("line", x1="0%", x2="100%", y1=150, y2=150, class_="base")]
    for position, height in enumerate(counts):
        top = 150 - 125 * height / tallest
        left, middle = (0.03 + 0.94 * place / n for place in (position, position + 0.5))
        if height:
            # Even the smallest bar must be visible.
            top = min(top, 148.5)
            parts.append(
                element(
                    "rect",
                    element("title", f"{number(edges[position])} to {number(edges[position + 1])}: {count(height)}"),
                    x=_place(left + 0.04 / n),
                    width=_place(0.94 / n - 0.08 / n),
                    y=f"{top:.1f}",
                    height=f"{150 - top:.1f}",
                    class_="bar new",
                )
            )
        if n <= 12 and height:
            parts.append(
                element(
                    "text", _short(height), x=_place(middle), y=f"{top - 5:.1f}", class_="tick", text_anchor="middle"
                )
            )
    for position in range(0, n + 1, every):
        place = _place(0.03 + 0.94 * position / n)
        parts.append(
            element("text", number(edges[position]), x=place, y=167, class_="tick", text_anchor="middle"),
        )
        parts.append(element("line", x1=place, x2=place, y1=150, y2=154, class_="base"))
    return element("svg", *parts, class_="histogram", width="100%", height=172, role="img", aria_label=described)


def _short(height: float) -> str:
    return count(height) if height < 10_000 else f"{number(height / 1000, 0)}k"


def _grid(scale: Scale) -> Iterable[Html]:
    for mark in ticks(scale.low, scale.high, scale.most_ticks):
        yield element("line", x1=scale.at(mark), x2=scale.at(mark), y1=0, y2="100%", class_="grid")


def _plot(parts: Iterable[Html], class_: str = "plot") -> Html:
    """Wrap a drawing; it is hidden from screen readers, as the row has the same numbers as text."""
    return element("svg", join(parts), class_=class_, width="100%", height="100%", aria_hidden="true")
