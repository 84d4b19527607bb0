"""Report on Table 1: our errors beside the paper's, and a summary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from offsettree.experiments.paper import TABLE_1, TABLE_1_COLUMNS
from offsettree.experiments.records import Record

__all__ = ["distance", "markdown", "mean_errors", "paper_error", "summary"]


def mean_errors(records: Iterable[Record]) -> dict[tuple[str, str], float]:
    """Average the errors of all splits, by dataset and method."""
    errors = defaultdict(list)
    for record in records:
        errors[record["dataset"], record["method"]].append(record["error"])
    return {key: float(np.mean(values)) for key, values in errors.items()}


def paper_error(dataset: str, column: str) -> float | None:
    """Return the paper's error; None if it has no such column."""
    if column not in TABLE_1_COLUMNS:
        return None
    return TABLE_1[dataset][TABLE_1_COLUMNS.index(column)]


def distance(errors: dict[tuple[str, str], float], method: str, column: str = "offset tree") -> float:
    """Return the mean absolute difference between a method's errors and a column of the paper."""
    differences = [
        abs(error - TABLE_1[dataset][TABLE_1_COLUMNS.index(column)])
        for (dataset, run), error in errors.items()
        if run == method
    ]
    return float(np.mean(differences))


def markdown(errors: dict[tuple[str, str], float], columns: Sequence[str]) -> str:
    """Write the table of our errors, with the paper's in brackets."""
    names = sorted({dataset for dataset, _ in errors})
    lines = ["| dataset | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name in names:
        cells = [_cell(errors.get((name, column)), paper_error(name, column)) for column in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    means = []
    for column in columns:
        ours = {name: errors[name, column] for name in names if (name, column) in errors}
        theirs = [error for name in ours if (error := paper_error(name, column)) is not None]
        means.append(_cell(_mean(list(ours.values())), _mean(theirs)))
    lines.append("| **mean** | " + " | ".join(means) + " |")
    return "\n".join(lines)


def summary(errors: dict[tuple[str, str], float], columns: Sequence[str], hero: str = "offset tree") -> str:
    """Say for each column how far it is from the paper's, and how often the offset tree beats it."""
    names = sorted({dataset for dataset, _ in errors})
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
        if column != hero:
            duels = [errors[name, hero] - error for name, error in ours.items() if (name, hero) in errors]
            won, lost = sum(duel < 0 for duel in duels), sum(duel > 0 for duel in duels)
            if duels:
                parts.append(f"the {hero} is better on {won} of {len(duels)}, worse on {lost}")
        lines.append(f"{column}: {'; '.join(parts) if parts else 'no figures'}")
    return "\n".join(lines)


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _cell(ours: float | None, paper: float | None) -> str:
    mine = "-" if ours is None else f"{ours:.4f}"
    return mine if paper is None else f"{mine} ({paper:.4f})"
