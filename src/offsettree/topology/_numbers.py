"""X as one numeric matrix, NaN where a value is missing, for the linear reward models."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from offsettree._features import Features, as_floats, count_rows, is_frame, numeric_columns
from offsettree.exceptions import FeatureError

MAX_VALUES = 32


def as_numbers(X: Features) -> Any:
    """Return an array or a CSR matrix; nominal columns are one-hot encoded, with their 32 most frequent values.

    A missing nominal value is a value. The cap keeps identifiers from adding a column per row.
    """
    if is_frame(X):
        return _frame_as_numbers(X)
    try:
        return check_array(X, accept_sparse="csr", dtype="numeric", ensure_all_finite=False, input_name="X")
    except ValueError as error:
        raise FeatureError(
            f"{error}\nPass X as a table of numbers with one row per decision, or nominal features in a pandas "
            "or polars frame."
        ) from error


def _frame_as_numbers(frame: Features) -> Any:
    numeric = numeric_columns(frame)
    parts: list[Any] = [as_floats(frame[numeric])] if numeric else []
    nominal = [name for name in frame.columns if name not in set(numeric)]
    if count_rows(frame) == 0 or not (numeric or nominal):
        raise FeatureError(f"X must have rows and columns; got a frame of shape {frame.shape}.")
    if not nominal:
        return parts[0]
    return sp.hstack([*parts, *(_indicators(frame[name]) for name in nominal)], format="csr")


def _indicators(column: Any) -> Any:
    values = [str(value) for value in column]
    frequent = sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))[:MAX_VALUES]
    where = {value: position for position, (value, _) in enumerate(frequent)}
    code = np.fromiter((where.get(value, -1) for value in values), dtype=np.intp, count=len(values))
    rows = np.flatnonzero(code >= 0)
    return sp.csr_array((np.ones(len(rows)), (rows, code[rows])), shape=(len(values), len(where)))
