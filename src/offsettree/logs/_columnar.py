"""Parquet and Arrow files: columns with types of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from offsettree.exceptions import LogError
from offsettree.logs._parquet_claims import Claims, claims_of_parquet
from offsettree.logs._reader import Options, Reader
from offsettree.logs._source import Source, open_stream
from offsettree.logs._tables import cast_to, empty_table, flat_names, plain
from offsettree.logs._written_out import check_types, claimed_by_arrow_file, claimed_by_arrow_stream, written_out_bytes

BATCH_ROWS = 1 << 16
BATCH_BYTES = 1 << 28  # of texts that are written out before they can be counted


class _ColumnarReader(Reader):
    """Files that say themselves what their columns are."""

    def __init__(self, sources: list[Source], options: Options) -> None:
        super().__init__(sources, options)
        self._schema: pa.Schema | None = None

    def _file_schema(self, source: Source) -> pa.Schema:
        raise NotImplementedError

    def _batches(self, source: Source, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Read the file, once what it says of its own size is within the limits: Arrow decompresses before it looks."""
        raise NotImplementedError

    def schema(self) -> pa.Schema:
        """Return the columns of all files, with types that hold in all of them."""
        if self._schema is None:
            joined: pa.Schema | None = None
            for source in self.sources:
                with _explained(source):
                    found = self._file_schema(source)
                    check_types(found, source)
                    here = plain(empty_table(found)).schema
                if joined is None or here == joined:
                    joined = here
                    continue
                try:
                    joined = pa.unify_schemas([joined, here], promote_options="permissive")
                except pa.ArrowTypeError as error:
                    raise LogError(
                        f"all files of a folder must have the same types of columns; {source} differs from those "
                        f"before it: {error}. Write them with one type."
                    ) from error
            assert joined is not None  # noqa: S101 - there is at least one source
            self._schema = joined
        return self._schema

    def file_names(self) -> list[str]:
        """List the columns of all files."""
        return list(self.schema().names)

    def tables(self, source: Source, columns: list[str] | None) -> Iterator[pa.Table]:
        """Read one file; a column that only other files have is missing here."""
        schema = self.schema()
        wanted = schema.names if columns is None else columns
        with _explained(source):
            here = [name for name in wanted if name in set(flat_names(self._file_schema(source)))]
            n_bytes, size = 0, source.file.stat().st_size
            for batch in self._batches(source, here):
                # Arrow believes a file: one flipped bit in an offset would end the process.
                batch.validate(full=True)
                n_bytes += written_out_bytes(batch)
                source.limits.check_ratio(n_bytes, size, source)
                table = plain(pa.Table.from_batches([batch]))
                parts = {
                    name: cast_to(table.column(name), schema.field(name).type)
                    if name in table.column_names
                    else pa.nulls(len(table), schema.field(name).type)
                    for name in wanted
                }
                yield pa.table(parts)


class ParquetReader(_ColumnarReader):
    """A log in Parquet files."""

    def _file_schema(self, source: Source) -> pa.Schema:
        return pq.read_schema(source.file)

    def _claims(self, source: Source, columns: list[str]) -> Claims:
        with pa.OSFile(os.fsencode(source.file), "rb") as file:
            return claims_of_parquet(file, _top_names(columns))

    def _batches(self, source: Source, columns: list[str]) -> Iterator[pa.RecordBatch]:
        claims = self._claims(source, columns)
        source.limits.check_ratio(claims.n_bytes, source.file.stat().st_size, source)
        n_rows = max(1, min(BATCH_ROWS, BATCH_BYTES // max(1, claims.row_bytes)))
        # Texts come as they are stored, each once with a number per row: written out, they may be of any size.
        # Without pre_buffer: it would hold whole row groups.
        with pq.ParquetFile(source.file, pre_buffer=False, read_dictionary=claims.coded) as file:
            for groups in _read_at_once(file.num_row_groups, claims.coded):
                yield from file.iter_batches(batch_size=n_rows, row_groups=groups, columns=columns)


def _read_at_once(n_groups: int, coded: list[str]) -> list[list[int]]:
    """Return the row groups of each read: Arrow cannot join dictionaries of texts within lists."""
    groups = list(range(n_groups))
    return [[each] for each in groups] if any("." in path for path in coded) else [groups]


class ArrowReader(_ColumnarReader):
    """A log in Arrow (Feather) files, or in streams of Arrow."""

    def _file_schema(self, source: Source) -> pa.Schema:
        with _open_arrow(source) as reader:
            return reader.schema

    def _claimed_bytes(self, source: Source) -> int:
        with open_stream(source) as stream:
            if not isinstance(stream, pa.OSFile):
                return claimed_by_arrow_stream(stream)
        with pa.memory_map(str(source.file)) as file:
            is_file = file.read(6) == b"ARROW1"
            file.seek(0)
            return claimed_by_arrow_file(file) if is_file else claimed_by_arrow_stream(file)

    def _batches(self, source: Source, columns: list[str]) -> Iterator[pa.RecordBatch]:
        source.limits.check_ratio(self._claimed_bytes(source), source.file.stat().st_size, source)
        with _open_arrow(source) as reader:
            indexed = hasattr(reader, "num_record_batches")
            batches = map(reader.get_batch, range(reader.num_record_batches)) if indexed else iter(reader)
            tops = _top_names(columns)
            for batch in batches:
                chosen = batch.select([name for name in batch.schema.names if name in tops])
                for start in range(0, chosen.num_rows, BATCH_ROWS):
                    yield chosen.slice(start, BATCH_ROWS)


def _top_names(columns: list[str]) -> set[str]:
    """Return the columns of the file that nested columns, by dotted names, are in."""
    return {name.split(".")[0] for name in columns} | set(columns)


def _open_arrow(source: Source) -> Any:
    stream = open_stream(source)
    if isinstance(stream, pa.OSFile):
        file = pa.memory_map(str(source.file))
        if file.read(6) == b"ARROW1":
            file.seek(0)
            return pa.ipc.open_file(file)
        file.close()
    return pa.ipc.open_stream(stream)


@contextmanager
def _explained(source: Source) -> Iterator[None]:
    """Turn Arrow's complaints about a file into errors that name it."""
    try:
        yield
    except LogError:
        raise
    except (pa.ArrowException, OSError, EOFError, ValueError, MemoryError) as error:
        raise LogError(
            f"{source} cannot be read: {error}. Was it cut off in a copy, or not closed when it was written? Get it "
            "again, or write it again."
        ) from error
