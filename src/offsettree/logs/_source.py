"""The files of a log: one file or a folder of files, possibly compressed or partitioned."""

from __future__ import annotations

import atexit
import codecs
import io
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar
from urllib.parse import unquote
from weakref import WeakSet

import pyarrow as pa

from offsettree._messages import Parameter
from offsettree.exceptions import EmptyLogError, LogError
from offsettree.logs._limits import Limits

COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\x04\x22\x4d\x18": "lz4"}
BLOCK_SIZE = 1 << 22
LONGEST_READ = 5.0  # seconds
TIME_TO_RETURN = 0.25  # likewise, enough on a busy machine; only after files that were left early
MISSING_PARTITION = "__HIVE_DEFAULT_PARTITION__"  # of Hive, Spark and Arrow


@dataclass(frozen=True)
class Source:
    """A file of rows, with the partition values of its folders (``country=fr/part-0.parquet``)."""

    file: Path
    partition: dict[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)

    def __str__(self) -> str:
        return str(self.file)


def find_sources(path: str | os.PathLike[str]) -> list[Source]:
    """Return the files of a path, sorted by name; names that begin with ``.`` or ``_`` are left out."""
    root = Path(path)
    if str(root) == "-" or (root.exists() and not root.is_dir() and not root.is_file()):
        raise LogError(
            f"the log must be a file or a folder; {'-, the standard input,' if str(root) == '-' else root} is a pipe "
            "or a device, which cannot be read twice. Write it to a file first."
        )
    if not root.exists():
        raise LogError(f"the log must be an existing file or folder; {root} does not exist. Check the path.")
    if not root.is_dir():
        if root.stat().st_size == 0:
            raise EmptyLogError(f"a log must have rows; {root} is empty (0 bytes). Was it written to the end?")
        return [Source(root)]
    files = sorted(file for file in root.rglob("*") if file.is_file() and not _is_hidden(file.relative_to(root)))
    files = [file for file in files if file.stat().st_size]
    if not files:
        raise LogError(
            f"the folder of a log must hold files with rows; {root} holds none (names that begin with . or _ and empty "
            "files do not count). Give the folder that the files are in."
        )
    return _typed([Source(file, _partition(file.relative_to(root))) for file in files], root)


def _is_hidden(file: Path) -> bool:
    return any(part.startswith((".", "_")) and "=" not in part for part in file.parts)


def _partition(file: Path) -> dict[str, Any]:
    pairs = [part.split("=", 1) for part in file.parts[:-1] if "=" in part]
    return {unquote(name): None if value == MISSING_PARTITION else unquote(value) for name, value in pairs}


def _typed(sources: list[Source], root: Path) -> list[Source]:
    """Convert partition columns to integers if all their values are."""
    names = list(sources[0].partition)
    for source in sources:
        if list(source.partition) != names:
            raise LogError(
                f"all files of a partitioned folder must have the same partition columns; {sources[0]} has "
                f"{', '.join(names) or 'none'}, {source} has {', '.join(source.partition) or 'none'}. Give only one "
                f"part of {root}, or move the file."
            )
    for name in names:
        values = {source.partition[name] for source in sources} - {None}
        if values and all(re.fullmatch(r"-?\d{1,17}", value) for value in values):
            for source in sources:
                value = source.partition[name]
                source.partition[name] = None if value is None else int(value)
    return sources


def open_stream(source: Source) -> pa.NativeFile:
    """Open a file for reading from its beginning, decompressed according to its first bytes."""
    file = pa.OSFile(os.fsencode(source.file), "rb")
    magic = file.read(4)
    compression = next((name for start, name in COMPRESSED.items() if magic.startswith(start)), None)
    file.seek(0)
    return file if compression is None else pa.PythonFile(_Decompressed(source, file, compression), "r")


class _Decompressed(io.RawIOBase):
    """A decompressed stream that refuses to grow beyond `Limits.max_ratio` times its file."""

    known: ClassVar[WeakSet[_Decompressed]] = WeakSet()

    def __init__(self, source: Source, file: pa.NativeFile, compression: str) -> None:
        self._lock = Lock()
        self._at_end = False
        self.known.add(self)
        self._source = source
        self._size = file.size()
        self._stream = pa.CompressedInputStream(file, compression)
        self._n_bytes = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        with self._lock:
            if self._at_end:
                return b""
            # One byte beyond the limit is enough to tell.
            most = self._source.limits.most_bytes(self._size) - self._n_bytes + 1
            data = bytes(self._stream.read(min(size, most) if size >= 0 else most))
            self._at_end = not data and size != 0
            self._n_bytes += len(data)
            self._source.limits.check_ratio(self._n_bytes, self._size, self._source)
            return data

    def end(self) -> bool:
        """Say from now on that there is no more; whoever is reading is waited for. Tell whether there was more."""
        held = self._lock.acquire(timeout=LONGEST_READ)  # a fork may have left it locked
        was_read, self._at_end = self._at_end, True
        if held:
            self._lock.release()
        return not was_read

    def close(self) -> None:
        self._stream.close()
        super().close()


@atexit.register
def _end_reading_ahead() -> None:
    """Keep Arrow's threads, which read ahead, from calling Python while it ends: the process would be aborted."""
    left_early = [stream for stream in list(_Decompressed.known) if stream.end()]
    if left_early:
        time.sleep(TIME_TO_RETURN)


def read_head(source: Source, n_bytes: int = 1 << 16) -> bytes:
    """Read the first bytes of a file, decompressed."""
    with reading(source), open_stream(source) as stream:
        return bytes(stream.read(n_bytes))


@contextmanager
def reading(source: Source) -> Iterator[None]:
    """Turn errors of decompression or of the disk into a `LogError` that names the file."""
    try:
        yield
    except (OSError, EOFError) as error:
        raise LogError(
            f"{source} cannot be read to its end: {error}. Was it cut off in a copy or a download? Copy it again."
        ) from error


def line_blocks(source: Source, encoding: str = "utf-8") -> Iterator[bytes]:
    """Read a text file in blocks of whole lines, converted to UTF-8."""
    limits, rest = source.limits, b""
    recode = _recoder(source, encoding)
    with reading(source), open_stream(source) as stream:
        while piece := bytes(stream.read(min(BLOCK_SIZE, limits.line_bytes))):
            piece = recode(piece, False)
            cut = piece.rfind(b"\n") + 1
            if not cut:
                rest += piece
                limits.check_line(len(rest), source)
                continue
            yield rest + piece[:cut]
            rest = piece[cut:]
    if rest := rest + recode(b"", True):
        yield rest


def _recoder(source: Source, encoding: str) -> Callable[[bytes, bool], bytes]:
    """Return a function that converts the bytes of a file to UTF-8, piece by piece."""
    if encoding.lower() in ("utf-8", "utf8"):
        return lambda piece, last: piece
    decoder = codecs.getincrementaldecoder(encoding)()

    def recode(piece: bytes, last: bool) -> bytes:
        try:
            return decoder.decode(piece, last).encode()
        except UnicodeError as error:
            raise LogError(
                f"text must be {encoding}; {source} is not ({error}). Pass the file's encoding: ",
                Parameter("encoding", "latin-1"),
                " reads any file.",
            ) from error

    return recode
