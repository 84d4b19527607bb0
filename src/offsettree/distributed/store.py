"""A shared store of blobs: a folder that all workers see, or any place that fsspec knows."""

from __future__ import annotations

import errno
import os
import pickle
import shutil
import uuid
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

from offsettree._optional import require
from offsettree.exceptions import ScratchError

__all__ = ["Blob", "Store"]

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Blob(NamedTuple):
    """Something in the store: its name, which no other ever has, and its size."""

    name: str
    size: int


@dataclass(frozen=True)
class Store:
    """Blobs under one address. A name is used once, so that nothing is ever renamed, replaced or locked.

    Parameters
    ----------
    url : str
        A folder, or an address of fsspec such as ``s3://bucket/folder``. It is made when it is first written to.
    """

    url: str

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of a mounted file system."""
        return "://" not in self.url

    @cached_property
    def _folder(self) -> Path:
        return Path(self.url)

    @cached_property
    def _fs(self) -> Any:
        fsspec = require("fsspec", extra="dask")
        return fsspec.core.url_to_fs(self.url)[0]

    def __getstate__(self) -> dict[str, Any]:
        return {"url": self.url}

    def part(self, name: str) -> Store:
        """Return a store within this one."""
        return Store(f"{self.url.rstrip('/')}/{name}")

    @contextmanager
    def create(self, kind: str) -> Iterator[Any]:
        """Write a blob of a new name, ``file.name``; what fails leaves nothing."""
        name = f"{kind}-{uuid.uuid4().hex}"
        try:
            if self.is_local:
                (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
                file: Any = FileIO(self._folder / name, "xb")
            else:
                file = self._open_new(f"{self.url}/{name}")
        except OSError as error:
            raise self._cannot("write", error) from error
        writing = _Writing(file, name)
        try:
            yield writing
            writing.close()
        except BaseException as error:
            with suppress(Exception):
                file.discard() if hasattr(file, "discard") else file.close()
            with suppress(Exception):
                self.remove(name)
            if isinstance(error, OSError) and not isinstance(error, ScratchError):
                raise self._cannot("write", error) from error
            raise

    def _open_new(self, place: str) -> Any:
        try:
            return self._fs.open(place, "wb")
        except FileNotFoundError:  # only some stores have folders
            self._fs.makedirs(place.rpartition("/")[0], exist_ok=True)
            return self._fs.open(place, "wb")

    def open(self, name: str) -> Any:
        """Open a blob to read from any place of it."""
        try:
            if self.is_local:
                return FileIO(self._folder / name)
            return self._fs.open(f"{self.url}/{name}", "rb", cache_type="none")
        except FileNotFoundError as error:
            raise self.lost(name) from error
        except OSError as error:
            raise self._cannot("read", error) from error

    def put(self, kind: str, value: Any) -> Blob:
        """Write an object, the arrays in it as they are in memory."""
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        raw = [buffer.raw() for buffer in buffers]
        sizes = pickle.dumps([len(head), *(len(part) for part in raw)])
        with self.create(kind) as file:
            file.write(len(sizes).to_bytes(8, "little"))
            for part in (sizes, head, *raw):
                file.write(part)
            return Blob(file.name, file.n_written)

    def get(self, blob: Blob) -> Any:
        """Read an object."""
        with self.open(blob.name) as file:
            n_sizes = int.from_bytes(self._read(file, blob, 8), "little")
            if n_sizes > blob.size:
                raise self.lost(blob.name)
            head, *parts = pickle.loads(self._read(file, blob, n_sizes))  # noqa: S301 - written by our own workers
            text = self._read(file, blob, head)
            return pickle.loads(text, buffers=[self._read(file, blob, size) for size in parts])  # noqa: S301

    def _read(self, file: Any, blob: Blob, size: int) -> bytearray:
        data = bytearray(size)
        left = memoryview(data)
        while left:
            n_read = file.readinto(left)
            if not n_read:
                raise self.lost(blob.name)
            left = left[n_read:]
        return data

    def record(self, key: str, value: Any) -> None:
        """Note the result of a task, under a name of its own."""
        text = pickle.dumps(value)
        with self.create(f"done/{key}") as file:
            file.write(zlib.crc32(text).to_bytes(4, "little") + text)

    def recorded(self) -> dict[str, list[str]]:
        """Return the names of all records by key."""
        found: dict[str, list[str]] = {}
        try:
            if self.is_local:
                names = [path.name for path in (self._folder / "done").glob("*")]
            else:
                places = self._fs.ls(f"{self.url}/done", detail=False)
                names = [str(place).rstrip("/").rpartition("/")[2] for place in places]
        except FileNotFoundError:
            return found
        for name in sorted(names):
            found.setdefault(name.rpartition("-")[0], []).append(f"done/{name}")
        return found

    def read_record(self, name: str) -> Any:
        """Return a recorded result; None where it was not written to its end."""
        with self.open(name) as file:
            data = file.read()
        if len(data) < 4 or zlib.crc32(data[4:]) != int.from_bytes(data[:4], "little"):
            return None
        return pickle.loads(data[4:])  # noqa: S301 - written by our own workers

    def has(self, blob: Blob) -> bool:
        """Tell whether a blob is there in its full size."""
        try:
            if self.is_local:
                return (self._folder / blob.name).stat().st_size == blob.size
            return int(self._fs.size(f"{self.url}/{blob.name}")) == blob.size
        except (FileNotFoundError, OSError):
            return False

    def remove(self, name: str) -> None:
        """Remove a blob."""
        if self.is_local:
            (self._folder / name).unlink(missing_ok=True)
        else:
            self._fs.rm(f"{self.url}/{name}")

    def discard(self, results: Iterable[Any]) -> None:
        """Remove those of some results that are blobs and still there."""
        for result in results:
            if isinstance(result, Blob):
                with suppress(FileNotFoundError):
                    self.remove(result.name)

    @contextmanager
    def discarding(self, results: Iterable[Any]) -> Iterator[None]:
        """Remove blobs if what comes after them fails: nobody would ever find them."""
        try:
            yield
        except BaseException:
            with suppress(Exception):
                self.discard(results)
            raise

    def clear(self) -> None:
        """Remove everything."""
        with suppress(FileNotFoundError):
            if self.is_local:
                shutil.rmtree(self._folder, ignore_errors=True)
            else:
                self._fs.rm(self.url, recursive=True)

    def check_owner(self) -> None:
        """Refuse a folder that somebody else has made here beforehand: what is read from it is unpickled."""
        if not self.is_local or not hasattr(os, "getuid"):
            return
        # Where a mount shows all files as one user's, the folder above is that user's, too.
        if self._folder.stat().st_uid not in (os.getuid(), self._folder.parent.stat().st_uid):
            raise ScratchError(
                f"storage must hold nothing of other users, as objects in it are unpickled, which can run code; "
                f"{self.url} belongs to one. Give a folder of your own."
            )

    def needs_room(self, n_bytes: int) -> None:
        """Refuse to begin to write what a mounted disk has no room for."""
        if not self.is_local:
            return
        free = shutil.disk_usage(self._folder if self._folder.exists() else self._folder.parent).free
        if n_bytes > free:
            raise ScratchError(
                f"storage must have room for the rows of the log; {self.url} needs {n_bytes / 1e6:,.0f} MB more for "
                f"the next ones, and there are {free / 1e6:,.0f} MB. Free some, and run again: it goes on from here."
            )

    def lost(self, name: str) -> ScratchError:
        """Return the error of a blob that is gone or too short."""
        return ScratchError(
            f"storage must keep what was written to it; {self.url}/{name} is gone or cut short. Run again: what is "
            "lost is made anew, from what is left."
        )

    def _cannot(self, what: str, error: OSError) -> ScratchError:
        if error.errno in FULL:
            return ScratchError(
                f"storage must have room; {self.url} is full. Free some, and run again: it goes on from here."
            )
        return ScratchError(
            f"storage must be a folder or an address of fsspec that all workers can {what}; {self.url} is not "
            f"({error.strerror or error}). Check rights and credentials."
        )


class _Writing:
    """A blob that is being written."""

    def __init__(self, file: Any, name: str) -> None:
        self._file, self.name = file, name
        self.n_written = 0

    def write(self, data: Any) -> int:
        left = memoryview(data).cast("B")
        while left:  # one call may write a part only
            n_written = self._file.write(left)
            self.n_written += n_written
            left = left[n_written:]
        return memoryview(data).nbytes

    def close(self) -> None:
        self._file.close()
