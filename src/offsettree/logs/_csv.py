"""CSV and similar text formats: delimited values without types.

Arrow infers the types from the first block, but a numeric column may become text a million rows later. So the types
are first tried on all rows, and widened where they fail: integers to floats, anything else to text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from offsettree._messages import Parameter
from offsettree.encoding.spellings import MISSING, is_numeral
from offsettree.exceptions import LogError
from offsettree.logs._csv_form import (
    ENCODING_REMEDY,
    UnlikeFirstError,
    converts,
    decoded,
    explained,
    refuse_value,
    sniff_delimiter,
)
from offsettree.logs._reader import AT_ONCE, Chunk, Options, Reader
from offsettree.logs._source import Source, open_stream, read_head, reading
from offsettree.logs._tables import local_times, plain

BLOCK_SIZE = 1 << 20


class CsvReader(Reader):
    """A log in CSV files of one header."""

    nests = False  # a binary column is text in another encoding, refused with its row

    def __init__(self, sources: list[Source], options: Options) -> None:
        super().__init__(sources, options)
        head = read_head(sources[0])
        self.delimiter = options.delimiter or sniff_delimiter(head.decode(options.encoding, errors="replace"))
        self._first: pa.Table | None = None  # the first block of the first file
        self._types: dict[str, pa.DataType] | None = None

    def file_names(self) -> list[str]:
        """Return the names of the header, which must be the same in all files."""
        if self._first is None:
            self._first = self._first_block(self.sources[0])
            for source in self.sources[1:]:
                if (names := self._first_block(source).column_names) != self._first.column_names:
                    raise LogError(
                        f"all files of a folder must have the same header; {self.sources[0]} has "
                        f"{', '.join(self._first.column_names)}, {source} has {', '.join(names)}."
                    )
        return list(self._first.column_names)

    def _first_block(self, source: Source) -> pa.Table:
        """Read the first rows of a file, with types inferred from them, and judge its header."""
        head = read_head(source, 1 << 20)
        if head.startswith((b"\xff\xfe", b"\xfe\xff")) and "16" not in self.options.encoding:
            raise LogError(
                f"text must be {self.options.encoding}; {source} begins as UTF-16 does. Pass ",
                Parameter("encoding", "utf-16"),
                ".",
            )
        line = head.split(b"\n", 1)[0] if "16" not in self.options.encoding else head
        try:
            line.decode(self.options.encoding)
        except UnicodeError as error:
            reason = getattr(error, "reason", error)
            raise LogError(
                f"text must be {self.options.encoding}; the header of {source} is not ({reason}). ", ENCODING_REMEDY
            ) from None
        with reading(source), explained(source, self.options, self.delimiter), self._open(source, {}, None) as reader:
            names, batch = reader.schema.names, next(iter(reader), None)
            block = reader.schema.empty_table() if batch is None else pa.Table.from_batches([batch])
        numerals = [name for name in names if is_numeral(name)]
        # Mostly numbers, and two columns with the same one for a name: the line is a row.
        is_row = len(numerals) == len(names) or len(set(numerals)) < len(numerals) >= len(names) / 2
        if self.options.header and numerals and is_row:
            raise LogError(
                f"the first line of a CSV file must name the columns; that of {source} is {', '.join(names[:5])}. Put "
                "a header line on top, or say that there is none: ",
                Parameter("header", False),
                ".",
            )
        return block

    def _numbered(self, source: Source) -> list[str]:
        """Return column names for a file without a header: column_1, column_2 and so on."""
        cut = self._cut(source, use_threads=False, autogenerate_column_names=True)
        with pacsv.open_csv(open_stream(source), **cut) as reader:
            return [f"column_{place + 1}" for place in range(len(reader.schema.names))]

    def tables(self, source: Source, columns: list[str] | None) -> Iterator[pa.Table]:
        """Read one file with the types that hold in all files."""
        types = self.types()
        # Arrow would convert times with an offset to UTC; local time is kept.
        zoned = [name for name, kind in types.items() if pa.types.is_timestamp(kind) and kind.tz is not None]
        as_read = types | dict.fromkeys(zoned, pa.string())
        try:
            with reading(source), self._open(source, as_read, columns, threads=True) as reader:
                for batch in reader:
                    table = pa.Table.from_batches([batch])
                    for name in set(zoned).intersection(table.column_names):
                        place = table.column_names.index(name)
                        table = table.set_column(place, name, local_times(table.column(place)))
                    yield table
        except (pa.ArrowInvalid, UnicodeError) as error:
            # The threaded reader does not number the rows: read again in order to find the first bad one.
            def refuse(name: str, column: pa.ChunkedArray, source: Source, first_row: int) -> None:
                if columns is None or name in columns:
                    refuse_value(name, column, types[name], source, first_row, self.options)

            self._try_values(source, types, refuse)
            raise LogError(f"{source} cannot be read as CSV: {error}") from error

    def head(self, n_rows: int) -> pa.Table:
        """Read the first rows, with types inferred from them."""
        first = self._first_block(self.sources[0]) if self._first is None else self._first
        return plain(first.slice(0, n_rows)) if len(first) else super().head(n_rows)

    def all_chunks(self, columns: Sequence[str] | None) -> list[Chunk]:
        """Read all files into memory, in one pass if the types of the first block hold everywhere."""
        if self._types is None:
            self.types(try_all=False)
            try:
                return list(self.chunks(columns, AT_ONCE))
            except UnlikeFirstError:
                self._types = self._wide_types(self.types())
        return list(self.chunks(columns, AT_ONCE))

    def types(self, *, try_all: bool = True) -> dict[str, pa.DataType]:
        """Return the types of the columns: those of the first block, overridden by those the caller gave.

        They are tried in a pass over all rows, and widened where they fail, unless `first_pass` is off.
        """
        if self._types is not None:
            return self._types
        first = self._first_block(self.sources[0]) if self._first is None else self._first
        types = dict(zip(first.schema.names, first.schema.types, strict=True))
        for name, kind in types.items():
            if pa.types.is_binary(kind):  # text that is not UTF-8: a later check names the row
                types[name] = pa.string()
        known = {"number": pa.float64(), "text": pa.string()}
        self._types = types | {name: known[kind] for name, kind in self.options.types.items() if name in types}
        if try_all and self.options.first_pass and not self._hold():
            self._types = self._wide_types(self._types)
        return self._types

    def _hold(self) -> bool:
        """Return whether the types hold in all rows."""
        for source in self.sources:
            try:
                with reading(source), self._open(source, self._types or {}, None, threads=True) as reader:
                    for _ in reader:
                        pass
            except (pa.ArrowInvalid, UnicodeError):
                return False
        return True

    def _wide_types(self, types: dict[str, pa.DataType]) -> dict[str, pa.DataType]:
        """Widen the types to those that hold in all rows."""
        types = dict(types)
        fixed = set(self.options.types)

        def widen(name: str, column: pa.ChunkedArray, source: Source, first_row: int) -> None:
            if name in fixed:
                refuse_value(name, column, types[name], source, first_row, self.options)
            wider = [pa.float64()] if pa.types.is_integer(types[name]) else []
            wider = [pa.int64(), pa.float64()] if pa.types.is_null(types[name]) else wider
            types[name] = next((kind for kind in wider if converts(column, kind, self.options.decimal)), pa.string())

        for source in self.sources:
            self._try_values(source, types, widen)
        return types

    def _try_values(self, source: Source, types: dict[str, pa.DataType], on_failure: Callable[..., None]) -> None:
        """Read all values as raw text; call `on_failure` for each column of a block that does not fit its type."""
        first_row = 1
        as_written = dict.fromkeys(types, pa.binary())
        with (
            reading(source),
            explained(source, self.options, self.delimiter),
            self._open(source, as_written, None) as reader,
        ):
            for batch in reader:
                table = pa.Table.from_batches([batch])
                for name in table.column_names:
                    column = decoded(table.column(name), name, source, first_row, self.options.encoding)
                    if not pa.types.is_string(types[name]) and not converts(column, types[name], self.options.decimal):
                        on_failure(name, column, source, first_row)
                first_row += len(table)

    def _open(
        self, source: Source, types: dict[str, pa.DataType], columns: list[str] | None, *, threads: bool = False
    ) -> Any:
        names = None if self.options.header else self._numbered(source)
        return pacsv.open_csv(
            open_stream(source),
            **self._cut(source, use_threads=threads, column_names=names),
            convert_options=pacsv.ConvertOptions(
                column_types=types,
                include_columns=columns,
                null_values=MISSING,
                strings_can_be_null=False,
                decimal_point=self.options.decimal,
            ),
        )

    def _cut(self, source: Source, **names: Any) -> dict[str, Any]:
        """Return how the bytes are cut into rows and values."""
        block_size = max(BLOCK_SIZE, source.limits.max_line_bytes or 0)
        return {
            "read_options": pacsv.ReadOptions(block_size=block_size, encoding=self.options.encoding, **names),
            "parse_options": pacsv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
        }
