"""X as an encoder made it: numbers, and beside them the codes of nominal values, for learners that take those."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["CodedArray", "EncodedArray"]


class CodedArray(np.ndarray[Any, np.dtype[np.float32]]):
    """An array of which some columns hold codes of nominal values: 0, 1, ..., or NaN where a value is missing.

    Attributes
    ----------
    n_levels : array of shape (n_columns,)
        How many codes each column has; 0 for columns of numbers.
    """

    n_levels: NDArray[np.intp]

    @classmethod
    def of(cls, values: NDArray[np.float32], n_levels: NDArray[np.intp]) -> Self:
        """Make one; the values are not copied."""
        made = values.view(cls)
        made.n_levels = n_levels
        return made

    def __array_finalize__(self, obj: Any) -> None:
        self.n_levels = getattr(obj, "n_levels", np.zeros(0, dtype=np.intp))

    def __reduce__(self) -> Any:
        return CodedArray.of, (np.asarray(self), self.n_levels)


class EncodedArray(np.ndarray[Any, np.dtype[np.float32]]):
    """An array of numbers that any learner takes, and the same rows as codes; each policy learns from one of the two.

    Some of its rows, taken by a slice or by their positions, have their codes with them. Whatever else is made of it is
    a plain array of numbers.

    Attributes
    ----------
    codes : CodedArray of shape (n_rows, n_columns)
        The same rows with a code in the place of a column per nominal value, and with gaps.
    """

    codes: CodedArray | None

    @classmethod
    def of(cls, numbers: NDArray[np.float32], codes: CodedArray | None) -> Self:
        """Make one; nothing is copied."""
        made = numbers.view(cls)
        made.codes = codes
        return made

    def __array_finalize__(self, obj: Any) -> None:
        self.codes = None

    def __getitem__(self, key: Any) -> Any:
        plain = np.asarray(self)[key]
        is_rows = isinstance(key, slice) or (isinstance(key, np.ndarray) and key.ndim == 1)
        return plain if self.codes is None or not is_rows else EncodedArray.of(plain, self.codes[key])

    def __reduce__(self) -> Any:
        return EncodedArray.of, (np.asarray(self), self.codes)
