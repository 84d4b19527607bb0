"""Section 7.2 with more and more wrong labels: the trade-off between noise and its absence, measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from offsettree.experiments import banditron
from offsettree.experiments._figures import COLOURS, DASHES, new_figure, save_figure
from offsettree.experiments.banditron import AGNOSTIC, BANDITRONS, HINGE_AGNOSTIC, HINGE_REALIZABLE, REALIZABLE
from offsettree.experiments.banditron_report import best_banditron, errors_by_method
from offsettree.experiments.records import Records
from offsettree.experiments.streams import noisy_stream

__all__ = ["N_ROWS", "SHARES", "draw", "open_records", "run", "select", "table", "verdict"]

# Shares of wrong labels.
SHARES = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
N_ROWS = 1_000_000
TREES = (AGNOSTIC, REALIZABLE, HINGE_AGNOSTIC, HINGE_REALIZABLE)

Errors = dict[float, dict[str, list[float]]]


def open_records(folder: str | Path) -> Records:
    """Open the records of a folder."""
    return Records(Path(folder) / "noise.jsonl", banditron.KEY)


def run(records: Records, *, n_rows: int = N_ROWS, n_seeds: int = 5, seed: int = 0, n_jobs: int = 1) -> None:
    """Run what the records lack, for every share of wrong labels: all Banditrons of the grid, and the trees."""
    for share in SHARES:
        stream = noisy_stream(share, n_rows)
        methods = (*BANDITRONS, *TREES)
        banditron.run(records, stream, methods=methods, n_seeds=n_seeds, seed=seed, n_jobs=n_jobs, curves=False)


def select(records: Records, *, n_rows: int = N_ROWS, n_seeds: int = 5, seed: int = 0) -> Errors:
    """Return the errors by share of wrong labels and method, seed by seed."""
    return {
        share: errors_by_method(banditron.select(records, noisy_stream(share, n_rows).identity, n_rows, n_seeds, seed))
        for share in SHARES
    }


def table(errors: Errors) -> str:
    """Write the table: a row per share of wrong labels, the lowest error of the paper's three methods in bold."""
    lines = [
        "| wrong labels | best Banditron | its gamma | " + " | ".join(TREES) + " |",
        "|---" * (3 + len(TREES)) + "|",
    ]
    for share, by_method in errors.items():
        best = best_banditron(by_method)
        mean = {method: float(np.mean(by_method[method])) for method in (best, *TREES)}
        lowest = min(mean[method] for method in (best, AGNOSTIC, REALIZABLE))
        cells = {
            method: f"{100 * error:.2f} %" if error != lowest else f"**{100 * error:.2f} %**"
            for method, error in mean.items()
        }
        gamma = f"{BANDITRONS[best]:g}"
        shown = (_percent(share), cells[best], gamma, *(cells[method] for method in TREES))
        lines.append("| " + " | ".join(shown) + " |")
    return "\n".join(lines)


def verdict(errors: Errors) -> str:
    """Say at which shares of wrong labels the realizable tree is ahead of the best Banditron."""
    shares = sorted(errors)
    ahead = [share for share in shares if _is_ahead(errors[share])]
    behind = [share for share in shares if share not in ahead]
    if not ahead:
        return "By mean errors the realizable tree is nowhere ahead of the best Banditron."
    if ahead != shares[: len(ahead)]:  # the order turns more than once, or the other way
        return (
            f"By mean errors the realizable tree is ahead of the best Banditron with {_listed(ahead)} of wrong labels, "
            f"and behind it with {_listed(behind)}."
        )
    if ahead == [0]:
        turns = f"; from {_percent(behind[0])} on it is behind" if behind else ", the only share tried"
        return f"By mean errors the realizable tree is ahead of the best Banditron only where no label is wrong{turns}."
    turns = f", and behind it from {_percent(behind[0])} on" if behind else ", the largest share tried"
    most = f"{_percent(ahead[-1])} of wrong labels"
    return f"By mean errors the realizable tree is ahead of the best Banditron up to {most}{turns}."


def _is_ahead(by_method: dict[str, list[float]]) -> bool:
    return bool(np.mean(by_method[REALIZABLE]) < np.mean(by_method[best_banditron(by_method)]))


def _listed(shares: Sequence[float]) -> str:
    *first, last = map(_percent, shares)
    return f"{', '.join(first)} and {last}" if first else last


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def draw(errors: Errors, folder: str | Path, stem: str = "noise") -> list[Path]:
    """Draw the errors over the share of wrong labels; return the PNG and the SVG."""
    figure = new_figure(8, 5.6)
    axes = figure.subplots()
    _lines(axes, errors)
    shares = 100 * np.array(list(errors))
    axes.plot(shares, np.maximum(shares, 0.02), color="0.35", linewidth=1, linestyle="--", label="unavoidable")
    axes.set_xscale("symlog", linthresh=0.1)
    axes.set_yscale("log")
    axes.set_xlim(-0.005, 11)
    axes.set_xticks(shares, [f"{share:g}" for share in shares])
    axes.minorticks_off()
    axes.set_yticks([0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50], ["0.1", "0.2", "0.5", "1", "2", "5", "10", "20", "50"])
    axes.set_ylim(0.1, 80)
    axes.set(xlabel="wrong labels (%)", ylabel="mean error over one pass (%)", title="SynSep with wrong labels")
    axes.grid(color="0.9", zorder=0)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return save_figure(figure, folder, stem)


def _lines(axes: Any, errors: Errors) -> None:
    shares = 100 * np.array(list(errors))
    grids: list[Sequence[float]] = [
        [float(np.mean(by_method[name])) for by_method in errors.values()] for name in BANDITRONS
    ]
    for place, grid in enumerate(grids):
        label = "Banditron, all gammas" if place == 0 else None
        axes.plot(shares, 100 * np.array(grid), color="0.8", linewidth=1, zorder=2, label=label)
    best = [by_method[best_banditron(by_method)] for by_method in errors.values()]
    lines = {"Banditron, best gamma of each share": best}
    lines |= {name: [by_method[name] for by_method in errors.values()] for name in TREES}
    for (name, values), colour, dash in zip(lines.items(), COLOURS, DASHES, strict=True):
        percent = 100 * np.array(values)
        axes.fill_between(shares, percent.min(axis=1), percent.max(axis=1), color=colour, alpha=0.2, linewidth=0)
        axes.plot(shares, percent.mean(axis=1), color=colour, linestyle=dash, linewidth=2, marker="o", label=name)
