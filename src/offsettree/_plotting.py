"""What all plots share: colours, axes of a new figure, and intervals as horizontal bars."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from offsettree._optional import require

INK, SHADE, OTHER = "#1f4e79", "#9dc3e6", "0.55"


def new_axes(axes: Any, height: float = 4.0) -> Any:
    """Return the axes given, or those of a new figure."""
    if axes is not None:
        return axes
    # pyplot keeps every figure in memory, so it is used only where its user waits for the figure: a notebook shows
    # pyplot's figures alone, and so does plt.show().
    if "matplotlib.pyplot" in sys.modules or "ipykernel" in sys.modules:
        make_figure = require("matplotlib.pyplot", extra="plots").figure
    else:
        make_figure = require("matplotlib.figure", extra="plots").Figure
    return make_figure(figsize=(6.4, height), layout="constrained").subplots()


def draw_intervals(axes: Any, rows: Sequence[tuple[str, float, float, float]], *, first_is_ours: bool = False) -> None:
    """Draw rows of name, value, low and high, from top to bottom; an end that is no number is left out."""
    for place, (_, value, low, high) in enumerate(rows):
        colour = INK if place == 0 or not first_is_ours else OTHER
        axes.plot([low, high], [place, place], color=colour, linewidth=2)
        axes.plot(value, place, "o", color=colour)
    axes.set_yticks(range(len(rows)), [name for name, *_ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
