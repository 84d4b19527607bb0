"""Helpers that draw parts of the plots of evaluations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._plotting import INK, OTHER, SHADE
from offsettree.evaluation.estimate import Estimate


def draw_baselines(axes: Any, found: list[Estimate]) -> None:
    """Draw one line if all estimates have the same baseline, else a short line per estimate."""
    own = [(row, each.baseline.value) for row, each in enumerate(found) if each.baseline is not None]
    if not own:
        return
    rows, values = np.array([row for row, _ in own]), np.array([value for _, value in own])
    style = {"color": OTHER, "linestyle": "--"}
    if len(own) == len(found) and np.allclose(values, values[0], rtol=1e-9, atol=0):
        axes.axvline(values[0], **style, label="baseline")
    else:
        axes.vlines(values, rows - 0.4, rows + 0.4, **style, label="its own baseline")
    # Above the plot, as the lines cross all of it.
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0, frameon=False)


def draw_unknown_ends(axes: Any, value: NDArray[np.float64], ends: NDArray[np.float64]) -> None:
    """Draw infinite ends of intervals up to the edge of the plot."""
    if np.isfinite(ends).all():
        return
    edges = axes.get_xlim()
    for row, side in np.argwhere(~np.isfinite(ends)).tolist():
        axes.plot([value[row], edges[side]], [row, row], color=OTHER, linestyle=":")
        axes.plot(edges[side], row, color=OTHER, marker="<>"[side], markersize=8, clip_on=False)
        if side == 1:
            axes.annotate(
                "unknown",
                ((value[row] + edges[1]) / 2, row),
                (0, 4),
                color="0.35",
                ha="center",
                textcoords="offset points",
            )
    axes.set_xlim(edges)
    axes.tick_params(axis="y", pad=9)  # room for the arrows


def draw_prefixes(axes: Any, ends: NDArray[np.int64], found: list[Estimate]) -> Any:
    """Draw the estimates of growing prefixes of a log, and their baselines."""
    value, low, high = (np.array([getattr(each, name) for each in found]) for name in ("value", "low", "high"))
    finite = np.isfinite(low) & np.isfinite(high)
    axes.fill_between(ends[finite], low[finite], high[finite], color=SHADE, alpha=0.5, linewidth=0)
    axes.plot(ends, value, color=INK, marker="o", markersize=3, label="policy")
    axes.axhline(value[-1], color=OTHER, linestyle="--", linewidth=1)
    beside = [each.baseline for each in found if each.baseline is not None]
    if beside:
        low, high = (np.array([getattr(each, name) for each in beside]) for name in ("low", "high"))
        finite = np.isfinite(low) & np.isfinite(high)
        axes.fill_between(ends[finite], low[finite], high[finite], color=OTHER, alpha=0.25, linewidth=0)
        axes.plot(ends, [each.value for each in beside], color=OTHER, marker="s", markersize=3, label="baseline")
        axes.legend(loc="best", frameon=False)
    axes.set_xlabel("rows of the log")
    axes.set_ylabel(f"value ({found[-1].method}), with {100 * found[-1].level:g} % intervals")
    return axes
