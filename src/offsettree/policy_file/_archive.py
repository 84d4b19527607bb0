"""The file itself: a zip of a manifest and plain arrays, none of them compressed, every byte under a checksum."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree.exceptions import PolicyFileError
from offsettree.policy_file._json import read_json

MANIFEST = "manifest.json"
LARGEST_MANIFEST = 1 << 28
MOST_MEMBERS = 100_000
LONGEST_HEADER = 1 << 12  # bytes of a .npy file before its numbers: 128 where numpy writes it
NAME = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*\.(npy|skops|pickle)\Z")
# The only kinds of numbers that there are; little-endian, so that a file is the same on every machine.
DTYPES = ("|b1", "|i1", "|u1", "<i4", "<i8", "<u4", "<u8", "<f4", "<f8")
SEAL = re.compile(rb"sha256=([0-9a-f]{64})\Z")
END_OF_ZIP = 22  # bytes of the record at the end of a zip, before its comment
CHUNK = 1 << 20


class Archive(NamedTuple):
    """A file that was read: the manifest, arrays by name, and what was written by other means as bytes."""

    manifest: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    others: dict[str, bytes]


def write_archive(
    path: Path, manifest: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], others: Mapping[str, bytes]
) -> None:
    """Write a file, whole or not at all: beside its place first, then put there in one step."""
    members: dict[str, dict[str, Any]] = {}
    with replacing(path) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, array in arrays.items():
                data, kind = _as_npy(name, array)
                members[f"{name}.npy"] = {**kind, "sha256": hashlib.sha256(data).hexdigest()}
                archive.writestr(zipfile.ZipInfo(f"{name}.npy"), data)  # of 1980: the same policy gives the same file
            for name, data in others.items():
                members[name] = {"sha256": hashlib.sha256(data).hexdigest()}
                archive.writestr(zipfile.ZipInfo(name), data)
            text = json.dumps({**manifest, "members": members}, indent=1, allow_nan=False).encode()
            archive.writestr(zipfile.ZipInfo(MANIFEST), text)
            archive.comment = b"sha256=" + b"0" * 64
        _seal(file)


def read_archive(path: Path, max_bytes: int) -> Archive:
    """Read and check a file; nothing in it is trusted, nor read before its size is known."""
    try:
        with _open_file(path, max_bytes) as file:
            size = os.fstat(file.fileno()).st_size
            start = file.read(4)
            if start != b"PK\x03\x04":
                kind = "a pickle" if start[:1] == b"\x80" else "something else"
                raise PolicyFileError(  # noqa: TRY301 - of a kind of its own
                    f"{path} is not a policy file but {kind if start else 'empty'}: such a file is a zip, as "
                    "offsettree.save writes it. Nothing in it was run."
                )
            with zipfile.ZipFile(file) as archive:
                seal = SEAL.match(archive.comment)
                if seal is None:
                    raise PolicyFileError(  # noqa: TRY301 - of a kind of its own
                        f"{path} holds no policy: it is a zip file, but not one that offsettree.save has written."
                    )
                if _digest(file, size - 64) != seal[1].decode():
                    raise PolicyFileError(  # noqa: TRY301
                        f"{path} is damaged: its checksum differs, so that some of its bytes are not those written. "
                        "Get the file again, or save the policy again."
                    )
                return _read_members(path, archive, size)
    except PolicyFileError:
        raise
    except zipfile.BadZipFile as error:
        raise PolicyFileError(
            f"{path} is damaged or was cut off ({error}). Get the file again, or save the policy again."
        ) from error
    except (EOFError, NotImplementedError, RuntimeError, UnicodeDecodeError, ValueError) as error:
        raise PolicyFileError(f"{path} is damaged: {error}. Get the file again, or save the policy again.") from error


def _open_file(path: Path, max_bytes: int) -> IO[bytes]:
    """Open a file of a size; a pipe, of which nobody may ever write the other end, is refused and not waited for."""
    at_once = getattr(os, "O_NONBLOCK", 0)
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | at_once))  # noqa: SIM115 - by the caller
    found = os.fstat(file.fileno())
    if stat.S_ISREG(found.st_mode) and found.st_size <= max_bytes:
        return file
    file.close()
    if stat.S_ISREG(found.st_mode):
        raise PolicyFileError(
            f"{path} must not be larger than max_bytes={max_bytes:,}; it has {found.st_size:,}. If you expect a policy "
            "of that size, raise max_bytes."
        )
    raise PolicyFileError(
        f"{path} must be a file; it is a pipe or a device, which cannot be read from its end. Write it to a file first."
    )


def _read_members(path: Path, archive: zipfile.ZipFile, size: int) -> Archive:
    entries = _check_entries(path, archive, size)
    manifest = read_json(archive.read(entries.pop(MANIFEST)), f"{path}: {MANIFEST}")
    members = manifest.get("members") if isinstance(manifest, dict) else None
    if not isinstance(members, dict):
        raise PolicyFileError(f"{path} holds no policy: its {MANIFEST} must name its members.")
    if set(members) != set(entries):
        odd = sorted(set(members) ^ set(entries))[0]
        raise PolicyFileError(
            f"{path}: what is in the file must be what the manifest names; {odd!r} is in one of them only. Get the "
            "file again, or save the policy again."
        )
    arrays, others = {}, {}
    for name, entry in entries.items():
        promised = members[name]
        where = f"{path}: {name}"
        if not isinstance(promised, dict):
            raise PolicyFileError(f"{where} must be described in the manifest; got {promised!r:.80}.")
        if name.endswith(".npy"):
            shape = _check_promise(where, promised, entry.file_size)
            data = archive.read(entry)
            arrays[name[: -len(".npy")]] = _as_array(where, data, np.dtype(promised["dtype"]), shape)
        else:
            others[name] = data = archive.read(entry)
        if hashlib.sha256(data).hexdigest() != promised.get("sha256"):
            raise PolicyFileError(f"{where} is not what was written: its checksum differs. Get the file again.")
    return Archive(manifest, arrays, others)


def _check_entries(path: Path, archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name, once their names and sizes are those of a policy file."""
    entries: dict[str, zipfile.ZipInfo] = {}
    infos = archive.infolist()
    if len(infos) > MOST_MEMBERS:
        raise PolicyFileError(f"{path} must not have more than {MOST_MEMBERS:,} members; it has {len(infos):,}.")
    end = 0
    for info in sorted(infos, key=lambda entry: entry.header_offset):
        if info.filename != MANIFEST and not NAME.match(info.filename):
            raise PolicyFileError(
                f"{path} holds no policy: {info.filename!r:.80} must not be in it. A policy file has a {MANIFEST} and "
                "arrays (.npy), and no folders."
            )
        if info.filename in entries:
            raise PolicyFileError(f"{path}: {info.filename!r} must be there once; it is there twice.")
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size or info.flag_bits & 0x1:
            raise PolicyFileError(
                f"{path}: members must be stored as they are, neither compressed nor encrypted; {info.filename!r} "
                f"would unfold from {info.compress_size:,} to {info.file_size:,} bytes. Save the policy again."
            )
        if info.header_offset < end:
            raise PolicyFileError(f"{path}: members must not overlap; {info.filename!r} does.")
        end = info.header_offset + info.file_size
        entries[info.filename] = info
    if end > size:
        raise PolicyFileError(f"{path} is shorter than its members: it was cut off. Get the file again.")
    if MANIFEST not in entries:
        raise PolicyFileError(f"{path} holds no policy: there is no {MANIFEST} in it.")
    if entries[MANIFEST].file_size > LARGEST_MANIFEST:
        raise PolicyFileError(f"{path}: {MANIFEST} must not have more than {LARGEST_MANIFEST:,} bytes.")
    return entries


