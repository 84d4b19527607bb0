"""The encoder that turns rows of a file into the numbers a saved policy takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.encoding.encoded_column import EncodedColumn
from offsettree.encoding.raw_columns import read_column
from offsettree.exceptions import FeatureError, LogError


class NamedNumbers:
    """The encoder of a policy saved without one: numeric columns, taken by name and passed on unchanged."""

    def __init__(self, names: list[str]) -> None:
        self.names_in = names
        self.columns = [EncodedColumn(name, "number") for name in names]

    def encode(self, table: Any, *, where: object = None, first_row: int = 1) -> NDArray[np.float64]:
        """Return the rows as numbers, NaN where one is missing. `where` and `first_row` are for error messages."""
        values = []
        for column in self.columns:
            found = read_column(table, column.name)
            if found is None:
                raise FeatureError(f"rows must have the column {column.name!r}, which the policy was trained on.")
            values.append(column.as_numbers(found, lambda row: f"row {first_row + row:,} of {where}"))
        return np.column_stack(values)


def encoder_for(policy: Any, path: Path) -> Any:
    """Return the policy's encoder; without one, an encoder that takes its columns by name."""
    if policy.encoder is not None:
        return policy.encoder
    names = getattr(policy, "feature_names_in_", None)
    remedy = "Save it with an encoder: offsettree.save(policy, path, encoder=...)."
    if names is None:
        raise LogError(
            f"{path} was learned from arrays without column names, so the columns of a file cannot be matched to it. "
            f"{remedy}"
        )
    if policy._inputs.nominal is not None:
        raise LogError(
            f"{path} was learned from a frame with nominal columns, whose types a file does not record. {remedy}"
        )
    return NamedNumbers([str(name) for name in names])
