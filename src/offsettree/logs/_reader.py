"""What all readers have in common: files in, tables out, one set of columns and types for all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offsettree.exceptions import EmptyLogError, LogError
from offsettree.logs._source import Source
from offsettree.logs._tables import in_chunks, plain, with_kinds

AT_ONCE = 1 << 20  # rows of a chunk, where all are read into memory


@dataclass(frozen=True)
class Options:
    """How a file is to be read; what a format does not need is ignored."""

    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    cost: str = "negative_reward"
    types: Mapping[str, str] = field(default_factory=dict)
    first_pass: bool = True
    header: bool = True


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of one file."""

    table: pa.Table
    source: Source
    first_row: int
    rows: NDArray[np.intp] | None = None  # where some rows of the file were passed over
    X: Any = None  # features that are too many for columns of the table

    def row(self, place: int) -> int:
        """Tell the number of a row in its file, from 1 on."""
        return self.first_row + place if self.rows is None else int(self.rows[place])


@dataclass(eq=False)
class Reader(ABC):
    """A log in files of one format.

    Parameters
    ----------
    sources : list of Source
        Its files, in order.
    options : Options
        How to read them.
    """

    sources: list[Source]
    options: Options

    # Columns that the format itself says are the action, the reward and the propensity.
    roles: ClassVar[dict[str, str]] = {}
    # Whether a column may hold lists or bytes.
    nests: ClassVar[bool] = True

    @abstractmethod
    def file_names(self) -> list[str]:
        """List the columns in the files."""

    @abstractmethod
    def tables(self, source: Source, columns: list[str] | None) -> Iterator[pa.Table]:
        """Read one file, in tables of any size, all of the same columns and types."""

    def names(self) -> list[str]:
        """List all columns, no two of one name: those in the files, then those that folders are named by."""
        names = self.file_names()
        twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        if twice:
            raise LogError(
                f"every column must have a name of its own; {self.sources[0]} has {', '.join(map(repr, twice))} more "
                "than once. Rename one of them in the file."
            )
        return names + [name for name in self.sources[0].partition if name not in names]

    def refuse_spread(self, wanted: Sequence[str]) -> None:  # noqa: B027 - tables have one value per row and column
        """Refuse columns that this format does not hold as one value per row."""

    def chunks(self, columns: Sequence[str] | None, chunk_rows: int) -> Iterator[Chunk]:
        """Read all files, in chunks of one file each."""
        names = self.names()
        wanted = list(names if columns is None else columns)
        check_columns(wanted, names, self.sources[0])
        there = set(self.file_names())
        in_files = [name for name in wanted if name in there]
        n_rows = 0
        for source in self.sources:
            first_row = 1
            for table in in_chunks(map(plain, self.tables(source, in_files)), chunk_rows):
                if not len(table):
                    continue
                if self.options.types:
                    table = with_kinds(table, self.options.types, source, first_row)
                yield Chunk(self._in_order(table, source, wanted), source, first_row)
                first_row += len(table)
            n_rows += first_row - 1
        if n_rows == 0:
            raise EmptyLogError(
                f"a log must have rows; {self.sources[0]} has its columns ({some(names)}) but no row. Was it written "
                "to the end?"
            )

    def head(self, n_rows: int) -> pa.Table:
        """Read the first rows."""
        return next(self.chunks(None, n_rows)).table

    def all_chunks(self, columns: Sequence[str] | None) -> list[Chunk]:
        """Read all files into memory."""
        return list(self.chunks(columns, AT_ONCE))

    def _in_order(self, table: pa.Table, source: Source, wanted: list[str]) -> pa.Table:
        for name, value in source.partition.items():
            if name in wanted and name not in table.column_names:
                kind = pa.int64() if any(isinstance(s.partition[name], int) for s in self.sources) else pa.string()
                table = table.append_column(name, pa.repeat(pa.scalar(value, kind), len(table)))
        return table.select(wanted)


def check_columns(wanted: Sequence[str], names: Sequence[str], where: object) -> None:
    """Refuse columns that are not there; what is meant may be near."""
    there = set(names)
    missing = [name for name in wanted if name not in there]
    if missing:
        near = get_close_matches(missing[0], names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else " Names are compared with upper and lower case."
        raise LogError(f"{where} has no column {', '.join(map(repr, missing))}; it has {some(names)}.{hint}")


def some(names: Sequence[str], n: int = 40) -> str:
    """Show the first so many names."""
    return ", ".join(map(str, names[:n])) + (f", ... ({len(names):,} in all)" if len(names) > n else "")
