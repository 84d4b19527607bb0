"""The page: its head and its cards in order, written to a file atomically."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from offsettree.exceptions import ParameterError
from offsettree.facts import Facts
from offsettree.report._about import log_section, policy_section, reproduce_section, warnings_section
from offsettree.report._actions import mix_section, reward_section
from offsettree.report._candidates import candidates_section, importance_section
from offsettree.report._html import Html, cut, element, join, paragraph
from offsettree.report._rules import rules_section
from offsettree.report._style import style
from offsettree.report._tree_drawing import tree_section
from offsettree.report._verdict import verdict_section
from offsettree.report._weights import weights_section

__all__ = ["render", "write_report"]

# Cards of half the width come in pairs. The second entry is the text of the link at the top.
_CARDS: tuple[tuple[str, str, Callable[[Facts], Html | None]], ...] = (
    ("verdict", "Verdict", verdict_section),
    ("warnings", "Warnings", warnings_section),
    ("candidates", "Candidates", candidates_section),
    ("mix", "Actions", mix_section),
    ("rewards", "Rewards", reward_section),
    ("weights", "Trust", weights_section),
    ("features", "Features", importance_section),
    ("rules", "Rules", rules_section),
    ("tree", "Tree", tree_section),
    ("log", "Log", log_section),
    ("policy", "Policy", policy_section),
    ("reproduce", "Reproduce", reproduce_section),
)
# Nothing is fetched and no script runs, even if text of the log got into the markup unescaped.
_ALLOWED = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def render(facts: Facts | Mapping[str, Any]) -> str:
    """Return the report as one HTML page that needs no network and no script.

    Parameters
    ----------
    facts : Facts or mapping
        What is known, or the same as ``--json`` prints it. Whatever is missing, of the wrong type or empty is left
        out of the page.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> page = render({"title": "mails", "verdict": "The learned policy earns 0.183 per decision."})
    >>> page.startswith("<!DOCTYPE html>"), "0.183 per decision" in page
    (True, True)
    """
    if not isinstance(facts, Facts | Mapping):
        raise ParameterError(
            f"facts must be a mapping from names to what is known; got {type(facts).__name__}. Pass the dict that the "
            "command line writes with --json."
        )
    known = Facts.read(facts.as_dict() if isinstance(facts, Facts) else facts)
    cards = [(name, link, card) for name, link, make in _CARDS if (card := make(known)) is not None]
    heading = f"Policy report: {known.title}" if known.title else "Policy report"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_ALLOWED),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("link", rel="icon", href="data:,"),
        element("title", heading),
        element("style", Html(style())),
    )
    links = (element("li", element("a", link, href=f"#{name}")) for name, link, _ in cards)
    body = element(
        "body",
        element("header", element("h1", cut(heading, 120), title=heading), _created(known)),
        element("nav", element("ul", join(links)), aria_label="On this page") if len(cards) > 1 else None,
        element("main", *_paired([card for _, _, card in cards])),
        element("footer", "One file, nothing fetched from a network."),
    )
    return f'<!DOCTYPE html>\n<html lang="en">\n{head}\n{body}\n</html>\n'


def _created(facts: Facts) -> Html | None:
    parts = [facts.created, f"offsettree {facts.version}" if facts.version else None]
    line = " \u00b7 ".join(part for part in parts if part)
    return paragraph(line, class_="under") if line else None


def _paired(cards: list[Html]) -> list[Html]:
    """Widen the cards of half the width that have no neighbour."""
    paired: list[Html] = []
    unpaired = False
    for card in cards:
        half = 'class="half"' in card.partition(">")[0]
        if unpaired and not half:
            paired[-1] = _widened(paired[-1])
        unpaired = half and not unpaired
        paired.append(card)
    if unpaired:
        paired[-1] = _widened(paired[-1])
    return paired


def _widened(card: Html) -> Html:
    return Html(card.replace(' class="half"', "", 1))


def write_report(facts: Facts | Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the report atomically: after an error the file is as it was before.

    Parameters
    ----------
    facts : Facts or mapping
        As for `render`.
    path : str or path
        The file to write or replace.
    """
    page = render(facts).encode()
    target = Path(path)
    if not target.parent.is_dir() or target.is_dir():
        raise ParameterError(
            f"path must be a file in a folder that exists; got {str(target)!r}, which "
            f"{'is a folder' if target.is_dir() else 'is in none'}. Make the folder first, or name a file in it."
        )
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
    try:
        temporary.write_bytes(page)
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
