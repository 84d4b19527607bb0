"""Logs whose rows name their features: read as a table if there are few names, as a sparse matrix if many."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from offsettree.exceptions import EmptyLogError, LogError
from offsettree.logs._reader import Chunk, Options, Reader, check_columns
from offsettree.logs._source import Source
from offsettree.logs._tables import with_kinds

MOST_COLUMNS = 1024  # more features become a sparse matrix
ROWS_AT_ONCE = 4096  # rows held as Python objects
LARGEST_LABEL = 2**63 - 1  # of an integer array
ROLES = ("action", "reward", "propensity")


@dataclass
class Example:
    """One row: its number in the file, its action, cost and propensity, and the features that it names."""

    row: int
    action: int | str | None
    cost: float | None
    propensity: float | None
    features: dict[str, float | str]


class SparseReader(Reader):
    """A log of rows that name their features."""

    roles: ClassVar[dict[str, str]] = {role: role for role in ROLES}
    # The value of a numeric feature in a row that does not name it.
    absent: ClassVar[float] = 0.0

    def __init__(self, sources: list[Source], options: Options) -> None:
        super().__init__(sources, options)
        self._kinds: dict[str, str] | None = None
        self._places: dict[str, int] | None = None
        self._actions_are_text = False

    @abstractmethod
    def examples(self, source: Source) -> Iterator[Example]:
        """Read one file row by row."""

    def kinds(self) -> dict[str, str]:
        """Return the kind of each feature, "number" or "text", by a pass over all rows."""
        if self._kinds is None:
            kinds: dict[str, str] = {}
            n_rows = 0
            for source in self.sources:
                for example in self.examples(source):
                    n_rows += 1
                    self._actions_are_text |= isinstance(example.action, str)
                    for name, value in example.features.items():
                        if isinstance(value, str):
                            kinds[name] = "text"
                        else:
                            kinds.setdefault(name, "number")
            if n_rows == 0:
                raise EmptyLogError(
                    f"a log must have rows; {self.sources[0]} has no decision. Was it written to the end?"
                )
            # Features with a given type exist even if no row names them: a policy needs all its columns.
            self._kinds = kinds | dict(self.options.types)
        return self._kinds

    @property
    def is_wide(self) -> bool:
        """Whether there are too many features for a table, and the caller has not given their types."""
        return len(self.kinds()) > MOST_COLUMNS and not self.options.types

    def places(self) -> dict[str, int]:
        """Return the columns of the sparse matrix; text is one-hot encoded."""
        if self._places is None:
            places: dict[str, int] = {}
            for source in self.sources:
                for example in self.examples(source):
                    for name, value in example.features.items():
                        places.setdefault(f"{name}={value}" if isinstance(value, str) else name, len(places))
            self._places = places
        return self._places

    def file_names(self) -> list[str]:
        """Return the three columns of the log, then the features."""
        return [*ROLES, *(self.places() if self.is_wide else self.kinds())]

    def refuse_spread(self, wanted: Sequence[str]) -> None:
        """Refuse columns of a sparse matrix, and text of which every value is a feature of its own."""
        for name in wanted:
            if name in self.kinds():
                why = f"is one of more than {MOST_COLUMNS:,} features, read as a sparse matrix" if self.is_wide else ""
            else:
                values = [each for each in self.kinds() if each.startswith(f"{name}=")]
                why = f"is spread over one feature per value ({values[0]}, ...)" if values else ""
            if why:
                raise LogError(
                    f"a column to group or to split by must hold one value per row; in {self.sources[0]} {name!r} "
                    f"{why}. Write it as a number, as in name:7, or write the log as CSV or Parquet."
                )

    def tables(self, source: Source, columns: list[str] | None) -> Iterator[pa.Table]:
        """Not used: `chunks` reads the rows itself."""
        raise NotImplementedError

    def chunks(self, columns: Sequence[str] | None, chunk_rows: int) -> Iterator[Chunk]:
        """Read all files, in chunks of one file each; many features are in the chunk's X instead of its table."""
        names = self.names()
        wanted = list(names if columns is None else columns)
        check_columns(wanted, names, self.sources[0])
        for source in self.sources:
            examples = self.examples(source)
            while blocks := list(self._blocks(examples, wanted, chunk_rows)):
                tables, matrices, rows = zip(*blocks, strict=True)
                table = pa.concat_tables(tables)
                X = sp.csr_matrix(sp.vstack(matrices)) if self.is_wide else None
                numbers = np.concatenate(rows)
                table = with_kinds(self._in_order(table, source, wanted), self.options.types, source, int(numbers[0]))
                yield Chunk(table, source, int(numbers[0]), numbers, X)

    def _in_order(self, table: pa.Table, source: Source, wanted: list[str]) -> pa.Table:
        present = {*table.column_names, *source.partition}
        return super()._in_order(table, source, [name for name in wanted if name in present])

    def _blocks(self, examples: Iterator[Example], wanted: list[str], n_rows: int) -> Iterator[tuple[Any, Any, Any]]:
        while n_rows and (block := list(islice(examples, min(n_rows, ROWS_AT_ONCE)))):
            n_rows -= len(block)
            columns = self._role_columns(block)
            if not self.is_wide:
                columns |= {name: self._column(block, name) for name in wanted if name in self.kinds()}
            matrix = self._matrix(block, wanted) if self.is_wide else None
            yield pa.table(columns), matrix, np.array([example.row for example in block])

    def _role_columns(self, block: list[Example]) -> dict[str, pa.Array]:
        base = 1.0 if self.options.cost == "one_minus_reward" else 0.0
        actions: list[Any] = [example.action for example in block]
        if self._actions_are_text:
            actions = [None if action is None else str(action) for action in actions]
        reward = [None if example.cost is None else base - example.cost for example in block]
        return {
            "action": pa.array(actions, pa.string() if self._actions_are_text else pa.int64()),
            "reward": pa.array(reward, pa.float64()),
            "propensity": pa.array([example.propensity for example in block], pa.float64()),
        }

    def _column(self, block: list[Example], name: str) -> pa.Array:
        if self.kinds()[name] == "number":
            absent = 0.0 if "=" in name else self.absent  # city=paris: present or not
            values = np.array([example.features.get(name, absent) for example in block], dtype=np.float64)
            return pa.array(values, from_pandas=True)
        found = (example.features.get(name) for example in block)
        return pa.array([None if value is None else str(value) for value in found], pa.string())

    def _matrix(self, block: list[Example], wanted: list[str]) -> sp.csr_matrix:
        wanted_places = [name for name in wanted if name not in ROLES and name not in self.sources[0].partition]
        place_of = {name: place for place, name in enumerate(wanted_places)}
        indptr, indices, data = [0], [], []
        for example in block:
            for name, value in example.features.items():
                is_text = isinstance(value, str)
                place = place_of.get(f"{name}={value}" if is_text else name)
                if place is not None:
                    indices.append(place)
                    data.append(1.0 if is_text else float(value))
            indptr.append(len(indices))
        matrix = sp.csr_matrix((data, indices, indptr), shape=(len(block), len(place_of)), dtype=np.float64)
        matrix.sort_indices()
        return matrix


def feature_name(name: str) -> str:
    """Return a feature's name, prefixed if it is that of a column of the log."""
    return f"features.{name}" if name in ROLES else name
