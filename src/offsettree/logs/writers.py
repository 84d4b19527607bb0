"""Writes tables to files atomically."""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path as FilePath
from typing import Any, Self

from offsettree._optional import require
from offsettree.exceptions import LogError, ParameterError
from offsettree.logs.readers import Path

__all__ = ["check_output", "write_table"]

COMPRESSED = {".gz": "gzip", ".zst": "zstd"}
WRITTEN = (".csv", ".tsv", ".parquet", ".pq", ".ndjson", ".jsonl", ".arrow", ".feather")


def write_table(path: Path, tables: Any) -> int:
    """Write tables to one file as they come; the file's name gives the format.

    The rows go to a temporary file in the same folder, which is renamed when it is complete. After any exception,
    including Ctrl-C, nothing is left behind.

    Parameters
    ----------
    path : str or path
        Ends in .csv, .tsv, .ndjson or .jsonl, each optionally followed by .gz or .zst; or in .parquet, .pq, .arrow or
        .feather.
    tables : pyarrow.Table or iterable of them
        All with the same columns and types.

    Returns
    -------
    int
        The number of rows written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "decisions.csv")
    ...     write_table(file, [pa.table({"row": [1], "action": ["mail"]}), pa.table({"row": [2], "action": ["call"]})])
    ...     file.read_text().split()
    2
    ['"row","action"', '1,"mail"', '2,"call"']
    """
    pa = require("pyarrow", extra="files")
    suffix, compression = check_output(path)
    if isinstance(tables, pa.Table):
        tables = [tables]
    with _atomically(FilePath(path)) as unfinished:
        return _write(unfinished, suffix, compression, tables)


def check_output(path: Path) -> tuple[str, str | None]:
    """Return format and compression by a file's name; refuse paths that cannot be written, before any work."""
    file = FilePath(path)
    suffixes = [suffix.lower() for suffix in file.suffixes]
    compression = COMPRESSED.get(suffixes[-1]) if suffixes else None
    if compression:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix not in WRITTEN or (compression and suffix not in (".csv", ".tsv", ".ndjson", ".jsonl")):
        raise ParameterError(
            f"a file to write must end in {', '.join(WRITTEN)} (text also in .gz or .zst after it); got {file.name!r}. "
            "Parquet and Arrow are compressed internally."
        )
    if file.is_dir():
        raise ParameterError(f"a file to write must not be a folder; {file} is one. Name a file in it.")
    if not file.parent.is_dir():
        raise ParameterError(
            f"a file to write must be in an existing folder; {file.parent} does not exist. Create it first."
        )
    return suffix, compression


@contextmanager
def _atomically(path: FilePath) -> Iterator[FilePath]:
    if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced
        yield path
        return
    path = path.resolve()  # replace the target of a link, not the link
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield unfinished
        os.replace(unfinished, path)  # noqa: PTH105 - clearer that a file may exist already
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _write(file: FilePath, suffix: str, compression: str | None, tables: Iterable[Any]) -> int:
    import pyarrow as pa

    n_rows = 0
    with ExitStack() as stack:
        stream = stack.enter_context(pa.OSFile(str(file), "wb"))
        if compression:
            stream = stack.enter_context(pa.CompressedOutputStream(stream, compression))
        writer: Any = None
        for table in tables:
            if writer is None:
                schema = table.schema
                writer = stack.enter_context(_open_writer(stream, suffix, schema))
            elif table.schema != schema:
                table = _as_first(table, schema)
            writer.write_table(table)
            n_rows += len(table)
        if writer is None:
            raise LogError("there must be at least one table to write, even if without rows; got none.")
    return n_rows


def _as_first(table: Any, schema: Any) -> Any:
    if table.column_names != schema.names:
        raise LogError(
            f"all tables of a file must have the same columns; the first has {', '.join(schema.names)}, another "
            f"{', '.join(table.column_names)}."
        )
    return table.cast(schema)


def _open_writer(stream: Any, suffix: str, schema: Any) -> Any:
    if suffix in (".csv", ".tsv"):
        from pyarrow import csv

        return csv.CSVWriter(
            stream, schema, write_options=csv.WriteOptions(delimiter="\t" if suffix == ".tsv" else ",")
        )
    if suffix in (".parquet", ".pq"):
        from pyarrow import parquet

        return parquet.ParquetWriter(stream, schema, compression="zstd")
    if suffix in (".arrow", ".feather"):
        from pyarrow import ipc

        return ipc.new_file(stream, schema)
    return _JsonWriter(stream)


class _JsonWriter:
    """Writes one object per line; numbers that are not finite become null."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        return None

    def write_table(self, table: Any) -> None:
        """Write the rows of one more table."""
        for batch in table.to_batches(max_chunksize=1 << 14):
            lines = [json.dumps(_finite(row), ensure_ascii=False, default=str) + "\n" for row in batch.to_pylist()]
            self.stream.write("".join(lines).encode())


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()
    }
