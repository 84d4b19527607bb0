"""docs/offsets.md is made of the committed records, and its figure can be drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import offsets_page


def test_the_page_is_made_of_the_committed_records() -> None:
    assert offsets_page.PAGE.read_text(encoding="utf-8") == offsets_page.page()


def test_on_the_papers_data_one_half_is_the_worst_offset() -> None:
    errors = {offset: mean for offset, (mean, _) in offsets_page.errors().items()}
    assert max(errors, key=lambda offset: errors[offset]) == "1/2"


def test_the_advice_is_what_the_generated_problems_show() -> None:
    found = {(row["rewards"], row["offset"]): row for row in json.loads(offsets_page.CHOICE.read_text())["shares"]}

    def ahead(rewards: str, offset: str, other: str) -> float:
        mine, theirs = found[rewards, offset], found[rewards, other]
        return float((mine["share"] - theirs["share"]) / max(mine["error"], theirs["error"]))

    for offset in ("mean", "median"):
        assert abs(ahead("spread over the range", "1/2", offset)) < 1
    assert ahead("rare rewards", "mean", "1/2") > 3
    assert abs(ahead("rare rewards", "mean", "median")) < 1
    assert found["labels", "1/2"]["share"] < found["labels", "mean"]["share"] < found["labels", "median"]["share"]
    for offset in ("1/2", "mean", "median", "0"):
        assert ahead("high or low by context", "median_given_x", offset) > 3


def test_the_figure_is_there_and_can_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    committed = offsets_page.FIGURE
    assert committed.with_suffix(".png").exists()
    monkeypatch.setattr(offsets_page, "FIGURE", tmp_path / "offsets")
    offsets_page.draw()
    assert (tmp_path / "offsets.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "offsets.svg").read_text()