def _check_promise(where: str, promised: dict[str, Any], n_bytes: int) -> tuple[int, ...]:
    """Return the shape that the manifest promises, if the size of the member agrees with it."""
    dtype, shape = promised.get("dtype"), promised.get("shape")
    if dtype not in DTYPES:
        raise PolicyFileError(
            f"{where} must hold plain numbers ({', '.join(DTYPES)}); the manifest says {dtype!r:.80}."
        )
    if not isinstance(shape, list) or len(shape) > 3 or any(type(n) is not int or not 0 <= n < 1 << 48 for n in shape):
        raise PolicyFileError(f"{where} must have a shape of up to three whole numbers; got {shape!r:.80}.")
    n_numbers = 1
    for n in shape:
        n_numbers *= n
    rest = n_bytes - n_numbers * np.dtype(dtype).itemsize
    if not 0 < rest <= LONGEST_HEADER:
        raise PolicyFileError(
            f"{where} must have as many bytes as {n_numbers:,} numbers of type {dtype} take; it has {n_bytes:,}."
        )
    return tuple(shape)


def _as_array(where: str, data: bytes, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Read the numbers of a .npy file whose header says what the manifest says, by numpy's own reader of headers."""
    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        found = np.lib.format.read_array_header_1_0(file, max_header_size=LONGEST_HEADER)
    except Exception as error:  # its header is a Python expression, and may be wrong in any way
        raise PolicyFileError(f"{where} is no .npy file: {error}") from error
    if version != (1, 0) or found != (shape, False, dtype):
        raise PolicyFileError(
            f"{where} must be a .npy file of version 1.0, of type {dtype.str} and shape {shape}; its header differs."
        )
    n_bytes = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if len(data) - file.tell() != n_bytes:
        raise PolicyFileError(f"{where} must have {n_bytes:,} bytes of numbers; it has {len(data) - file.tell():,}.")
    if dtype == np.bool_ and max(data[file.tell() :], default=0) > 1:
        raise PolicyFileError(f"{where} must hold true or false, bytes of 0 or 1; there are others.")
    # A copy: kernels are compiled, and kept on disk, for arrays that are aligned and may be written to.
    return np.frombuffer(data, dtype=dtype, offset=file.tell()).reshape(shape).astype(dtype.newbyteorder("="))


def _as_npy(name: str, array: NDArray[Any]) -> tuple[bytes, dict[str, Any]]:
    """Return an array as a .npy file, and what the manifest says of it."""
    array = np.ascontiguousarray(array)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype.str not in DTYPES:
        raise TypeError(f"{name} cannot be written: {array.dtype}")
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)
    return file.getvalue(), {"dtype": array.dtype.str, "shape": list(array.shape)}


def _seal(file: IO[bytes]) -> None:
    """Write over the comment at the end the checksum of all that stands before it."""
    file.seek(-64, os.SEEK_END)
    end = file.tell()
    digest = _digest(file, end)
    file.seek(end)
    file.write(digest.encode())


def _digest(file: IO[bytes], end: int) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while end > 0 and (data := file.read(min(CHUNK, end))):
        digest.update(data)
        end -= len(data)
    return digest.hexdigest()


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of another once all is written; whatever stops that, no trace is left."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        try:
            mode = path.stat().st_mode & 0o777
        except OSError:  # a new file: as of one that `open` makes
            mask = os.umask(0)
            os.umask(mask)
            mode = 0o666 & ~mask
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
