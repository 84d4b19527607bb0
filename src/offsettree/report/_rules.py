"""Card of a policy's rules, as nested lists of conditions with an action at each leaf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from offsettree.facts import Facts, as_number, as_text
from offsettree.report._html import Html, element, paragraph
from offsettree.report._numbers import count, number
from offsettree.report._tables import section

_DEEPEST = 20


def rules_section(facts: Facts) -> Html | None:
    """Return the card of rules; None if the policy has none."""
    if not facts.rules:
        return None
    return section(
        "rules",
        "The whole policy, as rules",
        _drawn(facts.rules, 0),
        paragraph(
            "Beside each action: its estimated reward there, and the number of logged decisions that reach it. The "
            "same decisions were used to find the rules, so these estimates are somewhat too high.",
            class_="note",
        ),
    )


def _drawn(rules: Any, depth: int) -> Html:
    rules = rules if isinstance(rules, Mapping) else {}
    if (action := as_text(rules.get("action"))) is not None:
        earned, rows = as_number(rules.get("value")), as_number(rules.get("rows"))
        figures = "" if earned is None or rows is None else f" {number(earned)} per decision, {count(rows)} decisions"
        return element("span", element("strong", element("bdi", action)), element("span", figures, class_="soft"))
    if depth == _DEEPEST:
        return element("span", "\u2026")
    sides = (("If", "if", "then"), ("Else, as", "else", "otherwise"))
    items = [
        element(
            "li", f"{word} ", element("bdi", as_text(rules.get(test)) or "?"), ": ", _drawn(rules.get(then), depth + 1)
        )
        for word, test, then in sides
    ]
    return element("ul", *items, class_="rules")
