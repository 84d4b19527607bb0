"""The page: is it learning? Rendered by the server, with a chart of values over time; nothing is fetched elsewhere."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from offsettree.report.parts import Html, element, join, label, paragraph, style
from offsettree.service.engine import Engine
from offsettree.service.facts import loop_facts, version_facts
from offsettree.service.http import Reply, Request
from offsettree.service.loop import Loop
from offsettree.service.requests import RequestError, encode

__all__ = ["Pages"]

HTML = b"text/html; charset=utf-8"
STATIC = {
    "uplot.js": b"text/javascript; charset=utf-8",
    "uplot.css": b"text/css; charset=utf-8",
    "page.js": b"text/javascript; charset=utf-8",
}
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; form-action 'self'; "
    b"frame-ancestors 'none'; base-uri 'none'"
)
SHOWN = 30  # versions: the latest, and as many that are no snapshots
RULES = """
.u-legend { font-size: .8rem; color: var(--soft); text-align: left; }
.u-legend .u-marker { width: 1em; height: 1em; }
form.one { margin: 0; }
button { font: inherit; font-size: .85rem; color: var(--new); background: var(--card); border: 1px solid var(--new);
  border-radius: 6px; padding: 2px 10px; cursor: pointer; }
.spark rect { fill: var(--old); }
.spark rect.new { fill: var(--new); }
#value-chart { overflow: hidden; margin-bottom: 10px; }
.wide { overflow-x: auto; }
.wide table.plain th, .wide table.plain td { overflow-wrap: normal; }
.meter { background: var(--line); border-radius: 4px; height: 10px; min-width: 60px; overflow: hidden; }
.meter i { display: block; height: 100%; background: var(--new); }
"""


class Pages:
    """The handlers of the pages."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def routes(self) -> list[tuple[str, str, str | None, Any]]:
        """Return methods, paths, roles and handlers."""
        return [
            ("GET", "/", "admin", self.first),
            ("GET", "/loops/{loop}", "admin", self.show),
            ("POST", "/loops/{loop}/versions/{version}/run", "admin", self.run),
            ("GET", "/static/{name}", None, self.static),
        ]

    async def first(self, request: Request) -> Reply:
        """Show the first loop; with others, links to them."""
        if not self.engine.loops:
            raise RequestError(404, "there is no loop in the settings")
        return await self._page(next(iter(self.engine.loops)))

    async def show(self, request: Request) -> Reply:
        """Show a loop."""
        return await self._page(request.path["loop"])

    async def _page(self, name: str) -> Reply:
        loop = self.engine.loop(name)
        text = await asyncio.to_thread(render, self.engine, loop)
        return Reply(
            text.encode(), kind=HTML, headers=[(b"content-security-policy", POLICY), (b"cache-control", b"no-store")]
        )

    async def run(self, request: Request) -> Reply:
        """Let a version decide: the button of the page."""
        version = request.path["version"]
        if not (version.isascii() and version.isdigit()) or len(version) > 15:
            raise RequestError(422, "version must be a whole number")
        await asyncio.to_thread(self.engine.swap, request.path["loop"], int(version), "by hand, on the page")
        return Reply(b"", 303, headers=[(b"location", f"/loops/{quote(request.path['loop'])}".encode())])

    async def static(self, request: Request) -> Reply:
        """Return a script or a style sheet of the page."""
        name = request.path["name"]
        if name not in STATIC:
            raise RequestError(404, "there is no such file")
        data = files("offsettree.service").joinpath("static", name).read_bytes()
        return Reply(data, kind=STATIC[name], headers=[(b"cache-control", b"max-age=3600")])


