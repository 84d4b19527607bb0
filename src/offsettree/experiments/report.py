"""Report on Table 1: our errors beside the paper's, with standard errors, and a summary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from offsettree.experiments.paper import TABLE_1, TABLE_1_COLUMNS
from offsettree.experiments.records import Record
from offsettree.experiments.table1 import LETTER, TUNED

__all__ = ["Cells", "column_mean", "distance", "errors_by_split", "markdown", "mean_errors", "paper_error", "summary"]

# Errors by dataset and method, in the order of the splits.
Cells = Mapping[tuple[str, str], NDArray[np.float64]]

# Which column of the paper a method is to be compared with, where it is not called the same.
PAPER_COLUMN = {
    "single M5P -R": "single M5P",
    "single M5P, zero-one columns": "single M5P",
    "single REPTree, zero-one columns": "single REPTree",
    "separate M5P -R": "separate M5P",
    LETTER: "offset tree",
    TUNED: "offset tree",
}


def errors_by_split(records: Iterable[Record]) -> Cells:
    """Gather the errors of all splits, by dataset and method."""
    found: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for record in records:
        found[record["dataset"], record["method"]][record["split"]] = record["error"]
    return {key: np.array([errors[split] for split in sorted(errors)]) for key, errors in found.items()}


def mean_errors(records: Iterable[Record]) -> dict[tuple[str, str], float]:
    """Average the errors of all splits, by dataset and method."""
    return {key: float(np.mean(values)) for key, values in errors_by_split(records).items()}


def paper_error(dataset: str, column: str) -> float | None:
    """Return the paper's error; None if it has no such column."""
    column = PAPER_COLUMN.get(column, column)
    if column not in TABLE_1_COLUMNS:
        return None
    return TABLE_1[dataset][TABLE_1_COLUMNS.index(column)]


def distance(errors: Mapping[tuple[str, str], float], method: str, column: str = "offset tree") -> float:
    """Return the mean absolute difference between a method's errors and a column of the paper."""
    differences = [
        abs(error - TABLE_1[dataset][TABLE_1_COLUMNS.index(column)])
        for (dataset, run), error in errors.items()
        if run == method
    ]
    return float(np.mean(differences))


def column_mean(errors: Mapping[tuple[str, str], float], method: str) -> float:
    """Average a method over the datasets."""
    return float(np.mean([error for (_, run), error in errors.items() if run == method]))


def markdown(cells: Cells, columns: Sequence[str]) -> str:
    """Write the table of our mean errors and their standard errors over the splits, with the paper's in brackets."""
    names = sorted({dataset for dataset, _ in cells})
    lines = ["| dataset | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name in names:
        shown = [_cell(cells.get((name, column)), paper_error(name, column)) for column in columns]
        lines.append(f"| {name} | " + " | ".join(shown) + " |")
    means = []
    for column in columns:
        ours = {name: cells[name, column] for name in names if (name, column) in cells}
        theirs = [error for name in ours if (error := paper_error(name, column)) is not None]
        # Over the datasets first, split by split: where all have as many splits, that is one number for each.
        alike = len({len(errors) for errors in ours.values()}) == 1
        means.append(
            _cell(
                np.mean(list(ours.values()), axis=0) if alike else _means(ours.values()),
                float(np.mean(theirs)) if theirs else None,
                known=alike,
            )
        )
    lines.append("| **mean** | " + " | ".join(means) + " |")
    return "\n".join(lines)


def summary(errors: Mapping[tuple[str, str], float], columns: Sequence[str], heroes: Sequence[str] = ()) -> str:
    """Say for each column how far it is from the paper's, and how often each offset tree beats it."""
    names = sorted({dataset for dataset, _ in errors})
    heroes = [hero for hero in heroes or (LETTER, TUNED) if any((name, hero) in errors for name in names)]
    lines = []
    for column in columns:
        ours = {name: errors[name, column] for name in names if (name, column) in errors}
        parts = []
        pairs = [(error, paper) for name, error in ours.items() if (paper := paper_error(name, column)) is not None]
        if pairs:
            differences = np.array([error - paper for error, paper in pairs])
            parts.append(
                f"mean difference to the paper {differences.mean():+.3f}, absolute {np.abs(differences).mean():.3f}"
            )
        for hero in heroes if column not in heroes else ():
            duels = [errors[name, hero] - error for name, error in ours.items() if (name, hero) in errors]
            won, lost = sum(duel < 0 for duel in duels), sum(duel > 0 for duel in duels)
            if duels:
                parts.append(f"the {hero} is better on {won} of {len(duels)}, worse on {lost}")
        lines.append(f"{column}: {'; '.join(parts) if parts else 'no figures'}")
    return "\n".join(lines)


def _means(errors: Iterable[NDArray[np.float64]]) -> NDArray[np.float64] | None:
    means = [float(np.mean(each)) for each in errors]
    return np.array([np.mean(means)]) if means else None


def _cell(ours: NDArray[np.float64] | None, paper: float | None, *, known: bool = True) -> str:
    mine = "-" if ours is None else f"{np.mean(ours):.4f}"
    if ours is not None and known and len(ours) > 1:
        mine += f" ± {np.std(ours, ddof=1) / np.sqrt(len(ours)):.4f}"
    return mine if paper is None else f"{mine} ({paper:.4f})"
