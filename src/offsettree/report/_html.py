"""Markup of the page. All text is escaped unless it is `Html` already, so no text of a log can become markup."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Iterable

# Characters that HTML forbids: most control characters, lone surrogates and noncharacters.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_END = 8  # characters kept at the end of a shortened name
_VOID = {"meta", "link", "br", "col"}
_EMPTY_IN_SVG = {"line", "rect", "circle", "path"}


class Html(str):
    """Text that is markup, already escaped."""

    __slots__ = ()


def escape(text: object) -> Html:
    """Return text as escaped markup; `Html` is returned unchanged."""
    if isinstance(text, Html):
        return text
    return Html(html.escape(_FORBIDDEN.sub("\ufffd", str(text)), quote=True))


def join(parts: Iterable[object], separator: str = "") -> Html:
    """Concatenate the parts, without None."""
    return Html(escape(separator).join(escape(part) for part in parts if part is not None))


def element(name: str, /, *content: object, **attributes: object) -> Html:
    """Return an element; ``class_`` means class, ``aria_label`` means aria-label, and None is left out."""
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
    """Return a paragraph of sentences, without None."""
    return element("p", join(content, " "), class_=class_)


def prose(text: str) -> str:
    """Insert no-break spaces within intervals and before percent signs."""
    text = re.sub(r"\[[^\]\[]{1,20}\]", lambda found: found[0].replace(" ", "\u00a0"), text)
    return re.sub(r"(?<=\d) %", "\u00a0%", text)


def label(text: object) -> Html:
    """Return a name from the log; the style sheet shortens it in the middle, and its title has the full name.

    Names of one log often differ only at the end, so the end is kept. ``bdi`` isolates text written from right to
    left.
    """
    shown = " ".join(str(text).split()) or "(empty)"
    if len(shown) <= 2 * _END:
        return element("bdi", shown, class_="name", title=shown)
    end = _last(shown, _END)
    start, end = element("span", shown[: -len(end)]), element("span", end)
    return element("bdi", start, end, class_="name long", title=shown)


def cut(text: object, width: int) -> str:
    """Shorten text to about `width` columns by leaving out its middle."""
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
    """Return at most `most` characters from the end of a text, starting at a word if possible."""
    end = text[-most:]
    _, space, word = end.partition(" ")
    return word if space and len(word) > 1 else end


def _columns(text: str) -> int:
    """Estimate the width of text in average characters."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return math.ceil(len(text) + wide + 0.5 * sum(character in "mwMW@%" for character in text))
