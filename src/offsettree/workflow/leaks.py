"""Target leaks: features that were recorded after the decision and give away its outcome."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._features import is_frame, is_sparse, take_rows
from offsettree._labels import code_labels
from offsettree._messages import Message, Parameter
from offsettree.encoding.raw_columns import Dates, Numbers, read_column
from offsettree.encoding.spellings import as_text
from offsettree.exceptions import FeatureError

__all__ = ["find_leaks"]

FEWEST_ROWS = 64  # in fewer rows, a feature may match the outcome by chance
MOST_ROWS = 50_000  # rows examined, evenly spread over the log
COPY = 1e-6  # share of a column's variance that the reward may leave unexplained, to allow for rounding
ALMOST_ALL = 0.99
CHANCE = 20.0  # -log of the largest probability that the agreement is chance
LEFT_OUT = "It would not be known when a decision is taken: leave it out with "
REMEDY = Message(LEFT_OUT, Parameter("features", [...]), ".")


def find_leaks(X: Any, action: NDArray[Any], reward: NDArray[np.float64]) -> list[str]:
    """Find features that give away the outcome: an affine copy of the reward, or the action where it paid.

    Return a warning per feature. Of the raw features X at most 50,000 rows are examined, and none of sparse ones.

    Examples
    --------
    >>> import pandas as pd
    >>> reward = np.arange(100.0) % 2
    >>> X = pd.DataFrame({"age": np.arange(100) % 7, "cents": 100 * reward + 5})
    >>> [text.partition(":")[0] for text in find_leaks(X, np.arange(100) % 3, reward)]
    ["column 'cents' is the reward in other units"]
    """
    n_rows = len(reward)
    if n_rows < FEWEST_ROWS or is_sparse(X):
        return []
    if n_rows > MOST_ROWS:
        rows = np.arange(MOST_ROWS) * n_rows // MOST_ROWS
        X, action, reward = take_rows(X, rows), action[rows], reward[rows]
    labels, logged = code_labels(action)
    position = {str(label): place for place, label in enumerate(labels.tolist())}
    paid = reward > reward.min()
    found: list[str] = []
    for name, column in _columns(X):
        if isinstance(column, Dates):
            continue
        numbers, named = _as_numbers(column), _as_actions(column, position)
        if numbers is not None and _is_copy(numbers, reward):
            copied = f"column {name!r} is the reward in other units: each determines the other. "
            found.append(Message(copied, REMEDY))
        elif named is not None and _only_where_it_paid(named == logged, paid):
            after = f"column {name!r} names the logged action only where it paid, so it was recorded afterwards. "
            found.append(Message(after, REMEDY))
    return found


def _columns(X: Any) -> Iterator[tuple[Any, Any]]:
    if not is_frame(X):
        values = np.asarray(X)
        if values.dtype.kind in "biuf":
            for place in range(values.shape[1]):
                yield place, Numbers(values[:, place].astype(np.float64))
        return
    for name in X.columns:
        try:
            yield name, read_column(X, name)
        except FeatureError:  # its values cannot be features
            continue


def _as_numbers(column: Any) -> NDArray[np.float64] | None:
    """Return a column as numbers, a text column with two values as 0 and 1; None for other text."""
    if isinstance(column, Numbers):
        return column.values
    present = np.unique(column.codes[column.codes >= 0])
    if len(present) != 2:
        return None
    return np.where(column.codes < 0, np.nan, column.codes == present[0])


def _as_actions(column: Any, position: dict[str, int]) -> NDArray[np.intp] | None:
    """Return the position of the action that each value names, -1 if it names none; None if no value names one."""
    if isinstance(column, Numbers):
        values, codes = np.unique(column.values, return_inverse=True)
        words = [as_text(value) if np.isfinite(value) else "" for value in values.tolist()]
    else:
        codes, words = column.codes, column.words
    table = np.array([*(position.get(str(word), -1) for word in words), -1], dtype=np.intp)
    return table[codes] if (table >= 0).any() else None


def _is_copy(values: NDArray[np.float64], reward: NDArray[np.float64]) -> bool:
    known = np.isfinite(values)
    if np.count_nonzero(known) < FEWEST_ROWS:
        return False
    x, r = values[known], reward[known]
    x, r = x - x.mean(), r - r.mean()
    squares, total = float(x @ x), float(r @ r)
    # Numbers may be so small or so large that their squares vanish or overflow.
    if not (0 < squares < np.inf and 0 < total < np.inf):
        return False
    return bool(1 - float(x @ r) ** 2 / (squares * total) < COPY)


def _only_where_it_paid(agrees: NDArray[np.bool_], paid: NDArray[np.bool_]) -> bool:
    n_agree, share = int(np.count_nonzero(agrees)), float(paid.mean())
    if not 0 < share < 1 or n_agree * -np.log(share) < CHANCE:
        return False
    return bool(np.count_nonzero(agrees & paid) >= ALMOST_ALL * n_agree)
