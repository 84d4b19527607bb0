"""What is written beside each candidate."""

from __future__ import annotations

from offsettree.selection._outcomes import gap_of, new_row, write_reasons
from offsettree.selection.results import SearchResults


def rows_of(*behind: float) -> SearchResults:
    rows = [new_row(f"candidate {place}") | {"value": 0.5 - gap, "behind": gap} for place, gap in enumerate(behind)]
    return SearchResults([row | {"behind_stderr": 0.01} for row in rows])


def test_a_difference_by_rounding_is_none() -> None:
    rows = rows_of(2.2e-16, 0.0, 0.1)
    write_reasons(rows, chosen=0)
    assert [row["reason"] for row in rows] == [
        "the highest value",
        "the highest value, but not by enough to be preferred",
        "behind the best by 0.1 +- 0.01",
    ]


def test_a_real_difference_is_told() -> None:
    rows = rows_of(1e-6, 0.0)
    write_reasons(rows, chosen=0)
    assert rows[0]["reason"] == "behind the best by 1e-06 +- 0.01, which is too little to prefer another"
    assert gap_of(rows[1], "highest value, but barely") == "highest value, but barely"
