"""The README is short, its table is made of the records, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

from tools import readme_table

README = Path(readme_table.ROOT) / "README.md"


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) < 120


def test_the_table_is_that_of_the_records() -> None:
    text = README.read_text()
    assert readme_table.BEGIN in text
    assert text == readme_table.page(text)
    for name in ("Vowpal Wabbit", "LightGBM", "Open Bandit Pipeline", "EconML"):
        assert name in readme_table.table(), name


def test_links_and_pictures_are_there() -> None:
    for file in re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", README.read_text()):
        assert (README.parent / file).exists(), file
