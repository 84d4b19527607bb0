"""Thrift's compact protocol, as far as Parquet describes its files by it."""

from __future__ import annotations

from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12
DEEPEST = 32

Fields = dict[tuple[int, int], Any]


class EndsEarlyError(ValueError):
    """There are more fields than bytes."""


def read_struct(data: bytes) -> tuple[Fields, int]:
    """Return a structure's fields by number and kind, and its length; a `ValueError` if it is none.

    Thrift passes over a field of another kind than it expects. Who asks by both sees what Thrift sees.
    """
    compact = _Compact(data)
    return compact.structure(0), compact.place


class _Compact:
    def __init__(self, data: bytes) -> None:
        self._data, self.place = data, 0

    def structure(self, depth: int) -> Fields:
        if depth > DEEPEST:
            raise ValueError("its description nests too deep")
        fields: Fields = {}
        number = 0
        while kind := self._byte():
            step, kind = kind >> 4, kind & 15
            number = number + step if step else self._signed()
            fields[number, kind] = kind == TRUE if kind in (TRUE, FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (I16, I32, I64):
            return self._signed()
        if kind == BINARY:
            return self._bytes(self._unsigned())
        if kind == STRUCT:
            return self.structure(depth + 1)
        if kind in (LIST, SET):
            return self._list(depth)
        if kind in (TRUE, FALSE, BYTE):
            return self._byte()
        if kind == DOUBLE:
            return self._bytes(8)
        raise ValueError(f"its description has a value of an unknown kind, {kind}")

    def _list(self, depth: int) -> list[Any]:
        if depth > DEEPEST:
            raise ValueError("its description nests too deep")
        head = self._byte()
        n, kind = head >> 4, head & 15
        n = self._unsigned() if n == 15 else n
        if n > len(self._data) - self.place:  # each takes at least a byte
            raise EndsEarlyError("a list in its description is longer than the description")
        return [self._value(kind, depth + 1) for _ in range(n)]

    def _byte(self) -> int:
        if self.place >= len(self._data):
            raise EndsEarlyError("its description ends too early")
        self.place += 1
        return self._data[self.place - 1]

    def _bytes(self, n: int) -> bytes:
        if n > len(self._data) - self.place:
            raise EndsEarlyError("its description ends too early")
        self.place += n
        return self._data[self.place - n : self.place]

    def _unsigned(self) -> int:
        number, shift = 0, 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
            if shift > 63:
                raise ValueError("a number in its description does not end")

    def _signed(self) -> int:
        number = self._unsigned()
        return (number >> 1) ^ -(number & 1)
