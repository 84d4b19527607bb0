"""Card with the tree over actions: its contests, their rows, and how one-sided they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from offsettree.facts import Facts, as_text
from offsettree.report._html import Html, cut, element, join, paragraph
from offsettree.report._numbers import count, percent, plural
from offsettree.report._tables import columns, details, section
from offsettree.report._tree_shape import Node, Place, flatten, members, places, worth_drawing

_MOST_WHOLE, _MOST_ENDS = 64, 32
_ROW = 21  # pixels
_WIDE, _NARROW = 60, 17  # characters of a label on wide and on narrow screens
_METER = 34
_FIRST = 2.6  # percent from the left: room for half a circle on a phone


def tree_section(facts: Facts) -> Html | None:
    """Return the card with the tree; None if there is no contest to draw."""
    nodes = flatten(facts.tree)
    if not nodes[0].is_contest:
        return None
    n_actions = nodes[0].n_actions
    whole = n_actions <= _MOST_WHOLE
    drawn = worth_drawing(nodes, n_actions if whole else _MOST_ENDS)
    shares = {
        label: action.policy_share
        for action in facts.log.actions
        if (label := as_text(action.label)) is not None and action.policy_share is not None
    }
    summary = None
    if not whole:
        summary = element(
            "strong",
            f"This is a summary: of {count(n_actions - 1)} contests among {count(n_actions)} actions it shows the "
            f"{len(drawn)} with the most decisions.",
        )
    return section(
        "tree",
        "How the policy decides",
        paragraph(
            "To choose for one case, start at the left: each contest picks one of its two sides, until one action is "
            "left. Beside a contest: its strength, and how many of the held-out decisions end below it. The strength "
            "is how one-sided these are: at 100\u202f% one side always wins, near 50\u202f% it depends on the case."
            + (" Beside an action: how often the policy takes it." if shares else ""),
            summary,
        ),
        _drawing(nodes, drawn, shares),
        details("The same as a table", _table(nodes, drawn)),
    )


def _drawing(nodes: list[Node], drawn: set[int], shares: Mapping[str, float]) -> Html:
    placed = {place.node: place for place in places(nodes, drawn)}
    deepest = max(place.depth for place in placed.values())
    step = min(7.0, 38.0 / deepest)
    most_rows = max((nodes[at].rows or 0.0 for at in drawn), default=0.0)
    parts = [line for at in drawn for line in _branches(nodes[at], placed, placed[at], step)]
    for at, place in placed.items():
        node = nodes[at]
        if at in drawn:
            inside = _contest(node, most_rows)
        elif node.is_contest:
            inside = _collapsed(nodes, at)
        else:
            inside = _action(node, shares.get(node.label.strip()))
        # A nested svg: its position is in percent, its contents are in pixels.
        parts.append(element("svg", *inside, x=_across(place, step), y=_down(place), overflow="visible"))
    description = (
        f"Tree of {plural(nodes[0].n_actions, 'action')}, {plural(len(drawn), 'contest')} drawn; the table below says "
        "the same."
    )
    return element(
        "svg", *parts, class_="tree", width="100%", height=_ROW * len(placed) + 4, role="img", aria_label=description
    )


def _across(place: Place, step: float) -> str:
    return f"{_FIRST + step * place.depth:.2f}%"


def _down(place: Place) -> float:
    return _ROW * (place.row + 0.5) + 2


def _branches(node: Node, placed: Mapping[int, Place], here: Place, step: float) -> Iterable[Html]:
    left, right = placed[node.left], placed[node.right]
    x = _across(here, step)
    yield element("line", x1=x, x2=x, y1=_down(left), y2=_down(right), class_="branch")
    for child in (left, right):
        yield element("line", x1=x, x2=_across(child, step), y1=_down(child), y2=_down(child), class_="branch")


def _contest(node: Node, most_rows: float) -> Iterable[Html]:
    share = node.rows / most_rows if node.rows is not None and node.rows > 0 and most_rows > 0 else 0.0
    yield element("circle", cx=0, cy=0, r=f"{3.5 + 3.5 * math.sqrt(share):.1f}", class_="node")
    words = []
    start = 13
    if node.strength is not None:
        yield element("rect", x=start, y=-3.5, width=_METER, height=7, rx=2, class_="meter")
        yield element("rect", x=start, y=-3.5, width=f"{_METER * node.strength:.1f}", height=7, rx=2, class_="bar new")
        start += _METER + 6
        words.append(percent(node.strength))
    if node.rows is not None:
        words.append(plural(round(node.rows), "decision"))
    yield element("text", " \u00b7 ".join(words), x=start, y=4, class_="soft num")


def _action(node: Node, share: float | None) -> Iterable[Html]:
    suffix = None if share is None else f"\u2002{percent(share)}"
    yield from _words(node.label, suffix, node.label)


def _collapsed(nodes: list[Node], at: int) -> Iterable[Html]:
    node = nodes[at]
    some = members(nodes, at, 4)
    listed = ", ".join(cut(name, 24) for name in some) + (", \u2026" if node.n_actions > len(some) else "")
    yield element("rect", x=-4, y=-4, width=8, height=8, rx=2, class_="bar many")
    yield from _words(plural(node.n_actions, "action"), f"\u2002{listed}", listed, narrow=False)


def _words(label: str, suffix: str | None, title: str, *, narrow: bool = True) -> Iterable[Html]:
    """Write a long label twice, for wide and for narrow screens; the style sheet shows one of them."""
    soft = None if suffix is None else element("tspan", suffix, class_="soft")
    wide, short = cut(label, _WIDE), cut(label, _NARROW)
    after = soft if narrow else None
    hint = element("title", title)
    if wide == short and (soft is None or narrow):
        yield element("text", hint, wide, soft, x=8, y=4.5, class_="leaf")
        return
    yield element("text", hint, wide, soft, x=8, y=4.5, class_="leaf wide")
    yield element("text", hint, short, after, x=8, y=4.5, class_="leaf narrow")


def _table(nodes: list[Node], drawn: set[int]) -> Html:
    rows = []
    for at in sorted(drawn):
        node = nodes[at]
        rows.append(
            (
                _side(nodes, node.left),
                _side(nodes, node.right),
                "" if node.rows is None else count(node.rows),
                "" if node.strength is None else percent(node.strength),
            )
        )
    return columns(("One side", "The other", "Decisions", "Strength"), rows, numbers=2)


def _side(nodes: list[Node], at: int) -> Html:
    some = members(nodes, at, 3)
    more = nodes[at].n_actions - len(some)
    names = join((element("bdi", cut(name, 40), title=name) for name in some), ", ")
    return join([names, f" and {count(more)} more" if more else None])
