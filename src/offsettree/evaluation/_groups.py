"""Rows that belong together, such as those of one customer: what they say is added up, and counts once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation._reward_models import N_FOLDS, Folds, random_folds
from offsettree.evaluation._terms import Terms
from offsettree.exceptions import ParameterError

__all__ = ["BY_GROUPS", "check_group", "folds_by_group", "sum_by_group"]

BY_GROUPS = ("mid_p", "normal", "bootstrap")  # intervals that can be made of sums over groups


def check_group(group: Any, n_rows: int) -> NDArray[np.intp] | None:
    """Return the number of each row's group, from 0 on; None where each row is one of its own."""
    if group is None:
        return None
    values = np.asarray(group)
    if values.shape != (n_rows,):
        raise ParameterError(
            f"group must have one value per row, such as the customer's number: shape ({n_rows},); got {values.shape}."
        )
    missing = (
        np.array([each is None or each != each for each in values]) if values.dtype.kind == "O" else values != values
    )
    if missing.any():
        row = int(missing.argmax())
        raise ParameterError(f"group must tell of every row to whom it belongs; it is missing in row {row}.")
    found, codes = np.unique(values.astype(str) if values.dtype.kind == "O" else values, return_inverse=True)
    if len(found) < 2:
        raise ParameterError(f"group must tell at least two groups apart; all {n_rows:,} rows are of one.")
    return None if len(found) == n_rows else codes.astype(np.intp)


def sum_by_group(terms: Terms, group: NDArray[np.intp]) -> Terms:
    """Return terms with one row per group, of which the estimate is the same.

    A value is a ratio of sums over rows, and so of sums over groups. Those are independent of each other where rows are
    not: whatever an interval says of independent rows, it then says of groups. Sums are divided by the mean number of
    rows in a group, so that weights have the mean 1 as before.
    """
    n_groups = int(group.max()) + 1
    share = n_groups / len(group)

    def summed(column: NDArray[np.float64] | None) -> NDArray[np.float64]:
        return np.asarray(share * np.bincount(group, column, n_groups), dtype=np.float64)

    # A row without a weight of its own counts once, and so does one of a denominator that is none.
    return Terms(summed(terms.numerator), summed(terms.denominator), None, summed(terms.weight), terms.from_zero)


def folds_by_group(n_rows: int, random: np.random.RandomState, group: NDArray[np.intp] | None) -> Folds:
    """Return pairs of rows to learn from and rows to predict; all rows of a group are on one side."""
    if group is None:
        return random_folds(n_rows, random)
    n_groups = int(group.max()) + 1
    fold = np.empty(n_groups, dtype=np.intp)
    fold[random.permutation(n_groups)] = np.arange(n_groups) % min(N_FOLDS, n_groups)
    of_row = fold[group]
    return [(np.flatnonzero(of_row != each), np.flatnonzero(of_row == each)) for each in range(int(fold.max()) + 1)]
