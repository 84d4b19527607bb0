from __future__ import annotations

from pathlib import Path

import pytest

from offsettree.exceptions import OffsetTreeError
from offsettree.experiments.records import Records


def test_records_are_on_disk_at_once_and_there_again_next_time(tmp_path: Path) -> None:
    records = Records(tmp_path / "new" / "file.jsonl", ["name", "split"])
    records.add({"name": "a", "split": 0, "error": 0.5})
    again = Records(records.path, ["name", "split"])
    assert len(again) == 1
    assert {"name": "a", "split": 0} in again
    assert {"name": "a", "split": 1} not in again
    assert [record["error"] for record in again] == [0.5]


def test_a_line_torn_by_an_interruption_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.write_text('{"name": "a"}\n{"na')
    records = Records(path, ["name"])
    assert len(records) == 1
    records.add({"name": "b"})
    assert path.read_text() == '{"name": "a"}\n{"name": "b"}\n'


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.write_text('{"other": 1}\n')
    with pytest.raises(OffsetTreeError, match="with name; line 1"):
        Records(path, ["name"])
    path.write_text("hello\n")
    with pytest.raises(OffsetTreeError, match=r"line 1 is .hello"):
        Records(path, ["name"])