def render(engine: Engine, loop: Loop) -> str:
    """Return the page of a loop."""
    facts, versions = loop_facts(engine, loop), version_facts(engine, loop)
    name = loop.record.name
    links = [element("li", element("a", each, href=f"/loops/{quote(each)}")) for each in engine.loops]
    links += [
        element("li", element("a", text, href=to)) for text, to in (("metrics", "/metrics"), ("API", "/openapi.json"))
    ]
    baseline = "the caller" if facts["mode"] == "apprentice" else "held back"
    cards = [
        _verdict_card(facts),
        _problems_card(facts["problems"]),
        _value_card(facts, baseline),
        _traffic_card(engine, loop),
        _actions_card(facts),
        _candidate_card(name, facts["candidate"]),
        _versions_card(name, versions),
    ]
    history = encode(_finite(loop.learning.history())).decode().replace("<", "\\u003c")
    head = join(
        [
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", http_equiv="refresh", content="15"),
            element("title", f"{name} - offsettree"),
            element("link", rel="stylesheet", href="/static/uplot.css"),
            element("style", Html(style() + RULES)),
        ]
    )
    body = join(
        [
            element(
                "header",
                element("h1", f"Loop {name}"),
                paragraph(
                    f"Mode {facts['mode']}, version {facts['policy_version']} decides. {engine.store.description()}.",
                    class_="under",
                ),
            ),
            element("nav", element("ul", join(links))),
            element("main", join(cards)),
            element("footer", "Values are shares of the reward range; bands hold at all times with probability 95 %."),
            element("script", Html(history), type="application/json", id="history"),
            element("script", "", src="/static/uplot.js"),
            element("script", "", src="/static/page.js"),
        ]
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def _verdict_card(facts: dict[str, Any]) -> Html:
    verdict = facts["verdict"]
    kind = "good" if verdict.startswith("Yes") else "bad" if verdict.startswith("No:") else "open"
    age = facts["policy_age_seconds"]
    tiles = [
        ("Decisions per minute", f"{facts['decisions_per_minute']:,.0f}", f"{facts['decisions']:,} in all", "new"),
        ("Rewards per minute", f"{facts['rewards_per_minute']:,.0f}", f"{facts['rewards']:,} in all", "new"),
        (
            "Without a reward",
            _percent(facts["share_of_defaults"]),
            f"of {facts['matured']:,} matured; {facts['late_rewards']:,} late, {facts['unknown_rewards']:,} unknown",
            "",
        ),
        ("Age of the model", _span(age), f"{facts['rows_learned']:,} rows learned from", ""),
    ]
    shown = join(
        [
            element(
                "div", element("dt", title), element("dd", value, class_="big num"), element("dd", more), class_=kind_
            )
            for title, value, more, kind_ in tiles
        ]
    )
    return element(
        "section",
        element("h2", "Is it learning?"),
        paragraph(verdict, class_="said"),
        element("dl", shown, class_="tiles"),
        id="verdict",
        class_=kind,
    )


def _problems_card(problems: Sequence[str]) -> Html | None:
    if not problems:
        return None
    items = join([element("li", text) for text in problems])
    return element("section", element("h2", "To look at"), element("ul", items, class_="warnings"), id="warnings")


def _value_card(facts: dict[str, Any], baseline: str) -> Html:
    values = facts["values"]
    if not values["rows"]:
        return element("section", element("h2", "Value over time"), paragraph("Nothing has matured yet."))
    rows = [
        ("policy, without exploration", values["policy"], values["policy_interval"]),
        ("as served", values["served"], None),
        (baseline, values["baseline"], None),
        (f"always {values['best_constant']}", values["best_constant_value"], None),
        (f"gain over {baseline}", None, values["gain_over_baseline"]),
        ("gain over the best constant", None, values["gain_over_constant"]),
    ]
    body = join(
        [
            element(
                "tr",
                element("th", name),
                element("td", _number(value), class_="num"),
                element("td", _interval(ends), class_="num"),
            )
            for name, value, ends in rows
            if value is not None or ends is not None
        ]
    )
    return element(
        "section",
        element("h2", "Value over time"),
        element("div", "", id="value-chart", data_baseline=baseline),
        element("table", element("tbody", body), class_="plain"),
        paragraph(f"Over {values['rows']:,} matured rows, by the logged probabilities.", class_="note"),
        id="values",
    )


def _traffic_card(engine: Engine, loop: Loop) -> Html:
    now = engine.clock()
    parts = []
    for name, kind in (("decisions", "new"), ("rewards", "old")):
        series = loop.rates.series(name, now)
        most = max((count for _, count in series), default=0) or 1
        bars = [
            element(
                "rect", x=f"{100 * i / 60:.2f}%", width="1.3%", y=f"{60 - 58 * count / most:.1f}",
                height=f"{58 * count / most:.1f}", class_=kind,
            )
            for i, (_, count) in enumerate(series, start=60 - len(series))
        ]  # fmt: skip
        picture = element(
            "svg", join(bars), class_="spark", width="100%", height="60", role="img", aria_label=f"{name} per minute"
        )
        parts += [element("h3", f"{name.capitalize()} per minute, last hour (most: {most:,})"), picture]
    return element("section", element("h2", "Traffic"), join(parts), class_="half", id="traffic")


def _actions_card(facts: dict[str, Any]) -> Html:
    actions = sorted(facts["actions"].items(), key=lambda item: -item[1]["taken"])[:20]
    if not actions:
        return element("section", element("h2", "Actions"), paragraph("None has been taken yet."), class_="half")
    total = sum(counts["taken"] for _, counts in actions) or 1
    rows = join(
        [
            element(
                "tr",
                element("th", label(name)),
                element(
                    "td",
                    element(
                        "div", element("i", "", style=f"width: {100 * counts['taken'] / total:.1f}%"), class_="meter"
                    ),
                ),
                element("td", f"{counts['taken']:,.0f}", class_="num"),
            )
            for name, counts in actions
        ]
    )
    return element(
        "section",
        element("h2", "Actions taken"),
        element("table", element("tbody", rows), class_="plain"),
        class_="half",
        id="actions",
    )


def _button(name: str, version: int) -> Html:
    """Return what lets a version decide by one click."""
    return element(
        "form",
        element("button", "let it decide", type="submit"),
        method="post",
        action=f"/loops/{quote(name)}/versions/{version}/run",
        class_="one",
    )


def _candidate_card(name: str, candidate: dict[str, Any] | None) -> Html | None:
    if candidate is None:
        return None
    said = (
        f"Version {candidate['version']} was valued on {candidate['rows']:,} rows after its training. Its gain over "
        f"the running policy is in {_interval(candidate['gain_over_running'])}, over the best constant in "
        f"{_interval(candidate['gain_over_best_constant'])}; it is promoted when both are above 0."
    )
    if candidate["fault"]:
        said = f"Version {candidate['version']} failed and cannot be promoted: {candidate['fault']}."
    button = _button(name, candidate["version"])
    return element("section", element("h2", "Candidate"), paragraph(said), button, id="candidate")


def _versions_card(name: str, facts: dict[str, Any]) -> Html:
    rows = []
    versions = facts["versions"]
    others = [each for each in versions[:-SHOWN] if each["kind"] != "online"]
    for each in reversed(others[-SHOWN:] + versions[-SHOWN:]):
        is_running = each["version"] == facts["running"]
        here = element("strong", "decides") if is_running else _button(name, each["version"])
        rows.append(
            element(
                "tr",
                element("th", str(each["version"])),
                element("td", each["kind"]),
                element("td", each["note"]),
                element("td", here),
            )
        )
    heads = join([element("th", text) for text in ("Version", "Kind", "Note", "")])
    table = element("table", element("thead", element("tr", heads)), element("tbody", join(rows)), class_="plain list")
    return element("section", element("h2", "Versions"), element("div", table, class_="wide"), id="versions")


def _finite(rows: Sequence[Sequence[float]]) -> list[list[float | None]]:
    return [[value if math.isfinite(value) else None for value in row] for row in rows]


def _number(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else f"{value:.4f}"


def _interval(ends: Sequence[float] | None) -> str:
    return "" if ends is None else f"[{ends[0]:.4f}, {ends[1]:.4f}]"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _span(age: float | None) -> str:
    if age is None:
        return "-"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if age >= size:
            return f"{age / size:.0f} {unit}"
    return f"{age:.0f} s"
