"""Where the long arrays of boosting are: in memory, or in unnamed files that are mapped into it."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

BLOCK = 1 << 18  # rows copied at a time


@dataclass(frozen=True)
class Room:
    """Makes arrays; with a folder, in files without a name, which are gone with the array, whatever happens."""

    folder: str | None = None

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array whose values are not set."""
        n_values = int(np.prod(shape))
        if self.folder is None or n_values == 0:
            return np.empty(shape, dtype)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            file.truncate(n_values * np.dtype(dtype).itemsize)
            return np.asarray(np.memmap(file, dtype, "r+", shape=shape))

    def take(self, values: NDArray[Any], rows: NDArray[np.intp], axis: int = 0) -> NDArray[Any]:
        """Copy some rows, or columns if `axis` is 1."""
        if self.folder is None:
            return np.ascontiguousarray(values[:, rows] if axis else values[rows])
        shape = list(values.shape)
        shape[axis] = len(rows)
        taken = self.empty(tuple(shape), values.dtype)
        for begin in range(0, len(rows), BLOCK):
            here = slice(begin, begin + BLOCK)
            if axis:
                for line, source in zip(taken, values, strict=True):
                    line[here] = source[rows[here]]
            else:
                taken[here] = values[rows[here]]
        return taken


IN_MEMORY = Room()
