"""How much a file may ask for: a small one must neither fill the memory nor run out of stack."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from offsettree.exceptions import LogError, ParameterError

__all__ = ["Limits"]

LINE_BYTES = 1 << 24
FREE_BYTES = 1 << 26  # that any file may become, however small it is
STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
OPEN, CLOSE = b"[{", b"]}"


@dataclass(frozen=True)
class Limits:
    """What is read of a file at most; whoever knows the file may raise them.

    Attributes
    ----------
    max_line_bytes : int, optional
        The longest line of text, about. By default 16 MiB, and 1 MiB in CSV.
    max_nesting : int
        How deep JSON may nest; the object of a line is the first level.
    max_ratio : float
        How many times as large as its file a log may become when it is decompressed, or written out as a table; the
        first 64 MiB are free.
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
        """Refuse a line that does not end."""
        if n_bytes > self.line_bytes:
            raise LogError(
                f"a line must not be longer than {self.line_bytes:,} bytes; {where} has one of {n_bytes:,} or more. Is "
                "it one line for all rows? If you know the file, raise the limit: max_line_bytes=..."
            )

    def check_ratio(self, n_bytes: int, file_bytes: int, where: object) -> None:
        """Refuse a file that becomes far larger than it is."""
        if n_bytes > FREE_BYTES and n_bytes > self.max_ratio * file_bytes:
            raise LogError(
                f"a log must not become more than {self.max_ratio:g} times as large as its file; {where} has "
                f"{file_bytes:,} bytes, and becomes {n_bytes:,} or more. If you know the file, raise the limit: "
                "max_ratio=..."
            )

    def check_nesting(self, block: bytes, n_lines: int, where: object, first_row: int) -> None:
        """Refuse lines of JSON that nest too deep, before any parser, which calls itself for each level, sees them."""
        if block.count(OPEN[:1]) + block.count(OPEN[1:]) < n_lines + self.max_nesting:
            return
        for row, line in enumerate(filter(bytes.strip, block.split(b"\n")), start=first_row):
            if line.count(OPEN[:1]) + line.count(OPEN[1:]) > self.max_nesting and _depth(line) > self.max_nesting:
                raise LogError(
                    f"JSON must not nest more than {self.max_nesting} deep; row {row} of {where} does. If you know the "
                    "file, raise the limit: max_nesting=..."
                )


def _depth(line: bytes) -> int:
    """Return how deep a line of JSON nests; brackets in text do not count."""
    letters = np.frombuffer(STRING.sub(b"", line), dtype=np.uint8)
    steps = np.isin(letters, list(OPEN)).astype(np.int32) - np.isin(letters, list(CLOSE))
    level = np.cumsum(steps)
    # Of what closes before it was opened no parser gets further: it must not hide what opens after it.
    return int((level - np.minimum(np.minimum.accumulate(level), 0)).max(initial=0))
