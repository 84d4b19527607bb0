"""The files of a log, wherever they are, and how a worker reads one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._optional import require
from offsettree.exceptions import EmptyLogError, LogError, OffsetTreeError
from offsettree.logs import LoggedData, LogScan

__all__ = ["Columns", "LogPart", "Split", "chunks_of", "find_files"]


STEP = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Split:
    """Which rows are held out, by a hash of their place in the files: the same whoever reads them, however."""

    share: float  # of rows held out, about
    seed: int
    held_out: bool  # whether these rows are wanted, or all others

    def wanted(self, file: int, first: int, n_rows: int) -> NDArray[np.bool_]:
        """Tell which rows of a file are wanted, from one on."""
        with np.errstate(over="ignore"):
            place = np.uint64(self.seed) * STEP + (np.uint64(file) << np.uint64(40))
            mixed = place + np.arange(first + 1, first + n_rows + 1, dtype=np.uint64) * STEP
            mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
        is_out = mixed < np.uint64(self.share * 2.0**64)
        return np.asarray(is_out if self.held_out else ~is_out)


@dataclass(frozen=True)
class Columns:
    """Which columns of the files are what, and how others become numbers; as `LoggedData.scan` takes them."""

    roles: dict[str, Any]
    encoder: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    split: Split | None = None  # which rows are wanted, if not all


@dataclass(frozen=True)
class LogPart:
    """One file of a log."""

    path: str
    size: int
    changed: str
    number: int = 0  # among the files of the log

    @contextmanager
    def opened(self, columns: Columns) -> Iterator[LogScan]:
        """Give the file, to be read in chunks; one that is elsewhere is copied here for the time. Errors name it."""
        try:
            with self._here() as path:
                yield LoggedData.scan(path, encoder=columns.encoder, **columns.roles, **columns.options)
        except OffsetTreeError as error:
            raise type(error)(f"{self.path}: {error}") from error
        except (OSError, ValueError) as error:
            if type(error).__module__.partition(".")[0] not in ("builtins", "pyarrow"):
                raise
            raise LogError(f"{self.path} must be a log that can be read; {type(error).__name__}: {error}.") from error

    def chunks(self, scan: LogScan, split: Split | None) -> Iterator[LoggedData]:
        """Yield the chunks of the opened file, of each the rows that are wanted."""
        first = 0
        for chunk in scan:
            if split is None:
                yield chunk
                continue
            wanted = split.wanted(self.number, first, len(chunk))
            first += len(chunk)
            if wanted.any():
                yield chunk[wanted]

    @contextmanager
    def _here(self) -> Iterator[Path]:
        if "://" not in self.path:
            yield Path(self.path)
            return
        fs, place = require("fsspec", extra="dask").core.url_to_fs(self.path)
        with tempfile.TemporaryDirectory(prefix="offsettree-") as folder:
            local = Path(folder) / Path(place).name
            fs.get_file(place, str(local))
            yield local


def chunks_of(files: Sequence[LogPart], columns: Columns) -> Iterator[LoggedData]:
    """Yield the chunks of all files, one after the other; a file without rows has none."""
    for part in files:
        with suppress(EmptyLogError), part.opened(columns) as scan:
            yield from part.chunks(scan, columns.split)


def find_files(given: Any) -> list[LogPart]:
    """Find the files of a log, in the order of their names: a pattern, a folder, a file, or a list of such."""
    several = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    found = [part for each in several for part in _find(each)]
    return [replace(part, number=number) for number, part in enumerate(found)]


def _find(given: Any) -> list[LogPart]:
    found = _remote(str(given)) if "://" in str(given) else _local(Path(given))
    if not found:
        raise LogError(f"the log must have at least one file; there is none at {given}. Check the pattern.")
    return found


def _local(path: Path) -> list[LogPart]:
    if any(sign in str(path) for sign in "*?["):
        root = Path(path.anchor) if path.is_absolute() else Path()
        paths = sorted(root.glob(str(path.relative_to(path.anchor) if path.is_absolute() else path)))
    elif path.is_dir():
        paths = sorted(path.iterdir())
    else:
        paths = [path] if path.exists() else []
    files = [each for each in paths if each.is_file() and not each.name.startswith((".", "_"))]
    return [LogPart(str(each.resolve()), each.stat().st_size, str(each.stat().st_mtime_ns)) for each in files]


def _remote(url: str) -> list[LogPart]:
    fs, place = require("fsspec", extra="dask").core.url_to_fs(url)
    try:
        if any(sign in place for sign in "*?["):
            places = sorted(fs.glob(place))
        else:
            places = sorted(fs.ls(place, detail=False)) if fs.isdir(place) else [place] if fs.exists(place) else []
    except OSError as error:
        raise LogError(f"the log must be at an address that can be read; {url} is not ({error}).") from error
    infos = [(fs.unstrip_protocol(each), fs.info(each)) for each in places]
    changed = ("ETag", "mtime", "LastModified", "created")
    return [
        LogPart(where, int(info["size"] or 0), str(next((info[name] for name in changed if name in info), "")))
        for where, info in infos
        if info["type"] == "file"
    ]
