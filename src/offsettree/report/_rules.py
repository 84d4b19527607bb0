"""The rules of a policy that can be read: tests within tests, and what is done at the end of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from offsettree.report._facts import mapping, text, value
from offsettree.report._html import Html, element, paragraph
from offsettree.report._numbers import count, number
from offsettree.report._tables import section

__all__ = ["rules_section"]

_DEEPEST = 20


def rules_section(facts: Mapping[str, Any]) -> Html | None:
    """Return the rules of the policy, where it has some."""
    rules = mapping(facts, "rules")
    if not rules:
        return None
    return section(
        "rules",
        "The whole policy, as rules",
        _drawn(rules, 0),
        paragraph(
            "Beside each action stands what it is estimated to earn there, and how many decisions of the log come to "
            "it. The rules were found by these very decisions, so that the estimates are somewhat too high.",
            class_="note",
        ),
    )


def _drawn(rules: Mapping[str, Any], depth: int) -> Html:
    if (action := text(rules, "action")) is not None:
        earned, rows = value(rules, "value"), value(rules, "rows")
        told = "" if earned is None or rows is None else f" {number(earned)} per decision, {count(rows)} decisions"
        return element("span", element("strong", element("bdi", action)), element("span", told, class_="soft"))
    if depth == _DEEPEST:
        return element("span", "\u2026")
    sides = (("If", "if", "then"), ("Else, as", "else", "otherwise"))
    items = [
        element(
            "li", f"{word} ", element("bdi", text(rules, test) or "?"), ": ", _drawn(mapping(rules, then), depth + 1)
        )
        for word, test, then in sides
    ]
    return element("ul", *items, class_="rules")
