"""Limits on input files, so that a small one can neither exhaust the memory nor overflow the stack."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from offsettree._messages import Parameter
from offsettree.exceptions import LogError, ParameterError

LINE_BYTES = 1 << 24
FREE_BYTES = 1 << 26  # any file may grow to this size
STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
CLOSED = re.compile(rb'(?:[^"]*+%s)*+' % STRING.pattern)
OPEN, CLOSE = b"[{", b"]}"


@dataclass(frozen=True)
class Limits:
    """Limits of reading a file; raise them for files that you trust.

    Attributes
    ----------
    max_line_bytes : int, optional
        The longest line of text, approximately. By default 16 MiB, and 1 MiB in CSV.
    max_nesting : int
        The depth of nested JSON; the object of a line is the first level.
    max_ratio : float
        The ratio of a log's size, decompressed or as a table, to that of its file; not applied below 64 MiB.
    """

    max_line_bytes: int | None = None
    max_nesting: int = 64
    max_ratio: float = 1000.0

    def __post_init__(self) -> None:
        whole = (self.max_nesting, 1 if self.max_line_bytes is None else self.max_line_bytes)
        if any(type(value) is not int or value < 1 for value in whole) or not self.max_ratio > 0:
            raise ParameterError(
                "max_line_bytes and max_nesting must be whole numbers from 1 on, and max_ratio a number above 0; got "
                f"{self.max_line_bytes!r}, {self.max_nesting!r} and {self.max_ratio!r}."
            )

    @property
    def line_bytes(self) -> int:
        """The longest line of text that is not CSV."""
        return LINE_BYTES if self.max_line_bytes is None else self.max_line_bytes

    def check_line(self, n_bytes: int, where: object) -> None:
        """Refuse a line that is too long."""
        if n_bytes > self.line_bytes:
            raise LogError(
                f"a line must not be longer than {self.line_bytes:,} bytes; {where} has one of {n_bytes:,} or more. Is "
                "it one line for all rows? If you know the file, raise the limit: ",
                Parameter("max_line_bytes"),
            )

    def most_bytes(self, file_bytes: int) -> int:
        """Return how large a file of this size may become."""
        return int(min(max(FREE_BYTES, self.max_ratio * file_bytes), 1 << 62))

    def check_ratio(self, n_bytes: int, file_bytes: int, where: object) -> None:
        """Refuse a file that grows too much, such as a decompression bomb."""
        if n_bytes > self.most_bytes(file_bytes):
            raise LogError(
                f"a log must not become more than {self.max_ratio:g} times as large as its file; {where} has "
                f"{file_bytes:,} bytes, and becomes {n_bytes:,} or more. If you know the file, raise the limit: ",
                Parameter("max_ratio"),
            )

    def check_nesting(self, block: bytes, n_lines: int, where: object, first_row: int) -> None:
        """Refuse JSON that is nested too deep, before it reaches a recursive parser."""
        if block.count(OPEN[:1]) + block.count(OPEN[1:]) < n_lines + self.max_nesting:
            return
        for row, line in enumerate(filter(bytes.strip, block.split(b"\n")), start=first_row):
            if line.count(OPEN[:1]) + line.count(OPEN[1:]) > self.max_nesting and depth(line) > self.max_nesting:
                raise LogError(
                    f"JSON must not nest more than {self.max_nesting} deep; row {row} of {where} does. If you know the "
                    "file, raise the limit: ",
                    Parameter("max_nesting"),
                )


def depth(line: bytes) -> int:
    """Return the nesting depth of a line of JSON; brackets in strings do not count."""
    # From a string on that is never closed, all counts: to look for strings in there would take a search to the end of
    # the line from each mark.
    found = CLOSED.match(line)
    end = found.end() if found else 0
    letters = np.frombuffer(STRING.sub(b"", line[:end]) + line[end:], dtype=np.uint8)
    steps = np.isin(letters, list(OPEN)).astype(np.int32) - np.isin(letters, list(CLOSE))
    level = np.cumsum(steps)
    # Unmatched closing brackets must not offset the opening ones after them.
    return int((level - np.minimum(np.minimum.accumulate(level), 0)).max(initial=0))
