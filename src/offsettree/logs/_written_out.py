"""How large columnar files become in memory, told before it happens: compression and dictionaries hide sizes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsettree.exceptions import LogError

RECORDS, DICTIONARY = 3, 2  # kinds of messages in Arrow's format
BLOCK = 24  # bytes: where a message begins, the length of its description, that of its body
MAGIC = b"ARROW1"
MOST_COUNTED = 1e18  # lists of lists that share their entries multiply beyond all numbers


def written_out_bytes(batch: pa.RecordBatch) -> int:
    """Return the size of a batch once dictionaries and views are written out as plain text; at least a byte a cell."""
    return sum(max(_array_bytes(column), len(column)) for column in batch.columns)


def check_types(schema: pa.Schema, where: object) -> None:
    """Refuse types whose values may share what they are made of in more ways than are counted here."""
    for field in schema:
        if not _is_counted(field.type):
            raise LogError(
                f"columns must hold numbers, text, dates, or lists and structures of them; {field.name!r} of {where} "
                f"is of type {_stored(field.type)}. Write it in a plain type, or without that column."
            )


def _is_counted(kind: pa.DataType) -> bool:
    kind = _stored(kind)
    if pa.types.is_union(kind) or pa.types.is_run_end_encoded(kind):
        return False
    if pa.types.is_dictionary(kind):
        return (
            not pa.types.is_dictionary(kind.value_type)
            and not isinstance(kind.value_type, pa.BaseExtensionType)
            and not kind.value_type.num_fields
            and _is_counted(kind.value_type)
        )
    return all(_is_counted(kind.field(place).type) for place in range(kind.num_fields))


def _stored(kind: pa.DataType) -> pa.DataType:
    """Return what a type of an application's own is made of; other types as they are."""
    return _stored(kind.storage_type) if isinstance(kind, pa.BaseExtensionType) else kind


def _array_bytes(array: Any) -> int:
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _array_bytes(array.storage)
    if pa.types.is_dictionary(kind):
        length = _text_lengths(array.dictionary)
        if length is None:
            return _width(kind.value_type) * len(array)
        code = array.indices.drop_null().to_numpy(zero_copy_only=False)
        # Arrow makes room for what is missing, as for the others.
        return int(length[code].sum() + array.null_count * length.sum() // max(1, len(length)))
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return int(_text_lengths(array).sum())
    if pa.types.is_struct(kind):
        return sum(_array_bytes(array.field(place)) for place in range(kind.num_fields))
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):  # lists that may share their entries
        return int(_entry_bytes(array).sum())
    if pa.types.is_map(kind) and _has_codes(kind):
        begin, end = (array.offsets[place].as_py() for place in (0, -1))
        return sum(_array_bytes(part[begin:end]) for part in (array.keys, array.items))
    if _is_list(kind) and _has_codes(kind):
        return _array_bytes(array.flatten())
    return int(array.nbytes)


