"""Groups of dependent rows, such as those of one customer. Rows are summed by group, as clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation._reward_models import N_FOLDS, Folds, random_folds
from offsettree.evaluation._terms import Terms
from offsettree.exceptions import ParameterError

BY_GROUPS = ("mid_p", "normal", "bootstrap")  # intervals that work on sums over groups


def check_group(group: Any, n_rows: int) -> NDArray[np.intp] | None:
    """Return each row's group as an integer code from 0; None if every row is a group of its own."""
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
        raise ParameterError(f"group must have a value in every row; it is missing in row {row}.")
    found, codes = _by_text(values) if values.dtype.kind == "O" else np.unique(values, return_inverse=True)
    if len(found) < 2:
        raise ParameterError(f"group must have at least two groups; all {n_rows:,} rows are in one.")
    return None if len(found) == n_rows else codes.astype(np.intp)


def _by_text(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the groups and each row's code; not by an array of texts, where each takes as much as the longest."""
    texts = [str(each) for each in values.tolist()]
    code_of = {text: code for code, text in enumerate(sorted(set(texts)))}
    return np.arange(len(code_of)), np.array([code_of[text] for text in texts])


def sum_by_group(terms: Terms, group: NDArray[np.intp]) -> Terms:
    """Return terms with one row per group, which give the same estimate.

    A value is a ratio of sums over rows, and so of sums over groups. Groups are independent where rows are not, so an
    interval for independent rows holds for groups. Sums are divided by the mean group size, so that the mean weight
    stays 1.
    """
    n_groups = int(group.max()) + 1
    share = n_groups / len(group)

    def summed(column: NDArray[np.float64] | None) -> NDArray[np.float64]:
        return np.asarray(share * np.bincount(group, column, n_groups), dtype=np.float64)

    # Without weights, or without a denominator, each row counts 1: bincount without a column counts rows.
    return Terms(summed(terms.numerator), summed(terms.denominator), None, summed(terms.weight), terms.from_zero)


def folds_by_group(n_rows: int, random: np.random.RandomState, group: NDArray[np.intp] | None) -> Folds:
    """Return pairs of training rows and rows to predict; a group is never split between the two."""
    if group is None:
        return random_folds(n_rows, random)
    n_groups = int(group.max()) + 1
    fold = np.empty(n_groups, dtype=np.intp)
    fold[random.permutation(n_groups)] = np.arange(n_groups) % min(N_FOLDS, n_groups)
    of_row = fold[group]
    return [(np.flatnonzero(of_row != each), np.flatnonzero(of_row == each)) for each in range(int(fold.max()) + 1)]
