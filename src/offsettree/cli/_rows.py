"""Rows of files as the numbers that a saved policy takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.encoding.encoded_column import EncodedColumn
from offsettree.encoding.raw_columns import read_column
from offsettree.exceptions import FeatureError, LogError

__all__ = ["NamedNumbers", "encoder_for"]


class NamedNumbers:
    """Takes columns by their names, all of them numbers, as they are: the encoder of a policy that has none."""

    def __init__(self, names: list[str]) -> None:
        self.names_in = names
        self.columns = [EncodedColumn(name, "number") for name in names]

    def encode(self, table: Any, *, where: object = None, first_row: int = 1) -> NDArray[np.float64]:
        """Return the rows; NaN where a number is missing. `where` and `first_row` are for errors."""
        values = []
        for column in self.columns:
            found = read_column(table, column.name)
            if found is None:
                raise FeatureError(f"rows must have the column {column.name!r}, which the policy was trained on.")
            values.append(column.as_numbers(found, lambda row: f"row {first_row + row:,} of {where}"))
        return np.column_stack(values)


def encoder_for(policy: Any, path: Path) -> Any:
    """Return what turns rows of a file into numbers: the policy's encoder, or the names of its columns."""
    if policy.encoder is not None:
        return policy.encoder
    names = getattr(policy, "feature_names_in_", None)
    remedy = "Save it with an encoder: offsettree.save(policy, path, encoder=...)."
    if names is None:
        raise LogError(
            f"{path} was learned from arrays without column names, so that rows of a file cannot be matched to it. "
            f"{remedy}"
        )
    if policy._inputs.nominal is not None:
        raise LogError(
            f"{path} was learned from a frame with nominal columns, of which a file does not tell the types. {remedy}"
        )
    return NamedNumbers([str(name) for name in names])
