"""docs/choosing.md says what the benchmark measured."""

from __future__ import annotations

import json

from tools import choosing_page


def test_the_page_is_made_of_the_committed_figures() -> None:
    text = choosing_page.PAGE.read_text(encoding="utf-8")
    assert choosing_page.page(text, json.loads(choosing_page.RESULTS.read_text(encoding="utf-8"))) == text