def _entry_bytes(array: Any) -> Any:
    """Return the bytes of each entry of an array once it is written out, at least one."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _entry_bytes(array.storage)
    if pa.types.is_dictionary(kind) and (length := _text_lengths(array.dictionary)) is not None:
        code = array.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return 1 + (length[code] if len(length) else np.zeros(len(code), dtype=np.int64))
    if (length := None if pa.types.is_dictionary(kind) else _text_lengths(array)) is not None:
        return 1 + length
    if pa.types.is_struct(kind):
        return sum(
            (_entry_bytes(array.field(place)) for place in range(kind.num_fields)), np.ones(len(array), np.int64)
        )
    if pa.types.is_fixed_size_list(kind):
        begin = (array.offset + np.arange(len(array))) * kind.list_size
        return 1 + _between(array.values, begin, begin + kind.list_size)
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        begin = np.asarray(array.offsets).astype(np.int64)
        return 1 + _between(array.values, begin, begin + np.asarray(array.sizes).astype(np.int64))
    if _is_list(kind):
        ends = np.asarray(array.offsets).astype(np.int64)
        parts = (array.keys, array.items) if pa.types.is_map(kind) else (array.values,)
        return sum((_between(part, ends[:-1], ends[1:]) for part in parts), np.ones(len(array), np.int64))
    width = _width(kind.value_type if pa.types.is_dictionary(kind) else kind)
    return np.full(len(array), width, dtype=np.int64)


def _between(values: Any, begin: Any, end: Any) -> Any:
    """Return the bytes of the entries between two places, for each pair of places."""
    before = np.concatenate([[0.0], np.cumsum(_entry_bytes(values), dtype=np.float64)])
    return np.minimum(before[end] - before[begin], MOST_COUNTED)


def _width(kind: pa.DataType) -> int:
    """Return the bytes of a value of a fixed size, as far as Arrow knows it; at least eight."""
    return max(8, kind.byte_width) if pa.types.is_fixed_size_binary(kind) or pa.types.is_decimal(kind) else 8


def _is_list(kind: pa.DataType) -> bool:
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list, pa.types.is_map)
    return any(test(kind) for test in tests)


def _has_codes(kind: pa.DataType) -> bool:
    """Tell lists of texts that are stored once, or of structures with such texts, or lists that may share entries."""
    kind = _stored(kind)
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        return True
    if _is_list(kind) or pa.types.is_struct(kind):
        return any(_has_codes(kind.field(place).type) for place in range(kind.num_fields))
    return bool(pa.types.is_dictionary(kind) or pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _text_lengths(values: Any) -> Any:
    """Return the bytes of each text; None where values are of a fixed size."""
    kind = values.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        views = values.buffers()[1]
        if views is None:
            return np.zeros(len(values), dtype=np.int64)
        start = 4 * values.offset
        return np.frombuffer(views, dtype=np.int32)[start : start + 4 * len(values) : 4].astype(np.int64)
    if not any(
        test(kind)
        for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    ):
        return None
    return pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False).astype(np.int64)


def claimed_by_arrow_file(file: pa.NativeFile) -> int:
    """Return what the batches of an Arrow file take in memory, by their own account; nothing is decompressed."""
    size = file.size()
    file.seek(size - 10)
    n_bytes = struct.unpack("<i", file.read(4))[0]
    if file.read(6) != MAGIC or not 0 < n_bytes <= size - 10:
        raise ValueError("it does not end as an Arrow file does")
    file.seek(size - 10 - n_bytes)
    footer = _Table.root(bytes(file.read(n_bytes)))
    total = 0
    for field in (2, 3):  # dictionaries, batches
        for block in footer.entries(field, BLOCK):
            begin, n_description, n_body = struct.unpack("<qi4xq", block)
            if begin < 0 or n_description < 0 or n_body < 0:
                raise ValueError("a batch begins before the file")
            file.seek(begin)
            total += _claimed(pa.ipc.read_message(file))
    return total


def claimed_by_arrow_stream(stream: pa.NativeFile) -> int:
    """Return what the batches of a stream take in memory, by their own account; it is read to its end."""
    return sum(map(_claimed, _messages(stream)))


def _messages(stream: pa.NativeFile) -> Iterator[pa.Message]:
    reader = pa.ipc.MessageReader.open_stream(stream)
    while True:
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def _claimed(message: pa.Message) -> int:
    """Return the size of a message's body once it is decompressed."""
    body, table = message.body, _Table.root(message.metadata.to_pybytes())
    kind, header = table.byte(1), table.table(2)
    if kind == DICTIONARY and header is not None:
        header = header.table(1)
    if kind not in (RECORDS, DICTIONARY) or header is None or body is None or header.table(3) is None:
        return 0 if body is None else int(body.size)
    total = 0
    for buffer in header.entries(2, 16):
        begin, length = struct.unpack("<qq", buffer)
        if length < 8:
            continue
        if not 0 <= begin <= body.size - 8:
            raise ValueError("a column begins beside its batch")
        size = struct.unpack("<q", body.slice(begin, 8).to_pybytes())[0]
        total += size if size >= 0 else length
    return total


class _Table:
    """A table in the format of flatbuffers, in which Arrow describes its messages."""

    def __init__(self, data: bytes, place: int) -> None:
        self._data, self._place = data, place

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, _number("<I", data, 0))

    def _field(self, which: int) -> int | None:
        """Return where a field begins, if the table has it."""
        about = self._place - _number("<i", self._data, self._place)
        if 4 + 2 * which >= _number("<H", self._data, about):
            return None
        offset = _number("<H", self._data, about + 4 + 2 * which)
        return self._place + offset if offset else None

    def byte(self, which: int) -> int:
        place = self._field(which)
        return 0 if place is None else _number("<B", self._data, place)

    def table(self, which: int) -> _Table | None:
        place = self._field(which)
        return None if place is None else _Table(self._data, place + _number("<I", self._data, place))

    def entries(self, which: int, size: int) -> list[bytes]:
        """Return the entries of a list, each of so many bytes."""
        place = self._field(which)
        if place is None:
            return []
        begin = place + _number("<I", self._data, place)
        n = _number("<I", self._data, begin)
        if begin + 4 + n * size > len(self._data):
            raise ValueError("a list in its description is longer than the description")
        return [self._data[begin + 4 + i * size : begin + 4 + (i + 1) * size] for i in range(n)]


def _number(form: str, data: bytes, place: int) -> int:
    if not 0 <= place <= len(data) - struct.calcsize(form):
        raise ValueError("its description points outside of itself")
    number: int = struct.unpack_from(form, data, place)[0]
    return number
