"""A log on disk, sorted by action in runs: the rows of some actions, or any rows by their number, are read from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

ROW_BYTES = 4 + 8 + 8  # of a row beside its columns: its place in the run, reward, propensity
READ_WHOLE = 16  # a run is read in one go where at least one in so many of its rows is wanted


class Files(Protocol):
    """Where the files of a routed log are: a folder, or the shared store of several machines."""

    def open(self, name: str) -> Any:
        """Open a file to read from any place of it: `seek` and `readinto`."""


@dataclass(frozen=True)
class Folder:
    """A folder of this machine."""

    path: Path

    def open(self, name: str) -> FileIO:
        """Open a file, unbuffered."""
        return FileIO(self.path / name)


class Run(NamedTuple):
    """Where a stretch of the log is in a file, and how it is sorted.

    There, one after the other: the rows' places in the stretch as uint32, rewards and propensities as float64, X as
    float32; all of them by action, and in the order of the log within each.
    """

    offset: int
    first_row: int
    n_rows: int
    begin: NDArray[np.uint32]  # by code: the first row; and one more. Codes that came later are not there.
    name: str = "rows"  # of the file
    source: int = 0  # who numbered the actions

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many rows each code has."""
        begin = self.begin.astype(np.int64)
        return begin[1:] - begin[:-1]

    def stretches(self, codes: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return where the rows of some codes begin, and how many they are."""
        last = len(self.begin) - 1
        begin = self.begin[np.minimum(codes, last)].astype(np.intp)
        return begin, self.begin[np.minimum(codes + 1, last)].astype(np.intp) - begin


class Rows(NamedTuple):
    """Rows of a log: their numbers in it, the positions of their actions, and what was logged."""

    number: NDArray[np.int64]
    action: NDArray[np.intp]
    reward: NDArray[np.float64]
    propensity: NDArray[np.float64]
    X: NDArray[np.float32]

    def take(self, which: NDArray[Any] | slice) -> Rows:
        """Return some of the rows: copied, unless they are a slice."""
        return Rows._make(column[which] for column in self)


@dataclass(frozen=True, eq=False)
class RoutedLog:
    """Reads what a `ScratchWriter` has written. Holds no open file: it can be sent to other processes.

    Actions have codes in the files, in the order in which they came; outside they are known by their positions. Where
    several processes wrote, each has codes of its own.
    """

    files: Files
    n_columns: int
    runs: tuple[Run, ...]
    positions: tuple[NDArray[np.intp], ...]  # by source: of each code
    n_actions: int
    _codes: dict[int, NDArray[np.intp]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(run.n_rows for run in self.runs)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many rows each action has."""
        counts = np.zeros(self.n_actions, dtype=np.int64)
        for run in self.runs:
            counts[self._position(run)[: len(run.begin) - 1]] += run.counts
        return counts

    def _position(self, run: Run) -> NDArray[np.intp]:
        return self.positions[run.source]

    def _code(self, source: int) -> NDArray[np.intp]:
        if source not in self._codes:
            position = self.positions[source]
            code = np.full(self.n_actions, -1)  # where there is none
            code[position] = np.arange(len(position))
            self._codes[source] = code
        return self._codes[source]

    def rows_of(self, actions: NDArray[np.intp], *, with_X: bool = True) -> Rows:
        """Read the rows of some actions: run by run, within a run by action, in the order of the log within each."""
        rows = self._room(int(self.counts[actions].sum()), with_X=with_X)
        done = 0
        with _Open(self.files) as files:
            for run in self.runs:
                codes = np.sort(self._code(run.source)[actions])
                codes = codes[codes >= 0]
                begin, count = run.stretches(codes)
                n_here = int(count.sum())
                rows.action[done : done + n_here] = np.repeat(self._position(run)[codes], count)
                for first, last in _joined(begin[count > 0], count[count > 0]):
                    self._read(files.of(run), run, first, rows.take(slice(done, done + last - first)))
                    done += last - first
        return rows

    def rows_at(self, numbers: NDArray[np.int64]) -> Rows:
        """Read rows by their numbers, which must ascend."""
        rows = self._room(len(numbers))
        done = 0
        with _Open(self.files) as files:
            for run in self.runs:
                first, last = np.searchsorted(numbers, [run.first_row, run.first_row + run.n_rows])
                if first == last:
                    continue
                wanted = numbers[first:last]
                whole = self._room(run.n_rows, with_X=len(wanted) * READ_WHOLE >= run.n_rows)
                file = files.of(run)
                self._read(file, run, 0, whole)
                place = np.empty(run.n_rows, dtype=np.intp)
                place[whole.number - run.first_row] = np.arange(run.n_rows)
                place = place[wanted - run.first_row]
                here = slice(done, done + len(place))
                rows.number[here] = wanted
                rows.action[here] = self._position(run)[np.searchsorted(run.begin, place, side="right") - 1]
                rows.reward[here], rows.propensity[here] = whole.reward[place], whole.propensity[place]
                if len(whole.X):
                    rows.X[here] = whole.X[place]
                else:
                    for target, source in zip(rows.X[here], place.tolist(), strict=True):
                        self._read_columns(file, run, source, target)
                done = here.stop
        return rows

    def each_run(self) -> Iterator[Rows]:
        """Read run after run, each by action; without X."""
        with _Open(self.files) as files:
            for run in self.runs:
                rows = self._room(run.n_rows, with_X=False)
                self._read(files.of(run), run, 0, rows)
                rows.action[:] = np.repeat(self._position(run)[: len(run.begin) - 1], run.counts)
                yield rows

    def in_order(
        self, values: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
    ) -> Callable[[int, int], NDArray[np.float64]]:
        """Return a function that reads ``values(reward, propensity)`` of the rows from one number to another.

        A run is kept from call to call: ask from the first row to the last.
        """
        kept: dict[int, NDArray[np.float64]] = {}

        def read_run(number: int) -> NDArray[np.float64]:
            if number not in kept:
                run = self.runs[number]
                rows = self._room(run.n_rows, with_X=False)
                with _Open(self.files) as files:
                    self._read(files.of(run), run, 0, rows)
                kept.clear()
                kept[number] = np.empty(run.n_rows)
                kept[number][rows.number - run.first_row] = values(rows.reward, rows.propensity)
            return kept[number]

        def read(first: int, last: int) -> NDArray[np.float64]:
            out = np.empty(last - first)
            for number, run in enumerate(self.runs):
                begin, end = max(first, run.first_row), min(last, run.first_row + run.n_rows)
                if begin < end:
                    out[begin - first : end - first] = read_run(number)[begin - run.first_row : end - run.first_row]
            return out

        return read

    def _room(self, n_rows: int, *, with_X: bool = True) -> Rows:
        return Rows(
            np.empty(n_rows, dtype=np.int64),
            np.empty(n_rows, dtype=np.intp),
            np.empty(n_rows),
            np.empty(n_rows),
            np.empty((n_rows if with_X else 0, self.n_columns), dtype=np.float32),
        )

    def _read(self, file: Any, run: Run, first: int, rows: Rows) -> None:
        """Read as many rows as there is room for, from one of a run on; but not their actions."""
        place = np.empty(len(rows.number), dtype=np.uint32)
        _fill(file, run.offset + 4 * first, place)
        np.add(place, run.first_row, out=rows.number, dtype=np.int64)
        _fill(file, run.offset + 4 * run.n_rows + 8 * first, rows.reward)
        _fill(file, run.offset + 12 * run.n_rows + 8 * first, rows.propensity)
        self._read_columns(file, run, first, rows.X)

    def _read_columns(self, file: Any, run: Run, first: int, X: NDArray[np.float32]) -> None:
        _fill(file, run.offset + ROW_BYTES * run.n_rows + 4 * self.n_columns * first, X)


class _Open:
    """The file that is read from at the moment; another takes its place when a run of it comes."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._name: str | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def of(self, run: Run) -> Any:
        if run.name != self._name:
            self._stack.close()
            self._file, self._name = self._stack.enter_context(self._files.open(run.name)), run.name
        return self._file


def _joined(begin: NDArray[np.intp], count: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Join stretches that follow one another, so that they are read in one go."""
    if not len(begin):
        return []
    end = begin + count
    new = np.concatenate([[True], begin[1:] != end[:-1]])
    return list(zip(begin[new].tolist(), end[np.append(new[1:], True)].tolist(), strict=True))


def _fill(file: Any, offset: int, values: NDArray[Any]) -> None:
    if not values.size:
        return
    file.seek(offset)
    left = memoryview(values.data).cast("B")
    while left:  # one call may read a part only
        n_read = file.readinto(left)
        if not n_read:
            raise EOFError(f"the scratch file {getattr(file, 'name', file)!s} is shorter than what was written to it.")
        left = left[n_read:]
