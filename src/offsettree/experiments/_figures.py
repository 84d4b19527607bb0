"""Figures of results: files that change only with what they show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from offsettree._optional import require

# Distinguishable with colour blindness, and in print by the dashes.
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#56b4e9", "#b5a100")
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (2, 1)))


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure, of a size in inches."""
    require("matplotlib", extra="plots")
    return require("matplotlib.figure", extra="plots").Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Any, folder: str | Path, stem: str) -> list[Path]:
    """Save a figure as PNG and SVG; return the files."""
    paths = [Path(folder) / f"{stem}.{suffix}" for suffix in ("png", "svg")]
    with require("matplotlib", extra="plots").rc_context({"svg.hashsalt": "offsettree"}):
        for path, metadata in zip(paths, ({"Software": None}, {"Date": None}), strict=True):
            figure.savefig(path, dpi=150, metadata=metadata, bbox_inches="tight")
    return paths
