"""Errors of CSV files with their rows, and detection of the delimiter."""

from __future__ import annotations

import csv
import io
import re
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from offsettree._messages import Message, Parameter
from offsettree.exceptions import LogError
from offsettree.logs._reader import Options
from offsettree.logs._source import Source, read_head
from offsettree.logs._tables import as_numerals

DELIMITERS = (",", "\t", ";", "|")
ENCODING_REMEDY = Message(
    "If the whole file is in another encoding, pass it: ",
    Parameter("encoding", "latin-1"),
    " reads any file. A file of mixed encodings must be corrected by the program that writes it.",
)


class UnlikeFirstError(LogError):
    """A value is not of the type that its column has in the first block."""


@contextmanager
def explained(source: Source, options: Options, delimiter: str) -> Iterator[None]:
    """Turn Arrow's parse errors into errors that name the row."""
    try:
        yield
    except UnicodeError as error:  # UTF-16 without a mark at its beginning raises no UnicodeDecodeError
        reason = getattr(error, "reason", error)
        raise LogError(f"text must be {options.encoding}; {source} is not ({reason}). ", ENCODING_REMEDY) from error
    except pa.ArrowInvalid as error:
        if (reason := _reason(str(error), source, options, delimiter)) is None:
            raise
        raise LogError(reason) from error


def _reason(message: str, source: Source, options: Options, delimiter: str) -> str | None:
    if "Empty CSV" in message:
        header = read_head(source).decode(options.encoding, errors="replace").strip()
        names = ", ".join(header.split(delimiter))  # Arrow finds none if the header has no line end
        return f"a log must have rows; {source} has its columns ({names}) but no row. Was it written to the end?"
    if "straddling" in message:
        return Message(
            f"a row must not be longer than a block of the file; {source} has a longer one, most likely because of a "
            "quotation mark that is never closed. Find it, and double those that are part of a value. If rows are "
            "really that long, pass ",
            Parameter("max_line_bytes"),
            ", the bytes of the longest.",
        )
    if "CSV parse error" in message:
        return Message(
            f"every row must have a value for every column of the first line; {_ragged(message, options.header)} of "
            f"{source} (rows are counted from 1, without the header). Quote values that contain the delimiter "
            f"{delimiter!r} or a line break, or pass ",
            Parameter("delimiter"),
            " if it is another.",
        )
    return None


def _ragged(message: str, header: bool) -> str:
    """Rewrite Arrow's "Row #18: Expected 2 columns, got 3: 1,2,3", whose rows count the header."""
    found = re.search(r"Row #(\d+): Expected (\d+) columns?, got (\d+)(?:: (.*))?", message, re.DOTALL)
    if found is None:
        return message.removeprefix("CSV parse error: ")
    row, expected, got, text = found.groups()
    shown = f" ({text[:60]!r})" if text else ""
    return f"{expected} are named, and {got} found in row {int(row) - header}{shown}"


def decoded(column: pa.ChunkedArray, name: str, source: Source, first_row: int, encoding: str) -> pa.ChunkedArray:
    """Decode bytes to text; the error names the row that fails."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        for row, value in enumerate(column.to_pylist()):
            try:
                value.decode()
            except UnicodeDecodeError:
                raise LogError(
                    f"text must be {encoding}; column {name!r}, row {first_row + row} of {source} has {value[:60]!r} "
                    "(rows are counted from 1, without the header). ",
                    ENCODING_REMEDY,
                ) from None
        raise


def converts(column: pa.ChunkedArray, kind: pa.DataType, decimal: str) -> bool:
    """Return whether Arrow's CSV reader can read text as a type."""
    column = as_numerals(column, decimal)
    if pa.types.is_null(kind):
        return bool(column.null_count == len(column))
    try:
        column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def refuse_value(
    name: str, column: pa.ChunkedArray, kind: pa.DataType, source: Source, first_row: int, options: Options
) -> None:
    """Raise an error that names the first row of a column that cannot be read as its type."""
    row = bisect_left(
        range(len(column)), True, key=lambda row: not converts(column.slice(0, row + 1), kind, options.decimal)
    )
    if name in options.types:
        error, remedy = LogError, "Correct the value, or leave the column out."
    else:
        error = UnlikeFirstError
        remedy = f'Pass types={{"{name}": "text"}}, or leave first_pass on, which finds a type that fits all rows.'
    raise error(
        f"column {name!r} must be {_words(kind)} as at the beginning; row {first_row + row} of {source} has "
        f"{column[row].as_py()!r} (rows are counted from 1, without the header). {remedy}"
    )


def _words(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return "whole numbers"
    if pa.types.is_floating(kind):
        return "numbers"
    return {"bool": "true or false", "null": "missing"}.get(str(kind), f"of type {kind}")


def sniff_delimiter(head: str) -> str:
    """Return the delimiter that cuts the first lines into the most parts, equally many in each."""
    lines = head.splitlines()[:20]
    lines = lines[: max(1, len(lines) - 1)]  # the last may be incomplete
    best, best_score = ",", (False, 1)
    for delimiter in DELIMITERS:
        try:
            counts = [len(row) for row in csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter) if row]
        except csv.Error:
            continue
        if counts and counts[0] > 1 and (score := (len(set(counts)) == 1, counts[0])) > best_score:
            best, best_score = delimiter, score
    return best
