"""The README is short, its table is made of the records, and its links lead somewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tools import readme_table

README = Path(readme_table.ROOT) / "README.md"


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) < 120


@pytest.mark.parametrize("page", readme_table.PAGES, ids=lambda page: page.parent.name)
def test_the_table_is_that_of_the_record(page: Path) -> None:
    text = page.read_text()
    assert readme_table.BEGIN in text
    assert text == readme_table.page(text, long=page != README)


def test_the_table_has_errors_and_all_libraries() -> None:
    found = json.loads(readme_table.RECORD.read_text())
    table = readme_table.table(found)
    for name in readme_table.LIBRARIES:
        assert name in table, name
    assert len(found["seeds"]) >= 5
    cells = [cell for line in table.splitlines()[2:] for cell in line.split("|")[2:-1]]
    assert cells
    assert all(re.fullmatch(r" \d\.\d{3} ± \d\.\d{3}; [\d.]+ s ", cell) for cell in cells), cells


def test_links_and_pictures_are_there() -> None:
    for file in re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", README.read_text()):
        assert (README.parent / file).exists(), file
