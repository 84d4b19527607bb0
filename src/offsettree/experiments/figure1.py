"""Figure 1: the offset tree's errors against those of regression and of importance weighting."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from offsettree.experiments._figures import new_figure, save_figure
from offsettree.experiments.table1 import LETTER, TUNED

__all__ = ["draw"]

MARKERS = "os^Dv<>p"


def draw(
    errors: dict[tuple[str, str], float],
    folder: str | Path,
    *,
    regressions: list[str],
    trees: Sequence[str] = (LETTER, TUNED),
    stem: str = "figure1",
) -> list[Path]:
    """Draw both panels for each offset tree from mean errors, save them as PNG and SVG and return the files."""
    figure = new_figure(10, 5 * len(trees))
    for (left, right), tree in zip(figure.subplots(len(trees), 2, squeeze=False), trees, strict=True):
        _panel(left, errors, regressions, "regression", tree)
        _panel(right, errors, ["weighting"], "importance weighting", tree)
    return save_figure(figure, folder, stem)


def _panel(axes: Any, errors: dict[tuple[str, str], float], methods: list[str], title: str, tree: str) -> None:
    limit = 0.0
    for method, marker in zip(methods, cycle(MARKERS), strict=False):
        points = [
            (100 * error, 100 * errors[dataset, tree])
            for (dataset, run), error in errors.items()
            if run == method and (dataset, tree) in errors
        ]
        if points:
            x, y = zip(*points, strict=True)
            limit = max(limit, *x, *y)
            axes.scatter(x, y, marker=marker, s=36, alpha=0.8, label=method)
    limit = 1.05 * limit or 100.0
    axes.plot([0, limit], [0, limit], color="0.6", linewidth=1, zorder=0)
    axes.set(xlim=(0, limit), ylim=(0, limit), aspect="equal")
    axes.set_xlabel(f"error of {title} (%)")
    axes.set_ylabel(f"error of the {tree} (%)")
    axes.set_title(f"{tree.capitalize()}, against {title}")
    if len(methods) > 1:
        axes.legend(loc="lower right")
