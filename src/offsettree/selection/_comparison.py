"""Which of several estimates to trust: the choice, and what the chosen one is worth after having looked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation._terms import Terms

__all__ = ["choose", "gap_between", "honest_choices", "spliced"]


def choose(terms: list[Terms], within: float, rows: NDArray[np.bool_] | None = None) -> int:
    """Return the first candidate that is at most `within` standard errors behind the best of all.

    Both are of the difference, row by row: what makes all candidates look better or worse cancels out.
    """
    lines = [_line(each, rows) for each in terms]
    # Without a row that was logged with what a candidate does, nothing speaks for it.
    values = [float(line.mean()) if line is not None else -np.inf for line in lines]
    best = int(np.argmax(values))
    for position in range(best):
        gap, stderr = _gap(lines[best], lines[position])
        if gap <= within * stderr:
            return position
    return best


def gap_between(best: Terms, other: Terms) -> tuple[float, float]:
    """Return by how much the other is behind, and the standard error of that."""
    return _gap(_line(best, None), _line(other, None))


def honest_choices(terms: list[Terms], fold: NDArray[np.intp], within: float) -> list[int]:
    """Return, for each fold, who would have been chosen without it."""
    return [choose(terms, within, fold != each) for each in range(int(fold.max()) + 1)]


def spliced(columns: list[NDArray[np.float64]], fold: NDArray[np.intp], choices: list[int]) -> NDArray[np.float64]:
    """Return a column that holds in the rows of each fold those of the candidate chosen without it."""
    taken = np.asarray(choices)[fold]
    result = np.empty(len(fold))
    for choice in set(choices):
        rows = taken == choice
        result[rows] = columns[choice][rows]
    return result


def _line(terms: Terms, rows: NDArray[np.bool_] | None) -> NDArray[np.float64] | None:
    """Return one number per row whose mean is the estimate and whose spread is its spread; None if it has none."""
    above, below = terms.numerator, terms.counted
    if rows is not None:
        above, below = above[rows], below[rows]
    mean_below = float(below.mean())
    if mean_below == 0:
        return None
    value = float(above.mean()) / mean_below
    return np.asarray(value + (above - value * below) / mean_below)


def _gap(best: NDArray[np.float64] | None, other: NDArray[np.float64] | None) -> tuple[float, float]:
    if best is None or other is None:
        return np.inf, 0.0
    apart = best - other
    return float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart)))
