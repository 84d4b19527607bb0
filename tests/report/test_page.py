"""The page: whatever the facts, it is well-formed, escaped, and written whole or not at all."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from offsettree.report import render
from offsettree.report._html import element, label
from tests.report.samples import chain, make_facts

VOID = {"meta", "link", "br", "col"}
WILD = st.text(max_size=40) | st.sampled_from(
    [
        "<script>alert(1)</script>",
        "\"'><img src=x onerror=alert(1)>",
        "</title></style>",
        "a\x00b",
        "\ud800",
        "\u202eabc",
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WILD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


class Balanced(HTMLParser):
    """Reads a page, insists that what is opened is closed in order, and collects elements and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def parsed(facts: Any) -> Balanced:
    reader = Balanced()
    reader.feed(render(facts))
    reader.close()
    assert not reader.open
    return reader


def paths(facts: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Walk over every entry; of a list the first stands for all."""
    items = facts.items() if isinstance(facts, dict) else enumerate(facts[:1]) if isinstance(facts, list) else ()
    for key, inner in items:
        yield (*above, key)
        yield from paths(inner, (*above, key))


def changed(facts: dict[str, Any], path: tuple[Any, ...], to: Any) -> dict[str, Any]:
    facts = copy.deepcopy(facts)
    place = facts
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return facts


def test_the_page_shows_every_section_and_the_verdict() -> None:
    reader = parsed(make_facts(4, warned=True))
    sections = [attributes["id"] for tag, attributes in reader.seen if tag == "section"]
    assert sections == [
        *("verdict", "warnings", "candidates", "mix", "rewards", "weights", "features", "tree", "log", "policy"),
        "reproduce",
    ]
    words = " ".join(reader.texts)
    assert "The new policy is better than what was done" in words
    assert (
        "Of 3,000 held-out decisions, 812 were ones where the log happened to do what the new policy would do" in words
    )
    assert "offsettree learn campaign.csv" in words
    assert words.count("12 rows carry") == 1


def test_nothing_is_fetched_and_no_script_is_within() -> None:
    page = render(make_facts(20, long=True, warned=True))
    assert not re.search(r"<script|javascript:|\son\w+=|@import|url\(|https?:", page)


def test_headings_go_down_one_by_one_and_every_link_leads_somewhere() -> None:
    reader = parsed(make_facts())
    levels = [int(tag[1]) for tag, _ in reader.seen if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    identities = [attributes["id"] for _, attributes in reader.seen if "id" in attributes]
    assert len(identities) == len(set(identities))
    assert {str(attributes["href"])[1:] for tag, attributes in reader.seen if tag == "a"} <= set(identities)


def test_every_drawing_has_words_or_stands_beside_its_numbers() -> None:
    inner = 0
    for tag, attributes in parsed(make_facts(20)).seen:
        if tag == "svg" and "x" not in attributes:
            assert attributes.get("aria-hidden") == "true" or attributes.get("aria-label")
            inner += 1
    assert inner > 20


def test_any_entry_may_be_missing() -> None:
    facts = make_facts(2, warned=True)
    for path in paths(facts):
        parsed(changed(facts, path, None))


@pytest.mark.parametrize("wrong", [[], float("nan"), "text", -1], ids=repr)
def test_any_entry_may_be_of_the_wrong_kind(wrong: Any) -> None:
    facts = make_facts(2, warned=True)
    for path in paths(facts):
        render(changed(facts, path, wrong))


def test_a_report_of_nothing_is_a_page_still() -> None:
    assert [text for text in parsed({}).texts if text == "Policy report"]


TAME = {tag for tag, _ in parsed(make_facts(20, long=True, warned=True)).seen}


@given(st.lists(WILD, min_size=2, max_size=5), WILD)
@settings(max_examples=30, deadline=None)
def test_text_of_a_log_never_becomes_markup(labels: list[str], text: str) -> None:
    facts = make_facts(len(labels), warned=True)
    for action, name in zip(facts["log"]["actions"], labels, strict=True):
        action["label"] = name
    facts["tree"] = chain(labels)
    for path in [
        *(("title",), ("verdict",), ("log", "path"), ("log", "columns", "action"), ("policy", "name")),
        *(("candidates", 0, "name"), ("candidates", 4, "error"), ("importance", 0, "feature"), ("warnings", 0)),
        *(("reproduce", "command"), ("reproduce", "versions", "numpy"), ("log", "features", 0), ("log", "notes", 0)),
    ]:
        facts = changed(facts, path, text)
    seen = parsed(facts).seen
    assert {tag for tag, _ in seen} <= TAME
    assert not [name for _, attributes in seen for name in attributes if name.startswith("on")]
    render(facts).encode()


@given(st.dictionaries(st.sampled_from(sorted(make_facts())), ANYTHING))
@settings(max_examples=100, deadline=None)
def test_facts_of_the_wrong_kind_are_left_out(facts: dict[str, Any]) -> None:
    parsed(facts)


@given(st.lists(st.floats(allow_nan=False), min_size=9, max_size=9))
@example([0.0] * 8 + [5e-324])
@settings(max_examples=40, deadline=None)
def test_any_numbers_can_be_drawn(numbers: list[float]) -> None:
    facts = make_facts()
    bands = [facts["estimate"], facts["estimate"]["baseline"], facts["estimate"]["difference"]]
    for i, band in enumerate(bands):
        band["low"], band["value"], band["high"] = sorted(numbers[3 * i : 3 * i + 3])
    facts["log"]["actions"][0].update(bands[0], mean_reward=bands[0]["value"])
    facts["candidates"][0].update(bands[1])
    page = render(facts)
    assert not re.search(r'"[^"<>]*\b(nan|inf)%?"', page)


def test_an_escaped_label_is_text_again() -> None:
    reader = Balanced()
    reader.feed(label("<script>alert('a & b')</script>"))
    assert "".join(reader.texts) == "<script>alert('a & b')</script>"
    assert reader.seen[0][1]["title"] == "<script>alert('a & b')</script>"
    assert element("td", "<b>") == "<td>&lt;b&gt;</td>"


@pytest.mark.parametrize(
    ("difference", "heading"),
    [
        ({"value": 0.1, "low": 0.05, "high": 0.2}, "better"),
        ({"value": -0.1, "low": -0.2, "high": -0.05}, "worse"),
        ({"value": 0.1, "low": -0.1, "high": 0.2}, "No clear difference"),
        ({"value": 0.1}, "What the new policy is worth"),
    ],
)
def test_the_heading_says_no_more_than_the_interval(difference: dict[str, float], heading: str) -> None:
    facts = make_facts()
    facts["estimate"]["difference"] = difference
    match = re.search(r'<h2 id="verdict-heading">([^<]+)', render(facts))
    assert match is not None
    assert heading in match[1]


def test_a_gain_in_percent_needs_rewards_that_cannot_be_negative() -> None:
    facts = make_facts()
    assert "more than what was done" in render(facts)
    facts["log"]["reward"]["min"] = -1
    assert "more than what was done" not in render(facts)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("snips", "the estimate rests on these"),
        ("doubly_robust", "these correct it"),
        ("direct", "a model of the rewards"),
    ],
)
def test_what_the_estimate_rests_on_is_told_by_its_method(method: str, words: str) -> None:
    facts = make_facts()
    facts["estimate"]["method"] = method
    assert words in render(facts)


def test_of_many_actions_the_thirty_largest_are_shown_and_the_rest_added_up() -> None:
    page = render(make_facts(200))
    mix = page[page.index('<section id="mix"') : page.index('<section id="rewards"')]
    assert mix.count('scope="row"') == 30
    assert "And 170 more actions, together" in mix


def test_the_same_facts_give_the_same_page_also_after_a_journey_through_json() -> None:
    facts = make_facts(20)
    assert render(facts) == render(json.loads(json.dumps(facts)))


def test_gains_that_may_be_luck_are_not_told_in_percent() -> None:
    facts = make_facts()
    gain = facts["estimate"]["difference"]
    assert "than what was done</dd>" in render(facts)
    gain.update(low=-abs(gain["value"]), high=3 * abs(gain["value"]))
    assert "than what was done</dd>" not in render(facts)


def test_a_policy_that_is_the_constant_has_no_gain_on_it() -> None:
    facts = make_facts()
    constant = {"action": "voucher", "value": 0.18, "low": 0.17, "high": 0.19, "same": False}
    constant["gain"] = {"value": 0.0, "low": 0.0, "high": 0.0}
    assert "Gain on constant" in render(facts | {"constant": constant})
    assert "Gain on constant" not in render(facts | {"constant": constant | {"same": True}})


def test_rare_rewards_of_candidates_keep_two_digits() -> None:
    wide = [
        {"name": f"c{i}", "outcome": "compared", "value": 0.0041 + i / 1e4, "low": 0.0, "high": 0.05} for i in range(3)
    ]
    page = render(make_facts() | {"candidates": wide})
    assert "0.0041" in page
    assert "0.0043" in page
