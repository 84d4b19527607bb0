"""The action as one nominal column beside X, for regressors that split such columns themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features, is_frame, is_sparse
from offsettree._optional import require


def append_nominal(X: Features, index: NDArray[np.intp], n_values: int, name: str) -> Features:
    """Append `index` as one nominal column, of the categories "0", "1", ...: a frame, for learners that split them.

    An array becomes a pandas frame, a sparse matrix a dense one. If X has a column called `name`, "_" is added to
    the new column's name.
    """
    levels = [str(value) for value in range(n_values)]
    if hasattr(X, "hstack") and is_frame(X):  # polars
        import polars as pl

        return X.hstack([pl.Series(_unused(name, X), index.astype(np.uint32)).cast(pl.Enum(levels))])
    pandas = require("pandas", extra="data")
    if not is_frame(X):
        X = pandas.DataFrame(X.toarray() if is_sparse(X) else X).add_prefix("x")
    column = pandas.Categorical.from_codes(index, categories=levels)
    return X.reset_index(drop=True).assign(**{_unused(name, X): column})


def _unused(name: str, frame: Features) -> str:
    while name in frame.columns:
        name += "_"
    return name
