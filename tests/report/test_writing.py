"""A report is written whole or not at all, and with the standard library only."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from offsettree.exceptions import ParameterError
from offsettree.report import render, write_report
from tests.report.samples import make_facts


def test_a_report_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report({"title": "first"}, path)
    write_report({"title": "zw\u00f6lf \ud800"}, str(path))
    assert "zw\u00f6lf \ufffd" in path.read_text(encoding="utf-8")
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    path.write_text("before")

    def interrupted(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_report(make_facts(), path)
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("report.html", "before")]


def test_a_path_that_cannot_be_written_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="Make the folder first"):
        write_report({}, tmp_path / "nowhere" / "report.html")
    with pytest.raises(ParameterError, match="is a folder"):
        write_report({}, tmp_path)
    with pytest.raises(ParameterError, match="facts must be a mapping"):
        render([])  # type: ignore[arg-type]


def test_the_report_needs_the_standard_library_only() -> None:
    heavy = ["numpy", "scipy", "sklearn", "numba", "joblib", "pandas", "pyarrow"]
    code = f"import sys, offsettree.report; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"
