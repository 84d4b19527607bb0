"""Rows of a log on their way to a scratch file: sorted by action in runs, each written in one go."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.exceptions import ScratchError
from offsettree.reductions._routed_log import ROW_BYTES, Run

RUN_BYTES = 1 << 26
PIECE_BYTES = 1 << 22  # of a run that are put in order at once
MOST_ROWS = 1 << 24  # of a run, however short its rows are


class ScratchWriter:
    """Takes the rows of a log in any portions and writes them by action: one file, whatever the number of actions.

    Rows are gathered until a run of them is full. Within it they are sorted by action, so that the rows of an action,
    or of actions that are neighbours, are one stretch of every run. How the rows came in portions leaves no trace.
    """

    def __init__(self, file: Any, needs_room: Callable[[int], None], name: str = "rows") -> None:
        self._file = file
        self._needs_room = needs_room  # refuses what there is no room for
        self._name = name
        self.runs: list[Run] = []
        self._n_written = 0

    @classmethod
    def into(cls, folder: Path) -> Self:
        """Write to a folder of this machine."""
        return cls((folder / "rows").open("wb", buffering=0), partial(check_room, folder))

    def open(self, n_columns: int, n_expected: int) -> None:
        """Make ready for rows of so many columns; so many rows are expected, 0 where that is not known."""
        self._needs_room(n_expected * row_bytes(n_columns))
        self.n_columns = n_columns
        self.run_rows = int(np.clip(RUN_BYTES // row_bytes(n_columns), 1, MOST_ROWS))
        self._code = np.empty(self.run_rows, dtype=np.intp)
        self._reward = np.empty(self.run_rows)
        self._propensity = np.empty(self.run_rows)
        self._X = np.empty((self.run_rows, n_columns), dtype=np.float32)
        self._n_held = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def add(
        self,
        code: NDArray[np.intp],
        reward: NDArray[np.float64],
        propensity: NDArray[np.float64],
        X: NDArray[np.float32],
    ) -> None:
        """Take some rows, of which the actions are numbered from 0 on, in any order."""
        taken = 0
        while taken < len(code):
            n = min(len(code) - taken, self.run_rows - self._n_held)
            here, there = slice(self._n_held, self._n_held + n), slice(taken, taken + n)
            self._code[here], self._X[here] = code[there], X[there]
            self._reward[here], self._propensity[here] = reward[there], propensity[there]
            self._n_held += n
            taken += n
            if self._n_held == self.run_rows:
                self._write_run()

    def finish(self) -> tuple[Run, ...]:
        """Write what is still held; return where everything is."""
        if self._n_held:
            self._write_run()
        self._file.close()
        return tuple(self.runs)

    def _write_run(self) -> None:
        n_rows, self._n_held = self._n_held, 0
        code = self._code[:n_rows]
        count = np.bincount(code)
        # Small keys sort by radix, several times as fast.
        order = np.argsort(code.astype(np.uint16) if len(count) <= 1 << 16 else code, kind="stable")
        n_bytes = n_rows * row_bytes(self.n_columns)
        self._needs_room(n_bytes)
        try:
            self._write(order.astype(np.uint32))
            for column in (self._reward, self._propensity, self._X):
                step = max(1, PIECE_BYTES // (column.itemsize * (column.size // self.run_rows)))
                for first in range(0, n_rows, step):
                    self._write(np.take(column, order[first : first + step], axis=0))
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise no_room(str(getattr(self._file, "name", self._name)), n_bytes, None) from error
        first_row = self.runs[-1].first_row + self.runs[-1].n_rows if self.runs else 0
        begin = np.concatenate([[0], np.cumsum(count)]).astype(np.uint32)
        self.runs.append(Run(self._n_written, first_row, n_rows, begin, self._name))
        self._n_written += n_bytes

    def _write(self, values: NDArray[Any]) -> None:
        left = memoryview(values.data).cast("B")
        while left:  # one call may write a part only
            left = left[self._file.write(left) :]


def row_bytes(n_columns: int) -> int:
    """Return what a row takes on disk."""
    return ROW_BYTES + 4 * n_columns


def check_room(folder: Path, n_bytes: int) -> None:
    """Refuse to begin to write what the disk has no room for."""
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise no_room(str(folder.parent), n_bytes, free)


def no_room(where: str, n_bytes: int, free: int | None) -> ScratchError:
    """Return the error of a disk that is full, or would be."""
    came = "the disk is full" if free is None else f"there are {free / 1e6:,.0f} MB"
    return ScratchError(
        f"the scratch folder must have room for the rows of the log; {where} needs {n_bytes / 1e6:,.0f} MB "
        f"more for the next ones, and {came}. Nothing is left there. Name a folder on a larger disk: folder=..."
    )
