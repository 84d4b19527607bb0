"""Logs in files: CSV, NDJSON, Parquet, Arrow, Vowpal Wabbit's text and decision service logs, read in chunks."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from offsettree._optional import require
from offsettree.exceptions import LogError, ParameterError
from offsettree.logs._limits import Limits
from offsettree.registry import FORMATS, resolve

if TYPE_CHECKING:
    from offsettree.logs._reader import Chunk, Reader

__all__ = ["open_reader", "scan_tables", "table_of"]

Path = str | os.PathLike[str]
CHUNK_ROWS = 1 << 16
LIMITS = ("max_line_bytes", "max_nesting", "max_ratio")
COSTS = ("negative_reward", "one_minus_reward")
MARKS = frozenset(map(chr, range(1, 128))) - {"\r", "\n", '"'}


def scan_tables(
    path: Path,
    *,
    chunk_rows: int = CHUNK_ROWS,
    columns: Sequence[str] | None = None,
    format: str | None = None,  # noqa: A002 - what users call it
    types: Mapping[str, str] | None = None,
    first_pass: bool = True,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
    header: bool = True,
    cost: str = "negative_reward",
    max_line_bytes: int | None = None,
    max_nesting: int = 64,
    max_ratio: float = 1000.0,
) -> Iterator[Any]:
    r"""Read a file or a folder as pyarrow tables of at most `chunk_rows` rows, in bounded memory.

    All tables have the same columns and the same types. CSV and JSON say no types: they are found in a first pass
    over all rows, numbers where all values are numbers, text where some are not.

    Parameters
    ----------
    path : str or path
        A file, or a folder of files of one format, such as a partitioned one (``country=fr/part-0.parquet``).
    chunk_rows : int, default=65536
        How many rows a table has; the last one of a file may have fewer.
    columns : list of str, optional
        The columns wanted, in that order; by default all.
    format : {"csv", "ndjson", "parquet", "arrow", "vw", "dsjson"}, optional
        Or one that `register_format` has added. By default it is recognised by content, then by name.
    types : mapping of str to {"number", "text"}, optional
        What columns are to be read as, whatever they look like. A value that is not a number is then an error. In
        ``vw`` and ``dsjson`` such columns are there even if no row names them.
    first_pass : bool, default=True
        Whether the types of CSV files are tried on all rows first. Without, they are those of the first block, and a
        value further on that does not fit is an error.
    delimiter : str, optional
        Of CSV; by default the one of comma, tab, semicolon and bar that cuts the first lines best.
    decimal : str, default="."
        The decimal point of CSV.
    encoding : str, default="utf-8"
        Of CSV and NDJSON.
    header : bool, default=True
        Whether the first line of CSV names the columns. Without, they are called column_1, column_2 and so on.
    cost : {"negative_reward", "one_minus_reward"}, default="negative_reward"
        What the costs of ``vw`` and ``dsjson`` are: rewards are then -cost, or 1 - cost.
    max_line_bytes : int, optional
        The longest line of a text file, about. By default 16 MiB, and 1 MiB in CSV.
    max_nesting : int, default=64
        How deep JSON may nest.
    max_ratio : float, default=1000
        How many times as large as its file a log may become when it is decompressed, or written out as a table; the
        first 64 MiB are free.

    Yields
    ------
    pyarrow.Table
        Nested columns are written side by side (``user.age``), categories as text.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "log.csv")
    ...     _ = file.write_text("age,sent,visit\n25,call,1\n61,mail,0\n33,call,0\n")
    ...     [table.to_pydict() for table in scan_tables(file, chunk_rows=2, columns=["age", "sent"])]
    [{'age': [25, 61], 'sent': ['call', 'mail']}, {'age': [33], 'sent': ['call']}]
    """
    check_chunk_rows(chunk_rows)
    reader = open_reader(
        path,
        format=format,
        types=types,
        first_pass=first_pass,
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        header=header,
        cost=cost,
        max_line_bytes=max_line_bytes,
        max_nesting=max_nesting,
        max_ratio=max_ratio,
    )
    return (table_of(chunk) for chunk in reader.chunks(columns, chunk_rows))


def table_of(chunk: Chunk) -> Any:
    """Return the rows as a table, unless they are too wide for one."""
    if chunk.X is not None and chunk.X.shape[1]:
        raise LogError(
            f"a table should not have as many columns as {chunk.source} has features ({chunk.X.shape[1]:,}). Use "
            "LoggedData.read or LoggedData.scan, which make a sparse matrix of them."
        )
    return chunk.table


def open_reader(
    path: Path,
    *,
    format: str | None = None,  # noqa: A002
    types: Mapping[str, str] | None = None,
    cost: str = "negative_reward",
    encoding: str = "utf-8",
    **options: Any,
) -> Reader:
    """Find the reader of a path; it reads nothing but the beginning of its first file."""
    require("pyarrow", extra="files")
    from offsettree.logs._reader import Options
    from offsettree.logs._recognise import recognise
    from offsettree.logs._source import find_sources

    if format is not None and format not in FORMATS:
        raise ParameterError(f"format must be one of {', '.join(FORMATS)}; got {format!r}. Leave it out to find out.")
    if cost not in COSTS:
        raise ParameterError(f"cost must be one of {', '.join(COSTS)}; got {cost!r}.")
    if odd := [kind for kind in (types or {}).values() if kind not in ("number", "text")]:
        raise ParameterError(f'types must be "number" or "text" for each column; got {odd[0]!r}.')
    limits = Limits(**{name: options.pop(name) for name in LIMITS if name in options})
    if unknown := set(options) - {"first_pass", "delimiter", "decimal", "header"}:
        raise ParameterError(
            f"there is no option {sorted(unknown)[0]!r}; those of reading are format, types, cost, encoding, "
            f"delimiter, decimal, header, first_pass, {', '.join(LIMITS)}."
        )
    for name in ("delimiter", "decimal"):
        value = options.get(name)
        if value is not None and not (isinstance(value, str) and len(value) == 1 and value in MARKS):
            raise ParameterError(f"{name} must be one character of ASCII, and no line break or quote; got {value!r}.")
    if not _decodes(encoding):
        raise ParameterError(f"encoding must be one that Python knows, such as latin-1; got {encoding!r}.")
    sources = [replace(source, limits=limits) for source in find_sources(path)]
    found = format or recognise(sources)
    reader: type[Reader] = resolve(FORMATS[found].target)
    return reader(sources, Options(types=types or {}, cost=cost, encoding=encoding, **options))


def _decodes(encoding: Any) -> bool:
    """Tell whether Python knows an encoding of text, and can read on where a byte is none of it."""
    try:
        known = codecs.lookup(encoding)
        return bool(known._is_text_encoding and known.decode(b"\xff", "replace") is not None)
    except (LookupError, ValueError, TypeError):  # ValueError: of "undefined", "idna" and names with a zero in them
        return False


def check_chunk_rows(chunk_rows: Any) -> None:
    """Refuse a number of rows that nobody can have meant."""
    if not isinstance(chunk_rows, int) or isinstance(chunk_rows, bool) or chunk_rows < 1:
        raise ParameterError(f"chunk_rows must be a whole number of at least 1; got {chunk_rows!r}.")
