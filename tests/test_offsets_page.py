"""docs/offsets.md is made of the committed records, and its figure can be drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import offsets_page


def test_the_page_is_made_of_the_committed_records() -> None:
    assert offsets_page.PAGE.read_text(encoding="utf-8") == offsets_page.page()


def test_on_the_papers_data_one_half_is_the_worst_offset() -> None:
    errors = {offset: mean for offset, (mean, _) in offsets_page.errors().items()}
    assert max(errors, key=lambda offset: errors[offset]) == "1/2"


def test_the_figure_is_there_and_can_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    committed = offsets_page.FIGURE
    assert committed.with_suffix(".png").exists()
    monkeypatch.setattr(offsets_page, "FIGURE", tmp_path / "offsets")
    offsets_page.draw()
    assert (tmp_path / "offsets.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "offsets.svg").read_text()
