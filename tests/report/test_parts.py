"""Numbers as a person writes them, labels cut, colours that can be read, trees of every shape."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsettree.facts import Facts
from offsettree.report import render
from offsettree.report._band import Band
from offsettree.report._charts import scale_over
from offsettree.report._html import cut, prose
from offsettree.report._numbers import (
    count,
    decimals_for,
    duration,
    interval,
    number,
    percent,
    plural,
    signed,
    ticks,
)
from offsettree.report._style import DARK, LIGHT
from offsettree.report._tree_shape import flatten, members, places, worth_drawing
from offsettree.report._weights import weights_section
from tests.report.samples import chain, make_facts

FINITE = st.floats(-1e100, 1e100)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (number(1234567, 0), "1,234,567"),
        (number(-0.036, 3), "\u22120.036"),
        (number(-0.0001, 2), "0.00"),
        (number(0.18349), "0.183"),
        (number(23.4), "23.4"),
        (number(3.0), "3"),
        (number(2.5e-9), "2.50e\u221209"),
        (signed(0.036, 3), "+0.036"),
        (signed(0.0, 3), "0.000"),
        (interval(0.1762, 0.19, 3), "[0.176, 0.190]"),
        (interval(-0.01, 0.02, 2, sign=True), "[\u22120.01, +0.02]"),
        (count(540.3), "540"),
        (plural(1, "decision"), "1 decision"),
        (plural(2000, "decision"), "2,000 decisions"),
        (percent(0.1234), "12\u202f%"),
        (percent(0.0312), "3.1\u202f%"),
        (percent(0.0001), "<\u202f0.1\u202f%"),
        (percent(0.9999), "99.9\u202f%"),
        (percent(1.0), "100\u202f%"),
        (percent(0.0), "0\u202f%"),
        (duration(0.01), "under 0.1\u202fs"),
        (duration(1.94), "1.9\u202fs"),
        (duration(12.3), "12\u202fs"),
        (duration(125), "2\u202fmin 5\u202fs"),
        (duration(3700), "1\u202fh 1\u202fmin"),
    ],
)
def test_numbers_are_written_as_a_person_would(written: str, expected: str) -> None:
    assert written == expected


def test_decimals_follow_the_width_of_the_interval() -> None:
    assert decimals_for([0.183], 0.014) == 3
    assert decimals_for([0.147], 0.004) == 3
    assert decimals_for([0.18], 0.06) == 2
    assert decimals_for([1234.5], 300) == 0
    assert decimals_for([350.0], 300) == 0
    assert decimals_for([0.4, 1.1], 12.2) == 2  # dollars and cents, however wide the interval
    assert decimals_for([6.0, 2.0, 0.4], 24.0) == 2
    assert decimals_for([0.4], 0.5) == 1


@given(FINITE, FINITE, st.integers(2, 8))
def test_ticks_are_few_in_order_and_within(low: float, high: float, most: int) -> None:
    marks = ticks(low, high, most)
    assert len(marks) <= most + 1
    assert list(marks) == sorted(marks)
    slack = 1e-6 * (high - low) if math.isfinite(high - low) else 0.0
    assert all(low - slack <= mark <= high + slack for mark in marks)


@given(st.lists(FINITE, min_size=3, max_size=3).map(sorted))
def test_every_interval_has_its_place_on_the_scale(numbers: list[float]) -> None:
    low, value, high = numbers
    scale = scale_over([Band(value, low, high)])
    assert scale.high > scale.low
    drawn = [float(scale.at(end).rstrip("%")) for end in numbers]
    assert all(0 <= place <= 100 for place in drawn)
    assert drawn == sorted(drawn)


@given(st.text(), st.integers(8, 40))
def test_a_cut_label_fits_and_keeps_both_ends(text: str, width: int) -> None:
    short = cut(text, width)
    assert len(short) <= max(width, len("(empty)"))
    flat = " ".join(text.split())
    if "\u2026" not in text and short not in (flat, "(empty)"):
        start, _, end = short.partition("\u2026")
        assert flat.startswith(start)
        assert flat.endswith(end)


def test_an_interval_within_a_sentence_is_not_parted() -> None:
    assert prose("earns 0.1 [0.0, 0.2], 3 % more") == "earns 0.1 [0.0,\u00a00.2], 3\u00a0% more"


def _luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG 2 defines it."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_every_ink_can_be_read_on_every_ground_it_is_used_on(palette: dict[str, str]) -> None:
    on_all = ["page", "card", "tint-new", "tint-good", "tint-bad", "tint-warn"]
    pairs = [("ink", ground) for ground in on_all]
    pairs += [(ink, ground) for ink in ("soft", "new", "good", "bad", "warn") for ground in ("page", "card")]
    pairs += [(kind, f"tint-{kind}") for kind in ("new", "good", "bad", "warn")]
    low = {pair: round(found, 2) for pair in pairs if (found := contrast(palette[pair[0]], palette[pair[1]])) < 4.5}
    assert not low
    assert contrast(palette["old"], palette["card"]) >= 3


@pytest.mark.parametrize("n_actions", [2, 3, 20, 64])
def test_up_to_64_actions_are_all_drawn(n_actions: int) -> None:
    page = render(make_facts(n_actions))
    drawing = page[page.index('class="tree"') : page.index("The same as a table", page.index('class="tree"'))]
    assert drawing.count('class="node"') == n_actions - 1
    assert drawing.count('class="leaf"') == n_actions
    assert "This is a summary" not in page


def test_a_larger_tree_is_summarised_and_says_so() -> None:
    page = render(make_facts(200))
    assert "of 199 contests among 200 actions it shows the 31 with the most decisions" in page
    assert page.count('class="node"') == 31


def test_a_tree_deeper_than_python_may_recurse_is_drawn() -> None:
    facts = make_facts()
    facts["tree"] = chain([f"offer {i}" for i in range(5000)])
    assert "among 5,000 actions" in render(facts)


def test_a_contest_has_the_row_between_its_sides_to_itself() -> None:
    nodes = flatten(chain(list("abcd")))
    placed = {place.node: place for place in places(nodes, worth_drawing(nodes, 4))}
    assert sorted(place.row for place in placed.values()) == list(range(7))
    for at, node in enumerate(nodes):
        if node.is_contest:
            assert placed[node.left].row < placed[at].row < placed[node.right].row
            assert placed[node.left].depth == placed[node.right].depth == placed[at].depth + 1
    assert members(nodes, 0, 10) == list("abcd")


def test_the_contests_with_most_rows_are_drawn_first() -> None:
    tree = {
        "left": chain(list("abc"), rows=5),
        "right": chain(list("def"), rows=50),
        "rows": 100,
        "strength": 2.0,
    }
    nodes = flatten(tree)
    assert nodes[0].strength == 1.0
    assert sorted(nodes[at].rows or 0 for at in worth_drawing(nodes, 4)) == [50, 50, 100]


def test_many_thin_bars_are_joined_and_none_is_lost() -> None:
    facts = {"weights": {"edges": list(range(102)), "counts": [1] * 101}}
    page = str(weights_section(Facts.read(facts)))
    assert len(re.findall(r'<rect[^>]*class="bar new"', page)) <= 24
    assert "of 101 decisions" in page


@pytest.mark.parametrize(
    ("effective", "words"), [(50, "few"), (150, "far fewer"), (700, "almost equally"), (500, "500 of equal weight")]
)
def test_how_much_the_rows_are_worth_is_judged_in_words(effective: float, words: str) -> None:
    facts = {"estimate": {"n_rows": 3000, "n_matched": 812, "effective_rows": effective}}
    assert words in str(weights_section(Facts.read(facts)))
