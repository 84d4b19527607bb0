"""docs/performance.md says what the benchmarks measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import performance_page

ROOT = Path(__file__).parent.parent


def test_the_page_is_made_of_the_committed_figures() -> None:
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert page == performance_page.page(performance_page.load(performance_page.RESULTS))


def test_the_plots_are_there_and_can_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    performance_page.draw(performance_page.load(performance_page.RESULTS), tmp_path)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {path.name for path in performance_page.IMAGES.glob("*.png")}
