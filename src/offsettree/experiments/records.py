"""Results on disk, one line of JSON each, appended as they come, so that an interrupted run can resume."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from offsettree.exceptions import OffsetTreeError

__all__ = ["Record", "Records"]

Record = Mapping[str, Any]


class Records:
    """An append-only file of records, made with its folder when the first is added; `key` fields identify a record."""

    def __init__(self, path: str | Path, key: Iterable[str]) -> None:
        self.path = Path(path)
        self.key = tuple(key)
        self._records = {self.key_of(record): record for record in self._read()}

    def key_of(self, record: Record) -> tuple[Any, ...]:
        """Return the values of the key fields."""
        return tuple(record[field] for field in self.key)

    def add(self, record: Record) -> None:
        """Append a record; it is on disk when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(dict(record)) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._records[self.key_of(record)] = record

    def __contains__(self, record: Record) -> bool:
        return self.key_of(record) in self._records

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records.values())

    def __len__(self) -> int:
        return len(self._records)

    def _read(self) -> Iterator[Record]:
        if not self.path.exists():
            return
        text = self.path.read_text(encoding="utf-8")
        if text and not text.endswith("\n"):
            # The run was killed while writing: drop the incomplete line, so that its task runs again.
            text = text[: text.rfind("\n") + 1]
            os.truncate(self.path, len(text.encode()))
        for number, line in enumerate(text.splitlines(), start=1):
            try:
                record = json.loads(line)
                self.key_of(record)
            except (json.JSONDecodeError, KeyError, TypeError):
                raise OffsetTreeError(
                    f"{self.path} must hold one JSON record per line, with {', '.join(self.key)}; line {number} is "
                    f"{line[:60]!r}. Remove that line, or the file to start over."
                ) from None
            yield record
