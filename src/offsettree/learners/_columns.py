"""X as one table of floats: numbers as they are, nominal values as positions among the levels seen in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features, count_rows, is_frame, is_sparse
from offsettree.exceptions import FeatureError

LEVELS_OF_BOOL = ["False", "True"]


@dataclass(frozen=True)
class WekaColumns:
    """The columns of a table: their names, and the levels of those that are nominal, None for those of numbers."""

    names: Sequence[str]
    levels: Sequence[Sequence[str] | None]

    @property
    def are_numeric(self) -> bool:
        """Whether there is no nominal column, so that any array of that width will do."""
        return all(levels is None for levels in self.levels)

    def encode(self, X: Features) -> NDArray[np.float64]:
        """Return X as floats under these columns; missing values, and levels never seen in training, become NaN."""
        if not is_frame(X):
            if not self.are_numeric:
                nominal = [name for name, levels in zip(self.names, self.levels, strict=True) if levels is not None]
                raise FeatureError(
                    f"X must be a pandas or polars frame, as in fit, where these columns were nominal: "
                    f"{', '.join(nominal)}; got {type(X).__name__}."
                )
            return _as_floats(X)
        columns = [
            _recode(name, *_read(name, column), levels)
            for name, column, levels in zip(self.names, _each_column(X), self.levels, strict=True)
        ]
        return np.column_stack(columns)


def read_columns(X: Features) -> tuple[WekaColumns, NDArray[np.float64]]:
    """Learn the columns of X; return them and X encoded.

    Strings, categories and truth values are nominal. Declared categories are all levels, in their order, whether or
    not they occur; the levels of other columns are the values that occur, sorted.
    """
    if not is_frame(X):
        table = _as_floats(X)
        return WekaColumns([f"x{position}" for position in range(table.shape[1])], [None] * table.shape[1]), table
    if len(X.columns) == 0 or count_rows(X) == 0:
        raise FeatureError(
            f"X must have at least one row and one column; got a frame of shape {X.shape} "
            f"(0 feature(s) or 0 sample(s)); there is nothing to learn from."
        )
    names = [str(name) for name in X.columns]
    pairs = [_read(name, column) for name, column in zip(names, _each_column(X), strict=True)]
    return WekaColumns(names, [levels for _, levels in pairs]), np.column_stack([values for values, _ in pairs])


def _as_floats(X: Features) -> NDArray[np.float64]:
    return np.ascontiguousarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def _each_column(X: Features) -> list[Any]:
    if hasattr(X, "get_columns"):  # polars
        return list(X.get_columns())
    return [X.iloc[:, position] for position in range(X.shape[1])]


def _read(name: str, column: Any) -> tuple[NDArray[np.float64], list[str] | None]:
    """Return a column's numbers and None, or the positions of its values (NaN where missing) and their levels."""
    values, levels = _read_pandas(name, column) if hasattr(column, "iloc") else _read_polars(name, column)
    return values, levels or None  # a column without any value is as good as numbers, all missing


def _read_pandas(name: str, column: Any) -> tuple[NDArray[np.float64], list[str] | None]:
    if hasattr(column, "cat"):
        return _with_gaps(column.cat.codes.to_numpy()), _as_levels(name, column.cat.categories)
    column = column.infer_objects()
    kind = column.dtype.kind
    if kind in "biuf":
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return values, LEVELS_OF_BOOL if kind == "b" else None
    if kind not in "OUT":
        raise _neither_number_nor_nominal(name, column.dtype)
    codes, found = column.factorize()
    return _in_order(_with_gaps(codes), _as_levels(name, found))


def _read_polars(name: str, column: Any) -> tuple[NDArray[np.float64], list[str] | None]:
    import polars as pl

    kind = column.dtype
    if kind.is_numeric() or kind in (pl.Boolean, pl.Null):
        return column.cast(pl.Float64).to_numpy(), LEVELS_OF_BOOL if kind == pl.Boolean else None
    if kind not in (pl.String, pl.Categorical, pl.Enum):
        raise _neither_number_nor_nominal(name, kind)
    if kind == pl.Enum:
        levels = kind.categories.to_list()
    else:
        column = column.cast(pl.String)
        levels = sorted(column.drop_nulls().unique().to_list())
    return column.cast(pl.Enum(levels)).to_physical().cast(pl.Float64).to_numpy(), levels


def _with_gaps(codes: NDArray[Any]) -> NDArray[np.float64]:
    return np.where(codes < 0, np.nan, codes)


def _as_levels(name: str, values: Any) -> list[str]:
    # A missing value makes floats of a column of whole numbers: 1.0 is 1.
    levels = [str(int(value) if isinstance(value, float) and value.is_integer() else value) for value in values]
    if len(set(levels)) < len(levels):
        twice = next(level for level in levels if levels.count(level) > 1)
        raise FeatureError(
            f"the values of a nominal column must differ when written out; column {name!r} has two that read "
            f"{twice!r}. Make its values of one kind, such as strings."
        )
    return levels


def _in_order(values: NDArray[np.float64], levels: list[str]) -> tuple[NDArray[np.float64], list[str]]:
    ordered = sorted(levels)
    return _look_up(values, levels, ordered), ordered


def _look_up(values: NDArray[np.float64], levels: Sequence[str], wanted: Sequence[str]) -> NDArray[np.float64]:
    """Turn positions in `levels` into positions in `wanted`, NaN where a level is not wanted."""
    where = {level: float(position) for position, level in enumerate(wanted)}
    table = np.array([where.get(level, np.nan) for level in levels] + [np.nan])
    return table[np.where(np.isnan(values), -1, values).astype(np.intp)]


def _recode(
    name: str, values: NDArray[np.float64], levels: Sequence[str] | None, wanted: Sequence[str] | None
) -> NDArray[np.float64]:
    if (levels is None) != (wanted is None) and not np.isnan(values).all():
        kinds = ("numbers", "nominal") if wanted is None else ("nominal", "numbers")
        raise FeatureError(f"column {name!r} must be as in fit: it was {kinds[0]} there and is {kinds[1]} here.")
    if levels is None or wanted is None or levels == wanted:
        return values
    return _look_up(values, levels, wanted)


def _neither_number_nor_nominal(name: str, kind: Any) -> FeatureError:
    return FeatureError(
        f"columns must hold numbers, strings, categories or truth values; column {name!r} has the type {kind}. "
        "Turn it into a number (such as days since some date) or into strings."
    )
