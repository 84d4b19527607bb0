"""Error curves of online learners: one line per method over the rows seen, on logarithmic axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._optional import require
from offsettree.experiments._figures import COLOURS, DASHES, new_figure, save_figure

__all__ = ["draw"]

# The error of fewer rows is mostly chance.
FIRST_ROW = 100
FEW_DECADES = 1000  # between the ends of an axis that has labels within each
OTHERS = "Banditron, other gammas"

Curves = Sequence[Sequence[Sequence[float]]]


def draw(
    methods: Mapping[str, Curves],
    folder: str | Path,
    *,
    title: str,
    background: Mapping[str, Curves] | None = None,
    floor: float | None = None,
    stem: str = "error-curves",
) -> list[Path]:
    """Draw the mean over the seeds and the band from the lowest to the highest; return the PNG and the SVG.

    `background` curves are drawn in grey; `floor` is the lowest possible error.
    """
    figure = new_figure(8, 5.8)
    axes = figure.subplots()
    _lines(axes, methods, background or {})
    if floor:
        axes.axhline(100 * floor, color="0.35", linewidth=1, linestyle="--", zorder=1)
        axes.annotate(
            "label noise", (0.01, 100 * floor), xycoords=("axes fraction", "data"), xytext=(0, 4),
            textcoords="offset points", color="0.35", fontsize=9,
        )  # fmt: skip
    _format_axes(axes, title)
    # Below the axes, as lines cross every place within them.
    figure.legend(handles=_by_last_error(axes), loc="outside lower center", ncols=2, frameon=False)
    return save_figure(figure, folder, stem)


def _lines(axes: Any, methods: Mapping[str, Curves], background: Mapping[str, Curves]) -> None:
    for place, curves in enumerate(background.values()):
        rows, mean, _, _ = _over_seeds(curves)
        label = OTHERS if place == 0 else None
        axes.plot(rows, mean, color="0.78", linewidth=1, zorder=2, label=label)
    for (method, curves), colour, dash in zip(methods.items(), COLOURS, DASHES, strict=False):
        rows, mean, lowest, highest = _over_seeds(curves)
        axes.fill_between(rows, lowest, highest, color=colour, alpha=0.2, linewidth=0, zorder=3)
        label = f"{method}: {100 * np.mean([curve[-1][1] for curve in curves]):.2f} %"
        axes.plot(rows, mean, color=colour, linestyle=dash, linewidth=2, zorder=4, label=label)


def _format_axes(axes: Any, title: str) -> None:
    ticker = require("matplotlib.ticker", extra="plots")
    axes.set(xscale="log", yscale="log")
    axes.margins(x=0)
    axes.set_xlabel("rows seen")
    axes.set_ylabel("mean error so far (%)")
    axes.set_title(title)
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda rows, _: f"{rows:,.0f}"))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    first, last = axes.get_xlim()
    if last < FEW_DECADES * first:
        axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    # Errors span few decades, so each gets the labels 1, 2 and 5.
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda error, _: f"{error:g}"))
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    axes.grid(which="major", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _by_last_error(axes: Any) -> list[Any]:
    """Return the lines of the legend by their last error, the highest first; the grey ones are last."""
    handles, labels = axes.get_legend_handles_labels()
    named = [line for line, label in zip(handles, labels, strict=True) if label != OTHERS]
    return sorted(named, key=lambda line: -line.get_ydata()[-1]) + [line for line in handles if line not in named]


def _over_seeds(curves: Curves) -> tuple[NDArray[np.float64], ...]:
    """Return the rows, and the mean, lowest and highest error in percent; all curves have the same rows."""
    points = np.array(curves)
    rows = points[0, :, 0]
    shown = rows >= min(FIRST_ROW, rows[-1])
    # A logarithmic axis has no 0: no mistakes so far are drawn as half a mistake.
    errors = 100 * np.maximum(points[:, shown, 1], 0.5 / rows[shown])
    return rows[shown], errors.mean(axis=0), errors.min(axis=0), errors.max(axis=0)
