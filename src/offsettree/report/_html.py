"""Pieces of a page, escaped unless they are pieces already: no text of a log can become markup."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Iterable

__all__ = ["Html", "cut", "element", "escape", "join", "label", "paragraph", "prose"]

# What no HTML document may hold: most control characters, halves of surrogate pairs, and what is not a character.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_END = 8  # letters kept at the end of a name that is cut
_VOID = {"meta", "link", "br", "col"}
_EMPTY_IN_SVG = {"line", "rect", "circle", "path"}


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def escape(text: object) -> Html:
    """Return text as markup that shows it; what is markup already stays as it is."""
    if isinstance(text, Html):
        return text
    return Html(html.escape(_FORBIDDEN.sub("\ufffd", str(text)), quote=True))


def join(parts: Iterable[object], separator: str = "") -> Html:
    """Put pieces one after the other; None is left out."""
    return Html(escape(separator).join(escape(part) for part in parts if part is not None))


def element(name: str, /, *content: object, **attributes: object) -> Html:
    """Return one element; ``class_`` means class, ``aria_label`` means aria-label, and None is left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{written}>")
    if name in _EMPTY_IN_SVG and not content:
        return Html(f"<{name}{written}/>")
    return Html(f"<{name}{written}>{join(content)}</{name}>")


def paragraph(*content: object, class_: str | None = None) -> Html:
    """Return a paragraph of sentences with spaces between; None is left out."""
    return element("p", join(content, " "), class_=class_)


def prose(text: str) -> str:
    """Keep together what belongs together in a sentence: the two ends of an interval, a number and its percent."""
    text = re.sub(r"\[[^\]\[]{1,20}\]", lambda found: found[0].replace(" ", "\u00a0"), text)
    return re.sub(r"(?<=\d) %", "\u00a0%", text)


def label(text: object) -> Html:
    """Return a name out of the log, which the style cuts in the middle where there is no room; a title holds all of it.

    Names of one log often begin alike and differ at the end, so that the end stays. They may be written from right to
    left, or hold characters that turn the direction: ``bdi`` keeps that inside.
    """
    shown = " ".join(str(text).split()) or "(empty)"
    if len(shown) <= 2 * _END:
        return element("bdi", shown, class_="name", title=shown)
    end = _last(shown, _END)
    start, end = element("span", shown[: -len(end)]), element("span", end)
    return element("bdi", start, end, class_="name long", title=shown)


def cut(text: object, width: int) -> str:
    """Shorten text to about so many columns by leaving out its middle."""
    flat = " ".join(str(text).split()) or "(empty)"
    if _columns(flat) <= width:
        return flat
    at_end = min(_END, width // 3)
    end = _last(flat, at_end)
    while _columns(end) > at_end:
        end = end[1:]
    start = flat[: width - 1 - at_end]
    while _columns(start) > width - 1 - at_end:
        start = start[:-1]
    return start.rstrip() + "\u2026" + end.lstrip()


def _last(text: str, most: int) -> str:
    """Return the end of a text, from the beginning of a word if it is more than a letter."""
    end = text[-most:]
    _, space, word = end.partition(" ")
    return word if space and len(word) > 1 else end


def _columns(text: str) -> int:
    """Estimate how wide text is, in common letters."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return math.ceil(len(text) + wide + 0.5 * sum(character in "mwMW@%" for character in text))
