"""What a Parquet file says of its own sizes, page by page, read before Arrow believes it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from offsettree.logs._thrift import BINARY, I32, I64, LIST, STRUCT, EndsEarlyError, Fields, read_struct

MAGIC = b"PAR1"
# Fields of Parquet's own description of a file, a column, a group of rows, a chunk of a column, and a page.
SCHEMA, GROUPS = (2, LIST), (4, LIST)
KIND, LENGTH, NAME, CHILDREN = (1, I32), (2, I32), (4, BINARY), (5, I32)
CHUNKS, ABOUT = (1, LIST), (3, STRUCT)
TYPE, PATH, N_VALUES, DECOMPRESSED, COMPRESSED = (1, I32), (3, LIST), (5, I64), (6, I64), (7, I64)
DATA_BEGIN, DICTIONARY_BEGIN = (9, I64), (11, I64)
PAGE_TYPE, PAGE_DECOMPRESSED, PAGE_COMPRESSED = (1, I32), (2, I32), (3, I32)
DATA, DICTIONARY, DATA_2 = 0, 2, 3  # types of pages
PAGE_ABOUT = {DATA: (5, STRUCT), DICTIONARY: (7, STRUCT), DATA_2: (8, STRUCT)}
N_IN_PAGE, ENCODING = (1, I32), {DATA: (2, I32), DATA_2: (4, I32)}
TEXT, FIXED = 6, 7  # types of values
WIDTHS = {0: 1, 1: 4, 3: 12, 4: 4}  # bytes of a value by its type; all others count as 8, those of texts come on top
DICTIONARY_ENTRY = 16  # bytes of Arrow's room for a value, beside its text
DELTA_LENGTHS, DELTA_TEXTS = 6, 7  # encodings of text that Arrow makes no dictionaries of
FIRST_READ, LARGEST_HEADER = 1 << 9, 1 << 24


@dataclass
class Claims:
    """What some columns of a file take, by its own account."""

    n_bytes: int  # in memory, as far as it is known before texts are written out
    coded: list[str]  # paths of the texts that can be read as they are stored: each once, and a number per row
    row_bytes: int  # the other texts of a row are not longer


@dataclass
class _Column:
    """What was found about a column in all its chunks."""

    n_bytes: int = 0
    is_text: bool = False
    is_coded: bool = True
    longest: int = 0  # no text is longer
    written_out: int = 0  # nor are all together


def claims_of_parquet(file: pa.NativeFile, columns: set[str]) -> Claims:
    """Read what a Parquet file says of itself and of every page; `columns` are top-level names.

    Arrow believes it: a chunk that is described wrongly ends the process, and a page gets the room that it asks for.
    """
    try:
        found = _columns(file, columns)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError("its description has values of other kinds than Parquet's") from error
    others = {path: column for path, column in found.items() if not column.is_coded}
    return Claims(
        # A row has one text of a flat column, and as many as it likes of a nested one.
        sum(column.n_bytes for column in found.values())
        + sum(column.written_out for path, column in others.items() if "." in path),
        [path for path, column in found.items() if column.is_text and column.is_coded],
        sum(column.longest for path, column in others.items() if "." not in path),
    )


def _columns(file: pa.NativeFile, columns: set[str]) -> dict[str, _Column]:
    size = file.size()
    file.seek(max(0, size - 8))
    n_bytes, magic = struct.unpack("<I4s", file.read(8)) if size >= 12 else (0, b"")
    if magic != MAGIC or n_bytes > size - 8:
        raise ValueError("it does not end as a Parquet file does")
    file.seek(size - 8 - n_bytes)
    about, _ = read_struct(bytes(file.read(n_bytes)))
    leaves = _leaves(iter(about.get(SCHEMA, [])))
    found: dict[str, _Column] = {}
    for group in about.get(GROUPS, []):
        chunks = [chunk.get(ABOUT, {}) for chunk in group.get(CHUNKS, [])]
        if [(chunk.get(PATH), chunk.get(TYPE)) for chunk in chunks] != [(path, leaf[KIND]) for path, leaf in leaves]:
            raise ValueError("a group of rows has other columns than the file")
        for (names, leaf), chunk in zip(leaves, chunks, strict=True):
            path = [name.decode() for name in names]
            if path[0] in columns:
                _add_chunk(found.setdefault(".".join(path), _Column()), file, leaf, chunk)
    return found


def _leaves(elements: Iterator[Fields]) -> list[tuple[list[bytes], Fields]]:
    """Return the columns with their paths; a description lists each structure before what is in it."""
    found: list[tuple[list[bytes], Fields]] = []
    open_ones: list[tuple[list[bytes], int]] = [
        ([], next(elements, {}).get(CHILDREN, 0))
    ]  # of the root, without a name
    for element in elements:
        while open_ones and not open_ones[-1][1]:
            open_ones.pop()
        if not open_ones:
            raise ValueError("its description names more columns than it has")
        above, n_left = open_ones[-1]
        open_ones[-1] = above, n_left - 1
        path = [*above, element[NAME]]
        if element.get(CHILDREN):
            open_ones.append((path, element[CHILDREN]))
        elif KIND in element:
            found.append((path, element))
    return found


def _add_chunk(column: _Column, file: pa.NativeFile, leaf: Fields, chunk: Fields) -> None:
    column.is_text = leaf[KIND] == TEXT
    width = max(leaf.get(LENGTH, 0), 1) if leaf[KIND] == FIXED else WIDTHS.get(leaf[KIND], 8)
    place, begin = chunk.get(DATA_BEGIN, 0), chunk.get(DICTIONARY_BEGIN, 0)
    place = begin if 0 < begin < place else place
    end, n_values = place + chunk.get(COMPRESSED, 0), chunk.get(N_VALUES, 0)
    n_bytes, n_seen, dictionary = 0, 0, 0
    while place < end and n_seen < n_values:  # Arrow stops where all values are seen
        page, place = _page_header(file, place)
        kind, size = page.get(PAGE_TYPE, -1), max(page.get(PAGE_COMPRESSED, 0), page.get(PAGE_DECOMPRESSED, 0))
        about = page.get(PAGE_ABOUT.get(kind, (0, 0)), {})
        n = about.get(N_IN_PAGE, 0)
        if min(n, page.get(PAGE_COMPRESSED, -1), page.get(PAGE_DECOMPRESSED, -1)) < 0:
            raise ValueError("a page is smaller than nothing")
        place += page[PAGE_COMPRESSED]
        n_bytes += size
        if kind == DICTIONARY:
            n_bytes += n * max(width, DICTIONARY_ENTRY)
            dictionary = max(dictionary, size)
        elif kind in ENCODING:
            n_seen += n
            _add_texts(column, about.get(ENCODING[kind]), n, size, dictionary)
    column.n_bytes += max(chunk.get(DECOMPRESSED, 0), n_bytes, max(n_values, n_seen) * width)


def _add_texts(column: _Column, encoding: int | None, n_values: int, size: int, dictionary: int) -> None:
    """Count the texts of a page at the longest: each may be any of the dictionary, or begin as the one before it."""
    column.is_coded &= encoding not in (DELTA_LENGTHS, DELTA_TEXTS)
    longest = size if encoding in (DELTA_LENGTHS, DELTA_TEXTS) else max(size, dictionary)
    column.longest = max(column.longest, longest)
    column.written_out += size if encoding == DELTA_LENGTHS else n_values * longest


def _page_header(file: pa.NativeFile, place: int) -> tuple[Fields, int]:
    """Return a page's description of itself, and where the page begins."""
    if not 0 < place < file.size():
        raise ValueError("a page begins beside the file")
    n_bytes = FIRST_READ
    while True:
        file.seek(place)
        data = bytes(file.read(n_bytes))
        try:
            header, length = read_struct(data)
        except EndsEarlyError:
            if len(data) < n_bytes or n_bytes >= LARGEST_HEADER:
                raise
            n_bytes *= 8
        else:
            return header, place + length
